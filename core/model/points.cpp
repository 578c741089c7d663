// SPDX-License-Identifier: Apache-2.0
#include "core/model/points.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

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
    std::string kind(failure_kind_names[static_cast<std::size_t>(measurement.failure->kind)]);
    std::ranges::replace(kind, '_', ' ');
    return measurement.failure->message.empty() ? kind : kind + ": " + measurement.failure->message;
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

std::string short_kernel_name(std::string_view name) {
  constexpr std::string_view anonymous = "(anonymous namespace)";
  if (name.find('(') == std::string_view::npos) return std::string(name);  // not as C++ writes it
  std::string word;  // since the last blank or "::" outside of all brackets
  int angles = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const std::string_view rest = name.substr(i);
    if (rest.starts_with(anonymous)) {
      i += anonymous.size() - 1;
    } else if (rest.starts_with('<')) {
      if (angles++ == 0) word += "<\u2026>";
    } else if (rest.starts_with('>')) {
      if (--angles < 0) return std::string(name);  // an operator, or no name at all
    } else if (angles > 0) {
      continue;
    } else if (rest.starts_with('(')) {
      break;
    } else if (rest.starts_with(' ') || rest.starts_with("::")) {
      word.clear();
      i += rest.starts_with(' ') ? 0 : 1;
    } else {
      word += name[i];
    }
  }
  return angles != 0 || word.empty() ? std::string(name) : word;
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
  const Summary* const device = seconds_by(measurement, Clock::device);
  const Summary* const stream = seconds_by(measurement, Clock::stream);
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
