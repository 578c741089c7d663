# SPDX-License-Identifier: Apache-2.0
# Tests of the CUDA side. Those labelled gpu skip, saying so, where there is no GPU.
add_library(gpubench_fake_nvml MODULE cuda_fake_nvml.cpp)
gpubench_test(cuda_nvml_test SOURCES cuda_nvml_test.cpp LINK gpubench::bench)
target_compile_definitions(cuda_nvml_test PRIVATE GPUBENCH_FAKE_NVML="$<TARGET_FILE:gpubench_fake_nvml>")
add_dependencies(cuda_nvml_test gpubench_fake_nvml)
gpubench_test(cuda_cublaslt_test SOURCES cuda_cublaslt_test.cpp LINK gpubench::cublaslt)

gpubench_test(cuda_operations_test SOURCES cuda_operations_test.cpp LINK gpubench_operations LABELS gpu)
gpubench_test(cuda_gemm_test SOURCES cuda_gemm_test.cu LINK gpubench::cublaslt gpubench::probes CUDA::cudart_static LABELS gpu)
gpubench_test(cuda_probes_test SOURCES cuda_probes_test.cpp LINK gpubench::probes gpubench::bench LABELS gpu)
gpubench_test(cuda_probe_results_test SOURCES cuda_probe_results_test.cu
  LINK gpubench::probes gpubench::bench CUDA::cudart_static LABELS gpu)
