// SPDX-License-Identifier: Apache-2.0
#include "bench/google/google_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <sstream>

#include "bench/counting_runner.h"
#include "bench/google/adapter.h"
#include "bench/google/google_compatibility.h"
#include "core/base/pattern.h"
#include "core/base/text.h"

namespace gpubench::bench {
namespace {

using Reporter = benchmark::BenchmarkReporter;

bool parse_bool(const std::string& flag, std::string_view value) {
  if (value.empty() || value == "true" || value == "1" || value == "yes" || value == "on") return true;
  if (value == "false" || value == "0" || value == "no" || value == "off") return false;
  throw GoogleFlagError(fmt::format("{} takes true or false, not '{}'.", flag, value));
}

void parse_min_time(const std::string& value, GoogleFlags& flags) {
  const char* const end = value.data() + value.size();
  std::int64_t count = 0;
  double seconds = 0.0;
  const auto counted = std::from_chars(value.data(), end, count);
  const auto timed = std::from_chars(value.data(), end, seconds);
  const std::string_view unit(timed.ptr, end);
  if (counted.ec == std::errc() && std::string_view(counted.ptr, end) == "x" && count > 0)
    flags.exact_iterations = count;
  else if (timed.ec == std::errc() && (unit.empty() || unit == "s") && seconds >= 0.0 && seconds < 1e6)
    flags.min_time_seconds = seconds;
  else
    throw GoogleFlagError(
        fmt::format("--benchmark_min_time takes seconds ('0.5s') or a count of samples ('100x'), not '{}'.", value));
}

double parse_seconds(const std::string& flag, const std::string& value) {
  const auto seconds = number_in<double>(value);
  if (seconds && *seconds >= 0.0 && *seconds < 1e6) return *seconds;
  throw GoogleFlagError(fmt::format("{} takes seconds, such as 0.5, not '{}'.", flag, value));
}

std::string format_of(const std::string& flag, const std::string& value) {
  if (value == "console" || value == "json" || value == "csv") return value;
  throw GoogleFlagError(fmt::format("{} takes one of console, json, csv, not '{}'.", flag, value));
}

/// The numbers of a name as Google Benchmark writes it: "n:1024/8".
std::vector<Argument> parse_arguments(std::string_view text) {
  std::vector<Argument> arguments;
  while (!text.empty()) {
    const std::string_view part = taken_until('/', text);
    const auto colon = part.rfind(':');
    Argument argument;
    std::string_view digits = part;
    if (colon != std::string_view::npos) {
      argument.name = std::string(part.substr(0, colon));
      digits = part.substr(colon + 1);
    }
    const auto value = number_in<std::int64_t>(digits);
    if (!value) continue;
    argument.value = *value;
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

void name_measurement(Measurement& measurement, const Reporter::Run& run, const Registration& registration) {
  benchmark::BenchmarkName name = run.run_name;
  name.time_type.clear();
  measurement.name = name.str();
  measurement.operation = registration.operation;
  measurement.arguments = registration.texts;
  const auto numbers = parse_arguments(run.run_name.args);
  measurement.arguments.insert(measurement.arguments.end(), numbers.begin(), numbers.end());
  measurement.repetition = static_cast<int>(run.repetition_index);
}

/// The value of a part of a name: 0.5 of "min_time:0.500"; 0 where it is not there.
double value_of(const std::string& part) {
  double value = 0.0;
  const auto colon = part.find(':');
  if (colon != std::string::npos) (void)std::from_chars(part.data() + colon + 1, part.data() + part.size(), value);
  return value;
}

/// What Google Benchmark keeps to itself, as its names tell it.
void learn(const Reporter::Run& run, Registration& registration) {
  registration.min_time_seconds = value_of(run.run_name.min_time);
  if constexpr (requires { run.run_name.min_warmup_time; })
    registration.min_warm_up_seconds = value_of(run.run_name.min_warmup_time);
}

/// Sees every run, names the measurement it belongs to, and passes on what is of this device without our marks.
class NamingReporter final : public Reporter {
 public:
  NamingReporter(Adapter& adapter, const std::vector<Sink>& sinks, const Labeller& labeller)
      : adapter_(adapter), measurements_(adapter.measurements()), sinks_(sinks), labeller_(labeller) {}

  bool ReportContext(const Context& context) override {
    for (const Sink& sink : sinks_) sink.reporter->ReportContext(context);
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    adapter_.end_of_instance();
    std::vector<Run> mine;
    for (Run run : runs)
      if (run.report_big_o || run.report_rms ? note_complexity() : is_aggregate(run) || clean(run))
        mine.push_back(std::move(run));
    for (Run& run : mine) run.counters.erase(point_counter);
    if (std::ranges::any_of(mine, is_aggregate)) {
      name_the_rest(mine);
      if (!any_point_) mine.clear();
    } else {
      any_point_ = !mine.empty();
      reported_individually_ = measurements_.size();
    }
    if (mine.empty()) return;
    for (const Sink& sink : sinks_) forward(sink, mine);
  }

  void Finalize() override {
    for (const Sink& sink : sinks_) sink.reporter->Finalize();
  }

 private:
  static bool is_aggregate(const Run& run) { return run.run_type == Run::RT_Aggregate; }

  /// A fit through points of which some failed would be of times that were never measured.
  bool note_complexity() {
    Registration* const registration = adapter_.last_called();
    if (registration == nullptr) return true;
    registration->fits_complexity = true;
    for (std::size_t i = 0; i < measurements_.size(); ++i)
      if (&adapter_.registration_of(i) == registration && !measurements_[i].seconds()) return false;
    return any_point_;
  }

  /// Names the measurement of a run and takes our marks off. Returns false for what is no point of this run.
  bool clean(Run& run) {
    std::optional<std::size_t> index;
    const auto untag = [&](const std::string& text) {
      TaggedMessage tagged = untag_message(text);
      if (tagged.index) index = tagged.index;
      return std::move(tagged.message);
    };
    run.report_label = untag(run.report_label);
    if (is_skipped(run)) mark_skipped(run, untag(skip_message(run)));
    if (const auto counter = run.counters.find(point_counter); counter != run.counters.end())
      index = static_cast<std::size_t>(counter->second.value);
    if (index == no_point) return false;
    if (!index || *index >= measurements_.size()) return true;  // none of ours
    Measurement& measurement = measurements_[*index];
    learn(run, adapter_.registration_of(*index));
    name_measurement(measurement, run, adapter_.registration_of(*index));
    if (is_skipped(run) && measurement.failure && measurement.failure->message == skipped_by_operation)
      measurement.failure->message = skip_message(run);
    if (!is_skipped(run) && !measurement.seconds()) mark_skipped(run, why_unmeasured(measurement));
    if (measurement.label.empty()) measurement.label = run.report_label;  // set through Google Benchmark
    run.report_label = measurement.label;
    if (labeller_ && !is_skipped(run))
      run.report_label = labeller_(measurement) + (measurement.label.empty() ? "" : "; " + measurement.label);
    return true;
  }

  /// Names the points of a benchmark that reports aggregates only.
  void name_the_rest(const std::vector<Run>& runs) {
    if (!std::ranges::all_of(runs, is_aggregate) || reported_individually_ == measurements_.size()) return;
    // Those before the repetitions are Google Benchmark's warm-up, not known as such before anything was learned.
    const auto repetitions = static_cast<std::size_t>(std::max<std::int64_t>(runs.front().repetitions, 1));
    const std::size_t first =
        std::max(reported_individually_, measurements_.size() - std::min(repetitions, measurements_.size()));
    any_point_ = true;
    for (std::size_t i = first; i < measurements_.size(); ++i) {
      learn(runs.front(), adapter_.registration_of(i));
      name_measurement(measurements_[i], runs.front(), adapter_.registration_of(i));
      measurements_[i].repetition = static_cast<int>(i - first);
    }
    reported_individually_ = measurements_.size();
  }

  static void forward(const Sink& sink, std::vector<Run> runs) {
    if (sink.aggregates_only && std::ranges::any_of(runs, is_aggregate))
      std::erase_if(runs, [](const Run& run) { return !is_aggregate(run); });
    sink.reporter->ReportRuns(runs);
  }

  Adapter& adapter_;
  std::vector<Measurement>& measurements_;
  const std::vector<Sink>& sinks_;
  const Labeller& labeller_;
  std::size_t reported_individually_ = 0;
  bool any_point_ = false;  ///< among the runs before
};

/// Google Benchmark's flags are its own global state; whether they were set is part of it.
bool& google_is_initialized() {
  static bool initialized = false;
  return initialized;
}

/// Google Benchmark keeps a pointer to it for its reports.
std::string& program_name() {
  static std::string name;
  return name;
}

constexpr std::size_t max_filter_length = 2000;

/// Google Benchmark ends names with "/manual_time" and the like, which tables leave out: the filter's $ may lie before
/// those, unless it is escaped or within brackets.
std::string with_loose_end(const std::string& filter) {
  std::string result;
  bool in_brackets = false;
  for (std::size_t i = 0; i < filter.size(); ++i) {
    const char c = filter[i];
    if (c == '\\' && i + 1 < filter.size()) {
      result += c;
      result += filter[++i];
      continue;
    }
    if (c == '[') in_brackets = true;
    if (c == ']') in_brackets = false;
    if (c == '$' && !in_brackets) result += "(/(iterations|repeats):[0-9]+)*(/manual_time)?";
    result += c;
  }
  return result;
}

/// Whether std::regex, which Google Benchmark matches by, may go back so often that a match takes for ever: where a
/// group is repeated, or more than three of anything are.
bool may_take_forever(const std::string& filter) {
  int repeats = 0;
  bool in_brackets = false, behind_group = false;
  for (std::size_t i = 0; i < filter.size(); ++i) {
    const char c = filter[i];
    const bool repeat = !in_brackets && (c == '*' || c == '+' || c == '{' || c == '?');
    if (repeat && (behind_group || ++repeats > 3)) return true;
    behind_group = !in_brackets && c == ')';
    if (c == '[') in_brackets = true;
    if (c == ']') in_brackets = false;
    if (c == '\\' && !in_brackets) ++i;
  }
  return false;
}

/// Sets Google Benchmark's flags, and leaves the others as they are. Returns the first that it does not take, or "".
std::string set_google_flags(std::vector<std::string> words) {
  std::vector<char*> argv = {program_name().data()};
  for (auto& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  benchmark::Initialize(&argc, argv.data());
  return argc > 1 ? argv[1] : "";
}

/// The names of all that is registered. Runs nothing.
std::vector<std::string> all_names() {
  class Lister final : public Reporter {
   public:
    bool ReportContext(const Context& /*context*/) override { return true; }
    void ReportRuns(const std::vector<Run>& /*runs*/) override {}
  } lister;
  std::stringstream names;
  std::ostringstream nothing;
  lister.SetErrorStream(&nothing);
  lister.SetOutputStream(&names);
  (void)set_google_flags({"--benchmark_list_tests=true"});
  benchmark::RunSpecifiedBenchmarks(&lister, ".");
  (void)set_google_flags({"--benchmark_list_tests=false"});
  std::vector<std::string> result;
  for (std::string name; std::getline(names, name);) result.push_back(name);
  return result;
}

/// All names: those of points of ours, and those of plain BENCHMARKs.
struct Registered {
  std::set<std::string, std::less<>> operations = {};
  std::vector<std::string> ours = {};
  std::vector<std::string> plain = {};
};
Registered registered_names() {
  Registered all;
  for (const Registration* const one : registrations()) all.operations.insert(registered_name(*one));
  const bool unnamed = all.operations.contains("");  // its points are called by their arguments alone
  for (std::string& name : all_names()) {
    bool ours = unnamed && name.ends_with("/manual_time");
    for (std::size_t end = 0; end != std::string::npos && !ours;) {
      end = name.find('/', end + 1);
      ours = all.operations.contains(std::string_view(name).substr(0, end));
    }
    (ours ? all.ours : all.plain).push_back(std::move(name));
  }
  return all;
}

/// A filter of Google Benchmark's that chooses these alone, or what begins with one of them and `end`.
template <class Names>
std::string filter_of(const Names& names, std::string_view end = "$") {
  std::string filter = "^(";
  for (const std::string& name : names) {
    for (const char c : name)  // a ']' or '}' alone stands for itself, and may not be escaped
      (filter += contains("^$\\.*+?()[{|", c) ? "\\" : "") += c;
    filter += '|';
  }
  filter.back() = names.empty() ? '^' : ')';  // no name begins twice
  return filter.append(end);
}

/// The names that a filter chooses, found in a time that grows slowly with them.
std::vector<std::string> chosen_of(std::vector<std::string> names, const std::string& filter) {
  const bool inverted = filter.starts_with('-');
  const auto matches = searcher(with_loose_end(filter.substr(inverted ? 1 : 0)));
  std::erase_if(names, [&](const std::string& name) { return matches(name) == inverted; });
  return names;
}

std::string no_expression(const std::string& filter) {
  return fmt::format(
      "The filter '{}' is not a regular expression. '.*' stands for any text; a backslash takes a sign as it is.",
      filter);
}

/// Chooses points of ours alone.
std::string filter_for_google(const std::string& filter) {
  if (filter.size() > max_filter_length)  // matching may take memory for each of its characters
    throw GoogleFlagError(
        fmt::format("The filter has {} characters; it may have {}.", filter.size(), max_filter_length));
  const Registered names = registered_names();
  try {
    // A list of names may be more than Google Benchmark takes, so it comes last.
    if (!may_take_forever(filter) && chosen_of(names.plain, filter).empty())
      return filter.empty() ? "." : with_loose_end(filter);
    if (filter.empty() && !names.operations.contains("")) return filter_of(names.operations, "(/|$)");
    return filter_of(chosen_of(names.ours, filter));
  } catch (const std::invalid_argument&) {
    throw GoogleFlagError(no_expression(filter));
  }
}

/// Runs with all of Google Benchmark's own messages caught; a bad filter is the only thing it says them about.
void run_caught(Reporter& reporter, const std::string& filter) {
  // Uninitialized, it would repeat each point until its own default time is filled.
  if (!google_is_initialized()) throw std::logic_error("initialize_google must come before any run");
  std::ostringstream messages;
  reporter.SetErrorStream(&messages);
  reporter.SetOutputStream(&messages);
  const std::string chosen = filter_for_google(filter);
  benchmark::RunSpecifiedBenchmarks(&reporter, chosen);
  if (!contains(messages.str(), "Could not compile")) return;
  throw GoogleFlagError(chosen == filter || chosen == with_loose_end(filter)
                            ? no_expression(filter)
                            : fmt::format("The filter '{}' chooses too many points, in a way that Google Benchmark "
                                          "cannot search for. Choose fewer, or no plain BENCHMARKs.",
                                          filter));
}

}  // namespace

GoogleFlags parse_google_flags(const std::vector<std::string>& arguments) {
  GoogleFlags flags;
  for (const std::string& argument : arguments) {
    const auto equals = argument.find('=');
    const std::string flag = argument.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    if (flag == "--benchmark_filter")
      flags.filter = value;
    else if (flag == "--benchmark_list_tests")
      flags.list = parse_bool(flag, value);
    else if (flag == "--benchmark_format")
      flags.format = format_of(flag, value);
    else if (flag == "--benchmark_out")
      flags.out = value;
    else if (flag == "--benchmark_out_format")
      flags.out_format = format_of(flag, value);
    else if (flag == "--benchmark_report_aggregates_only")
      flags.report_aggregates_only = parse_bool(flag, value);
    else if (flag == "--benchmark_display_aggregates_only")
      flags.display_aggregates_only = parse_bool(flag, value);
    else if (flag == "--benchmark_min_time")
      parse_min_time(value, flags);
    else if (flag == "--benchmark_min_warmup_time")
      flags.min_warm_up_seconds = parse_seconds(flag, value);
    else if (flag == "--benchmark_repetitions" && number_in<int>(value).value_or(0) < 1)  // it would run nothing
      throw GoogleFlagError(fmt::format("{} takes a whole number from 1, not '{}'.", flag, value));
    else
      flags.passed_on.push_back(argument);
  }
  return flags;
}

bool GoogleFlags::interleaves_at_random() const {
  const std::string flag = "--benchmark_enable_random_interleaving";
  bool on = false;
  for (const std::string& word : passed_on)
    if (word == flag || word.starts_with(flag + "="))
      on = parse_bool(flag, std::string_view(word).substr(std::min(flag.size() + 1, word.size())));
  return on;
}

void initialize_google(const std::string& program, const GoogleFlags& flags) {
  program_name() = program;
  std::vector<std::string> words = flags.passed_on;
  // One iteration is a whole sampling of ours: Google Benchmark must never ask for more to fill its own time.
  words.push_back(std::string("--benchmark_min_time=") + min_min_time<Reporter::Run>());
  const std::string refused = set_google_flags(std::move(words));
  google_is_initialized() = true;
  if (!refused.empty())
    throw GoogleFlagError(
        fmt::format("Google Benchmark does not accept '{}': the flag is unknown or its value is wrong.", refused));
}

namespace {

std::vector<PointName> name_points(std::optional<DeviceKind> kind, const std::string& filter) {
  Measurement discovered;
  discovered.skipped = "discovered";
  Adapter adapter(kind, [&](const PointCall&, std::size_t) { return discovered; });
  const std::vector<Sink> no_sinks;
  const Labeller no_labeller;
  NamingReporter reporter(adapter, no_sinks, no_labeller);
  run_caught(reporter, filter);
  std::vector<PointName> names;
  for (std::size_t i = 0; i < adapter.measurements().size(); ++i) {
    const Measurement& measurement = adapter.measurements()[i];
    if (measurement.name.empty()) continue;
    names.push_back({measurement.name, measurement.operation, measurement.arguments, measurement.repetition,
                     &adapter.registration_of(i)});
  }
  return names;
}

}  // namespace

void learn_registrations() {
  take_over_options();
  if (std::ranges::all_of(registrations(), [](const Registration* one) { return one->number_names.has_value(); }))
    return;
  for (Registration* const one : registrations()) one->discovered_runs = 0;
  for (const PointName& point : name_points(std::nullopt, "")) {
    std::vector<std::string> names;
    for (const Argument& argument : point.arguments)
      if (!argument.text) names.push_back(argument.name);
    Registration& registration = **std::ranges::find(registrations(), point.registration);
    registration.number_names = std::move(names);
    ++registration.discovered_runs;
  }
}

std::vector<PointName> discover(std::optional<DeviceKind> kind, const std::string& filter) {
  learn_registrations();
  return name_points(kind, filter);
}

bool add_arguments(const std::vector<PointName>& points, const std::string& operation,
                   const std::vector<Argument>& arguments) {
  const auto same_axes = [&](const PointName& point) {
    return std::ranges::equal(point.arguments, arguments, [](const Argument& one, const Argument& other) {
      return one.name == other.name && one.text == other.text;
    });
  };
  const auto found = std::ranges::find_if(points, [&](const PointName& point) {
    return point.operation == operation && point.registration != nullptr && same_axes(point);
  });
  std::vector<std::int64_t> values;
  for (const Argument& argument : arguments)
    if (!argument.text) values.push_back(argument.value);
  if (values.empty() || found == points.end()) return false;
  found->registration->google->Args(values);
  return true;
}

std::vector<std::string> plain_benchmarks(const std::string& filter) {
  try {
    return chosen_of(registered_names().plain, filter);
  } catch (const std::invalid_argument&) {
    throw GoogleFlagError(no_expression(filter));
  }
}

void run_plain_benchmarks(const std::vector<std::string>& names, const GoogleFlags& flags, Reporter& reporter) {
  constexpr double usual_seconds = 0.5;  // Google Benchmark's own
  const std::string min = min_min_time<Reporter::Run>();
  const char* const unit = min.ends_with('s') ? "s" : "";
  (void)set_google_flags(
      {fmt::format("--benchmark_min_time={}{}", flags.min_time_seconds.value_or(usual_seconds), unit)});
  const Registered all = registered_names();
  benchmark::RunSpecifiedBenchmarks(&reporter, all.ours.empty() && names == all.plain ? "." : filter_of(names));
  (void)set_google_flags({"--benchmark_min_time=" + min});
}

std::vector<Measurement> go_over(const Device& device, const std::string& filter, Visitor visit,
                                 const std::vector<Sink>& sinks, const Labeller& labeller) {
  learn_registrations();
  Adapter adapter(device.kind, std::move(visit));
  NamingReporter reporter(adapter, sinks, labeller);
  run_caught(reporter, filter);
  auto measurements = std::move(adapter.measurements());
  std::erase_if(measurements, [](const Measurement& measurement) { return measurement.name.empty(); });
  return measurements;
}

std::map<std::size_t, Measurement> count_again(CountingRunner& runner, const Device& device, const std::string& filter,
                                               const Timed& timed) {
  const std::size_t rounds = runner.pass().rounds();
  for (std::size_t round = 0; round < rounds; ++round) {
    runner.pass().begin(round);
    go_over(device, filter, [&](const PointCall& call, std::size_t position) -> std::optional<Measurement> {
      const Measurement* const known = timed(position);
      if (known == nullptr) return std::nullopt;
      return runner.run(call, position, *known);
    });
  }
  return runner.finish();
}

}  // namespace gpubench::bench
