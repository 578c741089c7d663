// SPDX-License-Identifier: Apache-2.0
// What the probes of a GPU's calibration have in common: a timer, the SM clock, and samples that become a ceiling.
#pragma once

#include "calibrate/calibration_context.h"
#include "core/base/units.h"
#include "core/model/calibration.h"
#include "gpu/device.h"
#include "gpubench/vectors.h"
#include "kernels/probes/cuda/clock.h"
#include "kernels/probes/cuda/transfers.h"

namespace gpubench::calibrate {

inline constexpr double sample_seconds = 4e-3;  ///< of traffic: an event pair's 1 to 6 us are then below 0.15 %
inline constexpr double l2_port_bytes = 64.0;   ///< that L2 sends a multiprocessor in a clock at most

/// The SM clock from inside kernels: cycles over time, the mean of all multiprocessors.
class ProbeClock {
 public:
  explicit ProbeClock(bench::Gpu& gpu);

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
  bench::Gpu& gpu_;
  probes::SideStream side_;
  DeviceVector<probes::ClockReading> readings_;
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

class GpuCalibrationContext;

/// A probe that runs without rest, once or in several visits apart in time.
class SustainedLoad {
 public:
  explicit SustainedLoad(const Probe& probe) : probe_(&probe) {}
  /// Runs it for a share of its sustained_seconds; what it does in the second half counts. An error of the GPU ends it
  /// and goes to `failure`.
  void visit(GpuCalibrationContext& bench, double share);
  [[nodiscard]] const std::string& failure() const { return failure_; }
  /// RESOURCE-sustained
  [[nodiscard]] std::string resource() const { return probe_->ceiling.resource + "-sustained"; }
  /// What it kept up, with the power at the last visit's end. After at least one visit that did not fail.
  [[nodiscard]] Ceiling ceiling(int multiprocessors) const;

 private:
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

/// A kernel of kernels/probes that loops.
using LoopKernel = std::function<probes::Launched(const probes::LoopLaunch&)>;

/// One GPU under calibration. Groups add probes, which are then sampled in turn, or write straight to `calibration`.
class GpuCalibrationContext : public CalibrationContext {
 public:
  GpuCalibrationContext(const Device& device, const CalibrationOptions& options);

  int index;  ///< of the device among GPUs
  int major;  ///< of the compute capability
  int minor;
  std::unique_ptr<bench::Gpu> gpu;
  Stream stream;
  bench::EventTimer timer;
  ProbeClock clock;
  DeviceVector<double> sink;  ///< what kernels leave that nobody needs
  DeviceVector<float> pool;   ///< the larger part of the memory, random data; empty until the memory group made it
  std::vector<Probe> probes;

  [[nodiscard]] int multiprocessors() const { return device.units; }
  [[nodiscard]] float* float_sink() { return reinterpret_cast<float*>(sink.data()); }

  /// As the base's, and takes the GPU's error away, so that no later call tells it again.
  void attempt(const std::vector<std::string>& resources, const std::function<void()>& part);

  /// Of a launch with the context's own clock and sink.
  [[nodiscard]] probes::LoopLaunch loops(std::int64_t count) {
    return {count, multiprocessors(), clock.readings(), sink.data(), stream};
  }
  /// Device memory that lives as long as the context.
  std::byte* keep(std::size_t bytes);

  /// Adds a probe of a kernel that loops, with as many loops as take `seconds`; sets its work and how its clock is
  /// read. Throws GpuError.
  void add_loops(Probe probe, const LoopKernel& kernel, double seconds = sample_seconds);
  /// The place of the fastest of so many ways, by the rate of each. Throws the first one's GpuError when all fail.
  std::size_t fastest(std::size_t count, const std::function<double(std::size_t)>& rate);
  /// The rate of a kernel that is tried for a millisecond.
  double rate(const LoopKernel& kernel);
  /// Adds a probe of the fastest of some kernels, each tried, with the launch shape in words.
  template <class Shape, class Kernel, class Text>
  void add_fastest(Probe probe, std::span<const Shape> shapes, const Kernel& kernel, const Text& text,
                   double seconds = sample_seconds) {
    const auto of = [&](std::size_t i) -> LoopKernel {
      return [kernel, shape = shapes[i]](const probes::LoopLaunch& launch) { return kernel(shape, launch); };
    };
    const std::size_t best =
        shapes.size() == 1 ? 0 : fastest(shapes.size(), [&](std::size_t i) { return rate(of(i)); });
    probe.ceiling.shape = text(shapes[best]);
    add_loops(std::move(probe), of(best), seconds);
  }
  /// Takes one sample and the clock with it. An error of the GPU ends the probe: it goes to `failure`.
  void sample(Probe& probe);
  /// The median of the samples with the interval that holds them all, its limit at the clock read, and what bears on
  /// it.
  [[nodiscard]] Ceiling ceiling_of(const Probe& probe) const;
  /// Adds the ceiling of a probe that has its samples, or why there is none.
  void conclude(const Probe& probe);
  /// Samples something that is not among `probes` and takes its samples by itself, and adds its ceiling. An error of
  /// the GPU makes it absent.
  void measure_now(Ceiling ceiling, std::function<Reading()> measure, int repeats);

 private:
  struct Sized {
    std::int64_t loops = 1;
    double seconds = 0.0;
    probes::Launched launched;
  };
  void sample_rate(Probe& probe);
  Sized sized(const LoopKernel& kernel, double seconds);

  std::vector<DeviceVector<std::byte>> kept_;
};

// The groups. Each names what it cannot measure, with the reason; none throws.

void add_memory_probes(GpuCalibrationContext& bench);      ///< DRAM, and the pool that others use
void add_cache_probes(GpuCalibrationContext& bench);       ///< near L2, L1, shared and constant memory
void measure_ladders(GpuCalibrationContext& bench);        ///< levels of caches, of the GPU and of one multiprocessor
void add_vector_probes(GpuCalibrationContext& bench);      ///< multiply-adds by type, special functions, division
void add_matrix_probes(GpuCalibrationContext& bench);      ///< mma.sync and wgmma
void add_product_probes(GpuCalibrationContext& bench);     ///< cuBLASLt
void add_atomics_probes(GpuCalibrationContext& bench);     ///< global and shared
void add_random_probes(GpuCalibrationContext& bench);      ///< reads and updates at random places
void add_copy_probes(GpuCalibrationContext& bench);        ///< copies and fills by the driver's commands
void measure_latencies(GpuCalibrationContext& bench);      ///< pointer chases and their curve
void measure_launch_step(GpuCalibrationContext& bench);    ///< before any other stream is used
void add_block_start_probe(GpuCalibrationContext& bench);  ///< what one block of a grid costs
void measure_overheads(GpuCalibrationContext& bench);      ///< launches, events, synchronisation, small copies
void measure_links_of_process(
    GpuCalibrationContext& bench);                 ///< pageable and managed host memory: where it lies is by chance
void measure_links(GpuCalibrationContext& bench);  ///< pinned host memory and other GPUs
void measure_intensities(GpuCalibrationContext& bench);  ///< memory and arithmetic together
/// Counts the work of all probes that have a ceiling, as far as the time allows.
void confirm(GpuCalibrationContext& bench, double seconds);

// For a drift check: the one probe that measures what a stored ceiling did, with its launch shape where that is still
// tried. Without effect where no probe has its name. They throw GpuError and OutOfMemory.

void add_memory_probe_like(GpuCalibrationContext& bench, const Ceiling& stored);
void add_vector_probe_like(GpuCalibrationContext& bench, const Ceiling& stored);
void warm_up(GpuCalibrationContext& bench, double seconds);  ///< brings the clocks up from idle, by arithmetic

}  // namespace gpubench::calibrate
