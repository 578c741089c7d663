// SPDX-License-Identifier: Apache-2.0
// Kernels of every shape record, and what they recorded is read back.
#include <cooperative_groups.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <set>
#include <string>

#include "gpubench/kernel_trace.cuh"
#include "kernel_trace/probes.h"
#include "tests/matchers.h"

namespace gpubench::kernel_trace {
namespace {

class KernelTrace : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no GPU";
  }
};

void launched() { GPUBENCH_TRACE_CHECK(cudaGetLastError()); }

/// Three ranges, of which two nest, and a moment.
template <class Recorder>
__device__ void few_events(Recorder& trace) {
  trace.begin(0, threadIdx.x / 32);
  {
    const auto scope = trace.scope(1);
    trace.instant(2, 7);
  }
  trace.swap(0, 3);
  trace.end(3);
}

__global__ void plain(View view) {
  Warp trace(view);
  few_events(trace);
}

std::set<std::pair<std::uint32_t, std::uint32_t>> places_of(const Recording& recording) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> places;
  for (const WarpRecord& warp : recording.warps) places.emplace(warp.block, warp.warp);
  return places;
}

TEST_F(KernelTrace, records_each_warp_of_blocks_of_one_to_three_dimensions) {
  struct Shape {
    dim3 grid, block;
  };
  for (const Shape& shape : {Shape{{7}, {96}}, Shape{{3, 5}, {16, 8}}, Shape{{2, 3, 4}, {4, 8, 5}}, Shape{{1}, {1}},
                             Shape{{2}, {33}}, Shape{{2000}, {1024}}}) {
    const unsigned blocks = shape.grid.x * shape.grid.y * shape.grid.z;
    const unsigned warps = (shape.block.x * shape.block.y * shape.block.z + 31) / 32;
    Buffer buffer({.blocks = blocks, .warps = warps, .events = 8});
    plain<<<shape.grid, shape.block>>>(buffer.view("plain"));
    launched();
    const Trace trace = buffer.read();
    const Recording& recording = trace.recording();
    EXPECT_THAT(recording.warnings, IsEmpty());
    EXPECT_THAT(recording.warps, SizeIs(blocks * warps));
    EXPECT_THAT(places_of(recording), SizeIs(blocks * warps));
    EXPECT_THAT(recording.spans, SizeIs(3 * blocks * warps));
    EXPECT_THAT(recording.instants, SizeIs(blocks * warps));
    EXPECT_THAT(recording.launches, SizeIs(1));
    for (const Span& span : recording.spans) {
      const WarpRecord& warp = recording.warps[span.warp];
      EXPECT_GE(span.start_ns, warp.open_ns);
      EXPECT_LE(span.end_ns(), warp.close_ns + 1);
      if (span.id == 0 && shape.block.y == 1) EXPECT_EQ(span.payload, warp.warp);
    }
  }
}

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900  // which have no clusters
__global__ void in_clusters(View view) {
  Warp trace(view);
  few_events(trace);
}
#else
__global__ void __cluster_dims__(2, 1, 1) in_clusters(View view) {
  Warp trace(view);
  few_events(trace);
  cooperative_groups::this_cluster().sync();
}
#endif
__global__ void cooperative(View view) {
  Warp trace(view);
  trace.begin(0);
  cooperative_groups::this_grid().sync();
  trace.after_barrier();
  trace.end(0);
}

TEST_F(KernelTrace, records_clusters_and_cooperative_kernels) {
  Buffer buffer({.blocks = 8, .warps = 2, .events = 8, .launches = 2});
  in_clusters<<<8, 64>>>(buffer.view("in_clusters"));
  launched();
  View view = buffer.view("cooperative");
  void* arguments[] = {&view};
  GPUBENCH_TRACE_CHECK(
      cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(cooperative), 8, 64, arguments, 0, nullptr));
  const Trace trace = buffer.read();
  const Recording& recording = trace.recording();
  EXPECT_THAT(recording.warnings, IsEmpty());
  ASSERT_THAT(recording.launches, SizeIs(2));
  EXPECT_EQ(recording.launches[1].kernel, "cooperative");
  EXPECT_GE(recording.launches[1].open_ns, recording.launches[0].close_ns - 100);
  // At the barrier of the grid all ranges overlap.
  std::int64_t last_begin = 0, first_end = INT64_MAX;
  for (const Span& span : recording.spans)
    if (recording.warps[span.warp].launch == 1) {
      last_begin = std::max(last_begin, span.start_ns);
      first_end = std::min(first_end, span.end_ns());
    }
  EXPECT_LE(last_begin, first_end + 64);
}

__global__ void leaves_early(View view) {
  Warp trace(view);
  if (threadIdx.x / 32 == 1) return;  // a whole warp
  trace.begin(0);
  if (threadIdx.x % 2 == 1) return;  // half of each
  trace.begin(1);
  if (threadIdx.x % 4 == 0) {
    trace.instant(2);
  } else {
    trace.instant(3);
  }
  trace.end(1);
  trace.end(0);
}
__global__ void leader_is_not_lane_0(View view) {
  if (threadIdx.x % 32 < 5) return;
  Warp trace(view);
  few_events(trace);
}

TEST_F(KernelTrace, records_where_lanes_leave_and_diverge) {
  Buffer buffer({.blocks = 2, .warps = 4, .events = 8, .launches = 2});
  leaves_early<<<2, 128>>>(buffer.view());
  leader_is_not_lane_0<<<2, 128>>>(buffer.view());
  launched();
  const Trace trace = buffer.read();
  const Recording& recording = trace.recording();
  EXPECT_THAT(recording.warnings, IsEmpty()) << recording.warnings[0];
  EXPECT_THAT(recording.warps, SizeIs(16));
  EXPECT_THAT(recording.spans, SizeIs(2 * 3 * 2 + 8 * 3));
  std::map<int, int> moments;
  for (const Instant& moment : recording.instants) ++moments[moment.id];
  EXPECT_EQ(moments[2], 2 * 3 + 8) << "the first lane's branch";
  EXPECT_EQ(moments[3], 0);
}

__device__ int descend(Warp& trace, int depth) {
  const auto scope = trace.scope(static_cast<std::uint32_t>(depth % 2), static_cast<std::uint32_t>(depth));
  return depth == 0 ? 1 : descend(trace, depth - 1) + 1;
}
__global__ void recursive(View view, int depth, int* result) {
  Warp trace(view);
  const int deep = descend(trace, depth);
  if (threadIdx.x == 0) *result = deep;
}

TEST_F(KernelTrace, records_recursion) {
  Buffer buffer({.blocks = 1, .warps = 1, .events = 64});
  int* result = nullptr;
  GPUBENCH_TRACE_CHECK(cudaMalloc(&result, sizeof(int)));
  recursive<<<1, 32>>>(buffer.view(), 20, result);
  launched();
  const Trace trace = buffer.read();
  const Recording& recording = trace.recording();
  (void)cudaFree(result);
  EXPECT_THAT(recording.warnings, IsEmpty());
  ASSERT_THAT(recording.spans, SizeIs(21));
  for (std::size_t i = 0; i < 21; ++i) EXPECT_EQ(recording.spans[i].payload, i) << "the innermost ends first";
}

template <When when>
__global__ void many(View view, int count) {
  BasicWarp<true, when> trace(view);
  for (int i = 0; i < count; ++i) {
    trace.begin(0, static_cast<std::uint32_t>(i));
    trace.end(0);
  }
}

TEST_F(KernelTrace, counts_what_does_not_fit) {
  Buffer buffer({.blocks = 4, .warps = 2, .events = 10});
  many<When::first><<<4, 64>>>(buffer.view(), 50);
  launched();
  const Trace trace = buffer.read();
  const Recording& recording = trace.recording();
  EXPECT_EQ(recording.dropped, 4 * 2 * 91) << "the last of ten slots holds what came last";
  for (const WarpRecord& warp : recording.warps) EXPECT_EQ(warp.dropped, 91);
  EXPECT_THAT(recording.spans, SizeIs(4 * 2 * 5));
  for (const Span& span : recording.spans) EXPECT_LT(span.payload, 5);
}

TEST_F(KernelTrace, keeps_the_latest_in_a_ring) {
  Buffer buffer({.blocks = 4, .warps = 2, .events = 10});
  many<When::latest><<<4, 64>>>(buffer.view(), 50);
  launched();
  const Trace trace = buffer.read();
  const Recording& recording = trace.recording();
  EXPECT_EQ(recording.dropped, 4 * 2 * 92) << "a ring has 8 slots here";
  EXPECT_THAT(recording.spans, SizeIs(4 * 2 * 4));
  for (const Span& span : recording.spans) EXPECT_GE(span.payload, 46);
}

/// Scopes that nest.
template <When when>
__global__ void many_scopes(View view, int count) {
  BasicWarp<true, when> trace(view);
  for (int i = 0; i < count; ++i) {
    const auto outer = trace.scope(0);
    trace.instant(2);
    const auto inner = trace.scope(1, static_cast<std::uint32_t>(i));
    if (i % 2 == 1) trace.instant(3);
  }
}

TEST_F(KernelTrace, stores_scopes_whole_and_within_their_slices) {
  for (const std::uint32_t events : {1U, 2U, 7U, 8U, 9U, 61U, 64U, 1000U}) {
    Buffer buffer({.blocks = 4, .warps = 3, .events = events, .launches = 2});
    for (int i = 0; i < 2; ++i) many_scopes<When::first><<<4, 96>>>(buffer.view(), 100);
    launched();
    const Trace trace = buffer.read();
    const Recording& recording = trace.recording();
    ASSERT_THAT(recording.warps, SizeIs(2 * 4 * 3)) << events;
    for (const WarpRecord& warp : recording.warps) {
      EXPECT_TRUE(warp.closed);
      EXPECT_LE(warp.events, events);
    }
    EXPECT_EQ(recording.dropped == 0, events == 1000U) << events;
    if (events == 1000U)
      EXPECT_THAT(recording.warnings, IsEmpty());
    else
      EXPECT_THAT(recording.warnings, Contains(HasSubstr("did not fit")));
    if (events == 1000U) EXPECT_THAT(recording.spans, SizeIs(2 * 4 * 3 * 200));
    for (std::size_t i = 0; i + 1 < recording.spans.size(); ++i) {
      const Span &inner = recording.spans[i], &outer = recording.spans[i + 1];
      if (inner.id != 1 || outer.id != 0 || inner.warp != outer.warp) continue;
      EXPECT_GE(inner.start_ns, outer.start_ns);
      EXPECT_LE(inner.end_ns(), outer.end_ns());
    }
  }
  Buffer ring({.blocks = 4, .warps = 3, .events = 64});
  many_scopes<When::latest><<<4, 96>>>(ring.view(), 100);
  launched();
  const Trace trace = ring.read();
  for (const Span& span : trace.recording().spans)
    if (span.id == 1) EXPECT_GE(span.payload, 100 - 64 / 4 - 2);
  EXPECT_GE(trace.recording().spans.size(), 4U * 3 * 20);
}

TEST_F(KernelTrace, counts_warps_beyond_the_declared_ones) {
  Buffer buffer({.blocks = 2, .warps = 2, .events = 8});
  plain<<<5, 96>>>(buffer.view());
  launched();
  const Trace trace = buffer.read();
  const Recording& recording = trace.recording();
  EXPECT_THAT(recording.warps, SizeIs(4));
  EXPECT_EQ(recording.refused, 5 * 3 - 4);
  EXPECT_THAT(recording.warnings, Contains(HasSubstr("11 times a warp found no place")));
}

TEST_F(KernelTrace, samples_blocks_warps_and_sms) {
  Buffer buffer({.blocks = 5, .warps = 2, .events = 8, .every_block = 10, .every_warp = 3});
  plain<<<50, 192>>>(buffer.view());
  launched();
  const Trace trace = buffer.read();
  const Recording& recording = trace.recording();
  EXPECT_THAT(recording.warnings, IsEmpty());
  EXPECT_THAT(places_of(recording), SizeIs(10));
  for (const WarpRecord& warp : recording.warps) {
    EXPECT_EQ(warp.block % 10, 0);
    EXPECT_EQ(warp.warp % 3, 0);
  }
  Buffer of_sms({.blocks = 1000, .warps = 1, .events = 8, .first_sm = 2, .last_sm = 3});
  plain<<<1000, 32>>>(of_sms.view());
  launched();
  std::set<std::uint32_t> sms;
  const Trace some = of_sms.read();
  for (const WarpRecord& warp : some.recording().warps) sms.insert(warp.sm);
  EXPECT_THAT(sms, ::testing::IsSubsetOf({2U, 3U}));
  EXPECT_FALSE(sms.empty());
}

TEST_F(KernelTrace, records_nothing_where_it_is_off) {
  Buffer off({.blocks = 1000, .warps = 32, .events = 1 << 20, .enabled = false});
  EXPECT_EQ(off.bytes(), 0);
  plain<<<4, 64>>>(off.view());
  plain<<<4, 64>>>(View());
  launched();
  const Trace nothing = off.read();
  EXPECT_THAT(nothing.recording().warps, IsEmpty());
  GPUBENCH_TRACE_CHECK(cudaDeviceSynchronize());
}

TEST_F(KernelTrace, adds_up_launches_and_replays_of_a_graph) {
  cudaStream_t stream = nullptr;
  GPUBENCH_TRACE_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Buffer buffer({.blocks = 4, .warps = 2, .events = 8, .launches = 6});
  plain<<<4, 64, 0, stream>>>(buffer.view("before"));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  GPUBENCH_TRACE_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  plain<<<4, 64, 0, stream>>>(buffer.view("in a graph"));
  GPUBENCH_TRACE_CHECK(cudaStreamEndCapture(stream, &graph));
  GPUBENCH_TRACE_CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 5; ++i) GPUBENCH_TRACE_CHECK(cudaGraphLaunch(exec, stream));
  {
    const Trace trace = buffer.read(stream);
    const Recording& recording = trace.recording();
    EXPECT_THAT(recording.warnings, IsEmpty());
    ASSERT_THAT(recording.launches, SizeIs(6));
    for (std::uint32_t i = 1; i < 6; ++i) {
      EXPECT_EQ(recording.launches[i].kernel, "in a graph");
      EXPECT_EQ(recording.launches[i].repeat, i - 1);
      EXPECT_GE(recording.launches[i].open_ns, recording.launches[i - 1].open_ns);
    }
  }
  for (int i = 0; i < 2; ++i) GPUBENCH_TRACE_CHECK(cudaGraphLaunch(exec, stream));
  const Trace more = buffer.read(stream);
  EXPECT_EQ(more.recording().refused, 16) << "two launches more than there is room for";
  (void)cudaGraphExecDestroy(exec);
  (void)cudaGraphDestroy(graph);

  // Reset and copy in the graph itself: each replay starts afresh.
  GPUBENCH_TRACE_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  buffer.reset(stream);
  plain<<<4, 64, 0, stream>>>(buffer.view("afresh"));
  buffer.copy(stream);
  GPUBENCH_TRACE_CHECK(cudaStreamEndCapture(stream, &graph));
  GPUBENCH_TRACE_CHECK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 9; ++i) GPUBENCH_TRACE_CHECK(cudaGraphLaunch(exec, stream));
  const Trace last = buffer.read(stream);
  EXPECT_THAT(last.recording().launches, SizeIs(1));
  (void)cudaGraphExecDestroy(exec);
  (void)cudaGraphDestroy(graph);
  (void)cudaStreamDestroy(stream);
}

TEST_F(KernelTrace, takes_several_kernels_and_streams_at_a_time) {
  cudaStream_t streams[3] = {};
  for (cudaStream_t& stream : streams) GPUBENCH_TRACE_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  Buffer buffer({.blocks = 16, .warps = 4, .events = 200, .launches = 30});
  for (int i = 0; i < 10; ++i)
    for (cudaStream_t& stream : streams)
      many<When::first><<<static_cast<unsigned>(4 + i), 128, 0, stream>>>(buffer.view("k" + std::to_string(i)), 100);
  launched();
  GPUBENCH_TRACE_CHECK(cudaDeviceSynchronize());
  const Trace trace = buffer.read();
  const Recording& recording = trace.recording();
  EXPECT_THAT(recording.warnings, IsEmpty());
  EXPECT_THAT(recording.launches, SizeIs(30));
  EXPECT_THAT(recording.warps, SizeIs(3 * 4 * (4 + 13) * 10 / 2));
  EXPECT_THAT(recording.spans, SizeIs(recording.warps.size() * 100));
  for (cudaStream_t& stream : streams) (void)cudaStreamDestroy(stream);
}

/// Warp 0 fills stages that the others empty.
__global__ void pipeline(View view, int tiles, int* sink) {
  __shared__ int full, empty;
  Warp trace(view);
  if (threadIdx.x == 0) {
    empty = 0;
    full = 0;
  }
  __syncthreads();
  const unsigned warp = threadIdx.x / 32;
  for (int tile = 0; tile < tiles; ++tile) {
    const auto token = static_cast<std::uint32_t>(tile);
    if (warp == 0) {
      trace.begin_async(0, token);
      trace.value(2, tile);
      trace.value(3, 0.5F * static_cast<float>(tile));
      trace.flow_out(1, token);
      __syncwarp();
      if (threadIdx.x == 0) atomicExch(&full, tile + 1);
      while (atomicAdd(&empty, 0) <= tile) {
      }
    } else {
      while (atomicAdd(&full, 0) <= tile) {
      }
      trace.flow_in(1, token);
      trace.end_async(0, token);
      __syncwarp();
      if (threadIdx.x == 32) atomicExch(&empty, tile + 1);
    }
  }
  if (threadIdx.x == 0) *sink = full;
}

TEST_F(KernelTrace, ties_producers_to_consumers) {
  int* sink = nullptr;
  GPUBENCH_TRACE_CHECK(cudaMalloc(&sink, sizeof(int)));
  Buffer buffer({.blocks = 4, .warps = 2, .events = 400});
  buffer.name(0, "copy").name(1, "tile").name(2, "stage");
  pipeline<<<4, 64>>>(buffer.view("pipeline"), 40, sink);
  launched();
  const Trace trace = buffer.read();
  const Recording& recording = trace.recording();
  EXPECT_THAT(recording.warnings, IsEmpty());
  EXPECT_THAT(recording.flows, SizeIs(4 * 40));
  ASSERT_THAT(recording.spans, SizeIs(4 * 40));
  for (const Span& span : recording.spans) EXPECT_GT(span.duration_ns, 0);
  EXPECT_THAT(recording.values, SizeIs(2 * 4 * 40));
  EXPECT_EQ(recording.values[78].value, 39);
  EXPECT_EQ(recording.values[79].value, 19.5);
  (void)cudaFree(sink);
}

/// Warp 0 comes to the barrier last.
__global__ void late_at_barrier(View view) {
  Warp trace(view);
  if (threadIdx.x < 32) {
    trace.begin(1);
    const long long start = clock64();
    while (clock64() - start < 100'000) {
    }
    trace.end(1);
  }
  trace.sync_block(0);
}

TEST_F(KernelTrace, shows_the_wait_at_a_barrier) {
  Buffer buffer({.blocks = 2, .warps = 4, .events = 8});
  late_at_barrier<<<2, 128>>>(buffer.view());
  launched();
  const Trace trace = buffer.read();
  const Recording& recording = trace.recording();
  for (const Span& span : recording.spans)
    for (const Span& late : recording.spans)
      if (late.id == 1 && span.id == 0 && recording.warps[late.warp].block == recording.warps[span.warp].block)
        EXPECT_GE(span.end_ns() + 64, late.end_ns()) << "no warp passes before the last one comes";
}

TEST_F(KernelTrace, is_on_the_hosts_clock) {
  const auto now = [] {
    timespec time{};
    (void)clock_gettime(CLOCK_REALTIME, &time);
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  Buffer buffer({.blocks = 1, .warps = 1, .events = 8});
  plain<<<1, 32>>>(buffer.view());
  GPUBENCH_TRACE_CHECK(cudaDeviceSynchronize());
  buffer.reset();
  GPUBENCH_TRACE_CHECK(cudaDeviceSynchronize());
  const std::int64_t before = now();
  plain<<<1, 32>>>(buffer.view());
  GPUBENCH_TRACE_CHECK(cudaDeviceSynchronize());
  const std::int64_t after = now();
  const Trace trace = buffer.read();
  EXPECT_GE(trace.recording().base_ns, before - 20'000);
  EXPECT_LE(trace.recording().base_ns, after + 20'000);
}

TEST_F(KernelTrace, refuses_buffers_that_cannot_be) {
  EXPECT_THROW(Buffer({.blocks = 0, .warps = 1}), std::invalid_argument);
  EXPECT_THROW(Buffer({.blocks = 1, .warps = 1, .events = 0}), std::invalid_argument);
  EXPECT_THROW(Buffer({.blocks = 1, .warps = 1, .events = 8, .every_block = 0}), std::invalid_argument);
  EXPECT_THROW(Buffer({.blocks = 1 << 20, .warps = 32, .events = 1 << 20, .launches = 1 << 20}), std::exception);
  Buffer buffer({.blocks = 1, .warps = 1, .events = 8});
  EXPECT_THROW(buffer.name(4095, "x"), std::invalid_argument);
}

TEST_F(KernelTrace, measures_its_own_cost) {
  const EventCost cost = measure_event_cost(4);
  EXPECT_EQ(cost.warps, 4);
  EXPECT_GT(cost.interval_ns, 0.0);
  EXPECT_GT(cost.scope_ns, 0.0);
  Buffer buffer({.blocks = 64, .warps = 4, .events = 200});
  const AddedTime added =
      measure_added_time(buffer, [](const View& view) { many<When::first><<<64, 128>>>(view, 100); });
  EXPECT_GT(added.with_us, 0.0);
  EXPECT_GT(added.without_us, 0.0);
}

__global__ void traps(View view) {
  Warp trace(view);
  trace.begin(0);
  trace.begin(1);
  trace.end(1);
  if (blockIdx.x == 0) {
    __threadfence_system();
    const long long start = clock64();
    while (clock64() - start < 2'000'000) {
    }
    __trap();
  }
  trace.end(0);
}

/// In a process of its own, as CTest runs it: nothing works after it.
TEST_F(KernelTrace, trap_leaves_what_was_written) {
  Buffer buffer({.blocks = 8, .warps = 1, .events = 16, .memory = Memory::pinned});
  buffer.name(0, "outer").name(1, "inner");
  traps<<<8, 32>>>(buffer.view("traps"));
  const Trace trace = buffer.read();
  const Recording& recording = trace.recording();
  EXPECT_THAT(recording.warnings, Contains(HasSubstr("The GPU's work ended with ")));
  EXPECT_THAT(recording.warnings, Contains(HasSubstr("without a close")));
  EXPECT_THAT(recording.warps, SizeIs(8));
  EXPECT_THAT(recording.spans, SizeIs(16));
  EXPECT_EQ(recording.unended, 1);
  const std::string file = ::testing::TempDir() + "/gpubench-trap.perfetto-trace";
  trace.write(file);
  (void)std::remove(file.c_str());
}

}  // namespace
}  // namespace gpubench::kernel_trace
