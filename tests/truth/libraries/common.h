// SPDX-License-Identifier: Apache-2.0
// What the operations of the library suite share. Work is declared as a user of the library would: what the call reads
// and writes at least, items alone, or nothing.
#pragma once

#include <cuda_runtime.h>
#include <gpubench/gpubench.h>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace libraries {

using gpubench::State;

constexpr std::int64_t kibi = std::int64_t{1} << 10;
constexpr std::int64_t mebi = std::int64_t{1} << 20;
constexpr std::int64_t gibi = std::int64_t{1} << 30;
constexpr unsigned threads = 256;

inline unsigned blocks_for(std::int64_t n, std::int64_t per_block = threads) {
  return static_cast<unsigned>((n + per_block - 1) / per_block);
}

inline void check(cudaError_t error, const char* call) {
  if (error != cudaSuccess) throw gpubench::CudaError(std::string(call) + " failed: " + cudaGetErrorString(error));
}
/// For the libraries' own codes, of which 0 is success in all.
template <class Status>
requires(!std::is_same_v<Status, cudaError_t>) void check(Status status, const char* call) {
  if (static_cast<int>(status) != 0)
    throw gpubench::CudaError(std::string(call) + " failed with status " + std::to_string(static_cast<int>(status)));
}
#define LIBRARIES_CHECK(call) ::libraries::check(call, #call)

/// After a kernel that makes the inputs.
inline void wait_for_setup() {
  LIBRARIES_CHECK(cudaGetLastError());
  LIBRARIES_CHECK(cudaDeviceSynchronize());
}

/// Two vectors: one is read once, the other written once.
template <class T>
std::pair<gpubench::DeviceVector<T>, gpubench::DeviceVector<T>> in_and_out(State& state, std::int64_t count) {
  state.reads(count * static_cast<std::int64_t>(sizeof(T)));
  state.writes(count * static_cast<std::int64_t>(sizeof(T)));
  return {state.device_vector<T>(count), state.device_vector<T>(count)};
}

/// What a kernel gets of an argument: of a vector its place, which changes from execution to execution where caches are
/// cold.
template <class T>
T* argument(gpubench::DeviceVector<T>& vector) {
  return vector.data();
}
template <class T>
requires std::is_arithmetic_v<T> T argument(T value) { return value; }

/// Random places of a table that L1 holds cost what others do.
constexpr std::int64_t l1_bytes = 128 * kibi;
void random_reads(State& state, std::integral auto count, std::integral auto table_bytes) {
  if (static_cast<std::int64_t>(table_bytes) > l1_bytes) state.random_reads(count, table_bytes);
}
void random_updates(State& state, std::integral auto count, std::integral auto table_bytes) {
  if (static_cast<std::int64_t>(table_bytes) > l1_bytes) state.random_updates(count, table_bytes);
}

template <class Kernel, class... Arguments>
void measure_kernel(State& state, dim3 grid, dim3 block, Kernel kernel, Arguments&&... arguments) {
  state.measure([&](cudaStream_t stream) { kernel<<<grid, block, 0, stream>>>(argument(arguments)...); });
}

/// A library's handle, destroyed with the point; remembers the stream that it was last told of.
template <class Handle, auto destroy>
struct Owned {
  Handle handle{};
  cudaStream_t stream = nullptr;
  bool told = false;
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { (void)destroy(handle); }
  /// Calls `set` when the stream is another than before.
  template <class Set>
  void on(cudaStream_t now, Set set) {
    if (told && stream == now) return;
    set();
    stream = now;
    told = true;
  }
};

inline __device__ std::uint32_t hash(
    std::uint32_t x) {  // "lowbias32", C. Wellons, Prospecting for Hash Functions, 2018
  x ^= x >> 16U;
  x *= 0x7feb352dU;
  x ^= x >> 15U;
  x *= 0x846ca68bU;
  return x ^ (x >> 16U);
}

template <class T>
__global__ void random_indices(T* out, std::int64_t n, std::int64_t below) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) out[i] = static_cast<T>(hash(static_cast<std::uint32_t>(i)) % static_cast<std::uint64_t>(below));
}

/// n random integers from 0 to less than `below`.
template <class T>
gpubench::DeviceVector<T> indices(State& state, std::int64_t n, std::int64_t below) {
  auto result = state.device_vector<T>(n, gpubench::none);
  random_indices<T><<<blocks_for(n), threads>>>(result.data(), n, below);
  wait_for_setup();
  return result;
}

/// Measures a call of CUB's two-step form: call(workspace, bytes, stream).
template <class Call>
void measure_with_workspace(State& state, Call call) {
  std::size_t bytes = 0;
  check(call(nullptr, bytes, nullptr), "a query of the workspace");
  auto workspace =
      state.device_vector<std::byte>(static_cast<std::int64_t>(std::max<std::size_t>(bytes, 1)), gpubench::none);
  state.measure([&](cudaStream_t stream) { check(call(workspace.data(), bytes, stream), "a CUB call"); });
}

}  // namespace libraries
