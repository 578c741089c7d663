// SPDX-License-Identifier: Apache-2.0
// Operations that came after all rules of the classifier. Each says what should limit it, by its code alone.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "common.h"

namespace libraries {
namespace {

__device__ std::int64_t spot() { return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }

/// Scan in one pass: each block waits for the sum of the one before it. DRAM where there are many, else latency.
__global__ void chained_scan_kernel(const std::uint32_t* x, std::uint32_t* y, unsigned long long* carry) {
  constexpr unsigned items = 8;
  constexpr unsigned long long ready = 1ULL << 63U;
  __shared__ std::uint32_t of_warp[8];
  __shared__ std::uint32_t before;
  const std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * items;
  std::uint32_t mine[items];
#pragma unroll
  for (unsigned i = 0; i < items; i += 4)
    *reinterpret_cast<uint4*>(mine + i) = *reinterpret_cast<const uint4*>(x + first + i);
#pragma unroll
  for (unsigned i = 1; i < items; ++i) mine[i] += mine[i - 1];
  std::uint32_t sum = mine[items - 1];
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint32_t other = __shfl_up_sync(0xffffffffU, sum, step);
    if (lane >= step) sum += other;
  }
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    std::uint32_t all = 0;
    for (std::uint32_t& each : of_warp) {
      const std::uint32_t here = each;
      each = all;
      all += here;
    }
    unsigned long long from = ready;
    if (blockIdx.x > 0) do
        from = atomicAdd(carry + blockIdx.x - 1, 0ULL);
      while ((from & ready) == 0);
    before = static_cast<std::uint32_t>(from);
    atomicExch(carry + blockIdx.x, ready | static_cast<std::uint32_t>(before + all));
  }
  __syncthreads();
  const std::uint32_t add = before + of_warp[warp] + sum - mine[items - 1];
#pragma unroll
  for (std::uint32_t& each : mine) each += add;
#pragma unroll
  for (unsigned i = 0; i < items; i += 4)
    *reinterpret_cast<uint4*>(y + first + i) = *reinterpret_cast<uint4*>(mine + i);
}
void chained_scan(State& state) {
  const auto n = state.range("n");
  auto [x, y] = in_and_out<std::uint32_t>(state, n);
  const unsigned blocks = blocks_for(n, 2048);
  auto carry = state.device_vector<unsigned long long>(blocks, gpubench::zeros);
  state.measure([&](cudaStream_t stream) {
    LIBRARIES_CHECK(cudaMemsetAsync(carry.data(), 0, static_cast<std::size_t>(carry.bytes()), stream));
    chained_scan_kernel<<<blocks, threads, 0, stream>>>(x.data(), y.data(), carry.data());
  });
}
GPU_BENCHMARK(chained_scan)->ArgName("n")->Arg(256 * kibi)->Arg(64 * mebi);

/// Nine points in double precision, a thread each. DRAM.
__global__ void stencil_fp64_kernel(const double* x, double* y, std::int64_t edge) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t j = blockIdx.y;
  if (i < 1 || j < 1 || i >= edge - 1 || j >= edge - 1) return;
  double sum = 0.0;
  for (int dj = -1; dj <= 1; ++dj)
    for (int di = -1; di <= 1; ++di) sum += 0.11 * x[(j + dj) * edge + i + di];
  y[j * edge + i] = sum;
}
void stencil_fp64(State& state) {
  const auto edge = state.range("edge");
  auto [x, y] = in_and_out<double>(state, edge * edge);
  measure_kernel(state, dim3(blocks_for(edge), static_cast<unsigned>(edge)), threads, stencil_fp64_kernel, x, y, edge);
}
GPU_BENCHMARK(stencil_fp64)->ArgName("edge")->Arg(256)->Arg(8192);

/// Product of bytes by dot products of four, tiles of 64 x 64 x 64 in shared memory. Instructions or shared memory.
__global__ void dp4a_product_kernel(const int* a, const int* b, int* c, int n) {
  __shared__ int of_a[64][17];
  __shared__ int of_b[64][17];
  const int words = n / 4;
  const int x = static_cast<int>(threadIdx.x) % 16;
  const int y = static_cast<int>(threadIdx.x) / 16;
  int sums[4][4] = {};
  for (int k = 0; k < words; k += 16) {
    for (int i = y; i < 64; i += 16) {
      of_a[i][x] = a[(static_cast<int>(blockIdx.y) * 64 + i) * words + k + x];
      of_b[i][x] = b[(static_cast<int>(blockIdx.x) * 64 + i) * words + k + x];
    }
    __syncthreads();
#pragma unroll 4
    for (int step = 0; step < 16; ++step)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] = __dp4a(of_a[y * 4 + i][step], of_b[x * 4 + j][step], sums[i][j]);
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      c[(static_cast<int>(blockIdx.y) * 64 + y * 4 + i) * n + static_cast<int>(blockIdx.x) * 64 + x * 4 + j] =
          sums[i][j];
}
void dp4a_product(State& state) {
  const auto n = state.range("n");
  auto a = state.device_vector<int>(n * n / 4);
  auto b = state.device_vector<int>(n * n / 4);
  auto c = state.device_vector<int>(n * n);
  state.reads(a.bytes() + b.bytes());
  state.writes(c.bytes());
  const auto tiles = static_cast<unsigned>(n / 64);
  measure_kernel(state, dim3(tiles, tiles), 256, dp4a_product_kernel, a, b, c, static_cast<int>(n));
}
GPU_BENCHMARK(dp4a_product)->ArgName("n")->Arg(128)->Arg(4096);

/// Keeps every fourth number at the next free place: one addition a warp, all at one address. Atomics of L2.
__global__ void filter_kernel(const std::uint32_t* x, std::uint32_t* y, std::uint32_t* count, std::uint32_t mask) {
  const std::uint32_t value = x[spot()];
  if ((hash(value + static_cast<std::uint32_t>(spot())) & 3U) != 0) return;
  const auto kept = cooperative_groups::coalesced_threads();
  std::uint32_t first = 0;
  if (kept.thread_rank() == 0) first = atomicAdd(count, kept.size());
  y[(kept.shfl(first, 0) + kept.thread_rank()) & mask] = value;
}
void filter_by_warps(State& state) {
  const auto n = state.range("n");
  auto x = state.device_vector<std::uint32_t>(n);
  auto y = state.device_vector<std::uint32_t>(n);
  state.reads(n * 4);
  state.writes(n);  // a quarter of the numbers
  auto count = state.device_vector<std::uint32_t>(1, gpubench::zeros);
  measure_kernel(state, blocks_for(n), threads, filter_kernel, x, y, count, static_cast<std::uint32_t>(n - 1));
}
GPU_BENCHMARK(filter_by_warps)->ArgName("n")->Arg(256 * kibi)->Arg(64 * mebi);

/// Turns a picture round by reads and writes of surfaces. DRAM.
__global__ void surface_kernel(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int edge) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  float value = 0.0F;
  surf2Dread(&value, from, x * 4, y);
  surf2Dwrite(1.0F - value, to, (edge - 1 - x) * 4, y);
}
struct Surface {
  cudaArray_t pixels = nullptr;
  cudaSurfaceObject_t object = 0;
  explicit Surface(std::size_t edge) {
    const cudaChannelFormatDesc of = cudaCreateChannelDesc<float>();
    LIBRARIES_CHECK(cudaMallocArray(&pixels, &of, edge, edge, cudaArraySurfaceLoadStore));
    cudaResourceDesc from = {};
    from.resType = cudaResourceTypeArray;
    from.res.array.array = pixels;
    LIBRARIES_CHECK(cudaCreateSurfaceObject(&object, &from));
  }
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;
  ~Surface() {
    (void)cudaDestroySurfaceObject(object);
    (void)cudaFreeArray(pixels);
  }
};
void surface_turn(State& state) {
  const auto edge = state.range("edge");
  const Surface from(static_cast<std::size_t>(edge));
  const Surface to(static_cast<std::size_t>(edge));
  state.reads(edge * edge * 4);
  state.writes(edge * edge * 4);
  const dim3 grid(blocks_for(edge, 32), blocks_for(edge, 8));
  state.measure([&](cudaStream_t stream) {
    surface_kernel<<<grid, dim3(32, 8), 0, stream>>>(from.object, to.object, static_cast<int>(edge));
  });
}
GPU_BENCHMARK(surface_turn)->ArgName("edge")->Arg(256)->Arg(8192);

/// A copy by the engine for bulk copies (from sm_90 on), 8 KiB at a time through shared memory, one thread a block.
/// DRAM.
__global__ void bulk_copy_kernel(const char* from, char* to, std::int64_t chunks) {
#if __CUDA_ARCH__ >= 900
  constexpr unsigned bytes = 8192;
  __shared__ alignas(128) char chunk[bytes];
  __shared__ alignas(8) std::uint64_t arrived;
  const auto barrier = static_cast<unsigned>(__cvta_generic_to_shared(&arrived));
  const auto shared = static_cast<unsigned>(__cvta_generic_to_shared(chunk));
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier));
  asm volatile("fence.proxy.async.shared::cta;");
  unsigned phase = 0;
  for (std::int64_t i = blockIdx.x; i < chunks; i += gridDim.x, phase ^= 1U) {
    asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(shared),
        "l"(from + i * bytes), "r"(bytes), "r"(barrier)
        : "memory");
    unsigned done = 0;
    while (done == 0)
      asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(done)
                   : "r"(barrier), "r"(phase)
                   : "memory");
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to + i * bytes), "r"(shared),
                 "r"(bytes)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory");
  }
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#else
  (void)from;
  (void)to;
  (void)chunks;
#endif
}
void bulk_copy(State& state) {
  const auto bytes = state.range("bytes");
  auto [from, to] = in_and_out<char>(state, bytes);
  const std::int64_t chunks = bytes / 8192;
  measure_kernel(state, static_cast<unsigned>(std::min<std::int64_t>(chunks, 132 * 16)), 1, bulk_copy_kernel, from, to,
                 chunks);
}
GPU_BENCHMARK(bulk_copy)->ArgName("bytes")->Arg(mebi)->Arg(gibi);

/// A sum by cooperative groups, with a barrier over the grid between its halves. Latency, then DRAM.
__global__ void grid_sum_kernel(const float4* x, float* sums, float* all, std::int64_t n) {
  namespace cg = cooperative_groups;
  const auto grid = cg::this_grid();
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  float sum = 0.0F;
  for (std::int64_t i = spot(); i < n; i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const float4 four = x[i];
    sum += four.x + four.y + four.z + four.w;
  }
  sum = cg::reduce(warp, sum, cg::plus<float>());
  if (warp.thread_rank() == 0) sums[spot() / 32] = sum;
  grid.sync();
  if (blockIdx.x != 0) return;
  sum = 0.0F;
  for (unsigned i = threadIdx.x; i < gridDim.x * blockDim.x / 32; i += blockDim.x) sum += sums[i];
  sum = cg::reduce(warp, sum, cg::plus<float>());
  if (warp.thread_rank() == 0) atomicAdd(all, sum);
}
void grid_sum(State& state) {
  const auto n = state.range("n");
  auto x = state.device_vector<float>(n);
  const unsigned blocks = 132 * 4;
  auto sums = state.device_vector<float>(blocks * threads / 32);
  auto all = state.device_vector<float>(1, gpubench::zeros);
  state.reads(x.bytes());
  state.measure([&](cudaStream_t stream) {
    const auto* from = reinterpret_cast<const float4*>(x.data());
    float* to = sums.data();
    float* sum = all.data();
    std::int64_t fours = n / 4;
    void* arguments[] = {&from, &to, &sum, &fours};
    LIBRARIES_CHECK(cudaLaunchCooperativeKernel(grid_sum_kernel, blocks, threads, arguments, 0, stream));
  });
}
GPU_BENCHMARK(grid_sum)->ArgName("n")->Arg(256 * kibi)->Arg(512 * mebi);

/// Philox, ten rounds for four numbers: wide integer products. Instructions.
__global__ void philox_kernel(uint4* out, int rounds) {
  uint4 all = {};
  for (int round = 0; round < rounds; ++round) {
    uint4 x = {static_cast<unsigned>(spot()), static_cast<unsigned>(round), 0, 0};
    uint2 key = {17, 42};
#pragma unroll
    for (int i = 0; i < 10; ++i) {
      const std::uint64_t a = std::uint64_t{0xD2511F53U} * x.x;
      const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * x.z;
      x = {static_cast<unsigned>(b >> 32U) ^ x.y ^ key.x, static_cast<unsigned>(b),
           static_cast<unsigned>(a >> 32U) ^ x.w ^ key.y, static_cast<unsigned>(a)};
      key.x += 0x9E3779B9U;
      key.y += 0xBB67AE85U;
    }
    all = {all.x ^ x.x, all.y ^ x.y, all.z ^ x.z, all.w ^ x.w};
  }
  out[spot()] = all;
}
void philox(State& state) {
  const auto n = state.range("n");
  auto out = state.device_vector<std::uint32_t>(4 * n);
  state.writes(out.bytes());
  const auto rounds = static_cast<int>(state.range("rounds"));
  state.measure([&](cudaStream_t stream) {
    philox_kernel<<<blocks_for(n), threads, 0, stream>>>(reinterpret_cast<uint4*>(out.data()), rounds);
  });
}
GPU_BENCHMARK(philox)->ArgNames({"n", "rounds"})->Args({16 * kibi, 1})->Args({4 * mebi, 64});

/// For each wanted place of a matrix the product of two rows of 64 numbers, a warp each. Sectors of L2, or DRAM.
__global__ void sddmm_kernel(const float2* a, const float2* b, const std::uint32_t* rows, const std::uint32_t* columns,
                             float* out) {
  const std::int64_t which = spot() / 32;
  const unsigned lane = threadIdx.x % 32;
  const float2 x = a[rows[which] * 32 + lane];
  const float2 y = b[columns[which] * 32 + lane];
  float sum = x.x * y.x + x.y * y.y;
  for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, other);
  if (lane == 0) out[which] = sum;
}
void sddmm(State& state) {
  const auto rows = state.range("rows");
  const auto wanted = state.range("wanted");
  auto a = state.device_vector<float>(rows * 64);
  auto b = state.device_vector<float>(rows * 64);
  auto row_of = indices<std::uint32_t>(state, wanted, rows);
  auto column_of = indices<std::uint32_t>(state, wanted, rows / 2);
  auto out = state.device_vector<float>(wanted);
  state.items(wanted);
  state.measure([&](cudaStream_t stream) {
    sddmm_kernel<<<blocks_for(wanted * 32), threads, 0, stream>>>(reinterpret_cast<const float2*>(a.data()),
                                                                  reinterpret_cast<const float2*>(b.data()),
                                                                  row_of.data(), column_of.data(), out.data());
  });
}
GPU_BENCHMARK(sddmm)
    ->ArgNames({"rows", "wanted"})
    ->Args({4 * kibi, kibi})
    ->Args({4 * kibi, 4 * mebi})
    ->Args({4 * mebi, 4 * mebi});

/// Counts of 256 digits, each warp with its own counters in shared memory. Shared memory's atomics, or DRAM.
__global__ void digit_counts_kernel(const std::uint32_t* x, std::uint32_t* counts, std::int64_t n, int shift) {
  __shared__ std::uint32_t mine[8][256];
  for (unsigned i = threadIdx.x; i < 8 * 256; i += blockDim.x) (&mine[0][0])[i] = 0;
  __syncthreads();
  for (std::int64_t i = spot(); i < n; i += static_cast<std::int64_t>(gridDim.x) * blockDim.x)
    atomicAdd(&mine[threadIdx.x / 32][(x[i] >> shift) & 255U], 1U);
  __syncthreads();
  std::uint32_t sum = 0;
  for (const auto& of_warp : mine) sum += of_warp[threadIdx.x];
  atomicAdd(counts + threadIdx.x, sum);
}
void digit_counts(State& state) {
  const auto n = state.range("n");
  auto x = indices<std::uint32_t>(state, n, std::int64_t{1} << 32);
  auto counts = state.device_vector<std::uint32_t>(256, gpubench::zeros);
  state.reads(x.bytes());
  measure_kernel(state, std::min(blocks_for(n), 132U * 8U), threads, digit_counts_kernel, x, counts, n, 8);
}
GPU_BENCHMARK(digit_counts)->ArgName("n")->Arg(64 * kibi)->Arg(256 * mebi);

/// Each thread shuffles its own 256 bytes, which are in local memory. L1 or L2.
__global__ void local_bytes_kernel(std::uint32_t* out, int rounds) {
  std::uint8_t own[256];
  for (int i = 0; i < 256; ++i) own[i] = static_cast<std::uint8_t>(i);
  std::uint32_t j = static_cast<std::uint32_t>(spot());
  for (int i = 0; i < rounds; ++i) {
    const std::uint8_t value = own[i & 255];
    j = (j + value) & 255U;
    own[i & 255] = own[j];
    own[j] = value;
  }
  out[spot()] = own[j] + j;
}
void local_bytes(State& state) {
  const auto n = state.range("n");
  auto out = state.device_vector<std::uint32_t>(n);
  state.writes(out.bytes());
  measure_kernel(state, blocks_for(n), threads, local_bytes_kernel, out, static_cast<int>(state.range("rounds")));
}
GPU_BENCHMARK(local_bytes)->ArgNames({"n", "rounds"})->Args({4 * kibi, 256})->Args({mebi, 1024});

/// A copy by eight blocks. Latency: the grid is too small.
__global__ void few_blocks_kernel(const float4* x, float4* y, std::int64_t n) {
  for (std::int64_t i = spot(); i < n; i += static_cast<std::int64_t>(gridDim.x) * blockDim.x) y[i] = x[i];
}
void eight_blocks(State& state) {
  const auto n = state.range("n");
  auto [x, y] = in_and_out<float>(state, n);
  state.measure([&](cudaStream_t stream) {
    few_blocks_kernel<<<8, 1024, 0, stream>>>(reinterpret_cast<const float4*>(x.data()),
                                              reinterpret_cast<float4*>(y.data()), n / 4);
  });
}
GPU_BENCHMARK(eight_blocks)->ArgName("n")->Arg(mebi)->Arg(128 * mebi);

/// A table in constant memory, another place for each lane: 32 turns a load. A unit of its own, or latency.
__constant__ float lookup_table[4096];
__global__ void lookups_kernel(float* y, int rounds) {
  float sum = 0.0F;
  std::uint32_t at = static_cast<std::uint32_t>(spot());
  for (int i = 0; i < rounds; ++i) {
    sum += lookup_table[at & 4095U];
    at = at * 1664525U + 1013904223U;
  }
  y[spot()] = sum;
}
void constant_lookups(State& state) {
  const auto n = state.range("n");
  auto y = state.device_vector<float>(n);
  state.writes(y.bytes());
  measure_kernel(state, blocks_for(n), threads, lookups_kernel, y, static_cast<int>(state.range("rounds")));
}
GPU_BENCHMARK(constant_lookups)->ArgNames({"n", "rounds"})->Args({4 * kibi, 4})->Args({mebi, 64});

/// Distances by bits: counts of ones, which are counted at 16 a clock and multiprocessor. Compute.
__global__ void bit_distances_kernel(const std::uint64_t* x, std::uint32_t* y, int rounds) {
  std::uint64_t word = x[spot()];
  std::uint32_t sum = 0;
  for (int i = 0; i < rounds; ++i) {
    sum += static_cast<std::uint32_t>(__popcll(word));
    word = word * 5U + static_cast<std::uint64_t>(sum);
  }
  y[spot()] = sum;
}
void bit_distances(State& state) {
  const auto n = state.range("n");
  auto x = state.device_vector<std::uint64_t>(n);
  auto y = state.device_vector<std::uint32_t>(n);
  state.reads(x.bytes());
  state.writes(y.bytes());
  measure_kernel(state, blocks_for(n), threads, bit_distances_kernel, x, y, static_cast<int>(state.range("rounds")));
}
GPU_BENCHMARK(bit_distances)->ArgNames({"n", "rounds"})->Args({32 * mebi, 1})->Args({4 * mebi, 128});

/// Lanes that go separate ways: one instruction does the work of one lane. Issue.
__global__ void separate_ways_kernel(float* y, int rounds) {
  float value = static_cast<float>(threadIdx.x);
  for (int i = 0; i < rounds; ++i) switch ((static_cast<int>(threadIdx.x) + i) % 8) {
      case 0: value = fmaf(value, 1.5F, 1.0F); break;
      case 1: value = value * 0.25F - 3.0F; break;
      case 2: value = fabsf(value) + 2.0F; break;
      case 3: value = fminf(value, 7.0F) * 2.0F; break;
      case 4: value = __int_as_float(__float_as_int(value) ^ 5); break;
      case 5: value = value * value - 1.0F; break;
      case 6: value = fmaxf(value, -9.0F) + 0.5F; break;
      default: value = -value; break;
    }
  y[spot()] = value;
}
void separate_ways(State& state) {
  const auto n = state.range("n");
  auto y = state.device_vector<float>(n);
  state.writes(y.bytes());
  measure_kernel(state, blocks_for(n), threads, separate_ways_kernel, y, static_cast<int>(state.range("rounds")));
}
GPU_BENCHMARK(separate_ways)->ArgNames({"n", "rounds"})->Args({4 * kibi, 16})->Args({4 * mebi, 256});

/// One thread a block takes a lock, adds, and gives it back. Latency: blocks wait for each other.
__global__ void lock_kernel(unsigned* lock, volatile float* sum) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0U, 1U) != 0U) __nanosleep(64);
  __threadfence();
  *sum = *sum + 1.0F;
  __threadfence();
  atomicExch(lock, 0U);
}
void spin_lock(State& state) {
  auto lock = state.device_vector<unsigned>(1, gpubench::zeros);
  auto sum = state.device_vector<float>(1, gpubench::zeros);
  state.items(state.range("blocks"));
  measure_kernel(state, static_cast<unsigned>(state.range("blocks")), 32, lock_kernel, lock, sum);
}
GPU_BENCHMARK(spin_lock)->ArgName("blocks")->Arg(16)->Arg(1024);

/// Remainders of 64 bits by a divisor that only the run knows: dozens of instructions each. Issue.
__global__ void remainders_kernel(std::uint64_t* y, std::uint64_t divisor, int rounds) {
  std::uint64_t value = static_cast<std::uint64_t>(spot()) * 0x9E3779B97F4A7C15ULL + 1;
  for (int i = 0; i < rounds; ++i) value = value % divisor * 0xD1342543DE82EF95ULL + value;
  y[spot()] = value;
}
void remainders(State& state) {
  const auto n = state.range("n");
  auto y = state.device_vector<std::uint64_t>(n);
  state.writes(y.bytes());
  measure_kernel(state, blocks_for(n), threads, remainders_kernel, y, std::uint64_t{1000003},
                 static_cast<int>(state.range("rounds")));
}
GPU_BENCHMARK(remainders)->ArgNames({"n", "rounds"})->Args({4 * kibi, 1})->Args({4 * mebi, 32});

}  // namespace
}  // namespace libraries
