// SPDX-License-Identifier: Apache-2.0
// Registering operations. What the macros return takes Google Benchmark's whole vocabulary: Arg, Args, Range, Ranges,
// RangeMultiplier, ArgsProduct, ArgNames, Apply, Repetitions, Unit, ...
//
//   GPU_BENCHMARK(saxpy)->ArgName("n")->RangeMultiplier(4)->Range(1 << 10, 1 << 28);
//   GPU_BENCHMARK_TEMPLATE(sort, float, 4);                   // sort<float, 4>
//   GPU_BENCHMARK_CAPTURE(sort, descending, false);           // "sort/descending", called as sort(state, false)
//   GPU_BENCHMARK_TYPES(saxpy, float, double)->ArgName("n")->Range(1 << 10, 1 << 28);
//                                                             // "saxpy/type:float/n:1024": one operation, two types
//   GPU_BENCHMARK_TEXTS(copy, layout, row, column);           // "copy/layout:row"; state.text("layout") tells which
//
// HOST_BENCHMARK, HOST_BENCHMARK_TEMPLATE, ... register operations of the host CPU.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "gpubench/state.h"
#include "gpubench/work.h"

namespace gpubench {

/// Google Benchmark's own benchmark object, by whatever name the installed version has for it.
using GoogleBenchmark = std::remove_pointer_t<decltype(benchmark::RegisterBenchmark(
    std::declval<const char*>(), std::declval<void (*)(benchmark::State&)>()))>;

/// How the code that registers an operation was compiled. Reports say where that is without optimisation, or for other
/// vectors than the processor has.
struct Code {
  bool optimized = true;          ///< with -O, and for CUDA without -G
  std::string_view vectors = {};  ///< of the host's code: "avx512", "avx2", "baseline"; empty: not known
};

/// Registers an operation for a kind of device.
GoogleBenchmark* register_operation(const std::string& name, DeviceKind kind, std::function<void(State&)> operation,
                                    Code code = {});

/// One value of a text argument, and what runs for it.
struct AxisValue {
  std::string text;                       ///< "float", "row"
  std::function<void(State&)> operation;  ///< called for that value
};

/// Several registered benchmarks that get their arguments together, in Google Benchmark's words.
class Benchmarks {
 public:
  explicit Benchmarks(std::vector<GoogleBenchmark*> registered) : registered_(std::move(registered)) {}  ///< each

  Benchmarks* operator->() { return this; }  ///< so that it is used like Google's own
  /// Calls a function with each: `->each([](auto* benchmark) { benchmark->MinTime(0.1); })`, for what is not below.
  template <class Function>
  Benchmarks* each(Function function) {
    for (GoogleBenchmark* benchmark : registered_) function(benchmark);
    return this;
  }

#define GPUBENCH_FORWARD(name)                                                       \
  template <class... Arguments>                                                      \
  Benchmarks* name(const Arguments&... arguments) {                                  \
    return each([&](GoogleBenchmark* benchmark) { benchmark->name(arguments...); }); \
  }
  GPUBENCH_FORWARD(Arg)
  GPUBENCH_FORWARD(ArgName)
  GPUBENCH_FORWARD(Range)
  GPUBENCH_FORWARD(DenseRange)
  GPUBENCH_FORWARD(RangeMultiplier)
  GPUBENCH_FORWARD(Unit)
  GPUBENCH_FORWARD(MinTime)
  GPUBENCH_FORWARD(Iterations)
  GPUBENCH_FORWARD(Repetitions)
  GPUBENCH_FORWARD(ReportAggregatesOnly)
  GPUBENCH_FORWARD(DisplayAggregatesOnly)
  GPUBENCH_FORWARD(ComputeStatistics)
#undef GPUBENCH_FORWARD
  /** Google's, of each. */ Benchmarks* Args(const std::vector<std::int64_t>& values) {
    return each([&](GoogleBenchmark* benchmark) { benchmark->Args(values); });
  }
  /** Google's, of each. */ Benchmarks* Ranges(const std::vector<std::pair<std::int64_t, std::int64_t>>& ranges) {
    return each([&](GoogleBenchmark* benchmark) { benchmark->Ranges(ranges); });
  }
  /** Google's, of each. */ Benchmarks* ArgsProduct(const std::vector<std::vector<std::int64_t>>& values) {
    return each([&](GoogleBenchmark* benchmark) { benchmark->ArgsProduct(values); });
  }
  /** Google's, of each. */ Benchmarks* ArgNames(const std::vector<std::string>& names) {
    return each([&](GoogleBenchmark* benchmark) { benchmark->ArgNames(names); });
  }
  /** Google's, of each. */ Benchmarks* Apply(void (*function)(GoogleBenchmark*)) {
    return each([&](GoogleBenchmark* benchmark) { benchmark->Apply(function); });
  }

 private:
  std::vector<GoogleBenchmark*> registered_;
};

/// Registers one operation with a text argument: each value is a point of its own, named "copy/layout:row".
Benchmarks register_axis(const std::string& name, DeviceKind kind, const std::string& argument,
                         const std::vector<AxisValue>& values, Code code = {});

namespace detail {
/// "float, pair<int, int>" is "float" and "pair<int, int>".
std::vector<std::string> split_names(const char* text);

template <class... Types, class Call>
std::vector<AxisValue> axis_of_types(const char* names, Call call) {
  const std::vector<std::string> texts = split_names(names);
  std::vector<AxisValue> values;
  (values.push_back({texts.at(values.size()), [call](State& state) { call(state, std::type_identity<Types>()); }}),
   ...);
  return values;
}
template <class Function>
std::vector<AxisValue> axis_of_texts(const char* names, Function function) {
  std::vector<AxisValue> values;
  for (const std::string& text : split_names(names)) values.push_back({text, function});
  return values;
}
}  // namespace detail
}  // namespace gpubench

// -O, and for CUDA no -G: both are of this translation unit alone.
#if defined(__OPTIMIZE__) && !defined(__CUDACC_DEBUG__)
#define GPUBENCH_IS_OPTIMIZED true
#else
#define GPUBENCH_IS_OPTIMIZED false
#endif
// -march, as gpubench names what a CPU has.
#if defined(__AVX512F__)
#define GPUBENCH_VECTORS "avx512"
#elif defined(__AVX2__) && defined(__FMA__)
#define GPUBENCH_VECTORS "avx2"
#else
#define GPUBENCH_VECTORS "baseline"
#endif
#define GPUBENCH_CODE (::gpubench::Code{GPUBENCH_IS_OPTIMIZED, GPUBENCH_VECTORS})
#define GPUBENCH_CONCATENATE_(a, b) a##b
#define GPUBENCH_CONCATENATE(a, b) GPUBENCH_CONCATENATE_(a, b)
#define GPUBENCH_REGISTERED [[maybe_unused]] static const auto GPUBENCH_CONCATENATE(gpubench_registered_, __COUNTER__)

#define GPUBENCH_ONE(kind, function) \
  GPUBENCH_REGISTERED =              \
      ::gpubench::register_operation(#function, ::gpubench::DeviceKind::kind, &(function), GPUBENCH_CODE)
#define GPUBENCH_TEMPLATE(kind, function, ...)                                                                       \
  GPUBENCH_REGISTERED = ::gpubench::register_operation(#function "<" #__VA_ARGS__ ">", ::gpubench::DeviceKind::kind, \
                                                       &function<__VA_ARGS__>, GPUBENCH_CODE)
#define GPUBENCH_CAPTURE(kind, function, case_name, ...)      \
  GPUBENCH_REGISTERED = ::gpubench::register_operation(       \
      #function "/" #case_name, ::gpubench::DeviceKind::kind, \
      [](::gpubench::State& state) { function(state, __VA_ARGS__); }, GPUBENCH_CODE)
#define GPUBENCH_TYPES(kind, function, ...)                                                               \
  GPUBENCH_REGISTERED = ::gpubench::register_axis(                                                        \
      #function, ::gpubench::DeviceKind::kind, "type",                                                    \
      ::gpubench::detail::axis_of_types<__VA_ARGS__>(                                                     \
          #__VA_ARGS__,                                                                                   \
          []<class Type>(::gpubench::State& state, std::type_identity<Type>) { function<Type>(state); }), \
      GPUBENCH_CODE)
#define GPUBENCH_TEXTS(kind, function, argument, ...)                               \
  GPUBENCH_REGISTERED =                                                             \
      ::gpubench::register_axis(#function, ::gpubench::DeviceKind::kind, #argument, \
                                ::gpubench::detail::axis_of_texts(#__VA_ARGS__, &(function)), GPUBENCH_CODE)

#define GPU_BENCHMARK(function) GPUBENCH_ONE(gpu, function)
#define GPU_BENCHMARK_TEMPLATE(function, ...) GPUBENCH_TEMPLATE(gpu, function, __VA_ARGS__)
#define GPU_BENCHMARK_CAPTURE(function, case_name, ...) GPUBENCH_CAPTURE(gpu, function, case_name, __VA_ARGS__)
#define GPU_BENCHMARK_TYPES(function, ...) GPUBENCH_TYPES(gpu, function, __VA_ARGS__)
#define GPU_BENCHMARK_TEXTS(function, argument, ...) GPUBENCH_TEXTS(gpu, function, argument, __VA_ARGS__)

#define HOST_BENCHMARK(function) GPUBENCH_ONE(cpu, function)
#define HOST_BENCHMARK_TEMPLATE(function, ...) GPUBENCH_TEMPLATE(cpu, function, __VA_ARGS__)
#define HOST_BENCHMARK_CAPTURE(function, case_name, ...) GPUBENCH_CAPTURE(cpu, function, case_name, __VA_ARGS__)
#define HOST_BENCHMARK_TYPES(function, ...) GPUBENCH_TYPES(cpu, function, __VA_ARGS__)
#define HOST_BENCHMARK_TEXTS(function, argument, ...) GPUBENCH_TEXTS(cpu, function, argument, __VA_ARGS__)
