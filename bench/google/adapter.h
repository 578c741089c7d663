// SPDX-License-Identifier: Apache-2.0
// Between Google Benchmark and us: what a program registered, which points there are, and how a measurement reaches
// Google Benchmark's reporters. What is done with a point is the visitor's affair.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

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
  /// Registered numbers that --arg replaced by others.
  std::set<std::vector<std::int64_t>> replaced = {};
};

/// All of this process, in the order of registration. They live as long as the process.
const std::vector<Registration*>& registrations();

/// Is called for each point of a device with its position among those that bench::discover names, unless Google
/// Benchmark interleaves repetitions at random. Again for the same position when it asks for a longer measurement,
/// which supersedes the first. Returns the measurement without its name, or nothing to leave the point out.
using Visitor = std::function<std::optional<Measurement>(const PointCall& call, std::size_t position)>;

/// The adapter in charge, while it lives. Without one (a program that runs Google Benchmark's own main) each point is
/// timed on the first device of its kind.
class Adapter {
 public:
  Adapter(DeviceKind kind, Visitor visit);
  ~Adapter();
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  /// What the function that Google Benchmark knows does.
  static void call(benchmark::State& google, const Registration& registration);

  /// What the visitor returned, in that order; the reporter fills in the names.
  [[nodiscard]] std::vector<Measurement>& measurements() { return measurements_; }
  /// Of the measurement at `index`.
  [[nodiscard]] const Registration& registration_of(std::size_t index) const { return *registered_[index]; }
  /// The reporter has seen all repetitions of one set of arguments: the next call is of another point.
  void end_of_instance() { in_instance_ = false; }

 private:
  std::size_t position_of(const benchmark::State& google);
  void visit(benchmark::State& google, const Registration& registration);

  DeviceKind kind_;
  Visitor visit_;
  Adapter* previous_;
  std::size_t next_position_ = 0;
  bool in_instance_ = false;
  std::int64_t last_iterations_ = 0;
  std::vector<Measurement> measurements_;
  std::vector<const Registration*> registered_;
};

/// How a point's index reaches the reporter: as a counter, or at the head of an error message.
inline constexpr const char* point_counter = "gpubench_point";
/// Reporters drop runs with this error.
inline constexpr const char* no_point_message = "gpubench: no point of this run";
/// "gpubench point 12: message"
std::string tag_message(std::size_t index, const std::string& message);
struct TaggedMessage {
  std::optional<std::size_t> index;
  std::string message;
};
TaggedMessage untag_message(const std::string& text);

}  // namespace gpubench::bench
