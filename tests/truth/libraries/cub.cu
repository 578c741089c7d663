// SPDX-License-Identifier: Apache-2.0
// CUB's device-wide algorithms.
#include <cub/cub.cuh>

#include "common.h"

namespace libraries {
namespace {

void cub_reduce(State& state) {
  const auto n = state.range(0);
  auto x = state.device_vector<float>(n);
  auto sum = state.device_vector<float>(1);
  state.reads(n * 4);
  measure_with_workspace(state, [&](void* workspace, std::size_t& bytes, cudaStream_t stream) {
    return cub::DeviceReduce::Sum(workspace, bytes, x.data(), sum.data(), n, stream);
  });
}
GPU_BENCHMARK(cub_reduce)->ArgName("n")->Arg(4 * kibi)->Arg(mebi)->Arg(16 * mebi)->Arg(64 * mebi)->Arg(512 * mebi);

void cub_scan(State& state) {
  const auto n = state.range(0);
  auto [x, y] = in_and_out<float>(state, n);
  measure_with_workspace(state, [&](void* workspace, std::size_t& bytes, cudaStream_t stream) {
    return cub::DeviceScan::ExclusiveSum(workspace, bytes, x.data(), y.data(), n, stream);
  });
}
GPU_BENCHMARK(cub_scan)->ArgName("n")->Arg(4 * kibi)->Arg(mebi)->Arg(16 * mebi)->Arg(256 * mebi);

void cub_sort_keys(State& state) {
  const auto n = state.range(0);
  auto keys = state.device_vector<std::uint32_t>(n);
  auto sorted = state.device_vector<std::uint32_t>(n);
  state.items(n);
  state.reads(keys.bytes());
  state.writes(sorted.bytes());
  measure_with_workspace(state, [&](void* workspace, std::size_t& bytes, cudaStream_t stream) {
    return cub::DeviceRadixSort::SortKeys(workspace, bytes, keys.data(), sorted.data(), n, 0, 32, stream);
  });
}
GPU_BENCHMARK(cub_sort_keys)->ArgName("n")->Arg(4 * kibi)->Arg(256 * kibi)->Arg(4 * mebi)->Arg(128 * mebi);

void cub_sort_pairs(State& state) {
  const auto n = state.range(0);
  auto keys = state.device_vector<std::uint64_t>(n);
  auto sorted = state.device_vector<std::uint64_t>(n);
  auto values = state.device_vector<std::int32_t>(n);
  auto moved = state.device_vector<std::int32_t>(n);
  state.items(n);
  state.reads(keys.bytes() + values.bytes());
  state.writes(sorted.bytes() + moved.bytes());
  measure_with_workspace(state, [&](void* workspace, std::size_t& bytes, cudaStream_t stream) {
    return cub::DeviceRadixSort::SortPairs(workspace, bytes, keys.data(), sorted.data(), values.data(), moved.data(), n,
                                           0, 64, stream);
  });
}
GPU_BENCHMARK(cub_sort_pairs)->ArgName("n")->Arg(64 * kibi)->Arg(4 * mebi)->Arg(64 * mebi);

struct Positive {
  __device__ bool operator()(float x) const { return x > 0.0F; }
};
void cub_select(State& state) {
  const auto n = state.range(0);
  auto x = state.device_vector<float>(n);
  auto y = state.device_vector<float>(n);
  auto count = state.device_vector<std::int64_t>(1);
  state.reads(n * 4);
  state.writes(n * 2);  // half of normal numbers are positive
  measure_with_workspace(state, [&](void* workspace, std::size_t& bytes, cudaStream_t stream) {
    return cub::DeviceSelect::If(workspace, bytes, x.data(), y.data(), count.data(), n, Positive(), stream);
  });
}
GPU_BENCHMARK(cub_select)->ArgName("n")->Arg(16 * kibi)->Arg(4 * mebi)->Arg(256 * mebi);

void cub_histogram(State& state) {
  const auto n = state.range(0);
  constexpr int bins = 256;
  auto x = state.device_vector<float>(n, gpubench::uniform);
  auto counts = state.device_vector<std::int32_t>(bins);
  state.reads(n * 4);
  measure_with_workspace(state, [&](void* workspace, std::size_t& bytes, cudaStream_t stream) {
    return cub::DeviceHistogram::HistogramEven(workspace, bytes, x.data(), counts.data(), bins + 1, 0.0F, 1.0F, n,
                                               stream);
  });
}
GPU_BENCHMARK(cub_histogram)->ArgName("n")->Arg(64 * kibi)->Arg(mebi)->Arg(16 * mebi)->Arg(256 * mebi);

void cub_run_length_encode(State& state) {
  const auto n = state.range(0);
  auto x = indices<std::uint8_t>(state, n, 2);  // runs of two on average
  auto kept = state.device_vector<std::uint8_t>(n);
  auto lengths = state.device_vector<std::int32_t>(n);
  auto count = state.device_vector<std::int32_t>(1);
  state.reads(n);
  state.writes(n / 2 * 5);  // a value and a length for each run
  measure_with_workspace(state, [&](void* workspace, std::size_t& bytes, cudaStream_t stream) {
    return cub::DeviceRunLengthEncode::Encode(workspace, bytes, x.data(), kept.data(), lengths.data(), count.data(), n,
                                              stream);
  });
}
GPU_BENCHMARK(cub_run_length_encode)->ArgName("n")->Arg(16 * kibi)->Arg(4 * mebi)->Arg(256 * mebi);

void cub_segmented_reduce(State& state) {
  const auto segments = state.range(0);
  const auto length = state.range(1);
  auto x = state.device_vector<float>(segments * length);
  auto sums = state.device_vector<float>(segments);
  auto offsets = state.device_vector<std::int64_t>(segments + 1, gpubench::none);
  std::vector<std::int64_t> ends(static_cast<std::size_t>(segments) + 1);
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = static_cast<std::int64_t>(i) * length;
  offsets.assign(ends);
  state.reads(segments * length * 4);
  state.writes(segments * 4);
  measure_with_workspace(state, [&](void* workspace, std::size_t& bytes, cudaStream_t stream) {
    return cub::DeviceSegmentedReduce::Sum(workspace, bytes, x.data(), sums.data(), segments, offsets.data(),
                                           offsets.data() + 1, stream);
  });
}
GPU_BENCHMARK(cub_segmented_reduce)
    ->ArgNames({"segments", "length"})
    ->Args({64, 1024})
    ->Args({1024 * kibi, 16})
    ->Args({64 * kibi, 4096})
    ->Args({16, 16 * mebi});

}  // namespace
}  // namespace libraries
