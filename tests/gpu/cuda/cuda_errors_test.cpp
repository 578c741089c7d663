// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/cuda_errors.h"

#include <gtest/gtest.h>

#include "tests/matchers.h"

namespace gpubench {
namespace {

TEST(CudaErrors, EndWithWhatToDo) {
  EXPECT_EQ(
      cuda_error_text("cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"),
      "cudaErrorECCUncorrectable (uncorrectable ECC error encountered): the GPU's memory has a fault that ECC "
      "could not mend; reset the GPU (nvidia-smi --gpu-reset) or reboot, and have it replaced if that comes back");
  EXPECT_THAT(cuda_error_text("cudaErrorDevicesUnavailable", "busy"), HasSubstr("--compute-mode=DEFAULT"));
  EXPECT_THAT(cuda_error_text("cudaErrorMpsConnectionFailed", "?"), HasSubstr("unset CUDA_MPS_PIPE_DIRECTORY"));
  for (const char* name : {"MpsRpcFailure", "MpsServerNotReady", "MpsMaxClientsReached", "MpsMaxConnectionsReached",
                           "MpsClientTerminated"})
    EXPECT_THAT(cuda_error_text(std::string("cudaError") + name, "?"), HasSubstr("MPS server")) << name;
}

TEST(CudaErrors, ThatSpeakForThemselvesStayAsTheyAre) {
  EXPECT_EQ(cuda_error_text("cudaErrorIllegalAddress", "an illegal memory access was encountered"),
            "cudaErrorIllegalAddress (an illegal memory access was encountered)");
}

TEST(CudaErrors, AGpuThatFailsWhileCuptiCountsIsNotTheDriversAge) {
  EXPECT_THAT(unknown_cupti_error_text("/lib/libcupti.so", "cudaErrorIllegalAddress (an illegal memory access)"),
              AllOf(HasSubstr("the GPU failed while its counters or records were in use, by cudaErrorIllegalAddress"),
                    Not(HasSubstr("driver as new as"))));
  EXPECT_THAT(unknown_cupti_error_text("/lib/libcupti.so", ""),
              AllOf(HasSubstr("/lib/libcupti.so gives no reason"), HasSubstr("driver as new as that toolkit")));
}

}  // namespace
}  // namespace gpubench
