# SPDX-License-Identifier: Apache-2.0
# Tests of the CUDA side. Those labelled gpu skip, saying so, where there is no GPU.
gpubench_test(cuda_cublaslt_test SOURCES cuda_cublaslt_test.cpp LINK gpubench::cublaslt)

gpubench_test(cuda_operations_test SOURCES cuda_operations_test.cpp LINK gpubench_operations LABELS gpu)
gpubench_test(cuda_gemm_test SOURCES cuda_gemm_test.cu LINK gpubench::cublaslt gpubench::probes CUDA::cudart_static LABELS gpu)
gpubench_test(cuda_probes_test SOURCES cuda_probes_test.cpp LINK gpubench::probes gpubench::bench LABELS gpu)
gpubench_test(cuda_probe_results_test SOURCES cuda_probe_results_test.cu
  LINK gpubench::probes gpubench::bench CUDA::cudart_static LABELS gpu)
