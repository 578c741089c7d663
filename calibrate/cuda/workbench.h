// SPDX-License-Identifier: Apache-2.0
// What the groups of a GPU's calibration work with, and the groups.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/cuda/cuda_error.h"
#include "bench/gpu.h"
#include "calibrate/cuda/probe.h"
#include "calibrate/workbench.h"
#include "core/base/units.h"
#include "gpubench/vectors.h"
#include "kernels/probes/cuda_clock.h"

namespace gpubench::calibrate {

/// Pinned and mapped host memory, every page touched. Throws CudaError.
class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t bytes) {
    GPUBENCH_CUDA_CHECK(cudaHostAlloc(&memory_, bytes, cudaHostAllocMapped));
    std::memset(memory_, 1, bytes);
  }
  ~PinnedMemory() { (void)cudaFreeHost(memory_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

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
class Workbench : public WorkbenchBase {
 public:
  Workbench(const Device& device, const Options& options);

  int index = 0;  ///< of the device, as CUDA counts
  int major = 0;
  int minor = 0;
  std::unique_ptr<bench::Gpu> gpu;
  cudaStream_t stream;
  Timer timer;
  ProbeClock clock;
  bench::Nvml nvml;
  DeviceVector<double> sink;  ///< what kernels leave that nobody needs
  DeviceVector<float> pool;   ///< the larger part of the memory, random data; empty until the memory group made it
  std::vector<Probe> probes;

  [[nodiscard]] int multiprocessors() const { return device.units; }
  [[nodiscard]] Instruments instruments() { return {timer, clock, nvml, multiprocessors()}; }
  [[nodiscard]] float* float_sink() { return reinterpret_cast<float*>(sink.data()); }

  /// As the base's, and takes a CUDA error away, so that no later call tells it again.
  void attempt(const std::vector<std::string>& resources, const std::function<void()>& part);

  /// Device memory that lives as long as the workbench.
  std::byte* keep(std::size_t bytes);

  /// Adds a probe of a kernel that loops, with as many loops as take `seconds`; sets its work and how its clock is
  /// read. Throws CudaError.
  void add_loops(Probe probe, const LoopKernel& kernel, double seconds = 4e-3);
  /// The place of the fastest of some kernels, each tried for a millisecond. Throws the first one's CudaError when all
  /// fail.
  std::size_t fastest(const std::vector<LoopKernel>& kernels);
  /// Samples a probe that is not among `probes`, and adds its ceiling.
  void measure_now(Probe probe, int repeats);
  /// The same for something that takes its samples by itself. A CUDA error makes it absent.
  void measure_now(Ceiling ceiling, std::function<Reading()> measure, int repeats);

 private:
  struct Sized {
    std::int64_t loops = 1;
    double work = 0.0;
    double seconds = 0.0;
    int clock_readings = 0;
  };
  probes::Launched launch(const LoopKernel& kernel, std::int64_t loops);
  Sized sized(const LoopKernel& kernel, double seconds);

  std::vector<DeviceVector<std::byte>> kept_;
};

// The groups. Each names what it cannot measure, with the reason; none throws.

void add_memory_probes(Workbench& bench);         ///< DRAM, and the pool that others use
void add_cache_probes(Workbench& bench);          ///< near L2, L1, shared and constant memory
void measure_ladders(Workbench& bench);           ///< levels of caches, of the GPU and of one multiprocessor
void add_vector_probes(Workbench& bench);         ///< multiply-adds by type, special functions, division
void add_matrix_probes(Workbench& bench);         ///< mma.sync and wgmma
void add_product_probes(Workbench& bench);        ///< cuBLASLt
void add_atomics_probes(Workbench& bench);        ///< global and shared
void measure_latencies(Workbench& bench);         ///< pointer chases and their curve
void measure_launch_step(Workbench& bench);       ///< before any other stream is used
void add_block_start_probe(Workbench& bench);     ///< what one block of a grid costs
void measure_overheads(Workbench& bench);         ///< launches, events, synchronisation, small copies
void measure_links_of_process(Workbench& bench);  ///< pageable and managed host memory: where it lies is by chance
void measure_links(Workbench& bench);             ///< pinned host memory and other GPUs
void measure_intensities(Workbench& bench);       ///< memory and arithmetic together
/// Counts the work of all probes that have a ceiling, as far as the time allows.
void confirm(Workbench& bench, double seconds);

// For a drift check: the one probe that measures what a stored ceiling did, with its launch shape where that is still
// tried. Without effect where no probe has its name. They throw CudaError and OutOfMemory.

void add_memory_probe_like(Workbench& bench, const Ceiling& stored);
void add_vector_probe_like(Workbench& bench, const Ceiling& stored);
void warm_up(Workbench& bench, double seconds);  ///< brings the clocks up from idle, by arithmetic

}  // namespace gpubench::calibrate
