// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "kernels/probes/cuda/memory.h"

namespace gpubench::probes {
namespace {

// A multiprocessor of an H200 needs some 48 KiB in flight; shared memory ends at 227 KiB.
constexpr std::array bulk_read_shapes = {BulkShape{16384, 8, 1}, BulkShape{8192, 8, 2}, BulkShape{32768, 6, 1}};
constexpr std::array bulk_copy_shapes = {BulkShape{16384, 12, 1}, BulkShape{8192, 12, 2}, BulkShape{32768, 6, 1}};
constexpr std::array bulk_write_shapes = {BulkShape{16384, 1, 2}, BulkShape{32768, 1, 1}};
constexpr int bulk_threads = 128;
/// Copies out of a stage that may still be reading it while the next ones come in.
constexpr int stores_behind = 3;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}
__device__ __forceinline__ void expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ void wait(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{\n\t"
      ".reg .pred done;\n\t"
      "again:\n\t"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
      "@!done bra again;\n\t"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
__device__ __forceinline__ void load(std::uint32_t to, const char* from, std::uint32_t bytes, std::uint32_t barrier) {
  expect(barrier, bytes);
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}
__device__ __forceinline__ void store(char* to, std::uint32_t from, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
template <int groups>
__device__ __forceinline__ void wait_until_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(groups) : "memory");
}
__device__ __forceinline__ void wait_until_written() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

#endif

/// Blocks take chunks in turn. Chunk i of a block goes through stage i % stages, whose barrier completes once for each.
template <MemoryPattern pattern>
__global__ void __launch_bounds__(bulk_threads)
    bulk_kernel(char* a, const char* b, std::size_t chunks, std::uint32_t bytes, int stages) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  extern __shared__ __align__(128) char buffer[];
  __shared__ __align__(8) std::uint64_t barriers[16];
  const std::uint32_t stage0 = shared_address(buffer);
  const std::uint32_t barrier0 = shared_address(barriers);
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier0 + 8 * static_cast<std::uint32_t>(i))
                   : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  if constexpr (pattern == MemoryPattern::write) {
    auto* const words = reinterpret_cast<std::uint32_t*>(buffer);
    for (std::uint32_t i = threadIdx.x; i < bytes / 4; i += bulk_threads)
      words[i] = ((i * 2654435761U) >> 9) | 0x3F800000U;          // floats in [1, 2), as launch_memory's
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // bulk copies are to see what threads wrote
  }
  __syncthreads();
  if (threadIdx.x != 0) return;

  const std::size_t mine = blockIdx.x < chunks ? (chunks - blockIdx.x + gridDim.x - 1) / gridDim.x : 0;
  const auto place = [&](std::size_t i) { return (blockIdx.x + i * gridDim.x) * bytes; };
  if constexpr (pattern == MemoryPattern::write) {
    for (std::size_t i = 0; i < mine; ++i) {
      store(a + place(i), stage0, bytes);
      wait_until_read<8>();
    }
    wait_until_written();
    return;
  } else {
    const auto stage_count = static_cast<std::uint32_t>(stages);
    std::uint32_t load_stage = 0;
    std::size_t loaded = 0;
    const auto load_next = [&] {
      load(stage0 + load_stage * bytes, b + place(loaded), bytes, barrier0 + 8 * load_stage);
      load_stage = load_stage + 1 == stage_count ? 0 : load_stage + 1;
      ++loaded;
    };
    constexpr int behind = pattern == MemoryPattern::copy ? stores_behind : 0;
    while (loaded < mine && loaded + behind < stage_count) load_next();
    std::uint32_t stage = 0;
    std::uint32_t parity = 0;
    for (std::size_t i = 0; i < mine; ++i) {
      wait(barrier0 + 8 * stage, parity);
      if constexpr (pattern == MemoryPattern::copy) {
        store(a + place(i), stage0 + stage * bytes, bytes);
        // The stage that comes next was stored from `behind` chunks before this one.
        wait_until_read<stores_behind>();
      }
      if (++stage == stage_count) {
        stage = 0;
        parity ^= 1;
      }
      if (loaded < mine) load_next();
    }
    if constexpr (pattern == MemoryPattern::copy) wait_until_written();
  }
#endif
}

template <MemoryPattern pattern>
cudaError_t launch_as(BulkShape shape, float* a, const float* b, std::size_t count, int multiprocessors,
                      cudaStream_t stream) {
  cudaFuncAttributes attributes{};
  cudaError_t error = cudaFuncGetAttributes(&attributes, bulk_kernel<pattern>);
  if (error != cudaSuccess) return error;
  if (attributes.ptxVersion < 90) return cudaErrorNotSupported;  // compiled for older GPUs, so empty
  int device = 0;
  int room = 0;
  error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error != cudaSuccess) return error;
  const auto bytes = static_cast<std::size_t>(shape.bytes) * static_cast<std::size_t>(shape.stages);
  if (bytes + attributes.sharedSizeBytes > static_cast<std::size_t>(room)) return cudaErrorNotSupported;
  error =
      cudaFuncSetAttribute(bulk_kernel<pattern>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (error != cudaSuccess) return error;
  bulk_kernel<pattern><<<static_cast<unsigned>(multiprocessors * shape.blocks), bulk_threads, bytes, stream>>>(
      reinterpret_cast<char*>(a), reinterpret_cast<const char*>(b), 4 * count / static_cast<std::size_t>(shape.bytes),
      static_cast<std::uint32_t>(shape.bytes), shape.stages);
  return cudaGetLastError();
}

}  // namespace

std::span<const BulkShape> bulk_shapes(MemoryPattern pattern) {
  using enum MemoryPattern;
  if (pattern == read) return bulk_read_shapes;
  if (pattern == write) return bulk_write_shapes;
  if (pattern == copy) return bulk_copy_shapes;
  return {};
}

cudaError_t launch_bulk(MemoryPattern pattern, BulkShape shape, float* a, const float* b, std::size_t count,
                        int multiprocessors, cudaStream_t stream) {
  if (shape.bytes < 16 || shape.bytes % 16 != 0 || shape.stages < 1 || shape.stages > 16 || count == 0 ||
      4 * count % static_cast<std::size_t>(shape.bytes) != 0)
    return cudaErrorInvalidValue;
  using enum MemoryPattern;
  if (pattern == copy && shape.stages <= stores_behind) return cudaErrorInvalidValue;
  if (pattern == read) return launch_as<read>(shape, a, b, count, multiprocessors, stream);
  if (pattern == write) return launch_as<write>(shape, a, b, count, multiprocessors, stream);
  if (pattern == copy) return launch_as<copy>(shape, a, b, count, multiprocessors, stream);
  return cudaErrorInvalidValue;
}

}  // namespace gpubench::probes
