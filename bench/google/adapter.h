// SPDX-License-Identifier: Apache-2.0
// Between Google Benchmark and us: which points there are, what they are called, and how a measurement reaches its
// reporters. What is done with a point is the visitor's affair.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/google/registration.h"
#include "bench/point_runner.h"
#include "core/model/device.h"
#include "core/model/measurement.h"

namespace gpubench::bench {

/// Is called for each point of a device with its position among those that bench::discover names for the same filter;
/// that holds as long as Google Benchmark does not interleave repetitions at random. Again for the same position when
/// Google Benchmark asks for a longer measurement, which supersedes the first. Returns what is known of the point now,
/// whose name does not matter, or nothing to leave it out.
using Visitor = std::function<std::optional<Measurement>(const PointCall& call, std::size_t position)>;

/// Google Benchmark calls an operation through a bare function, so the adapter in charge is found through a pointer. It
/// is in charge while it lives. Without one (a program that runs Google Benchmark's own main) each point is timed on
/// the first device of its kind.
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

/// How a point's index travels through Google Benchmark to the reporter: as a counter, or at the head of an error
/// message.
inline constexpr const char* point_counter = "gpubench_point";
/// Error text that stands for "this is no point of this run": reporters drop such runs.
inline constexpr const char* no_point_message = "gpubench: no point of this run";
/// "gpubench point 12: message"
std::string tag_message(std::size_t index, const std::string& message);
struct TaggedMessage {
  std::optional<std::size_t> index;
  std::string message;
};
TaggedMessage untag_message(const std::string& text);

}  // namespace gpubench::bench
