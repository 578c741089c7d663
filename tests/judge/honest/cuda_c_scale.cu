// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

__global__ void kernel(const float* x, float* out, int64_t n) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = 3 * x[i];
}

extern "C" int scale(const float* x, float* out, int64_t n) {
  kernel<<<(n + 255) / 256, 256>>>(x, out, n);
  return cudaGetLastError();
}

/// Four elements at once; the last ones alone.
__global__ void vectors(const float* x, float* out, int64_t n) {
  const int64_t i = 4 * (blockIdx.x * int64_t{blockDim.x} + threadIdx.x);
  if (i + 4 <= n) {
    const float4 four = *reinterpret_cast<const float4*>(x + i);
    *reinterpret_cast<float4*>(out + i) = float4{3 * four.x, 3 * four.y, 3 * four.z, 3 * four.w};
    return;
  }
  for (int64_t j = i; j < n; ++j) out[j] = 3 * x[j];
}

extern "C" int scale_vectors(const float* x, float* out, int64_t n) {
  vectors<<<(n + 1023) / 1024, 256>>>(x, out, n);
  return cudaGetLastError();
}

/// As many blocks as run at once, each with several places.
__global__ void strided(const float* x, float* out, int64_t n) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < n; i += int64_t{gridDim.x} * blockDim.x)
    out[i] = 3 * x[i];
}

extern "C" int scale_strided(const float* x, float* out, int64_t n) {
  strided<<<1024, 256>>>(x, out, n);
  return cudaGetLastError();
}

extern "C" int scale_in_halves(const float* x, float* out, int64_t n) {
  const int64_t half = n / 2;
  strided<<<512, 256>>>(x, out, half);
  strided<<<512, 256>>>(x + half, out + half, n - half);
  return cudaGetLastError();
}
