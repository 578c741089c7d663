// SPDX-License-Identifier: Apache-2.0
// Device memory behind DeviceVector, and its copies.
#include "bench/memory/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/cuda/handles.h"
#include "gpu/cuda/harness_kernels.h"
#include "core/base/time.h"
#include "core/base/units.h"

namespace gpubench::detail {

namespace {
void synchronize() {
  bench::select_working_device();
  GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
}
}  // namespace

void* allocate_device(std::size_t bytes) {
  bench::select_working_device();
  auto* const kept = bench::KeptMemory::current();
  void* pointer = kept != nullptr ? kept->take(bytes) : nullptr;
  if (pointer != nullptr) return pointer;
  const auto allocate = [&] { return cudaMalloc(&pointer, std::max<std::size_t>(bytes, 1)); };
  cudaError_t error = allocate();
  if (error == cudaErrorMemoryAllocation && kept != nullptr && kept->clear()) {
    (void)cudaGetLastError();
    error = allocate();
  }
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();  // this one is not sticky; leaving it would fail the next launch check
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    if (cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess)
      throw OutOfMemory(
          fmt::format("the GPU has {} of {} free, and {} are needed", format_bytes(static_cast<double>(free_bytes)),
                      format_bytes(static_cast<double>(total_bytes)), format_bytes(static_cast<double>(bytes))));
    throw OutOfMemory(fmt::format("the GPU does not have {} free", format_bytes(static_cast<double>(bytes))));
  }
  check_cuda(error, "cudaMalloc");
  bench::scrubbing().allocated(static_cast<double>(bytes));
  return pointer;
}

void free_device(void* pointer, std::size_t bytes) noexcept {
  if (auto* const kept = bench::KeptMemory::current(); kept != nullptr) {
    (void)cudaDeviceSynchronize();  // as cudaFree would
    if (kept->keep(pointer, bytes)) return;
  }
  (void)cudaFree(pointer);
  bench::scrubbing().freed(static_cast<double>(bytes), steady_seconds());
}

void copy_from_device(void* host, const void* device, std::size_t bytes) {
  // The harness works on a stream that the default stream does not wait for.
  synchronize();
  GPUBENCH_CUDA_CHECK(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost));
}

void copy_to_device(void* device, const void* host, std::size_t bytes) {
  synchronize();
  GPUBENCH_CUDA_CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  // From pageable memory the call may return before the bytes have arrived, and the harness's stream would not wait.
  synchronize();
}

void draw_device(void* pointer, ElementKind kind, Filling filling, std::size_t bytes, std::size_t count,
                 std::uint64_t seed) {
  if (filling == Filling::zeros) return fill_bytes_device(pointer, 0, bytes * count);
  bench::select_working_device();
  GPUBENCH_CUDA_CHECK(bench::draw(pointer, kind, filling, bytes, count, seed, bench::working_stream()));
  synchronize();
}

void draw_normal_device(void* pointer, NumberFormat format, std::size_t count, std::uint64_t seed) {
  using enum ElementKind;
  constexpr std::array kinds = {float64, float32, float32, float16, bfloat16, fp8_e4m3, integer, integer};
  draw_device(pointer, kinds[static_cast<std::size_t>(format)], Filling::normal, bytes_of(format), count, seed);
}

void fill_bytes_device(void* pointer, int value, std::size_t bytes) {
  bench::select_working_device();
  GPUBENCH_CUDA_CHECK(cudaMemsetAsync(pointer, value, bytes, bench::working_stream()));
  synchronize();
}

void repeat_on_device(void* target, const void* source, std::size_t bytes, std::size_t stride, std::int64_t count) {
  if (count < 1) return;
  synchronize();
  auto* const stream = bench::working_stream();
  GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream));
  // Thousands of small copies take as many calls as their number has binary digits.
  for (std::int64_t done = 1; done < count; done *= 2) {
    const auto more = static_cast<std::size_t>(std::min(done, count - done));
    GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(static_cast<std::byte*>(target) + static_cast<std::size_t>(done) * stride,
                                        target, more * stride, cudaMemcpyDeviceToDevice, stream));
  }
  synchronize();
}

std::size_t free_device_bytes() {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  bench::select_working_device();
  GPUBENCH_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  return free_bytes;
}

}  // namespace gpubench::detail
