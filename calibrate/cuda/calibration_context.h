// SPDX-License-Identifier: Apache-2.0
// What the probes of a GPU's calibration have in common: a timer, the SM clock, and samples that become a ceiling.
#pragma once

#include <cuda_runtime_api.h>

#include <cstring>

#include "calibrate/calibration_context.h"
#include "core/base/units.h"
#include "core/model/calibration.h"
#include "gpu/cuda/handles.h"
#include "gpu/cuda/nvml.h"
#include "gpu/device.h"
#include "gpubench/vectors.h"
#include "kernels/probes/cuda/clock.h"

namespace gpubench::calibrate {

inline constexpr double sample_seconds = 4e-3;  ///< of traffic: an event pair's 1 to 6 us are then below 0.15 %
inline constexpr double l2_port_bytes = 64.0;   ///< that L2 sends a multiprocessor in a clock at most

/// The SM clock from inside kernels: cycles over time, the mean of all multiprocessors.
class ProbeClock {
 public:
  ProbeClock(Stream stream, int multiprocessors);

  /// Where a kernel leaves its readings; room for probes::max_blocks on each multiprocessor.
  [[nodiscard]] probes::ClockReading* readings() { return readings_.data(); }
  /// The first `count` readings that a kernel has left. Waits for the stream.
  std::vector<probes::ClockReading> last(int count);
  /// Hz over them.
  double read(int count) { return probes::mean_hertz(last(count)); }
  /// Hz over the next 0.2 ms.
  double now();
  /// Hz while work runs that takes `seconds` by itself: one thread on each multiprocessor reads the clock beside it. A
  /// reading after the work would be too high, for a GPU raises its clock at once. Absent when the work found no room
  /// beside those threads.
  std::optional<double> during(const std::function<void()>& enqueue, double seconds, bench::EventTimer& timer);

 private:
  Stream stream_;
  bench::OwnedStream side_;
  int multiprocessors_;
  DeviceVector<probes::ClockReading> readings_;
};

/// One sample of a probe.
struct Reading {
  double value = 0.0;                   ///< in the ceiling's unit
  std::optional<double> clock_hz = {};  ///< SM clock
  std::optional<double> cycles = {};    ///< the value in SM cycles, for latencies
};

/// A mean of `count` things in a kernel that left this reading of its clocks.
Reading reading_over(const probes::ClockReading& passed, int count);

/// One thing measured once in every round of a calibration.
struct Probe {
  Ceiling ceiling;                   ///< ceiling_of sets what was measured, and the limit; the rest is set beforehand
  std::function<void()> enqueue;     ///< a rate: `ceiling.work_per_run` of work. Empty where `measure` is set
  std::function<Reading()> measure;  ///< anything else: takes a sample by itself
  double rest_seconds = 0.0;         ///< idle time before each sample
  int clock_readings = 0;            ///< how many the probe's own kernel leaves; 0: read beside a repetition of it
  std::optional<double> limit;       ///< theoretical, whatever the clock
  std::optional<double> limit_for_clock;  ///< theoretical, of one multiprocessor in a clock
  /// Metrics whose sum times `counted_factor` is the work, by preference; empty where none counts it.
  std::vector<std::vector<std::string>> counted;
  double counted_factor = 1.0;
  /// The declared work is only a bound: the counted work takes its place, and without a count there is no ceiling.
  bool work_is_as_counted = false;
  double sustained_seconds = 0.0;  ///< how long it is to run without rest at the end; 0: not at all

  std::vector<double> values;
  std::vector<double> clocks;
  std::vector<double> cycles;
  int clocks_beside = 0;        ///< how many of `clocks` were read while the probe ran, not after
  std::uint64_t throttled = 0;  ///< throttle reasons seen, bits as in gpu/readings.h
  int throttled_samples = 0;
  std::optional<double> temperature;
  std::string failure;  ///< why it was given up; empty while it works
};

class CudaCalibrationContext;

/// A probe that runs without rest, once or in several visits apart in time.
class SustainedLoad {
 public:
  explicit SustainedLoad(const Probe& probe) : probe_(&probe) {}
  /// Runs it for a share of its sustained_seconds; what it does in the second half counts. A CUDA error ends it and
  /// goes to `failure`.
  void visit(CudaCalibrationContext& bench, double share);
  [[nodiscard]] const std::string& failure() const { return failure_; }
  /// RESOURCE-sustained
  [[nodiscard]] std::string resource() const { return probe_->ceiling.resource + "-sustained"; }
  /// What it kept up, with the power at the last visit's end. After at least one visit that did not fail.
  [[nodiscard]] Ceiling ceiling(int multiprocessors) const;

 private:
  void run(CudaCalibrationContext& bench, double seconds);

  const Probe* probe_;
  std::vector<double> rates_;
  std::vector<std::int64_t> rates_of_visits_;  ///< how many of them each visit left
  std::vector<double> clocks_;
  double seconds_ = 0.0;  ///< of all visits
  std::optional<double> power_;
  std::optional<double> temperature_;
  std::uint64_t throttled_ = 0;
  std::string failure_;
};

/// Pinned and mapped host memory, every page touched. Throws CudaError.
class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes) {
    GPUBENCH_CUDA_CHECK(cudaHostAlloc(&memory_, bytes, cudaHostAllocMapped));
    std::memset(memory_, 1, bytes);
  }
  ~PinnedMemory() { (void)cudaFreeHost(memory_); }
  PinnedMemory& operator=(PinnedMemory&&) = delete;  ///< not copied, not moved

  [[nodiscard]] std::byte* on_host() const { return static_cast<std::byte*>(memory_); }
  /// The same memory as kernels address it.
  [[nodiscard]] std::byte* on_device() const {
    void* address = nullptr;
    GPUBENCH_CUDA_CHECK(cudaHostGetDevicePointer(&address, memory_, 0));
    return static_cast<std::byte*>(address);
  }

 private:
  void* memory_ = nullptr;
};

/// A kernel of kernels/probes that loops.
using LoopKernel = std::function<cudaError_t(const probes::LoopLaunch&, probes::Launched&)>;

/// One GPU under calibration. Groups add probes, which are then sampled in turn, or write straight to `calibration`.
class CudaCalibrationContext : public CalibrationContext {
 public:
  CudaCalibrationContext(const Device& device, const CalibrationOptions& options);

  int index = 0;  ///< of the device, as CUDA counts
  int major = 0;
  int minor = 0;
  std::unique_ptr<bench::Gpu> gpu;
  Stream stream;
  bench::CudaEventTimer timer;
  ProbeClock clock;
  bench::Nvml nvml;
  DeviceVector<double> sink;  ///< what kernels leave that nobody needs
  DeviceVector<float> pool;   ///< the larger part of the memory, random data; empty until the memory group made it
  std::vector<Probe> probes;

  [[nodiscard]] int multiprocessors() const { return device.units; }
  [[nodiscard]] float* float_sink() { return reinterpret_cast<float*>(sink.data()); }

  /// As the base's, and takes a CUDA error away, so that no later call tells it again.
  void attempt(const std::vector<std::string>& resources, const std::function<void()>& part);

  /// The same work as a launch of a CUDA graph, which this does once. Throws CudaError.
  std::function<void()> as_graph(const std::function<void()>& enqueue);
  /// Device memory that lives as long as the workbench.
  std::byte* keep(std::size_t bytes);

  /// Adds a probe of a kernel that loops, with as many loops as take `seconds`; sets its work and how its clock is
  /// read. Throws CudaError.
  void add_loops(Probe probe, const LoopKernel& kernel, double seconds = 4e-3);
  /// The place of the fastest of some kernels, each tried for a millisecond. Throws the first one's CudaError when all
  /// fail.
  std::size_t fastest(const std::vector<LoopKernel>& kernels);
  /// Takes one sample and the clock with it. A CUDA error ends the probe: it goes to `failure`.
  void sample(Probe& probe);
  /// The median of the samples with the interval that holds them all, its limit at the clock read, and what bears on
  /// it.
  [[nodiscard]] Ceiling ceiling_of(const Probe& probe) const;
  /// Adds the ceiling of a probe that has its samples, or why there is none.
  void conclude(const Probe& probe);
  /// Samples a probe that is not among `probes`, and adds its ceiling.
  void measure_now(Probe probe, int repeats);
  /// The same for something that takes its samples by itself. A CUDA error makes it absent.
  void measure_now(Ceiling ceiling, std::function<Reading()> measure, int repeats);

 private:
  struct Sized {
    std::int64_t loops = 1;
    double seconds = 0.0;
    probes::Launched launched;
  };
  void sample_rate(Probe& probe);
  probes::Launched launch(const LoopKernel& kernel, std::int64_t loops);
  Sized sized(const LoopKernel& kernel, double seconds);

  std::vector<DeviceVector<std::byte>> kept_;
};

// The groups. Each names what it cannot measure, with the reason; none throws.

void add_memory_probes(CudaCalibrationContext& bench);      ///< DRAM, and the pool that others use
void add_cache_probes(CudaCalibrationContext& bench);       ///< near L2, L1, shared and constant memory
void measure_ladders(CudaCalibrationContext& bench);        ///< levels of caches, of the GPU and of one multiprocessor
void add_vector_probes(CudaCalibrationContext& bench);      ///< multiply-adds by type, special functions, division
void add_matrix_probes(CudaCalibrationContext& bench);      ///< mma.sync and wgmma
void add_product_probes(CudaCalibrationContext& bench);     ///< cuBLASLt
void add_atomics_probes(CudaCalibrationContext& bench);     ///< global and shared
void add_random_probes(CudaCalibrationContext& bench);      ///< reads and updates at random places
void add_copy_probes(CudaCalibrationContext& bench);        ///< copies and fills by the driver's commands
void measure_latencies(CudaCalibrationContext& bench);      ///< pointer chases and their curve
void measure_launch_step(CudaCalibrationContext& bench);    ///< before any other stream is used
void add_block_start_probe(CudaCalibrationContext& bench);  ///< what one block of a grid costs
void measure_overheads(CudaCalibrationContext& bench);      ///< launches, events, synchronisation, small copies
void measure_links_of_process(
    CudaCalibrationContext& bench);                 ///< pageable and managed host memory: where it lies is by chance
void measure_links(CudaCalibrationContext& bench);  ///< pinned host memory and other GPUs
void measure_intensities(CudaCalibrationContext& bench);  ///< memory and arithmetic together
/// Counts the work of all probes that have a ceiling, as far as the time allows.
void confirm(CudaCalibrationContext& bench, double seconds);

// For a drift check: the one probe that measures what a stored ceiling did, with its launch shape where that is still
// tried. Without effect where no probe has its name. They throw CudaError and OutOfMemory.

void add_memory_probe_like(CudaCalibrationContext& bench, const Ceiling& stored);
void add_vector_probe_like(CudaCalibrationContext& bench, const Ceiling& stored);
void warm_up(CudaCalibrationContext& bench, double seconds);  ///< brings the clocks up from idle, by arithmetic

}  // namespace gpubench::calibrate
