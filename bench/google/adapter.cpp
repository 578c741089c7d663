// SPDX-License-Identifier: Apache-2.0
#include "bench/google/adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <limits>
#include <utility>

#include "bench/google/google_compatibility.h"
#include "gpu/devices.h"

/// Defined where gpubench's own main is.
extern "C" __attribute__((weak)) const bool gpubench_main_is_ours;

namespace gpubench {
namespace {

std::vector<bench::Registration*>& all_registrations() {
  static std::vector<bench::Registration*> all;
  return all;
}

/// Google Benchmark keeps what it registers; so is this kept.
std::vector<std::unique_ptr<bench::Registration>>& kept_registrations() {
  static std::vector<std::unique_ptr<bench::Registration>> owner;
  return owner;
}

}  // namespace

GoogleBenchmark* register_operation(const std::string& name, DeviceKind kind, std::function<void(State&)> operation,
                                    Code code) {
  return bench::add_registration({name, kind, std::move(operation), {}, code});
}

Benchmarks register_axis(const std::string& name, DeviceKind kind, const std::string& argument,
                         const std::vector<AxisValue>& values, Code code) {
  std::vector<GoogleBenchmark*> registered;
  registered.reserve(values.size());
  for (const AxisValue& value : values)
    registered.push_back(
        bench::add_registration({name, kind, value.operation, {Argument{argument, 0, value.text}}, code}));
  return Benchmarks(std::move(registered));
}

std::vector<std::string> detail::split_names(const char* text) {
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
  return choose_devices(gpu_id(0)).front();
}

using Callback = std::function<void(const benchmark::State&)>;

/// Has an operation call what ->Setup and ->Teardown were given, around itself: Google Benchmark calls them for each
/// listing, too, and an exception of theirs would end the run.
std::function<void(State&)> between(const std::string& name, std::function<void(State&)> operation, Callback setup,
                                    Callback teardown) {
  return [=](State& state) {
    const auto call = [&](const Callback& callback, const char* which) {
      if (!callback) return;
      try {
        callback(state.google());
      } catch (...) {
        throw std::runtime_error(fmt::format("->{} of '{}' failed: {}", which, name, current_exception_text()));
      }
    };
    call(setup, "Setup");
    std::exception_ptr failure;
    try {
      operation(state);
    } catch (...) {
      failure = std::current_exception();
    }
    if (!failure) return call(teardown, "Teardown");
    try {
      call(teardown, "Teardown");
    } catch (...) {  // what the operation threw came first
    }
    std::rethrow_exception(failure);
  };
}

/// What Google Benchmark must not do by itself.
struct Taken {
  Callback setup, teardown;
  bool real_time;
};
/// It tells nobody what it was given. An explicit instantiation may name private members.
template <auto name, auto setup, auto teardown, auto real_time>
struct Take {
  friend const std::string& name_in(GoogleBenchmark& google) { return google.*name; }
  friend Taken take_from(GoogleBenchmark& google) {
    return {std::exchange(google.*setup, nullptr), std::exchange(google.*teardown, nullptr),
            std::exchange(google.*real_time, false)};
  }
};
const std::string& name_in(GoogleBenchmark& google);
Taken take_from(GoogleBenchmark& google);
template struct Take<&GoogleBenchmark::name_, &GoogleBenchmark::setup_, &GoogleBenchmark::teardown_,
                     &GoogleBenchmark::use_real_time_>;

constexpr std::string_view tag_head = "gpubench point ";

std::vector<std::int64_t> numbers_of(const benchmark::State& google, const Registration& registration) {
  std::vector<std::int64_t> numbers;
  if (!registration.number_names) return numbers;
  for (std::size_t i = 0; i < registration.number_names->size(); ++i) numbers.push_back(google.range(i));
  return numbers;
}

PointCall call_of(benchmark::State& google, const Registration& registration) {
  PointCall call{google, registration.function, registration.texts};
  call.kind = registration.kind;
  call.code = registration.code;
  call.min_seconds = registration.min_time_seconds;
  call.min_warm_up_seconds = registration.min_warm_up_seconds;
  call.refused = registration.refused;
  if (google.threads() > 1)
    call.refused = fmt::format(
        "->Threads({}) cannot be had: an operation is timed alone; leave ->Threads out and start threads inside it",
        google.threads());
  const auto numbers = numbers_of(google, registration);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    call.arguments.push_back({(*registration.number_names)[i], numbers[i]});
  return call;
}

/// An iteration after which Google Benchmark asks for no more.
constexpr double longer_than_any_min_time = 1e9;

/// Lets Google Benchmark believe that it ran all iterations it wanted, each of this length.
void run_iterations(benchmark::State& google, double seconds) {
  if (has_looped(google)) return;
  const std::int64_t all = google.max_iterations;
  while (google.KeepRunningBatch(all)) google.SetIterationTime(seconds * static_cast<double>(all));
}

}  // namespace

const std::vector<Registration*>& registrations() { return all_registrations(); }

const std::string& registered_name(const Registration& registration) { return name_in(*registration.google); }

GoogleBenchmark* add_registration(Registration registration) {
  if (registration.operation.empty()) throw std::invalid_argument("an operation cannot be registered without a name");
  Registration& kept = *kept_registrations().emplace_back(std::make_unique<Registration>(std::move(registration)));
  std::string name = kept.operation;
  for (const Argument& text : kept.texts) name += fmt::format("/{}:{}", text.name, *text.text);
  std::ranges::replace(name, '\n', ' ');  // Google Benchmark lists names line by line
  kept.google =
      benchmark::RegisterBenchmark(name.c_str(), [&kept](benchmark::State& google) { Adapter::call(google, kept); });
  // Google Benchmark ends the program where ->UseRealTime comes after this. With a main of ours it can wait.
  if (&gpubench_main_is_ours == nullptr) kept.google->UseManualTime();
  all_registrations().push_back(&kept);
  return kept.google;
}

void take_over_options() {
  for (Registration* const one : all_registrations()) {
    auto [setup, teardown, real_time] = take_from(*one->google);
    if (setup || teardown)
      one->function = between(one->operation, std::move(one->function), std::move(setup), std::move(teardown));
    if (real_time) one->refused = "->UseRealTime cannot be had: gpubench times operations itself; leave it out";
    one->google->UseManualTime();
  }
}

void forget_registrations() {
  benchmark::ClearRegisteredBenchmarks();
  all_registrations().clear();
  kept_registrations().clear();
}

std::string why_unmeasured(const Measurement& measurement) {
  if (measurement.failure) return measurement.failure->message;
  return measurement.skipped.value_or("no time was measured");
}

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

Adapter::Adapter(std::optional<DeviceKind> kind, Visitor visit, bool marks)
    : kind_(kind), visit_(std::move(visit)), marks_(marks), previous_(std::exchange(adapter_in_charge(), this)) {}

Adapter::~Adapter() { adapter_in_charge() = previous_; }

void Adapter::call(benchmark::State& google, Registration& registration) {
  // Of the threads that ->Threads starts, the first stands for all.
  if (google.thread_index() > 0) return run_iterations(google, 1.0);
  Adapter* adapter = adapter_in_charge();
  if (adapter == nullptr) {
    static Adapter alone(
        std::nullopt,
        [](const PointCall& call, std::size_t) { return PointRunner(device_of_kind(call.kind), {}).run(call); }, false);
    adapter = &alone;
  }
  try {
    adapter->visit(google, registration);
  } catch (const NoSuchDevice& error) {
    skip_with_error(google, error.what());
  }
}

/// Gives Google Benchmark no time for a measurement, and `index` to the reporter.
void Adapter::hand_over_nothing(benchmark::State& google, const Registration& registration, std::size_t index,
                                const std::string& message) const {
  if (has_error(google)) {  // the operation called SkipWithError: its message stands
    if (marks_) google.SetLabel(tag_message(index, "").c_str());
    return skip_with_error(google, "");
  }
  // Google Benchmark 1.7 crashes where all points of a family with ->Complexity have errors. It shows a family by its
  // fit, of two runs or more.
  const bool may_fit = registration.fits_complexity || registration.discovered_runs < 2;
  if (!may_fit || !marks_) return skip_with_error(google, marks_ ? tag_message(index, message) : message);
  if (google.complexity_length_n() == 0) google.SetComplexityN(1);
  google.counters[point_counter] = static_cast<double>(index);
  run_iterations(google, longer_than_any_min_time);
}

/// Gives Google Benchmark the times and counters of the last measurement.
void Adapter::hand_over(benchmark::State& google, bool by_sample) const {
  const Measurement& measurement = measurements_.back();
  const double median = measurement.seconds()->median;
  const auto& samples = measurement.primary().samples_seconds;
  if (by_sample) {
    for (std::size_t next = 0; google.KeepRunning(); ++next)
      google.SetIterationTime(next < samples.size() ? samples[next] : median);
  } else {
    run_iterations(google, median);
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
  if (google.complexity_length_n() == 0) {
    const auto number = std::ranges::find_if(measurement.arguments, [](const Argument& a) { return !a.text; });
    google.SetComplexityN(number == measurement.arguments.end() ? 1 : std::max<std::int64_t>(number->value, 1));
  }
  if (marks_) google.counters[point_counter] = static_cast<double>(measurements_.size() - 1);
}

void Adapter::visit(benchmark::State& google, Registration& registration) {
  const std::int64_t iterations = google.max_iterations;
  const bool same = in_instance_ && last_called_ == &registration;
  const bool asks_for_more = same && iterations > last_iterations_;
  const bool begins = !std::exchange(in_instance_, true);
  grown_ = asks_for_more || (same && grown_ && iterations == last_iterations_);
  last_called_ = &registration;
  last_iterations_ = iterations;
  if ((kind_ && registration.kind != *kind_) || registration.replaced.contains(numbers_of(google, registration)))
    return hand_over_nothing(google, registration, no_point, "no point of this run");
  // Google Benchmark warms up a point by a call of its own, but only where it has a ->MinTime too.
  if (begins && registration.min_warm_up_seconds > 0.0 && registration.min_time_seconds > 0.0) {
    last_iterations_ = std::numeric_limits<std::int64_t>::max();  // the next call is the first that counts
    return run_iterations(google, longer_than_any_min_time);
  }
  // Google Benchmark repeats a point until its own minimum of time is filled; the point was sampled for that long.
  if (!asks_for_more) {
    PointCall call = call_of(google, registration);
    if (!grown_) call.iterations = iterations;  // ->Iterations
    if (call.iterations > max_exact_samples)
      call.refused = fmt::format(
          "->Iterations({}) cannot be had: each is a sample, and a run holds up to {} of a point; "
          "ask for fewer, or leave ->Iterations out",
          call.iterations, max_exact_samples);
    auto measurement = visit_(call, next_position_++);
    if (!measurement) return hand_over_nothing(google, registration, no_point, "no point of this run");
    measurement->name.clear();           // the reporter names it
    if (!marks_) measurements_.clear();  // nobody asks for those before
    registered_.push_back(&registration);
    measurements_.push_back(*std::move(measurement));
  }
  const Measurement& last = measurements_.back();
  const std::size_t index = measurements_.size() - 1;
  if (has_error(google) || !last.seconds()) return hand_over_nothing(google, registration, index, why_unmeasured(last));
  hand_over(google, iterations > 1 && !grown_);
}

}  // namespace gpubench::bench
