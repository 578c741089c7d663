// SPDX-License-Identifier: Apache-2.0
#include "kernels/probes/cuda_compute.h"

namespace gpubench::probes {
namespace {

/// Measured on an H200, % of 2 x lanes x clock: fp32 with 8 chains and a body of 1024, 256 threads x 4 99.0; body of
/// 512, x 8 98.7; body of 128, x 8 97.3 (the loop's own instructions); body of 4096 79.8 (beyond the instruction
/// cache). fp64, body of 512: 256 x 8 99.6, 256 x 4 99.5, 128 x 4 98.0.
template <class T>
struct Shape;
template <>
struct Shape<float> {
  static constexpr int chains = 8;
  static constexpr int body = 1024;  ///< multiply-adds of a thread in one pass through the loop
  static constexpr int threads = 256;
  static constexpr int blocks = 4;  ///< on each multiprocessor
};
template <>
struct Shape<double> {
  static constexpr int chains = 8;
  static constexpr int body = 512;
  static constexpr int threads = 256;
  static constexpr int blocks = 8;
};

__device__ __forceinline__ std::uint64_t global_nanoseconds() {
  std::uint64_t value;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(value));
  return value;
}

/// v = v factor + v: one operand fewer to fetch than v factor + summand. With a tiny factor no value leaves its range.
template <class T>
__global__ void __launch_bounds__(Shape<T>::threads)
    fma_kernel(std::int64_t loops, T factor, T* sink, ClockReading* clock) {
  constexpr int chains = Shape<T>::chains;
  T v[chains];
#pragma unroll
  for (int c = 0; c < chains; ++c) v[c] = static_cast<T>(threadIdx.x) * static_cast<T>(1e-3) + static_cast<T>(c);
  const std::uint64_t cycles = clock64();
  const std::uint64_t nanoseconds = global_nanoseconds();
#pragma unroll 1
  for (std::int64_t loop = 0; loop < loops; ++loop) {
#pragma unroll
    for (int i = 0; i < Shape<T>::body / chains; ++i) {
#pragma unroll
      for (int c = 0; c < chains; ++c) v[c] = fma(v[c], factor, v[c]);
    }
  }
  if (threadIdx.x == 0) clock[blockIdx.x] = {clock64() - cycles, global_nanoseconds() - nanoseconds};
  T sum = 0;
#pragma unroll
  for (int c = 0; c < chains; ++c) sum += v[c];
  if (sum == static_cast<T>(1.2345e30)) *sink = sum;  // never so; keeps the chains from being dropped
}

__global__ void clock_kernel(std::uint64_t nanoseconds, ClockReading* clock) {
  const std::uint64_t start = global_nanoseconds();
  const std::uint64_t cycles = clock64();
  std::uint64_t now = start;
  while (now - start < nanoseconds) now = global_nanoseconds();
  clock[blockIdx.x] = {clock64() - cycles, now - start};
}

template <class T>
cudaError_t launch(std::int64_t loops, void* sink, ClockReading* clock, cudaStream_t stream, double& flops) {
  int device = 0;
  int multiprocessors = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
  if (error != cudaSuccess) return error;
  const int blocks = multiprocessors * Shape<T>::blocks;
  flops = 2.0 * Shape<T>::body * Shape<T>::threads * blocks * static_cast<double>(loops);
  fma_kernel<T><<<static_cast<unsigned>(blocks), Shape<T>::threads, 0, stream>>>(loops, static_cast<T>(1e-12),
                                                                                 static_cast<T*>(sink), clock);
  return cudaGetLastError();
}

template <class T>
std::string shape_text() {
  return std::to_string(Shape<T>::chains) + " chains, " + std::to_string(Shape<T>::blocks) + " blocks of " +
         std::to_string(Shape<T>::threads) + " threads on each multiprocessor";
}

}  // namespace

cudaError_t launch_fma(FmaType type, std::int64_t loops, void* sink, ClockReading* clock, cudaStream_t stream,
                       double& flops) {
  return type == FmaType::fp32 ? launch<float>(loops, sink, clock, stream, flops)
                               : launch<double>(loops, sink, clock, stream, flops);
}

std::string fma_shape(FmaType type) { return type == FmaType::fp32 ? shape_text<float>() : shape_text<double>(); }

int fma_blocks(FmaType type, int multiprocessors) {
  return multiprocessors * (type == FmaType::fp32 ? Shape<float>::blocks : Shape<double>::blocks);
}

cudaError_t launch_clock(std::uint64_t nanoseconds, int blocks, ClockReading* clock, cudaStream_t stream) {
  clock_kernel<<<static_cast<unsigned>(blocks), 1, 0, stream>>>(nanoseconds, clock);
  return cudaGetLastError();
}

double mean_hertz(std::span<const ClockReading> readings) {
  double cycles = 0.0;
  double nanoseconds = 0.0;
  for (const auto& reading : readings) {
    cycles += static_cast<double>(reading.cycles);
    nanoseconds += static_cast<double>(reading.nanoseconds);
  }
  return nanoseconds > 0.0 ? 1e9 * cycles / nanoseconds : 0.0;
}

int fma_per_clock(FmaType type, int major, int minor) {
  const bool fp32 = type == FmaType::fp32;
  switch (10 * major + minor) {
    case 70:
      return fp32 ? 64 : 32;
    case 75:
      return fp32 ? 64 : 2;
    case 80:
      return fp32 ? 64 : 32;
    case 86:
    case 87:
    case 89:
      return fp32 ? 128 : 2;
    case 90:
      return fp32 ? 128 : 64;
    case 100:
      return fp32 ? 128 : 64;
    case 120:
      return fp32 ? 128 : 2;
    default:
      return 0;
  }
}

int tensor_flops_per_clock(int major, int minor) {
  if (major == 8 && minor == 0) return 2048;
  if (major == 9 && minor == 0) return 4096;
  return 0;
}

}  // namespace gpubench::probes
