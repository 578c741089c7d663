// SPDX-License-Identifier: Apache-2.0
// Which devices there are.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/model/device.h"
#include "gpu/device.h"

namespace gpubench::bench {

/// The host CPU with the threads OpenMP would use.
Device host_device();

/// A device was asked for that is not there; what() says which there are.
struct NoSuchDevice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The devices a `--device` value stands for: "" (the best: cuda:0, else cpu), "cpu", "cuda", "cuda:N" or "all".
std::vector<Device> choose_devices(const std::string& wanted);

/// Opens a GPU by its id. Throws GpuError when it cannot be used or this build has nothing for it.
std::unique_ptr<Gpu> open_gpu(const Device& device);
/// Selects one that is open, as opening it does: Gpu::resume.
[[nodiscard]] bool resume_gpu(Gpu& gpu);

/// The GPUs that the vendors' runtimes show.
std::vector<Device> gpus();
/// Why `gpus()` is empty: "no NVIDIA driver", "built without CUDA", ...; empty when it is not.
std::string why_no_gpu();

/// The CUDA runtime that this program was built with, as CUDART_VERSION counts (13000); absent without CUDA.
std::optional<int> built_with_cuda();

/// Environment variables set by tools that slow kernels down, lock clocks or replay.
inline constexpr std::array profiler_variables = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH",
                                                  "NSYS_PROFILING_SESSION_ID", "NV_COMPUTE_PROFILER_PERFWORKS_DIR"};

/// While it lives: a range of this name for the vendor's profilers. Of CUDA an NVTX range between cudaProfilerStart and
/// cudaProfilerStop.
class ProfilerRange {
 public:
  explicit ProfilerRange(const std::string& name);
  ~ProfilerRange();
  ProfilerRange& operator=(ProfilerRange&&) = delete;  ///< not copied, not moved
};

}  // namespace gpubench::bench
