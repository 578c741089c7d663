// SPDX-License-Identifier: Apache-2.0
// A persistent kernel that sums rows of unequal length. Each block takes as many rows as any other, so that some have
// far more to do: the trace shows which. With an argument, blocks take the next row that is left instead. Writes
// reduction.perfetto-trace and reduction.json.
#include <cstdio>
#include <exception>
#include <gpubench/kernel_trace.cuh>
#include <stdexcept>
#include <vector>

namespace kt = gpubench::kernel_trace;

namespace {

enum Event : std::uint32_t { row_sum, barrier, combine, length };
constexpr int threads = 256;

__global__ void sum_rows(const float* values, const int* starts, int rows, float* sums, int* next, kt::View view) {
  __shared__ float parts[threads / 32];
  __shared__ int taken;
  kt::Warp trace(view);
  const int rows_of_block = (rows + static_cast<int>(gridDim.x) - 1) / static_cast<int>(gridDim.x);
  for (int i = 0;; ++i) {
    int row = static_cast<int>(blockIdx.x) * rows_of_block + i;
    if (next != nullptr) {
      if (threadIdx.x == 0) taken = atomicAdd(next, 1);
      __syncthreads();
      row = taken;
    } else if (i == rows_of_block) {
      break;
    }
    if (row >= rows) break;
    trace.begin(row_sum, static_cast<std::uint32_t>(row));
    if (threadIdx.x == 0) trace.value(length, starts[row + 1] - starts[row]);
    float sum = 0.0F;
    for (int k = starts[row] + static_cast<int>(threadIdx.x); k < starts[row + 1]; k += threads) sum += values[k];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xFFFFFFFF, sum, offset);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    trace.end(row_sum);
    trace.sync_block(barrier);  // __syncthreads(), as a range
    if (threadIdx.x < 32) {
      const auto scope = trace.scope(combine);
      sum = threadIdx.x < threads / 32 ? parts[threadIdx.x] : 0.0F;
      for (int offset = 4; offset > 0; offset /= 2) sum += __shfl_down_sync(0xFFFFFFFF, sum, offset);
      if (threadIdx.x == 0) sums[row] = sum;
    }
    __syncthreads();
  }
}

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

template <class T>
T* on_gpu(const std::vector<T>& values) {
  T* memory = nullptr;
  check(cudaMalloc(&memory, values.size() * sizeof(T)));
  check(cudaMemcpy(memory, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return memory;
}

}  // namespace

int main(int argc, char**) {
  try {
    int sms = 0;
    check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    const int rows = sms * 8;
    // The lengths of rows grow: those of the last blocks are the longest.
    std::vector<int> starts{0};
    for (int i = 0; i < rows; ++i) starts.push_back(starts.back() + 2000 + i * 60);
    const std::vector<float> ones(static_cast<std::size_t>(starts.back()), 1.0F);
    const std::vector<int> zero(1, 0);
    float* const values = on_gpu(ones);
    int* const places = on_gpu(starts);
    int* const next = on_gpu(zero);
    float* const sums = on_gpu(std::vector<float>(static_cast<std::size_t>(rows)));

    kt::Buffer buffer({.blocks = static_cast<std::uint32_t>(sms), .warps = threads / 32, .events = 512});
    buffer.name(row_sum, "sum of a row").name(barrier, "barrier").name(combine, "combine").name(length, "row length");
    const auto launch = [&](const kt::View& view) {
      check(cudaMemsetAsync(next, 0, sizeof(int)));
      sum_rows<<<static_cast<unsigned>(sms), threads>>>(values, places, rows, sums, argc > 1 ? next : nullptr, view);
      check(cudaGetLastError());
    };
    const kt::AddedTime added = kt::measure_added_time(buffer, launch);
    buffer.reset();
    launch(buffer.view("sum_rows"));
    const kt::Trace trace = buffer.read();
    std::printf("%s\nTracing adds %.1f %% to %.1f us.\n", trace.table().c_str(), 100.0 * added.share(),
                added.without_us);
    trace.write("reduction.perfetto-trace");
    trace.write("reduction.json");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
