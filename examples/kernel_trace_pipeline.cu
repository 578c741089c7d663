// SPDX-License-Identifier: Apache-2.0
// A pipeline of warps: one copies tiles to shared memory, four compute on them. The trace shows how far copies and
// computation overlap. Writes pipeline.perfetto-trace and pipeline.json.
#include <cstdio>
#include <cuda/barrier>
#include <cuda/std/utility>
#include <exception>
#include <gpubench/kernel_trace.cuh>
#include <new>
#include <stdexcept>

namespace kt = gpubench::kernel_trace;

namespace {

using Barrier = cuda::barrier<cuda::thread_scope_block>;
enum Event : std::uint32_t { wait_for_room, copy, wait_for_tile, compute, hand_over };

constexpr int tile = 4096, stages = 4, consumers = 4, threads = 32 * (1 + consumers);

/// One tile after another, a row of `tiles` for each block: the mean of a series of each element.
__global__ void pipeline(const float* input, float* output, int tiles, int terms, kt::View view) {
  extern __shared__ __align__(128) float memory[];
  __shared__ alignas(Barrier) unsigned char places[2 * stages * sizeof(Barrier)];
  auto* const full = reinterpret_cast<Barrier*>(places);  // a stage holds a tile
  auto* const empty = full + stages;                      // a stage has room
  if (threadIdx.x == 0)
    for (int stage = 0; stage < stages; ++stage) {
      init(full + stage, 32 + 32 * consumers);
      init(empty + stage, 32 + 32 * consumers);
    }
  __syncthreads();

  kt::Warp trace(view);
  const float* const from = input + std::size_t{blockIdx.x} * static_cast<std::size_t>(tiles) * tile;
  const unsigned lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int i = 0; i < tiles; ++i) {
      const int stage = i % stages;
      const auto token = static_cast<std::uint32_t>(i);
      if (i >= stages) {
        const auto scope = trace.scope(wait_for_room, token);
        empty[stage].arrive_and_wait();
      }
      trace.begin_async(copy, token);
      constexpr unsigned part = tile / 32;
      cuda::memcpy_async(memory + stage * tile + lane * part, from + std::size_t(i) * tile + lane * part,
                         cuda::aligned_size_t<16>(part * sizeof(float)), full[stage]);
      (void)full[stage].arrive();
      trace.flow_out(hand_over, token);
    }
  } else {
    float sum = 0.0F;
    for (int i = 0; i < tiles; ++i) {
      const int stage = i % stages;
      const auto token = static_cast<std::uint32_t>(i);
      trace.begin(wait_for_tile, token);
      full[stage].arrive_and_wait();
      if (threadIdx.x / 32 == 1) {
        trace.end_async(copy, token);
        trace.flow_in(hand_over, token);
      }
      trace.swap(wait_for_tile, compute);
      for (int k = static_cast<int>(threadIdx.x) - 32; k < tile; k += 32 * consumers) {
        const float x = memory[stage * tile + k];
        float power = 1.0F;
        for (int term = 0; term < terms; ++term) sum += power *= x;
      }
      trace.end(compute);
      if (i + stages < tiles) (void)empty[stage].arrive();
    }
    output[blockIdx.x * 32 * consumers + threadIdx.x - 32] = sum;
  }
}

void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

}  // namespace

int main() {
  try {
    constexpr int tiles = 24, terms = 12;
    int sms = 0;
    check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    float *input = nullptr, *output = nullptr;
    check(cudaMalloc(&input, sizeof(float) * std::size_t(sms) * tiles * tile));
    check(cudaMemset(input, 0, sizeof(float) * std::size_t(sms) * tiles * tile));
    check(cudaMalloc(&output, sizeof(float) * std::size_t(sms) * 32 * consumers));
    constexpr int bytes = stages * tile * static_cast<int>(sizeof(float));
    check(cudaFuncSetAttribute(pipeline, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));

    kt::Buffer buffer({.blocks = static_cast<std::uint32_t>(sms), .warps = 1 + consumers, .events = 8 * tiles});
    buffer.name(wait_for_room, "wait for room").name(copy, "copy").name(wait_for_tile, "wait for tile");
    buffer.name(compute, "compute").name(hand_over, "hand over");
    const auto launch = [&](const kt::View& view) {
      pipeline<<<static_cast<unsigned>(sms), threads, bytes>>>(input, output, tiles, terms, view);
      check(cudaGetLastError());
    };
    const kt::AddedTime added = kt::measure_added_time(buffer, launch);
    buffer.reset();
    launch(buffer.view("pipeline"));
    const kt::Trace trace = buffer.read();
    std::printf("%s\nTracing adds %.1f %% to %.1f us.\n", trace.table().c_str(), 100.0 * added.share(),
                added.without_us);
    trace.write("pipeline.perfetto-trace");
    trace.write("pipeline.json");
    (void)cudaFree(input);
    (void)cudaFree(output);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
