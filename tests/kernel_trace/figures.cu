// SPDX-License-Identifier: Apache-2.0
// What docs/results/h200/kernel-trace.md says, measured: kernel_trace_figures [FOLDER].
#include <cuda_bf16.h>
#include <mma.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "kernel_trace/cost_loop.cuh"
#include "kernel_trace/probes.h"

namespace kt = gpubench::kernel_trace;

namespace {

/// What 300 to 400 ns a pair of events comes from: lane 0 alone in a branch, the layout read again from memory for each
/// event, a counter of the warp in memory, 40 bytes an event, no check of bounds.
struct OtherMethod {
  std::uint64_t* memory;
  __device__ explicit OtherMethod(const kt::View& view) : memory(static_cast<std::uint64_t*>(view.memory)) {}
  struct Event {
    std::uint32_t number, id, block, warp, sm, type;
    std::uint64_t begin, end;
  };
  struct Places {
    std::uint32_t* counter;
    std::uint32_t* open;
    Event* events;
  };
  __device__ Places places() const {
    const std::uint64_t shape = memory[0], capacity = memory[1];
    const auto blocks = static_cast<std::uint32_t>(shape), warps = static_cast<std::uint32_t>(shape >> 32);
    const std::uint32_t place =
        static_cast<std::uint32_t>(kt::detail::block_in_grid()) * warps + kt::detail::warp_in_block();
    auto* const counters = reinterpret_cast<std::uint32_t*>(memory + 2);
    auto* const open = counters + std::uint64_t{blocks} * warps;
    auto* const events = reinterpret_cast<Event*>(reinterpret_cast<char*>(memory) +
                                                  (16 + std::uint64_t{blocks} * warps * 132 + 7) / 8 * 8);
    return {counters + place, open + std::uint64_t{place} * 32,
            events + std::uint64_t{place} * (capacity & 0xFFFFFFFF)};
  }
  __device__ void begin(std::uint32_t id) {
    if (kt::detail::lane_id() != 0) return;
    const Places at = places();
    const std::uint32_t number = (*at.counter)++;
    if (number >= (memory[1] & 0xFFFFFFFF)) return;
    at.open[id] = number;
    at.events[number] = {number,
                         id,
                         static_cast<std::uint32_t>(kt::detail::block_in_grid()),
                         kt::detail::warp_in_block(),
                         kt::detail::sm_id(),
                         0,
                         kt::detail::global_ns(),
                         0};
  }
  __device__ void end(std::uint32_t id) {
    if (kt::detail::lane_id() != 0) return;
    const Places at = places();
    at.events[at.open[id]].end = kt::detail::global_ns();
  }
};

template <class T>
T* device_memory(std::size_t count) {
  T* memory = nullptr;
  GPUBENCH_TRACE_CHECK(cudaMalloc(&memory, count * sizeof(T)));
  GPUBENCH_TRACE_CHECK(cudaMemset(memory, 0, count * sizeof(T)));
  return memory;
}

int sms() {
  int count = 0;
  GPUBENCH_TRACE_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  return count;
}

double ns_per_tick = 0.0;

template <class Method, kt::CostOf what, class Prepare>
double loop_ns(const kt::View& view, unsigned blocks, unsigned threads, const Prepare& prepare) {
  const std::size_t warps = std::size_t{blocks} * threads / 32;
  auto* const clocks = device_memory<std::uint64_t>(3 * warps);
  std::vector<std::uint64_t> host(3 * warps);
  std::vector<double> means;
  for (int i = 0; i < 9; ++i) {
    prepare();
    kt::cost_loop<Method, what><<<blocks, threads>>>(view, clocks, nullptr);
    GPUBENCH_TRACE_CHECK(cudaGetLastError());
    GPUBENCH_TRACE_CHECK(cudaMemcpy(host.data(), clocks, host.size() * sizeof(std::uint64_t), cudaMemcpyDefault));
    means.push_back(kt::mean_clocks_of_sms(host));
  }
  (void)cudaFree(clocks);
  std::ranges::sort(means);
  return means[means.size() / 2] * ns_per_tick;
}

template <class Method, kt::CostOf what = kt::CostOf::begin_and_end>
int registers() {
  cudaFuncAttributes attributes{};
  GPUBENCH_TRACE_CHECK(cudaFuncGetAttributes(&attributes, kt::cost_loop<Method, what>));
  return attributes.numRegs;
}

void cost_of_events() {
  std::puts("## ns an event: two around 64 dependent multiply-adds, in a loop\n");
  std::puts(
      "| warps on each SM | begin, end | in a ring | a scope, for each end | off at run time | seed's method | "
      "measured at start |");
  std::puts("|---|---|---|---|---|---|---|");
  for (const unsigned warps : {1U, 4U, 16U, 64U}) {
    const unsigned of_block = std::min(warps, 32U), blocks = static_cast<unsigned>(sms()) * (warps / of_block);
    kt::Buffer buffer({.blocks = blocks, .warps = of_block, .events = 2 * kt::cost_iterations});
    const kt::View view = buffer.view();
    const auto prepare = [&] { buffer.reset(); };
    const double none = loop_ns<kt::NoWarp, kt::CostOf::begin_and_end>(view, blocks, of_block * 32, [] {});
    const auto event = [&](double with) { return (with - none) / (2.0 * kt::cost_iterations); };
    const double first =
        event(loop_ns<kt::BasicWarp<true>, kt::CostOf::begin_and_end>(view, blocks, of_block * 32, prepare));
    const double latest = event(loop_ns<kt::BasicWarp<true, kt::When::latest>, kt::CostOf::begin_and_end>(
        view, blocks, of_block * 32, prepare));
    const double scope = event(loop_ns<kt::BasicWarp<true>, kt::CostOf::scope>(view, blocks, of_block * 32, prepare));
    const double off = event(loop_ns<kt::BasicWarp<true>, kt::CostOf::begin_and_end>({}, blocks, of_block * 32, [] {}));
    const std::size_t places = std::size_t{blocks} * of_block;
    const std::size_t bytes = 16 + places * 132 + 8 + places * kt::cost_iterations * 40;
    auto* const memory = device_memory<char>(bytes);
    const std::uint64_t header[2] = {blocks | std::uint64_t{of_block} << 32, kt::cost_iterations};
    kt::View other;
    other.memory = memory;
    const double seed = event(loop_ns<OtherMethod, kt::CostOf::begin_and_end>(other, blocks, of_block * 32, [&] {
      GPUBENCH_TRACE_CHECK(cudaMemset(memory, 0, bytes));
      GPUBENCH_TRACE_CHECK(cudaMemcpy(memory, header, sizeof header, cudaMemcpyDefault));
    }));
    (void)cudaFree(memory);
    const kt::EventCost cost = kt::measure_event_cost(static_cast<int>(warps));
    std::printf("| %u | %.1f | %.1f | %.1f | %.1f | %.0f | %.1f (%.1f between stamps) |\n", warps, first, latest, scope,
                off, seed, cost.event_ns, cost.interval_ns);
  }
  std::printf(
      "\nRegisters of this loop: %d without events, %d with, %d in a ring, %d by scopes, %d by the seed's method.\n\n",
      registers<kt::NoWarp>(), registers<kt::BasicWarp<true>>(), registers<kt::BasicWarp<true, kt::When::latest>>(),
      registers<kt::BasicWarp<true>, kt::CostOf::scope>(), registers<OtherMethod>());
}

constexpr std::uint32_t spin_lengths = 9;
constexpr std::size_t spin_repeats = 20;
/// What a block of `spins` says of itself, of each repeat: the clocks of its spins, and the clock and the timer before
/// them. Those of the end are one more.
struct SpinRepeat {
  std::uint64_t clock, ns, lengths[spin_lengths];
};
enum class Around { events, scopes, readings };  ///< readings of the clock, where events would be
template <Around around, bool placed>
__global__ void spins(kt::View view, SpinRepeat* truth) {
  kt::BasicWarp<true> trace(view);
  for (std::size_t repeat = 0; repeat <= spin_repeats; ++repeat) {
    SpinRepeat& mine = truth[blockIdx.x * (spin_repeats + 1) + repeat];
    if constexpr (placed) trace.place();
    const kt::detail::ClockPair now = kt::detail::read_clocks();
    if (threadIdx.x == 0) {
      mine.clock = now.clock;
      mine.ns = now.ns;
    }
    std::uint64_t length = 396;  // 0.2 us at 1.98 GHz
    for (std::uint32_t id = 0; id < spin_lengths && repeat < spin_repeats; ++id, length = length * 218 / 100) {
      std::uint64_t start = 0, end = 0;
      const auto spin = [&] {
        start = static_cast<std::uint64_t>(clock64());
        end = start;
        while (end - start < length) end = static_cast<std::uint64_t>(clock64());
      };
      std::uint64_t shown = 0;
      if constexpr (around == Around::scopes) {
        const auto scope = trace.scope(id);
        (void)scope;
        spin();
      } else if constexpr (around == Around::events) {
        trace.begin(id);
        spin();
        trace.end(id);
      } else {
        const std::uint32_t before = kt::detail::clock_low();
        spin();
        shown = kt::detail::clock_low() - before;
      }
      if (threadIdx.x == 0) mine.lengths[id] = around == Around::readings ? shown - (end - start) : end - start;
    }
  }
}

/// What a tick of an SM's clock took around a repeat: over up to five of them, as the timer steps by 32 ns.
double tick_around(const SpinRepeat* repeats, std::size_t repeat) {
  const SpinRepeat& from = repeats[repeat < 2 ? 0 : repeat - 2];
  const SpinRepeat& to = repeats[std::min(repeat + 3, spin_repeats)];
  return static_cast<double>(to.ns - from.ns) / static_cast<double>(to.clock - from.clock);
}

/// How much longer a spin takes than it says: what two readings of the clock around it show, the median.
double ns_around_spins() {
  const auto blocks = static_cast<unsigned>(sms());
  std::vector<SpinRepeat> repeats(blocks * (spin_repeats + 1));
  auto* const device = device_memory<SpinRepeat>(repeats.size());
  spins<Around::readings, false><<<blocks, 32>>>({}, device);
  GPUBENCH_TRACE_CHECK(cudaMemcpy(repeats.data(), device, repeats.size() * sizeof(SpinRepeat), cudaMemcpyDefault));
  (void)cudaFree(device);
  std::vector<std::uint64_t> more;
  for (std::size_t i = 0; i < repeats.size(); ++i)
    if (i % (spin_repeats + 1) != spin_repeats)
      more.insert(more.end(), std::begin(repeats[i].lengths), std::end(repeats[i].lengths));
  std::ranges::sort(more);
  return static_cast<double>(more[more.size() / 2]) * ns_per_tick;
}

template <Around around, bool placed>
void spans_of_known_length() {
  constexpr bool scoped = around == Around::scopes;
  const auto blocks = static_cast<unsigned>(sms());
  const std::size_t repeats = blocks * (spin_repeats + 1);
  auto* const device = device_memory<SpinRepeat>(repeats);
  kt::Buffer buffer({.blocks = blocks, .warps = 1, .events = 2 * (spin_repeats + 1) * (spin_lengths + 2)});
  spins<around, placed><<<blocks, 32>>>(buffer.view("spins"), device);
  GPUBENCH_TRACE_CHECK(cudaGetLastError());
  const kt::Trace trace = buffer.read();
  std::vector<SpinRepeat> truth(repeats);
  GPUBENCH_TRACE_CHECK(cudaMemcpy(truth.data(), device, truth.size() * sizeof(SpinRepeat), cudaMemcpyDefault));
  const kt::Recording& r = trace.recording();
  const kt::EventCost cost = kt::measure_event_cost(1);
  const double event = scoped ? cost.scope_ns : cost.interval_ns;
  const double reading = ns_around_spins() - cost.scope_ns;  // which two of them show with nothing between them
  std::printf("## Spans of known length (spins by clock64), %s%s, ns\n\n", scoped ? "as scopes" : "begin and end",
              placed ? ", with place() every 190 us" : "");
  double slowest = 0.0, fastest = INFINITY;
  std::map<std::uint32_t, std::vector<double>> errors, lengths;
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::size_t> seen;
  for (const kt::Span& span : r.spans) {
    const std::uint32_t block = r.warps[span.warp].block;
    const std::size_t repeat = seen[{block, span.id}]++;
    const SpinRepeat* const of_block = truth.data() + block * (spin_repeats + 1);
    const double tick = tick_around(of_block, repeat);
    slowest = std::max(slowest, tick);
    fastest = std::min(fastest, tick);
    const double length = static_cast<double>(of_block[repeat].lengths[span.id]) * tick + reading;
    lengths[span.id].push_back(length);
    errors[span.id].push_back(static_cast<double>(span.duration_ns) - length);
  }
  std::printf(
      "a tick took %.4f to %.4f ns, %.4f in the mean; residual %.1f ns; %.1f ns taken off for the event in each; "
      "true with the %.1f ns by which a spin takes longer than it says, by two readings of the clock around it\n\n",
      fastest, slowest, r.launches.at(0).ns_per_tick, r.launches[0].residual_ns, event, reading);
  std::puts("| true | recorded - true: median | worst | after correction: median | worst | aim |");
  std::puts("|---|---|---|---|---|---|");
  for (auto& [id, values] : errors) {
    std::ranges::sort(values);
    std::ranges::sort(lengths[id]);
    const double middle = values[values.size() / 2], length = lengths[id][lengths[id].size() / 2];
    const double worst = std::max(std::abs(values.front()), std::abs(values.back()));
    const double worst_after = std::max(std::abs(values.front() - event), std::abs(values.back() - event));
    std::printf("| %.0f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", length, middle, worst, middle - event, worst_after,
                std::max(20.0, length / 100.0));
  }
  std::puts("");
  (void)cudaFree(device);
}

/// Each warp says again and again what the global timer showed before and after an event.
template <bool placed>
__global__ void say_time(kt::View view, int times, int pause) {
  kt::BasicWarp<true> trace(view);
  for (int i = 0; i < times; ++i) {
    if constexpr (placed)
      if (i % 250 == 249) trace.place();
    const std::uint64_t before = kt::detail::global_ns();
    trace.instant(0);
    const std::uint64_t after = kt::detail::global_ns();
    trace.value(0, static_cast<std::uint32_t>(before));
    trace.value(1, static_cast<std::uint32_t>(after - before));
    const long long start = clock64();
    while (clock64() - start < pause) {
    }
  }
}

template <bool placed>
void order_of_events() {
  std::printf("## Events of all SMs against the global timer%s\n\n", placed ? ", with place() every 220 us" : "");
  std::puts(
      "| kernel | events | SMs | an event lies outside of the timer's readings before and after it by at most | "
      "residual |\n|---|---|---|---|---|");
  for (const int times : placed ? std::vector{1000} : std::vector{10, 100, 1000}) {
    const auto blocks = static_cast<unsigned>(sms());
    kt::Buffer buffer({.blocks = blocks, .warps = 2, .events = 8192});
    say_time<placed><<<blocks, 64>>>(buffer.view("say_time"), times, 1500);
    GPUBENCH_TRACE_CHECK(cudaGetLastError());
    const kt::Trace trace = buffer.read();
    const kt::Recording& r = trace.recording();
    // The recording's base is on the host's clock: all is off by one constant, for which there is an interval.
    double least = -INFINITY, most = INFINITY, constant = 0.0;
    std::map<std::uint32_t, int> seen;
    for (std::size_t i = 0; i < r.instants.size(); ++i) {
      const kt::Instant& moment = r.instants[i];
      const double before = r.values.at(2 * i).value, wide = r.values.at(2 * i + 1).value;
      if (i == 0) constant = before - static_cast<double>(moment.time_ns);
      const double off = std::remainder(before - static_cast<double>(moment.time_ns) - constant, 4294967296.0);
      least = std::max(least, off);
      most = std::min(most, off + wide + static_cast<double>(r.step_ns));
      ++seen[r.warps[moment.warp].sm];
    }
    std::printf("| %.0f us | %zu | %zu | %.0f ns | %.1f ns |\n",
                static_cast<double>(r.launches.at(0).close_ns - r.launches[0].open_ns) / 1e3, r.instants.size(),
                seen.size(), std::max((least - most) / 2.0, 0.0), r.launches[0].residual_ns);
  }
  std::puts("");
}

// A matrix product by tensor cores: 128 x 128 x 32 a step, three stages of cp.async, 8 warps of 64 x 32.
constexpr int tile_m = 128, tile_n = 128, tile_k = 32, stages = 3, pad = 8;

__device__ __forceinline__ void copy_16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
               "l"(from));
}

template <class Warp>
__global__ void __launch_bounds__(256)
    gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int n, kt::View view) {
  using namespace nvcuda;
  extern __shared__ __nv_bfloat16 memory[];
  auto* const a_tile = memory;
  auto* const b_tile = memory + stages * tile_m * (tile_k + pad);
  Warp trace(view);
  const int warp = static_cast<int>(threadIdx.x) / 32, row = static_cast<int>(blockIdx.y) * tile_m,
            column = static_cast<int>(blockIdx.x) * tile_n;
  const auto load = [&](int step) {
    if (step * tile_k < n) {
      auto* const at = a_tile + step % stages * tile_m * (tile_k + pad);
      auto* const bt = b_tile + step % stages * tile_k * (tile_n + pad);
      for (int i = static_cast<int>(threadIdx.x); i < tile_m * tile_k / 8; i += 256)
        copy_16(at + i / (tile_k / 8) * (tile_k + pad) + i % (tile_k / 8) * 8,
                a + std::size_t(row + i / (tile_k / 8)) * std::size_t(n) + step * tile_k + i % (tile_k / 8) * 8);
      for (int i = static_cast<int>(threadIdx.x); i < tile_k * tile_n / 8; i += 256)
        copy_16(bt + i / (tile_n / 8) * (tile_n + pad) + i % (tile_n / 8) * 8,
                b + std::size_t(step * tile_k + i / (tile_n / 8)) * std::size_t(n) + column + i % (tile_n / 8) * 8);
    }
    asm volatile("cp.async.commit_group;");
  };
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4][2];
  for (auto& of_row : sum)
    for (auto& one : of_row) wmma::fill_fragment(one, 0.0F);
  for (int step = 0; step < stages - 1; ++step) load(step);
  const int warp_row = warp / 4 * 64, warp_column = warp % 4 * 32;
  for (int step = 0; step * tile_k < n; ++step) {
    const auto scope = trace.scope(0);
    (void)scope;
    asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2));
    __syncthreads();
    load(step + stages - 1);
    const auto* const at = a_tile + step % stages * tile_m * (tile_k + pad);
    const auto* const bt = b_tile + step % stages * tile_k * (tile_n + pad);
    for (int k = 0; k < tile_k; k += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> left[4];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> right[2];
      for (int i = 0; i < 4; ++i)
        wmma::load_matrix_sync(left[i], at + (warp_row + i * 16) * (tile_k + pad) + k, tile_k + pad);
      for (int j = 0; j < 2; ++j)
        wmma::load_matrix_sync(right[j], bt + k * (tile_n + pad) + warp_column + j * 16, tile_n + pad);
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 2; ++j) wmma::mma_sync(sum[i][j], left[i], right[j], sum[i][j]);
    }
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 2; ++j)
      wmma::store_matrix_sync(c + std::size_t(row + warp_row + i * 16) * std::size_t(n) + column + warp_column + j * 16,
                              sum[i][j], static_cast<unsigned>(n), wmma::mem_row_major);
}

__global__ void fill(__nv_bfloat16* values, std::size_t count) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count;
       i += std::size_t{gridDim.x} * blockDim.x)
    values[i] = __float2bfloat16(static_cast<float>(i * 2654435761U % 1000) / 500.0F - 1.0F);
}

void gemm_loss() {
  std::puts("## A matrix product by tensor cores (BF16, 128 x 128 x 32 a step), one scope a step\n");
  std::puts("| n | without calls | recording | added | off at run time | added | TFLOP/s | events |");
  std::puts("|---|---|---|---|---|---|---|---|");
  for (const int n : {4096, 8192}) {
    const std::size_t count = std::size_t(n) * std::size_t(n);
    auto* const a = device_memory<__nv_bfloat16>(count);
    auto* const b = device_memory<__nv_bfloat16>(count);
    auto* const c = device_memory<float>(count);
    fill<<<1024, 256>>>(a, count);
    fill<<<1024, 256>>>(b, count);
    const dim3 grid(static_cast<unsigned>(n / tile_n), static_cast<unsigned>(n / tile_m));
    constexpr int bytes = stages * (tile_m * (tile_k + pad) + tile_k * (tile_n + pad)) * 2;
    for (const auto kernel : {gemm<kt::NoWarp>, gemm<kt::BasicWarp<true>>})
      GPUBENCH_TRACE_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kt::Buffer buffer({.blocks = grid.x * grid.y, .warps = 8, .events = static_cast<std::uint32_t>(2 * n / tile_k)});
    const auto added = [&](bool record) {
      return kt::measure_added_time(buffer, [&](const kt::View& view) {
        if (view.memory == nullptr)
          gemm<kt::NoWarp><<<grid, 256, bytes>>>(a, b, c, n, view);
        else
          gemm<kt::BasicWarp<true>><<<grid, 256, bytes>>>(a, b, c, n, record ? view : kt::View());
      });
    };
    const kt::AddedTime on = added(true), off = added(false);
    GPUBENCH_TRACE_CHECK(cudaGetLastError());
    buffer.reset();
    gemm<kt::BasicWarp<true>><<<grid, 256, bytes>>>(a, b, c, n, buffer.view("gemm"));
    const kt::Trace trace = buffer.read();
    std::printf("| %d | %.1f us | %.1f us | %.2f %% | %.1f us | %.2f %% | %.0f | %lld, %lld dropped |\n", n,
                on.without_us, on.with_us, 100.0 * on.share(), off.with_us, 100.0 * off.share(),
                2.0 * n * n * static_cast<double>(n) / on.without_us / 1e6,
                static_cast<long long>(trace.recording().events), static_cast<long long>(trace.recording().dropped));
    (void)cudaFree(a);
    (void)cudaFree(b);
    (void)cudaFree(c);
  }
  std::puts("");
}

__global__ void many_events(kt::View view, int scopes) {
  kt::BasicWarp<true> trace(view);
  for (int i = 0; i < scopes; ++i) {
    trace.begin(static_cast<std::uint32_t>(i % 5));
    trace.swap(static_cast<std::uint32_t>(i % 5), 7);
    trace.begin(8);
    trace.end(8);
    trace.end(7);
  }
}

void export_of_many(const std::filesystem::path& folder) {
  constexpr int scopes = 1900;
  const auto blocks = static_cast<unsigned>(sms());
  kt::Buffer buffer({.blocks = blocks, .warps = 8, .events = 5 * scopes});
  for (int i = 0; i < 5; ++i) buffer.name(static_cast<std::uint32_t>(i), "phase " + std::to_string(i));
  buffer.name(7, "outer").name(8, "inner");
  many_events<<<blocks, 256>>>(buffer.view("many"), scopes);
  GPUBENCH_TRACE_CHECK(cudaDeviceSynchronize());
  using Clock = std::chrono::steady_clock;
  const auto seconds = [](Clock::time_point from) {
    return std::chrono::duration<double>(Clock::now() - from).count();
  };
  auto from = Clock::now();
  const kt::Trace trace = buffer.read();
  const double read = seconds(from);
  std::printf("## Export of %.1f million events\n\ncopied and decoded in %.2f s\n",
              static_cast<double>(trace.recording().events) / 1e6, read);
  for (const char* name : {"many.perfetto-trace", "many.json", "many.stats.json"}) {
    from = Clock::now();
    trace.write(folder / name);
    std::printf("%s: %.2f s, %.0f MB\n", name, seconds(from),
                static_cast<double>(std::filesystem::file_size(folder / name)) / 1e6);
    std::filesystem::remove(folder / name);
  }
  std::puts("");
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::filesystem::path folder = argc > 1 ? argv[1] : "/tmp";
    const std::string only = argc > 2 ? argv[2] : "";
    ns_per_tick = kt::measure_rate().value().ns_per_tick;
    cost_of_events();
    std::fflush(stdout);
    if (only == "cost") {
      gemm_loss();
      return 0;
    }
    spans_of_known_length<Around::events, false>();
    spans_of_known_length<Around::events, true>();
    spans_of_known_length<Around::scopes, false>();
    spans_of_known_length<Around::scopes, true>();
    order_of_events<false>();
    order_of_events<true>();
    std::fflush(stdout);
    gemm_loss();
    std::fflush(stdout);
    export_of_many(folder);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
