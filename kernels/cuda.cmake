# SPDX-License-Identifier: Apache-2.0
# The CUDA side of kernels/: probes, operations, and matrix products through cuBLASLt, which is loaded at run time.
find_path(GPUBENCH_CUBLASLT_INCLUDE cublasLt.h HINTS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
if(GPUBENCH_CUBLASLT_INCLUDE)
  set(cublaslt_source cublaslt.cpp)
else()
  set(cublaslt_source cublaslt_absent.cpp)
  message(STATUS "gpubench: built without cuBLASLt, so without gemm on GPUs and tensor ceilings (no cublasLt.h in ${CUDAToolkit_INCLUDE_DIRS})")
endif()
gpubench_room(cublaslt SOURCES ${cublaslt_source} PUBLIC gpubench::bench PRIVATE CUDA::cudart_static ${CMAKE_DL_LIBS})

target_sources(gpubench_probes PRIVATE probes/cuda_memory.cu probes/cuda_compute.cu)
target_link_libraries(gpubench_probes PUBLIC CUDA::cudart_static)

# The kernels by themselves, for tests; the operations' registration lies in the same files.
target_sources(gpubench_operations PRIVATE operations/streams.cu operations/elementwise.cu operations/reductions.cu
  operations/rows.cu operations/transpose.cu operations/gemm.cu operations/intensity.cu)
target_link_libraries(gpubench_operations PUBLIC gpubench::cublaslt CUDA::cudart_static)
