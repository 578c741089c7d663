// SPDX-License-Identifier: Apache-2.0
#include "core/model/points.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>

#include "core/base/text.h"
#include "core/statistics/statistics.h"

namespace gpubench {

Status status_of(const Measurement& measurement) {
  if (measurement.failure) return Status::failed;
  if (measurement.skipped) return Status::skipped;
  return measurement.seconds() ? Status::timed : Status::failed;
}

std::string_view name_of(Status status) {
  constexpr std::array names = {std::string_view("timed"), std::string_view("failed"), std::string_view("skipped")};
  return names[static_cast<std::size_t>(status)];
}

std::string reason_of(const Measurement& measurement) {
  if (measurement.failure) {
    const auto& [failure, message] = *measurement.failure;
    std::string kind(failure_kind_names[static_cast<std::size_t>(failure)]);
    std::ranges::replace(kind, '_', ' ');
    if (message.empty()) return kind;
    return failure == FailureKind::error ? message : kind + ": " + message;
  }
  if (measurement.skipped) return *measurement.skipped;
  return measurement.seconds() ? "" : "no time was taken";
}

std::string without_suffix(std::string_view name) {
  constexpr std::string_view suffix = "/manual_time";
  std::string result(name);
  const auto place = result.rfind(suffix);
  if (place == std::string::npos) return result;
  const auto after = place + suffix.size();
  if (after == result.size() || result[after] == '/') result.erase(place, suffix.size());
  return result;
}

std::string label(const Measurement& measurement) {
  std::string result = without_suffix(measurement.name);
  if (measurement.repetition > 0) result += " #" + std::to_string(measurement.repetition + 1);
  return result;
}

namespace {
std::optional<double> per_second(const Measurement& measurement, double amount) {
  if (status_of(measurement) != Status::timed || !(amount > 0.0) || !(measurement.seconds()->median > 0.0))
    return std::nullopt;
  return amount / measurement.seconds()->median;
}
}  // namespace

std::optional<double> bytes_per_second(const Measurement& measurement) {
  return per_second(measurement, measurement.work.bytes());
}

std::optional<double> items_per_second(const Measurement& measurement) {
  for (const UserCounter& counter : measurement.user_counters)
    if (counter.name == items_counter) return per_second(measurement, counter.value);
  return std::nullopt;
}

std::optional<double> flops_per_second(const Measurement& measurement) {
  return per_second(measurement, measurement.work.total_flops());
}

std::optional<double> relative_half_width(const Measurement& measurement) {
  if (status_of(measurement) != Status::timed) return std::nullopt;
  const double width = statistics::relative_half_width(*measurement.seconds());
  return std::isfinite(width) ? std::optional(width) : std::nullopt;
}

namespace {

/// A name without namespaces, return type, parameters and template arguments, which stand apart. Null for what is no
/// name as C++ writes it.
struct ShortName {
  std::string word;
  std::string_view arguments;
};
std::optional<ShortName> short_name(std::string_view name) {
  constexpr std::string_view anonymous = "(anonymous namespace)";
  if (contains(name, "): ")) return std::nullopt;  // Python's "adam.py(215): step"
  // What comes after the last blank or "::" outside of all brackets.
  ShortName result;
  int angles = 0;
  std::size_t opened = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::string_view rest = name.substr(i);
    if (rest.starts_with(anonymous)) {
      i += anonymous.size() - 1;
    } else if (rest.starts_with('<')) {
      if (angles++ == 0) opened = i + 1;
    } else if (rest.starts_with('>')) {
      if (--angles < 0) return std::nullopt;  // an operator, or no name at all
      if (angles == 0) result.arguments = name.substr(opened, i - opened);
    } else if (angles > 0) {
      continue;
    } else if (rest.starts_with('(') || rest.starts_with("::operator")) {
      break;
    } else if (rest.starts_with(' ') || rest.starts_with("::")) {
      result = {};
      i += rest.starts_with(' ') ? 0 : 1;
    } else {
      result.word += name[i];
    }
  }
  if (angles != 0 || result.word.empty()) return std::nullopt;
  return result;
}

/// Names that say nothing without their arguments: cutlass::Kernel2, at::native::vectorized_elementwise_kernel.
bool is_generic(std::string_view word) {
  while (!word.empty() && word.back() >= '0' && word.back() <= '9') word.remove_suffix(1);
  constexpr std::array<std::string_view, 10> names = {
      "kernel",         "Kernel",          "device_kernel", "reduce_kernel",          "ReduceOp",
      "func_wrapper_t", "gpu_kernel_impl", "static_kernel", "gpu_kernel_impl_nocast", "_kernel_agent"};
  return word.ends_with("elementwise_kernel") || contains(names, word);
}

/// The first of the arguments that says what a generic kernel does: no number, and no type of the language. Empty where
/// there is none.
std::string telling_argument(std::string_view arguments, int depth = 0) {
  constexpr std::array<std::string_view, 14> types = {"float", "double",   "int",   "unsigned", "char",
                                                      "bool",  "long",     "short", "signed",   "__half",
                                                      "half",  "at::Half", "void",  "const"};
  constexpr int deepest = 8;
  if (depth == deepest) return {};
  int open = 0;
  for (std::size_t from = 0, i = 0; i <= arguments.size(); ++i) {
    const char sign = i < arguments.size() ? arguments[i] : ',';
    if (sign == '<' || sign == '(' || sign == '[' || sign == '{') ++open;
    if (sign == '>' || sign == ')' || sign == ']' || sign == '}') --open;
    if (sign != ',' || (open != 0 && i < arguments.size())) continue;
    std::string_view one = arguments.substr(from, i - from);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    from = i + 1;
    const bool is_name =
        !one.empty() && (std::isalpha(static_cast<unsigned char>(one.front())) != 0 || one.front() == '_');
    const std::string_view first = one.substr(0, one.find_first_of(" *&"));
    if (!is_name || first == "true" || first == "false" || contains(types, first)) continue;
    const auto name = short_name(one);
    if (!name) continue;
    if (!is_generic(name->word)) return name->word;
    if (std::string inner = telling_argument(name->arguments, depth + 1); !inner.empty()) return inner;
  }
  return {};
}

}  // namespace

std::string short_kernel_name(std::string_view name) {
  if (!contains(name, '(')) return std::string(name);  // not as C++ writes it
  const auto found = short_name(name);
  if (!found) return std::string(name);
  if (found->arguments.empty()) return found->word;
  const std::string telling = is_generic(found->word) ? telling_argument(found->arguments) : "";
  return found->word + "<" + (telling.empty() ? "\u2026" : telling) + ">";
}

std::string shown_name(const KernelGroup& group) {
  return group.kind == CommandKind::kernel ? short_kernel_name(group.launch.name) : group.launch.name;
}

std::string kernel_arguments(std::string_view name) {
  const auto found = contains(name, '(') ? short_name(name) : std::nullopt;
  return found ? std::string(found->arguments) : "";
}

std::optional<double> share_of_kernel(const Measurement& measurement, std::size_t kernel) {
  double sum = 0.0;
  for (const KernelGroup& group : measurement.kernels) {
    if (!group.seconds) return std::nullopt;
    sum += std::max(group.seconds->value, 0.0);
  }
  if (kernel >= measurement.kernels.size() || !(sum > 0.0) || !std::isfinite(sum)) return std::nullopt;
  return std::max(measurement.kernels[kernel].seconds->value, 0.0) / sum;
}

std::optional<double> device_over_stream(const Measurement& measurement) {
  constexpr double noticeable = 1.02;
  const Summary* const device = seconds_by(measurement, TimingMode::device);
  const Summary* const stream = seconds_by(measurement, TimingMode::stream);
  if (device == nullptr || stream == nullptr || !(stream->median > 0.0)) return std::nullopt;
  const double ratio = device->median / stream->median;
  const bool longer = ratio >= noticeable && device->median_ci95.low > stream->median_ci95.high;
  return longer && std::isfinite(ratio) ? std::optional(ratio) : std::nullopt;
}

bool has_cold_points(const Run& run) {
  return std::any_of(run.points.begin(), run.points.end(),
                     [](const Point& point) { return point.measurement.cache_state == "cold"; });
}

std::vector<Group> groups_of(const Run& run) {
  std::vector<Group> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> known;
  for (const Point& point : run.points) {
    const auto& [device, operation] = std::pair(point.measurement.device, point.measurement.operation);
    const auto [place, added] = known.try_emplace({device, operation}, groups.size());
    if (added) groups.push_back({device, operation, {}, {}});
    groups[place->second].points.push_back(&point);
  }
  for (const Boundary& boundary : run.boundaries) {
    const auto place = known.find({boundary.device, boundary.operation});
    if (place != known.end()) groups[place->second].boundaries.push_back(&boundary);
  }
  return groups;
}

Counts count(const Run& run) {
  Counts counts;
  std::array<std::size_t, regime_names.size()> regimes{};
  for (const Point& point : run.points) {
    ++counts.points;
    const Status status = status_of(point.measurement);
    if (status == Status::failed) ++counts.failed;
    if (status == Status::skipped) ++counts.skipped;
    if (status != Status::timed) continue;
    ++(point.verdict ? regimes[static_cast<std::size_t>(point.verdict->regime)] : counts.without_verdict);
  }
  for (std::size_t i = 0; i < regimes.size(); ++i)
    if (regimes[i] > 0) counts.by_regime.emplace_back(static_cast<Regime>(i), regimes[i]);
  return counts;
}

}  // namespace gpubench
