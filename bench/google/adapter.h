// SPDX-License-Identifier: Apache-2.0
// Between Google Benchmark and us: what a program registered, and how a measurement reaches Google Benchmark's
// reporters. What is done with a point is the visitor's affair.
#pragma once

#include <benchmark/benchmark.h>

#include <set>

#include "bench/google/google_runner.h"
#include "bench/point_runner.h"
#include "gpubench/benchmark.h"

namespace gpubench::bench {

/// A registered operation.
struct Registration {
  std::string operation;
  DeviceKind kind = DeviceKind::cpu;
  std::function<void(State&)> function;
  std::vector<Argument> texts;  ///< that its name holds: {"type", 0, "float"}
  Code code = {};
  GoogleBenchmark* google = nullptr;
  /// Of the numbers that Google Benchmark keeps, some perhaps empty; absent before anything was discovered.
  std::optional<std::vector<std::string>> number_names = {};
  double min_time_seconds = 0.0;     ///< ->MinTime
  double min_warm_up_seconds = 0.0;  ///< ->MinWarmUpTime
  std::size_t discovered_runs = 0;   ///< points and their repetitions
  bool fits_complexity = false;      ///< ->Complexity
  std::string refused = {};          ///< why its points cannot be measured
  /// Registered numbers that --arg replaced by others.
  std::set<std::vector<std::int64_t>> replaced = {};
};

/// All of this process, in the order of registration. They live until forget_registrations, or as long as the process.
const std::vector<Registration*>& registrations();
/// As register_operation, with texts. The result is Google Benchmark's, for arguments.
GoogleBenchmark* add_registration(Registration registration);
/// Under which Google Benchmark knows it, perhaps renamed, without its arguments.
const std::string& registered_name(const Registration& registration);
/// What ->Setup and ->Teardown were given is from here on called by the operations themselves, where they are measured;
/// ->UseRealTime is refused.
void take_over_options();
/// Lets go of all of them: for a process that registers anew. Nothing may be running.
void forget_registrations();

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

}  // namespace gpubench::bench
