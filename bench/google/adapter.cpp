// SPDX-License-Identifier: Apache-2.0
#include "bench/google/adapter.h"

#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "bench/devices.h"
#include "bench/google/google_compatibility.h"

namespace gpubench {

namespace {

std::vector<bench::Registration*>& all_registrations() {
  static std::vector<bench::Registration*> all;
  return all;
}

GoogleBenchmark* add(bench::Registration registration) {
  // Google Benchmark keeps what it registers until the process ends; so is this kept.
  static std::vector<std::unique_ptr<bench::Registration>> owner;
  bench::Registration& kept = *owner.emplace_back(std::make_unique<bench::Registration>(std::move(registration)));
  std::string name = kept.operation;
  for (const Argument& text : kept.texts) name += fmt::format("/{}:{}", text.name, *text.text);
  kept.google = benchmark::RegisterBenchmark(name.c_str(), [&kept](benchmark::State& google) {
                  bench::Adapter::call(google, kept);
                })->UseManualTime();
  all_registrations().push_back(&kept);
  return kept.google;
}

}  // namespace

namespace bench {
const std::vector<Registration*>& registrations() { return all_registrations(); }
}  // namespace bench

GoogleBenchmark* register_operation(const std::string& name, DeviceKind kind, std::function<void(State&)> operation,
                                    Code code) {
  return add({name, kind, std::move(operation), {}, code == Code::unoptimized});
}

Benchmarks register_axis(const std::string& name, DeviceKind kind, const std::string& argument,
                         const std::vector<AxisValue>& values, Code code) {
  std::vector<GoogleBenchmark*> registered;
  for (const AxisValue& value : values)
    registered.push_back(
        add({name, kind, value.operation, {Argument{argument, 0, value.text}}, code == Code::unoptimized}));
  return Benchmarks(std::move(registered));
}

namespace detail {

std::vector<std::string> split_names(const char* text) {
  std::vector<std::string> names;
  std::string name;
  int depth = 0;
  for (const char* c = text;; ++c) {
    if (*c == '\0' || (*c == ',' && depth == 0)) {
      while (!name.empty() && name.back() == ' ') name.pop_back();
      names.push_back(std::exchange(name, {}));
      if (*c == '\0') return names;
      continue;
    }
    if (*c == '<' || *c == '(' || *c == '{' || *c == '[') ++depth;
    if (*c == '>' || *c == ')' || *c == '}' || *c == ']') --depth;
    if (*c == '/') throw std::invalid_argument("a name in a list of types or texts cannot hold a '/'");
    if (*c != ' ' || !name.empty()) name += *c;
  }
}

}  // namespace detail

}  // namespace gpubench

namespace gpubench::bench {

namespace {

Adapter*& adapter_in_charge() {
  static Adapter* current = nullptr;
  return current;
}

/// For a program that runs Google Benchmark's own main: the first device of the kind.
Device device_of_kind(DeviceKind kind) {
  if (kind == DeviceKind::cpu) return host_device();
  return choose_devices("cuda:0").front();
}

constexpr std::string_view tag_head = "gpubench point ";

std::vector<std::int64_t> numbers_of(const benchmark::State& google, const Registration& registration) {
  std::vector<std::int64_t> numbers;
  if (!registration.number_names) return numbers;
  for (std::size_t i = 0; i < registration.number_names->size(); ++i) numbers.push_back(google.range(i));
  return numbers;
}

PointCall call_of(benchmark::State& google, const Registration& registration) {
  PointCall call{google, registration.function, registration.texts, std::int64_t{google.max_iterations},
                 registration.unoptimized_code};
  const auto numbers = numbers_of(google, registration);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    call.arguments.push_back({(*registration.number_names)[i], numbers[i]});
  return call;
}

/// Gives Google Benchmark the times and counters of a measurement. `index`: of the measurement, for the reporter.
void hand_over(benchmark::State& google, const Measurement& measurement, std::optional<std::size_t> index) {
  if (measurement.failure || measurement.skipped) {
    const std::string& message = measurement.failure ? measurement.failure->message : *measurement.skipped;
    return skip_with_error(google, index ? tag_message(*index, message) : message);
  }
  // More than one iteration: Google Benchmark, not the sampler, decided how often to measure.
  const bool by_sample = google.max_iterations > 1;
  const auto& samples = measurement.primary().samples_seconds;
  std::size_t next = 0;
  for (auto iteration : google) {
    (void)iteration;
    google.SetIterationTime(by_sample && next < samples.size() ? samples[next] : measurement.seconds()->median);
    ++next;
  }
  const double iterations = static_cast<double>(google.iterations());
  if (measurement.work.bytes() > 0.0)
    google.SetBytesProcessed(static_cast<std::int64_t>(measurement.work.bytes() * iterations));
  if (const double flops = measurement.work.total_flops(); flops > 0.0)
    google.counters["FLOP"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
  for (const UserCounter& counter : measurement.user_counters) {
    if (google.counters.find(counter.name) != google.counters.end()) continue;  // set there
    if (counter.name == items_counter)
      google.SetItemsProcessed(static_cast<std::int64_t>(counter.value * iterations));
    else
      google.counters[counter.name] = counter.value;
  }
  if (index) google.counters[point_counter] = static_cast<double>(*index);
}

}  // namespace

std::string tag_message(std::size_t index, const std::string& message) {
  return fmt::format("{}{}: {}", tag_head, index, message);
}

TaggedMessage untag_message(const std::string& text) {
  if (!text.starts_with(tag_head)) return {std::nullopt, text};
  std::size_t index = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + tag_head.size(), end, index);
  if (error != std::errc() || !std::string_view(rest, end).starts_with(": ")) return {std::nullopt, text};
  return {index, std::string(rest + 2, end)};
}

Adapter::Adapter(DeviceKind kind, Visitor visit)
    : kind_(kind), visit_(std::move(visit)), previous_(std::exchange(adapter_in_charge(), this)) {}

Adapter::~Adapter() { adapter_in_charge() = previous_; }

void Adapter::call(benchmark::State& google, const Registration& registration) {
  if (Adapter* const adapter = adapter_in_charge()) return adapter->visit(google, registration);
  try {
    PointRunner alone(device_of_kind(registration.kind), {});
    hand_over(google, alone.run(call_of(google, registration)), std::nullopt);
  } catch (const NoSuchDevice& error) {
    skip_with_error(google, error.what());
  }
}

std::size_t Adapter::position_of(const benchmark::State& google) {
  // Repetitions follow each other with equal iterations. More of them without a report between means that Google
  // Benchmark found the first repetition too short (an operation with a MinTime of its own) and asks for the same
  // again.
  const bool again = in_instance_ && google.max_iterations > last_iterations_;
  in_instance_ = true;
  last_iterations_ = google.max_iterations;
  if (!again) ++next_position_;
  return next_position_ - 1;
}

void Adapter::visit(benchmark::State& google, const Registration& registration) {
  if (registration.kind != kind_ || registration.replaced.contains(numbers_of(google, registration)))
    return skip_with_error(google, no_point_message);
  auto measurement = visit_(call_of(google, registration), position_of(google));
  if (!measurement) return skip_with_error(google, no_point_message);
  measurement->name.clear();  // the reporter names it, unless a longer one supersedes it
  registered_.push_back(&registration);
  measurements_.push_back(*std::move(measurement));
  hand_over(google, measurements_.back(), measurements_.size() - 1);
}

}  // namespace gpubench::bench
