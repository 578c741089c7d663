// SPDX-License-Identifier: Apache-2.0
// What an operation is handed: its arguments, memory, and the call that times it.
//
//   void saxpy(gpubench::State& state) {
//     const auto n = state.range("n");
//     auto x = state.device_vector<float>(n);
//     auto y = state.device_vector<float>(n);
//     state.reads(x.bytes() + y.bytes());
//     state.writes(y.bytes());
//     state.flops(gpubench::fp32, 2 * n);
//     state.measure([&](cudaStream_t s) { saxpy_kernel<<<blocks(n), 256, 0, s>>>(n, 2.F, x.data(), y.data()); });
//   }
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "gpubench/check.h"
#include "gpubench/contents.h"
#include "gpubench/stream.h"
#include "gpubench/vectors.h"
#include "gpubench/work.h"

namespace benchmark {
class State;
}

namespace gpubench {

namespace detail {
struct Declaration;

/// What takes the GPU's stream, or nothing where it runs on the host.
template <class Function>
concept Operation = std::invocable<Function&, Stream> || std::invocable<Function&>;
template <class Function>
inline constexpr DeviceKind device_of = std::invocable<Function&, Stream> ? DeviceKind::gpu : DeviceKind::cpu;
template <class Function>
void call(Function& function, Stream stream) {
  if constexpr (std::invocable<Function&, Stream>)
    function(stream);
  else
    function();
}

template <class T>
concept Number = std::is_arithmetic_v<T>;
double bytes_of(Number auto bytes) { return static_cast<double>(bytes); }
auto bytes_of(const auto& memory) -> decltype(static_cast<double>(std::size(memory) * sizeof(*std::data(memory)))) {
  return static_cast<double>(std::size(memory) * sizeof(*std::data(memory)));
}
}  // namespace detail

#ifdef __clang__
#define GPUBENCH_REGISTER_OR_MEMORY "+r,m"
#else
#define GPUBENCH_REGISTER_OR_MEMORY "+m,r"
#endif
/// Keeps the compiler from dropping a computation whose result nothing reads.
template <class T>
void keep(T& value) {
  if constexpr (std::is_const_v<T>)
    asm volatile("" : : "m"(value) : "memory");
  else if constexpr (std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(void*))
    asm volatile("" : GPUBENCH_REGISTER_OR_MEMORY(value) : : "memory");
  else
    asm volatile("" : "+m"(value) : : "memory");
}
/// What an operation is handed: its arguments, its memory, declarations of its work, and `measure`.
class State {
 public:
  explicit State(detail::Declaration& declaration);  ///< the harness makes it
  State& operator=(State&&) = delete;                ///< not copied, not moved

  /// The number at `index` among the arguments that Arg, Args, Range, ... registered.
  [[nodiscard]] std::int64_t range(std::size_t index = 0) const;
  /// The same by the name that ArgName or ArgNames gave it: `state.range("n")`. Throws std::invalid_argument.
  [[nodiscard]] std::int64_t range(std::string_view name) const;
  /// The value of a text argument of GPU_BENCHMARK_TYPES or GPU_BENCHMARK_TEXTS: `state.text("layout")`.
  [[nodiscard]] const std::string& text(std::string_view name) const;

  /// `count` elements on the GPU, of any trivially copyable type. `contents`: gpubench::normal (the default of floating
  /// point), uniform (of integers), zeros (of other types) or none. Counts towards the footprint.
  template <class T, detail::Filling filling = detail::Filling::automatic>
  [[nodiscard]] DeviceVector<T> device_vector(std::int64_t count, detail::Contents<filling> contents = {}) {
    (void)contents;
    DeviceVector<T> result(checked_count(count));
    add(result.buffer_, detail::fill_for<T, filling>(), result.size());
    return result;
  }
  /// The same in host memory.
  template <class T, detail::Filling filling = detail::Filling::automatic>
  [[nodiscard]] HostVector<T> host_vector(std::int64_t count, detail::Contents<filling> contents = {}) {
    (void)contents;
    HostVector<T> result(checked_count(count));
    add(result.buffer_, detail::fill_for<T, filling>(), result.size());
    return result;
  }

  /// Bytes one execution must read, at least: a number, rounded, or a vector or a span, as a whole. Calls add up.
  void reads(const auto& bytes) { add_bytes(&Work::bytes_read, detail::bytes_of(bytes), "state.reads"); }
  /// Bytes one execution must write, at least. Calls add up.
  void writes(const auto& bytes) { add_bytes(&Work::bytes_written, detail::bytes_of(bytes), "state.writes"); }
  /// Operations one execution does on a pipe; a fused multiply-add is two. Calls add up.
  void flops(Pipe pipe, detail::Number auto count) { add_flops(pipe, static_cast<double>(count)); }
  /// Distinct bytes touched, where that is not what device_vector and host_vector handed out.
  void footprint(detail::Number auto bytes) { set_footprint(static_cast<double>(bytes)); }
  /// How many of the reads go to random places of a table of so many bytes: each fetches a sector of 32 bytes. Not for
  /// tables that L1 holds. Calls add up.
  void random_reads(detail::Number auto count, detail::Number auto table_bytes) {
    add_random(static_cast<double>(count), 0.0, static_cast<double>(table_bytes));
  }
  /// The same of stores and atomic operations.
  void random_updates(detail::Number auto count, detail::Number auto table_bytes) {
    add_random(0.0, static_cast<double>(count), static_cast<double>(table_bytes));
  }

  /// Items one execution processes: keys, rows, tokens. Reports show them per second.
  void items(detail::Number auto count) { set_items(static_cast<double>(count)); }
  /// A figure of your own, reported with the point: `state.counter("matrix", bytes, "bytes")`. A later call of the same
  /// name replaces it.
  void counter(std::string name, double value, std::string unit = "");
  /// What part of its time the kernel's warps spend in one range of a trace inside it, which reports show beside the
  /// verdict: kernel_trace::show_phases gives them all. A later call of the same name replaces it.
  void phase(std::string name, double share, double mean_seconds, std::int64_t ranges, double uneven = 1.0);
  /// A text of your own, reported with the point: the algorithm that was chosen, say.
  void label(std::string text);

  /// The blocks of the longest kernel, and how many of them fit on one multiprocessor at once
  /// (cudaOccupancyMaxActiveBlocksPerMultiprocessor). With these a verdict can name a small grid or an uneven last
  /// wave. gpubench finds them itself where the operation can be captured and its kernels are alike.
  void grid(std::integral auto blocks, std::integral auto blocks_per_multiprocessor) {
    set_grid(static_cast<std::int64_t>(blocks), static_cast<std::int64_t>(blocks_per_multiprocessor));
  }

  /// Checks the result after a first execution and before timing. Call it once, before `measure`. A point whose check
  /// does not pass fails (exit code 2) and is not timed. With `inputs`, or --verify=every, it is checked after timing
  /// as well: then a point whose check does not pass loses its times.
  void verify(std::function<Check()> check);

  /// How to change the operation's inputs: `fill(i)` puts set i of `pool` (at least 2) into its memory, untimed. Set 0
  /// is there for the check before timing and for timing itself. After timing another, drawn at random, is filled in,
  /// executed once and checked; with --verify=every, each is. A result that was kept from an earlier execution does not
  /// pass. Needs `verify`. Call it before `measure`.
  ///
  ///   state.inputs(4, [&](std::int64_t i) { std::ranges::fill(x.span(), 1.0F + i); });
  ///   state.verify([&] { return gpubench::all_close(y.span(), reference(x.span()), 1e-6); });
  void inputs(std::int64_t pool, std::function<void(std::int64_t)> fill);

  /// Runs before each execution, untimed: restores what an operation in place has changed. Call it before `measure`.
  ///
  ///   state.reset([&] { std::ranges::shuffle(keys.span(), random); });  // a CPU would learn the branches of one order
  ///   state.measure([&] { std::sort(keys.data(), keys.data() + n); });
  ///
  /// On a GPU it takes the stream, and enqueues on that alone. Executions are then timed one by one, each behind its
  /// reset. With --cache=cold the flush comes after the reset.
  template <detail::Operation Reset>
  void reset(Reset reset) {
    set_reset(detail::device_of<Reset>, [reset](Stream stream) mutable { detail::call(reset, stream); });
  }

  /// Offers a variant that does `remaining_fraction` (from 0 to less than 1) of the arithmetic or of the traffic:
  /// `state.ablation(gpubench::less_arithmetic, 0.5, f)`. Whether it takes less time than the operation is a check on
  /// the verdict. Call it before `measure`. It may overwrite results.
  template <detail::Operation Operation>
  void ablation(Ablation kind, double remaining_fraction, Operation operation) {
    offer(kind, remaining_fraction, detail::device_of<Operation>, batch(std::move(operation)));
  }

  /// How a program calls this operation, where that differs from what `measure` is given: another stream, memory that
  /// is allocated in each call. `calls(stream, n)` makes n calls; with n = 0 it makes ready for them, untimed. The
  /// times `call` and `graph` (--time) are of these, and on a CPU the time. Call it before `measure`.
  void as_called(std::function<void(Stream, std::int64_t)> calls);

  /// For bindings of other languages: `calls(n)` makes n calls of a host operation's kind that do nothing. What one
  /// takes is the operation's overhead where one thread does its work. Call it before `measure`.
  void empty_calls(std::function<void(std::int64_t)> calls);

  /// Leaves this point out, with the reason; not a failure. `measure` then times nothing.
  void skip(std::string reason);

  /// Times an operation that enqueues all its work on the stream, or one of the host CPU, which takes none. Call it
  /// once.
  template <detail::Operation Operation>
  void measure(Operation&& operation) {
    run(detail::device_of<Operation>, batch([&operation](Stream stream) { detail::call(operation, stream); }));
  }

  /// Google Benchmark's own state. Counters, a label and items that are set there are kept like those set here.
  [[nodiscard]] benchmark::State& google();

 private:
  template <class Operation>
  detail::Batch batch(Operation operation) {
    return [&buffers = buffers_, operation](Stream stream, std::int64_t executions) mutable {
      for (std::int64_t i = 0; i < executions; ++i) {
        buffers.next();
        detail::call(operation, stream);
        asm volatile("" : : : "memory");
      }
    };
  }

  static std::size_t checked_count(std::int64_t count);
  void add(const std::shared_ptr<detail::Buffer>& buffer, detail::Fill fill, std::size_t count);
  void add_bytes(double Work::*sum, double bytes, const char* call);
  void add_flops(Pipe pipe, double count);
  void set_footprint(double bytes);
  void add_random(double reads, double updates, double table_bytes);
  void set_items(double count);
  void set_grid(std::int64_t blocks, std::int64_t blocks_per_multiprocessor);
  void set_reset(DeviceKind device, std::function<void(Stream)> reset);
  void offer(Ablation kind, double remaining_fraction, DeviceKind device, detail::Batch batch);
  void run(DeviceKind device, const detail::Batch& batch);

  detail::Declaration& declaration_;
  detail::Buffers& buffers_;
};

}  // namespace gpubench
