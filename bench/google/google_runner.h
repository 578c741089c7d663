// SPDX-License-Identifier: Apache-2.0
// Google Benchmark's flags, and its runs: which points there are, and going over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/model/device.h"
#include "core/model/measurement.h"

namespace benchmark {
class BenchmarkReporter;
}

namespace gpubench::bench {

class CountingRunner;
struct PointCall;
struct Registration;

/// A `--benchmark_*` flag that is unknown or has a bad value, or a filter that is no regular expression.
struct GoogleFlagError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Samples of one point, as far as they can be asked for by number: more would make files that nobody can read.
inline constexpr std::int64_t max_exact_samples = 1'000'000;

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
  double min_warm_up_seconds = 0.0;              ///< --benchmark_min_warmup_time

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
/// The points that the filter chooses for a kind of device (none: all kinds), in order, repetitions included. Nothing
/// is measured.
std::vector<PointName> discover(std::optional<DeviceKind> kind, const std::string& filter);
/// Finds what only Google Benchmark's names tell of the registered operations. discover and go_over call it.
void learn_registrations();

/// Registers further arguments for an operation, with the first of `points` of this operation that has arguments of the
/// same names and texts. Returns false when there is none.
bool add_arguments(const std::vector<PointName>& points, const std::string& operation,
                   const std::vector<Argument>& arguments);

/// The names of plain BENCHMARKs of the program that a filter chooses. Runs nothing. Throws GoogleFlagError.
std::vector<std::string> plain_benchmarks(const std::string& filter);
/// Runs them as Google Benchmark does by itself.
void run_plain_benchmarks(const std::vector<std::string>& names, const GoogleFlags& flags,
                          benchmark::BenchmarkReporter& reporter);

/// One of Google Benchmark's own reporters with its output.
struct Sink {
  benchmark::BenchmarkReporter* reporter = nullptr;
  bool aggregates_only = false;
};
/// Names the regime of a fresh measurement for Google Benchmark's label; may be empty.
using Labeller = std::function<std::string(const Measurement&)>;

/// Is called once for each point of a device with its position among those that bench::discover names, unless Google
/// Benchmark interleaves repetitions at random. Returns the measurement without its name, or nothing to leave the point
/// out.
using Visitor = std::function<std::optional<Measurement>(const PointCall& call, std::size_t position)>;

/// Visits what the filter chooses on a device. Returns what the visitor returned, with names; runs go to the sinks.
std::vector<Measurement> go_over(const Device& device, const std::string& filter, Visitor visit,
                                 const std::vector<Sink>& sinks = {}, const Labeller& labeller = {});

/// What is known of the point at a position, or null to leave it out.
using Timed = std::function<const Measurement*(std::size_t position)>;
/// Goes over timed points in all rounds of a runner's pass. Returns them by position, with what the pass added.
std::map<std::size_t, Measurement> count_again(CountingRunner& runner, const Device& device, const std::string& filter,
                                               const Timed& timed);

}  // namespace gpubench::bench
