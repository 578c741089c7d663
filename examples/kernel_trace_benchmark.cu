// SPDX-License-Identifier: Apache-2.0
// A benchmark that shows inside its report where its kernel's time goes: a sum over neighbours, by tiles in shared
// memory. `--out=report.html` has a table of the phases beside the verdict.
#include <gpubench/gpubench.h>

#include <gpubench/kernel_trace.cuh>

namespace kt = gpubench::kernel_trace;

namespace {

enum Event : std::uint32_t { load, wait, compute, store };
constexpr int threads = 256, reach = 16;

template <class Warp>
__global__ void sum_of_neighbours(const float* in, float* out, int n, kt::View view) {
  __shared__ float tile[threads + 2 * reach];
  Warp trace(view);
  trace.begin(load);
  const int first = static_cast<int>(blockIdx.x) * threads - reach;
  for (int i = static_cast<int>(threadIdx.x); i < threads + 2 * reach; i += threads)
    tile[i] = first + i >= 0 && first + i < n ? in[first + i] : 0.0F;
  trace.end(load);
  trace.sync_block(wait);
  trace.begin(compute);
  float sum = 0.0F;
  for (int k = -reach; k <= reach; ++k) sum += tile[static_cast<int>(threadIdx.x) + reach + k];
  trace.swap(compute, store);
  out[blockIdx.x * threads + threadIdx.x] = sum;
  trace.end(store);
}

void neighbours(gpubench::State& state) {
  const auto n = state.range(0);
  auto in = state.device_vector<float>(n);
  auto out = state.device_vector<float>(n);
  state.reads(in.bytes());
  state.writes(out.bytes());
  state.flops(gpubench::fp32, n * (2 * reach + 1));
  const auto blocks = static_cast<unsigned>(n / threads);
  // What is timed has no tracing in it.
  state.measure([&](cudaStream_t s) {
    sum_of_neighbours<kt::NoWarp><<<blocks, threads, 0, s>>>(in.data(), out.data(), static_cast<int>(n), {});
  });
  kt::Buffer buffer({.blocks = blocks, .warps = threads / 32, .events = 8});
  buffer.name(load, "load").name(wait, "wait").name(compute, "compute").name(store, "store");
  sum_of_neighbours<kt::Warp>
      <<<blocks, threads>>>(in.data(), out.data(), static_cast<int>(n), buffer.view("sum_of_neighbours"));
  kt::show_phases(state, buffer.read().statistics());
}
GPU_BENCHMARK(neighbours)->Arg(1 << 20)->Arg(1 << 22);

}  // namespace
