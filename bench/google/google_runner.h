// SPDX-License-Identifier: Apache-2.0
// Between Google Benchmark and us: what a program registered, which points there are, and how a measurement reaches
// Google Benchmark's reporters. What is done with a point is the visitor's affair.
#pragma once

#include <benchmark/benchmark.h>

#include <set>

#include "bench/point_runner.h"
#include "core/model/device.h"
#include "core/model/measurement.h"
#include "gpubench/benchmark.h"

namespace gpubench::bench {

/// A registered operation.
struct Registration {
  std::string operation;
  DeviceKind kind = DeviceKind::cpu;
  std::function<void(State&)> function;
  std::vector<Argument> texts;  ///< that its name holds: {"type", 0, "float"}
  bool unoptimized_code = false;
  GoogleBenchmark* google = nullptr;
  /// Of the numbers that Google Benchmark keeps, some perhaps empty; absent before anything was discovered.
  std::optional<std::vector<std::string>> number_names = {};
  double min_time_seconds = 0.0;     ///< ->MinTime
  double min_warm_up_seconds = 0.0;  ///< ->MinWarmUpTime
  std::size_t discovered_runs = 0;   ///< points and their repetitions
  bool fits_complexity = false;      ///< ->Complexity
  /// Registered numbers that --arg replaced by others.
  std::set<std::vector<std::int64_t>> replaced = {};
};

/// All of this process, in the order of registration. They live until forget_registrations, or as long as the process.
const std::vector<Registration*>& registrations();
/// As register_operation, with texts. The result is Google Benchmark's, for arguments.
GoogleBenchmark* add_registration(Registration registration);
/// Lets go of all of them: for a process that registers anew. Nothing may be running.
void forget_registrations();

/// Is called once for each point of a device with its position among those that bench::discover names, unless Google
/// Benchmark interleaves repetitions at random. Returns the measurement without its name, or nothing to leave the point
/// out.
using Visitor = std::function<std::optional<Measurement>(const PointCall& call, std::size_t position)>;

/// The adapter in charge, while it lives. Without one (a program that runs Google Benchmark's own main) each point is
/// timed on the first device of its kind.
class Adapter {
 public:
  /// `kind`: of devices whose operations are visited; none: all. `marks`: a reporter of ours sees the runs and takes
  /// the marks off by which it knows them.
  Adapter(std::optional<DeviceKind> kind, Visitor visit, bool marks = true);
  ~Adapter();
  Adapter& operator=(Adapter&&) = delete;  ///< not copied, not moved

  /// What the function that Google Benchmark knows does.
  static void call(benchmark::State& google, Registration& registration);

  /// What the visitor returned, in that order; the reporter fills in the names.
  [[nodiscard]] std::vector<Measurement>& measurements() { return measurements_; }
  /// Of the measurement at `index`.
  [[nodiscard]] Registration& registration_of(std::size_t index) const { return *registered_[index]; }
  /// The one that was called last; null before any.
  [[nodiscard]] Registration* last_called() const { return last_called_; }
  /// The reporter has seen all repetitions of one set of arguments: the next call is of another point.
  void end_of_instance() { in_instance_ = false; }

 private:
  void visit(benchmark::State& google, Registration& registration);

  void hand_over_nothing(benchmark::State& google, const Registration& registration, std::size_t index,
                         const std::string& message) const;
  void hand_over(benchmark::State& google, bool by_sample) const;

  std::optional<DeviceKind> kind_;
  Visitor visit_;
  bool marks_;
  Adapter* previous_;
  std::size_t next_position_ = 0;
  bool in_instance_ = false;
  bool grown_ = false;  ///< Google Benchmark asked for more iterations than before
  std::int64_t last_iterations_ = 0;
  Registration* last_called_ = nullptr;
  std::vector<Measurement> measurements_;
  std::vector<Registration*> registered_;
};

/// The failure's message or why a point was skipped, without the kind of failure.
std::string why_unmeasured(const Measurement& measurement);
/// How a point's index reaches the reporter: as a counter, or at the head of an error message.
inline constexpr const char* point_counter = "gpubench_point";
/// The index of what is no point of this run.
inline constexpr std::size_t no_point = 999'999'999;
/// "gpubench point 12: message"
std::string tag_message(std::size_t index, const std::string& message);
struct TaggedMessage {
  std::optional<std::size_t> index;
  std::string message;
};
TaggedMessage untag_message(const std::string& text);

/// A `--benchmark_*` flag that is unknown or has a bad value, or a filter that is no regular expression.
/// Samples of one point, as far as they can be asked for by number: more would make files that nobody can read.
inline constexpr std::int64_t max_exact_samples = 1'000'000;

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
