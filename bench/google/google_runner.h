// SPDX-License-Identifier: Apache-2.0
// Runs the registered operations through Google Benchmark: its flags, filters, repetitions and reporters.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/counting_runner.h"
#include "bench/google/adapter.h"
#include "core/model/device.h"

namespace gpubench::bench {

/// A `--benchmark_*` flag that is unknown or has a bad value, or a filter that is no regular expression.
struct GoogleFlagError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Google Benchmark's flags. Those of output and selection are handled here, the rest is passed on.
struct GoogleFlags {
  std::vector<std::string> passed_on;
  std::string filter;                 ///< --benchmark_filter; empty: all
  std::optional<std::string> format;  ///< --benchmark_format: console, json or csv
  std::optional<std::string> out;     ///< --benchmark_out
  std::string out_format = "json";    ///< --benchmark_out_format
  bool list = false;                  ///< --benchmark_list_tests
  bool report_aggregates_only = false;
  bool display_aggregates_only = false;
  std::optional<double> min_time_seconds;        ///< --benchmark_min_time=0.5s
  std::optional<std::int64_t> exact_iterations;  ///< --benchmark_min_time=100x

  /// --benchmark_enable_random_interleaving: points are then not measured in the order that `discover` gives.
  [[nodiscard]] bool interleaves_at_random() const;
};

/// Takes the `--benchmark_*` arguments. Throws GoogleFlagError.
GoogleFlags parse_google_flags(const std::vector<std::string>& arguments);
/// Hands Google Benchmark its flags; once a process, before anything runs. Throws GoogleFlagError.
void initialize_google(const std::string& program, const GoogleFlags& flags);

/// One point that would run on a device.
struct PointName {
  std::string name;  ///< "saxpy/type:float/1024"
  std::string operation;
  std::vector<Argument> arguments;
  int repetition = 0;
  const Registration* registration = nullptr;
};
/// The points that the filter chooses for a device, in order, repetitions included. Nothing is measured.
std::vector<PointName> discover(const Device& device, const std::string& filter);
/// Finds the names of the numbers of all registered operations. go_over calls it.
void learn_arguments();

/// Registers further arguments for an operation, with the first of `points` of this operation that has arguments of the
/// same names and texts. Returns false when there is none.
bool add_arguments(const std::vector<PointName>& points, const std::string& operation,
                   const std::vector<Argument>& arguments);

/// One of Google Benchmark's own reporters with its output.
struct Sink {
  benchmark::BenchmarkReporter* reporter = nullptr;
  bool aggregates_only = false;
};
/// Names the regime of a fresh measurement for Google Benchmark's label; may be empty.
using Labeller = std::function<std::string(const Measurement&)>;

/// Visits what the filter chooses on a device. Returns what the visitor returned, with names; runs go to the sinks.
std::vector<Measurement> go_over(const Device& device, const std::string& filter, Visitor visit,
                                 const std::vector<Sink>& sinks = {}, const Labeller& labeller = {});

/// What is known of the point at a position, or null to leave it out.
using Timed = std::function<const Measurement*(std::size_t position)>;
/// Goes over timed points in all rounds of a runner's pass. Returns them by position, with what the pass added.
std::map<std::size_t, Measurement> count_again(CountingRunner& runner, const Device& device, const std::string& filter,
                                               const Timed& timed);

/// A --arg that is malformed or that no operation has; what() is one sentence.
struct ArgumentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// "n=1024,4096", "n=2^10..2^26:4" or "type=float,double".
struct ArgumentChoice {
  std::string name;
  std::vector<std::string> texts;     ///< as given, for a text argument; empty for a range
  std::vector<std::int64_t> numbers;  ///< empty where one of the texts is no number
};
/// Throws ArgumentError.
ArgumentChoice parse_argument_choice(const std::string& text);

/// Replaces the registered values of these arguments in every operation that has them. To be called once, after
/// initialize_google. Throws ArgumentError.
void choose_arguments(const std::vector<ArgumentChoice>& choices);

}  // namespace gpubench::bench
