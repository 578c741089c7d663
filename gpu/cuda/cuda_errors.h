// SPDX-License-Identifier: Apache-2.0
// What a CUDA error means for a user. Pure, so that tests need no GPU that fails.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace gpubench {

/// What happened and what to do, by the name that cudaGetErrorName gives; empty where the error speaks for itself.
inline std::string_view cuda_remedy(std::string_view name) {
  struct Remedy {
    std::string_view name, text;
  };
  static constexpr std::array remedies = {
      Remedy{"cudaErrorECCUncorrectable",
             "the GPU's memory has a fault that ECC could not mend; reset the GPU (nvidia-smi --gpu-reset) or reboot, "
             "and have it replaced if that comes back"},
      Remedy{"cudaErrorNvlinkUncorrectable",
             "a link between GPUs has a fault; reset the GPUs (nvidia-smi --gpu-reset) or reboot, and have the link "
             "looked at if that comes back"},
      Remedy{"cudaErrorDevicesUnavailable",
             "another process has this GPU to itself, or its compute mode lets nobody in; end that process, or set "
             "nvidia-smi --compute-mode=DEFAULT"},
      Remedy{"cudaErrorMpsConnectionFailed",
             "the MPS server cannot be reached; start it (nvidia-cuda-mps-control -d), or unset "
             "CUDA_MPS_PIPE_DIRECTORY to go without"},
      Remedy{"cudaErrorMpsRpcFailure",
             "the MPS server does not answer; restart it (echo quit | nvidia-cuda-mps-control, then "
             "nvidia-cuda-mps-control -d)"},
      Remedy{"cudaErrorMpsServerNotReady",
             "the MPS server starts, or recovers from another program's fault; try again in a moment"},
      Remedy{"cudaErrorMpsMaxClientsReached", "as many programs use the MPS server as it takes; end one"},
      Remedy{"cudaErrorMpsMaxConnectionsReached",
             "the MPS server has no connection left; end one of its programs, or raise CUDA_DEVICE_MAX_CONNECTIONS"},
      Remedy{"cudaErrorMpsClientTerminated",
             "the MPS server ended this program, most often because another of its programs failed; run again, or "
             "without MPS"},
      Remedy{"cudaErrorSystemNotReady",
             "the system is not ready for CUDA; on a board with NVSwitch start nvidia-fabricmanager"},
      Remedy{"cudaErrorSystemDriverMismatch",
             "the driver was updated while an older one runs; reboot, or load the new kernel module"},
      Remedy{
          "cudaErrorInsufficientDriver",
          "there is no driver here, or it is older than this program's CUDA runtime; install one, or run on a machine "
          "with a GPU"},
      Remedy{"cudaErrorLaunchTimeout",
             "a kernel ran longer than the display's watchdog allows; use a GPU that drives no display"}};
  const auto found = std::ranges::find(remedies, name, &Remedy::name);
  return found == remedies.end() ? std::string_view() : found->text;
}

/// "cudaErrorECCUncorrectable (uncorrectable ECC error encountered): the GPU's memory has ..."
inline std::string cuda_error_text(std::string_view name, std::string_view description) {
  std::string text = std::string(name) + " (" + std::string(description) + ")";
  if (const auto remedy = cuda_remedy(name); !remedy.empty()) text += ": " + std::string(remedy);
  return text;
}

/// The sentence of a CUPTI call that ends with CUPTI_ERROR_UNKNOWN: `cuda_error` is the GPU's own error by then, or
/// empty.
inline std::string unknown_cupti_error_text(const std::string& library, const std::string& cuda_error) {
  if (!cuda_error.empty())
    return "the GPU failed while its counters or records were in use, by " + cuda_error +
           "; run the point without --metrics and --check to see whether the operation itself fails";
  return library +
         " gives no reason; run without --metrics and --check to see whether the operation itself fails, and with a "
         "driver as new as that toolkit";
}

}  // namespace gpubench
