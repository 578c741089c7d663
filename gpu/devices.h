// SPDX-License-Identifier: Apache-2.0
// Which devices there are, and what timing and launching cost on them.
#pragma once

#include <chrono>

#include "bench/memory/cold_cache.h"
#include "bench/timing/timer.h"
#include "core/model/calibration.h"
#include "core/model/device.h"
#include "core/model/estimate.h"
#include "core/model/measurement.h"
#include "gpubench/state.h"

namespace gpubench::bench {

/// The host CPU with the threads OpenMP would use.
Device host_device();

/// A device was asked for that is not there; what() says which there are.
struct NoSuchDevice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The devices a `--device` value stands for: "" (the best: cuda:0, else cpu), "cpu", "cuda", "cuda:N" or "all".
std::vector<Device> choose_devices(const std::string& wanted);

/// A short kernel that reads from L2, as an operation of that kernel would be run and timed.
struct KnownKernel {
  std::function<void()> execute;  ///< and waits
  std::function<std::function<void()>(std::int64_t executions)> chain;
  Estimate device_seconds;
};

/// What enqueues the tiny kernels before and after work that note its clock, and the clock once all is done.
struct ClockNotes {
  std::function<void()> begin;
  std::function<void()> end;
  std::function<std::optional<double>()> hertz;
};

/// A clock for an operation on the GPU.
struct DeviceTiming {
  std::unique_ptr<Timer> clock;                     ///< null when it cannot be had
  std::string reason;                               ///< then why
  std::optional<Estimate> kernel_overhead_seconds;  ///< what its kernels cost before and after their work; taken off
};

/// What one execution launches; absent where it cannot be captured.
struct LaunchedKernels {
  std::optional<Launches> launches;
  std::optional<Grid> grid;  ///< that of all its kernels, where they are alike
  bool nothing = false;      ///< the stream got no work at all
  /// Of each kernel in the order of launches; `blocks_per_multiprocessor` is 0 where the driver does not tell.
  std::vector<Grid> grids = {};
  std::optional<KernelGroup> only_command = std::nullopt;  ///< where it is one copy or fill
};

using detail::DeviceBatch;
using detail::HostBatch;

/// What a clock of the GPU times.
struct TimedExecutions {
  DeviceBatch batch;
  std::function<void()> before = {};      ///< enqueues what precedes each execution, untimed: a reset, a flush
  const BufferRotation* turns = nullptr;  ///< for the clock `device`: caches are cold, each chain follows a flush
};

/// One GPU, selected for this thread, with a stream of its own. All members throw CudaError on a CUDA error.
class Gpu {
 public:
  virtual ~Gpu() = default;
  [[nodiscard]] virtual Stream stream() const = 0;
  /// Waits for the stream and reports what went wrong on it.
  virtual void synchronize() = 0;
  /// Waits for everything on the GPU, other streams and the clearing of freed memory (Scrubbing) included.
  virtual void settle() = 0;
  /// Times an operation by one of the GPU's clocks: `stream`, back to back, the stream filled ahead where it can be;
  /// `device`, alone, launches taken off; `latency`, on the host, one by one, from launch to finished. Runs it a few
  /// times to find out how.
  virtual DeviceTiming timing(TimingMode clock, TimedExecutions executions) = 0;
  /// Looks at a captured execution.
  virtual LaunchedKernels launched_by(const DeviceBatch& batch) = 0;
  /// Executions back to back, as one graph where they can be captured. Each call of the result runs them and waits; the
  /// first call also uploads the graph.
  virtual std::function<void()> chain(const DeviceBatch& batch, std::int64_t executions) = 0;
  /// The harness's own, timed when this is called.
  virtual KnownKernel known_kernel() = 0;
  /// What the kernels of one execution cost before and after their work in seconds, measured when this is called;
  /// absent where the operation cannot be captured, or its kernels' costs do not add up.
  virtual std::optional<double> kernel_overhead(const DeviceBatch& batch) = 0;
  virtual ClockNotes clock_notes() = 0;
  /// Enqueues a flush of the L2.
  virtual void flush_cache() = 0;
  /// An empty kernel of one block of 32 threads.
  virtual void launch_nothing(Stream stream) = 0;
  /// Free memory, in bytes.
  virtual double free_bytes() = 0;
  /// One reading by the driver's management library. Never throws for lack of it.
  virtual DeviceConditions conditions() = 0;
  /// What share of the GPU this process had since a time: DeviceConditions::gpu_share, or why it is not known.
  virtual void add_share(std::chrono::system_clock::time_point since, DeviceConditions& conditions) = 0;
  /// True once an error has left the GPU unusable for the rest of the process.
  virtual bool lost() = 0;
};

/// Opens a device whose id is "cuda:N". Throws CudaError when it cannot be used or this build has no CUDA.
std::unique_ptr<Gpu> open_gpu(const Device& device);

/// The GPUs that CUDA shows.
std::vector<Device> gpus();
/// Environment variables set by tools that slow kernels down, lock clocks or replay.
inline constexpr std::array profiler_variables = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                                  "NSYS_PROFILING_SESSION_ID", "NV_COMPUTE_PROFILER_PERFWORKS_DIR"};

/// Where a library of CUDA's may lie: by its names alone, which the loader looks up, then in these folders of the
/// toolkits that people usually have ($CUDA_HOME, $CUDA_PATH, /usr/local/cuda).
std::vector<std::string> library_files(const std::vector<std::string>& names, const std::vector<std::string>& folders);
/// Opens the first of them that the loader takes. Null, and in `reason` what it said of the first, where it takes none.
/// Not to be closed: CUDA's libraries register themselves with each other and with the driver.
void* open_library(const std::vector<std::string>& files, std::string& reason);
/// The path of a library that this process has loaded already, by the beginning of its file's name: "libcupti.so".
std::optional<std::string> loaded_library(std::string_view name);

/// A GPU's UUID as the driver's tools write it, from its 16 bytes: "GPU-8860d441-d818-3912-327d-2dcd07957f88".
std::string uuid_text(const char* bytes);

/// Why `gpus()` is empty: "no NVIDIA driver", "built without CUDA", ...; empty when it is not.
std::string why_no_gpu();

/// While it lives: an NVTX range of this name between cudaProfilerStart and cudaProfilerStop. Nothing without CUDA.
class ProfilerRange {
 public:
  explicit ProfilerRange(const std::string& name);
  ~ProfilerRange();  // NOLINT(performance-trivially-destructible): empty without CUDA alone
  ProfilerRange& operator=(ProfilerRange&&) = delete;  ///< not copied, not moved
};

/// One cost, or why it is not known.
struct Cost {
  std::string what;               ///< "globaltimer step", "event pair", ...
  std::optional<double> seconds;  ///< absent when it could not be measured
  std::string method;             ///< how it was measured
  std::string reason;             ///< why `seconds` is absent
};

/// Measures the step of %globaltimer, an event pair around nothing and its quantum, a launch on a stream, a node of a
/// graph, launch and synchronise: about 0.1 s. Throws CudaError when no kernel can run, or in a build without CUDA.
std::vector<Cost> measure_costs(Gpu& gpu);

/// The CUDA runtime that this program was built with, as CUDART_VERSION counts (13000); absent without CUDA.
std::optional<int> built_with_cuda();

inline constexpr int launch_rounds = 5;

/// The ceiling `launch` of a device, from independent rounds of the sampler: on a GPU an empty-kernel launch by the
/// clock `stream`, on the host an empty OpenMP parallel region over all threads. Throws when the device cannot be used.
Ceiling measure_launch_overhead(const Device& device, int rounds = launch_rounds);
/// The same on the stream of a GPU that is open.
Ceiling measure_launch_overhead(Gpu& gpu, int rounds = launch_rounds);

}  // namespace gpubench::bench
