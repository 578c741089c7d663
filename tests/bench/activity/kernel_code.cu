// SPDX-License-Identifier: Apache-2.0
// Kernels whose code kernel_code_test.cpp knows: a template, an extern "C" one, and one that differs with
// GPUBENCH_OTHER.
#ifdef GPUBENCH_OTHER
constexpr float factor = 3.0F;
#else
constexpr float factor = 2.0F;
#endif

template <class T>
__global__ void scale(T* values, T by) {
  values[blockIdx.x * blockDim.x + threadIdx.x] *= by;
}
template __global__ void scale(float*, float);
template __global__ void scale(double*, double);

extern "C" __global__ void plain(float* values) { values[threadIdx.x] = 1.0F; }
__global__ void differs(float* values) { values[threadIdx.x] *= factor; }
