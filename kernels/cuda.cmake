# SPDX-License-Identifier: Apache-2.0
# The CUDA side of kernels/: probes, operations, and matrix products through cuBLASLt, which is loaded at run time.
find_path(GPUBENCH_CUBLASLT_INCLUDE cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
if(NOT GPUBENCH_CUBLASLT_INCLUDE)
  message(STATUS "gpubench: built without cuBLASLt, so without gemm on GPUs and tensor ceilings (no cublasLt.h in ${CUDAToolkit_INCLUDE_DIRS})")
endif()
gpubench_room(cublaslt SOURCES cublaslt.cpp PUBLIC gpubench::bench PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})

target_sources(gpubench_probes PRIVATE probes/cuda_memory.cu probes/cuda_bulk.cu probes/cuda_cache.cu
  probes/cuda_latency.cu probes/cuda_compute.cu probes/cuda_tensor.cu probes/cuda_atomics.cu)
target_link_libraries(gpubench_probes PUBLIC CUDA::cudart_static)

# wgmma is an instruction of sm_90a, which no other GPU runs and which every supported toolkit knows.
if("${CMAKE_CUDA_ARCHITECTURES}" MATCHES "(^|;)(90a?(-real|-virtual)?|native|all|all-major)(;|$)")
  add_library(gpubench_wgmma OBJECT probes/cuda_wgmma.cu)
  set_target_properties(gpubench_wgmma PROPERTIES CUDA_ARCHITECTURES 90a-real)
  target_include_directories(gpubench_wgmma PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
  target_sources(gpubench_probes PRIVATE $<TARGET_OBJECTS:gpubench_wgmma>)
  target_compile_definitions(gpubench_probes PRIVATE GPUBENCH_WGMMA)
endif()

# The kernels by themselves, for tests; the operations' registration lies in the same files.
target_sources(gpubench_operations PRIVATE operations/vectors.cu operations/reductions.cu
  operations/softmax_layer_norm.cu operations/transpose.cu operations/gemm.cu)
target_link_libraries(gpubench_operations PUBLIC gpubench::cublaslt CUDA::cudart_static)
