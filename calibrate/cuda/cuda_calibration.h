// SPDX-License-Identifier: Apache-2.0
// What the probes of an NVIDIA GPU's calibration have in common.
#pragma once

#include "calibrate/gpu/gpu_calibration.h"
#include "core/base/units.h"
#include "gpubench/vectors.h"
#include "kernels/probes/cuda/clock.h"
#include "kernels/probes/cuda/transfers.h"

namespace gpubench::calibrate {

inline constexpr double l2_port_bytes = 64.0;  ///< that L2 sends a multiprocessor in a clock at most

/// The SM clock from inside kernels: cycles over time, the mean of all multiprocessors.
class ProbeClock final : public SmClock {
 public:
  explicit ProbeClock(bench::Gpu& gpu);

  /// Where a kernel leaves its readings; room for probes::max_blocks on each multiprocessor.
  [[nodiscard]] probes::ClockReading* readings() { return readings_.data(); }
  /// The first `count` readings that a kernel has left. Waits for the stream.
  std::vector<probes::ClockReading> last(int count);
  double read(int count) override { return probes::mean_hertz(last(count)); }
  /// Over the next 0.2 ms.
  double now() override;
  /// By one thread on each multiprocessor, beside the work.
  std::optional<double> during(const std::function<void()>& enqueue, double seconds, bench::EventTimer& timer) override;

 private:
  bench::Gpu& gpu_;
  probes::SideStream side_;
  DeviceVector<probes::ClockReading> readings_;
};

/// A mean of `count` things in a kernel that left this reading of its clocks.
Reading reading_over(const probes::ClockReading& passed, int count);

/// A kernel of kernels/probes that loops.
using LoopKernel = std::function<probes::Launched(const probes::LoopLaunch&)>;

/// One NVIDIA GPU under calibration.
class CudaCalibration final : public GpuCalibration {
 public:
  CudaCalibration(const Device& device, const CalibrationOptions& options);

  int index;  ///< of the device among GPUs
  int major;  ///< of the compute capability
  int minor;
  ProbeClock clock;
  DeviceVector<double> sink;  ///< what kernels leave that nobody needs
  DeviceVector<float> pool;   ///< the larger part of the memory, random data; empty until the memory group made it

  SmClock& sm_clock() override { return clock; }
  void warm_up(double seconds) override;
  void measure_costs() override;
  void add_probes() override;
  void measure_curves() override;
  void add_probe_like(const Ceiling& stored) override;

  [[nodiscard]] float* float_sink() { return reinterpret_cast<float*>(sink.data()); }

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

 private:
  struct Sized {
    std::int64_t loops = 1;
    double seconds = 0.0;
    probes::Launched launched;
  };
  Sized sized(const LoopKernel& kernel, double seconds);

  std::vector<DeviceVector<std::byte>> kept_;
};

// The groups. Each names what it cannot measure, with the reason; none throws.

void add_memory_probes(CudaCalibration& bench);      ///< DRAM, and the pool that others use
void add_cache_probes(CudaCalibration& bench);       ///< near L2, L1, shared and constant memory
void measure_ladders(CudaCalibration& bench);        ///< levels of caches, of the GPU and of one multiprocessor
void add_vector_probes(CudaCalibration& bench);      ///< multiply-adds by type, special functions, division
void add_matrix_probes(CudaCalibration& bench);      ///< mma.sync and wgmma
void add_product_probes(CudaCalibration& bench);     ///< cuBLASLt
void add_atomics_probes(CudaCalibration& bench);     ///< global and shared
void add_random_probes(CudaCalibration& bench);      ///< reads and updates at random places
void add_copy_probes(CudaCalibration& bench);        ///< copies and fills by the driver's commands
void measure_latencies(CudaCalibration& bench);      ///< pointer chases and their curve
void measure_launch_step(CudaCalibration& bench);    ///< before any other stream is used
void add_block_start_probe(CudaCalibration& bench);  ///< what one block of a grid costs
void measure_overheads(CudaCalibration& bench);      ///< launches, events, synchronisation, small copies
void measure_links_of_process(
    CudaCalibration& bench);                       ///< pageable and managed host memory: where it lies is by chance
void measure_links(CudaCalibration& bench);        ///< pinned host memory and other GPUs
void measure_intensities(CudaCalibration& bench);  ///< memory and arithmetic together

// For a drift check: the one probe that measures what a stored ceiling did, with its launch shape where that is still
// tried. Without effect where no probe has its name. They throw GpuError and OutOfMemory.

void add_memory_probe_like(CudaCalibration& bench, const Ceiling& stored);
void add_vector_probe_like(CudaCalibration& bench, const Ceiling& stored);

}  // namespace gpubench::calibrate
