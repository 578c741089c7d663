// SPDX-License-Identifier: Apache-2.0
// Random data, fingerprints and copies in device memory.
#include "gpu/cuda/handles.h"
#include "gpu/cuda/harness_kernels.h"
#include "gpu/memory/random.h"

namespace gpubench::bench {
namespace {

constexpr unsigned content_threads = 256;
constexpr unsigned warp = 32;

__global__ void fingerprint_kernel(const unsigned char* data, std::size_t bytes, unsigned long long* total) {
  const auto* words = reinterpret_cast<const unsigned long long*>(data);
  const std::size_t count = bytes / sizeof(unsigned long long);
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned long long sum = 0;
  for (std::size_t i = first; i < count; i += step) sum += mix_word(words[i], i);
  if (first == 0 && bytes % sizeof(unsigned long long) != 0) {
    unsigned long long last = 0;
    for (std::size_t i = count * sizeof(unsigned long long); i < bytes; ++i)
      last |= static_cast<unsigned long long>(data[i]) << (8U * (i % sizeof(unsigned long long)));
    sum += mix_word(last, count);
  }
  for (unsigned distance = warp / 2; distance > 0; distance /= 2) sum += __shfl_down_sync(0xFFFFFFFFU, sum, distance);
  if (threadIdx.x % warp == 0) atomicAdd(total, sum);
}

/// Standard normal by Box and Muller (Ann. Math. Statist. 29, 1958).
__device__ float normal(unsigned long long bits) {
  const float u = (static_cast<float>(static_cast<unsigned>(bits >> 40)) + 0.5F) * 0x1p-24F;
  const float v = static_cast<float>(static_cast<unsigned>(bits & 0xFFFFFFU)) * 0x1p-24F;
  return sqrtf(-2.0F * __logf(u)) * cospif(2.0F * v);
}

/// How a kind of number is drawn from 64 random bits.
template <detail::ElementKind kind, bool is_normal>
struct Draw {
  __device__ static float number(unsigned long long bits) { return is_normal ? normal(bits) : unit_float(bits); }
  template <class T>
  __device__ static T of(unsigned long long bits) {
    using enum detail::ElementKind;
    if constexpr (kind == float64)
      return is_normal ? static_cast<double>(normal(bits)) : unit_double(bits);
    else if constexpr (kind == float32)
      return number(bits);
    else if constexpr (kind == boolean)
      return static_cast<T>(bits & 1U);
    else if constexpr (kind == integer && is_normal)
      return static_cast<T>(static_cast<std::int8_t>(fminf(fmaxf(rintf(32.0F * normal(bits)), -127.0F), 127.0F)));
    else if constexpr (kind == integer)
      return static_cast<T>(bits);
    else
      return static_cast<T>(narrow(number(bits), format_of(kind)));
  }
};

template <class T, class Draw>
__global__ void fill_kernel(T* data, std::size_t count, unsigned long long seed) {
  const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    // Counter-based: any element can be drawn alone.
    data[i] = Draw::template of<T>(mix(seed * 0x2545F4914F6CDD1DULL + i));
}

__global__ void nothing_kernel() {}

template <class T, class Draw>
cudaError_t fill(void* pointer, std::size_t count, std::uint64_t seed, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const std::size_t wanted = (count + content_threads - 1) / content_threads;
  const auto blocks = static_cast<unsigned>(wanted < 65536 ? wanted : 65536);
  fill_kernel<T, Draw><<<blocks, content_threads, 0, stream>>>(static_cast<T*>(pointer), count, seed);
  return cudaGetLastError();
}

template <class T, detail::ElementKind kind>
cudaError_t fill_floats(void* pointer, bool is_normal, std::size_t count, std::uint64_t seed, cudaStream_t stream) {
  return is_normal ? fill<T, Draw<kind, true>>(pointer, count, seed, stream)
                   : fill<T, Draw<kind, false>>(pointer, count, seed, stream);
}

cudaError_t fill_integers(void* pointer, std::size_t bytes, std::size_t count, std::uint64_t seed,
                          cudaStream_t stream) {
  using Bits = Draw<detail::ElementKind::integer, false>;
  if (bytes == 1) return fill<std::uint8_t, Bits>(pointer, count, seed, stream);
  if (bytes == 2) return fill<std::uint16_t, Bits>(pointer, count, seed, stream);
  if (bytes == 4) return fill<std::uint32_t, Bits>(pointer, count, seed, stream);
  return fill<std::uint64_t, Bits>(pointer, bytes / 8 * count, seed, stream);
}

}  // namespace

std::uint64_t fingerprint(const void* pointer, std::size_t bytes, Stream stream) {
  DeviceArray<unsigned long long> total(1);
  GPUBENCH_CUDA_CHECK(cudaMemsetAsync(total.data(), 0, total.bytes(), stream));
  const std::size_t wanted = (bytes / sizeof(unsigned long long) + content_threads - 1) / content_threads;
  const auto blocks = static_cast<unsigned>(wanted < 1 ? 1 : wanted < 65536 ? wanted : 65536);
  fingerprint_kernel<<<blocks, content_threads, 0, stream>>>(static_cast<const unsigned char*>(pointer), bytes,
                                                             total.data());
  check_launch("fingerprint_kernel");
  return total.to_host().front();
}

cudaError_t draw(void* pointer, detail::ElementKind kind, detail::Filling filling, std::size_t bytes, std::size_t count,
                 std::uint64_t seed, cudaStream_t stream) {
  using enum detail::ElementKind;
  const bool is_normal = filling == detail::Filling::normal;
  if (kind == float64) return fill_floats<double, float64>(pointer, is_normal, count, seed, stream);
  if (kind == float32) return fill_floats<float, float32>(pointer, is_normal, count, seed, stream);
  if (kind == float16) return fill_floats<std::uint16_t, float16>(pointer, is_normal, count, seed, stream);
  if (kind == bfloat16) return fill_floats<std::uint16_t, bfloat16>(pointer, is_normal, count, seed, stream);
  if (kind == fp8_e4m3) return fill_floats<std::uint8_t, fp8_e4m3>(pointer, is_normal, count, seed, stream);
  if (kind == fp8_e5m2) return fill_floats<std::uint8_t, fp8_e5m2>(pointer, is_normal, count, seed, stream);
  if (kind == boolean) return fill<std::uint8_t, Draw<boolean, false>>(pointer, count, seed, stream);
  if (kind == integer && is_normal && bytes == 1)
    return fill<std::uint8_t, Draw<integer, true>>(pointer, count, seed, stream);
  if (kind == integer) return fill_integers(pointer, bytes, count, seed, stream);
  return cudaErrorInvalidValue;
}

cudaError_t launch_nothing(cudaStream_t stream) {
  nothing_kernel<<<1, 32, 0, stream>>>();
  return cudaGetLastError();
}

}  // namespace gpubench::bench
