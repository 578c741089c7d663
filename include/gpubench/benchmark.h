// SPDX-License-Identifier: Apache-2.0
// Registering operations with Google Benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <type_traits>
#include <utility>

#include "gpubench/device_kind.h"
#include "gpubench/state.h"

namespace gpubench {

/// Google Benchmark's own benchmark object, by whatever name the installed version has for it.
using GoogleBenchmark = std::remove_pointer_t<decltype(benchmark::RegisterBenchmark(
    std::declval<const char*>(), std::declval<void (*)(benchmark::State&)>()))>;

/// Registers an operation for a kind of device. The result takes Google Benchmark's whole vocabulary
/// (Arg, Range, RangeMultiplier, ArgsProduct, ArgNames, Repetitions, Unit, ...).
GoogleBenchmark* register_operation(const std::string& name, DeviceKind kind, std::function<void(State&)> operation);

}  // namespace gpubench

#define GPUBENCH_CONCATENATE_(a, b) a##b
#define GPUBENCH_CONCATENATE(a, b) GPUBENCH_CONCATENATE_(a, b)
#define GPUBENCH_REGISTERED \
  [[maybe_unused]] static ::gpubench::GoogleBenchmark* const GPUBENCH_CONCATENATE(gpubench_registered_, __COUNTER__)

/// GPU_BENCHMARK(saxpy)->RangeMultiplier(4)->Range(1 << 10, 1 << 28);   with `void saxpy(gpubench::State&)`
#define GPU_BENCHMARK(function) \
  GPUBENCH_REGISTERED = ::gpubench::register_operation(#function, ::gpubench::DeviceKind::cuda, &(function))
/// GPU_BENCHMARK_TEMPLATE(sort, float, 4)   registers sort<float, 4>
#define GPU_BENCHMARK_TEMPLATE(function, ...)                                                                        \
  GPUBENCH_REGISTERED = ::gpubench::register_operation(#function "<" #__VA_ARGS__ ">", ::gpubench::DeviceKind::cuda, \
                                                       &function<__VA_ARGS__>)
/// GPU_BENCHMARK_CAPTURE(sort, descending, false)   registers "sort/descending", called as sort(state, false)
#define GPU_BENCHMARK_CAPTURE(function, case_name, ...)                                                        \
  GPUBENCH_REGISTERED = ::gpubench::register_operation(#function "/" #case_name, ::gpubench::DeviceKind::cuda, \
                                                       [](::gpubench::State& state) { function(state, __VA_ARGS__); })

/// The same for operations of the host CPU.
#define HOST_BENCHMARK(function) \
  GPUBENCH_REGISTERED = ::gpubench::register_operation(#function, ::gpubench::DeviceKind::cpu, &(function))
#define HOST_BENCHMARK_TEMPLATE(function, ...)                                                                      \
  GPUBENCH_REGISTERED = ::gpubench::register_operation(#function "<" #__VA_ARGS__ ">", ::gpubench::DeviceKind::cpu, \
                                                       &function<__VA_ARGS__>)
#define HOST_BENCHMARK_CAPTURE(function, case_name, ...)                                                      \
  GPUBENCH_REGISTERED = ::gpubench::register_operation(#function "/" #case_name, ::gpubench::DeviceKind::cpu, \
                                                       [](::gpubench::State& state) { function(state, __VA_ARGS__); })
