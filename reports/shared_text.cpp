// SPDX-License-Identifier: Apache-2.0
#include "reports/shared_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <span>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/resources.h"

namespace gpubench::reports {
namespace {

std::string with_interval(const Estimate& seconds) {
  return fmt::format("{} ({} to {})", format_seconds(seconds.value, 4), format_seconds(seconds.ci95.low, 4),
                     format_seconds(seconds.ci95.high, 4));
}

/// "64", "64 x 2" or "8 x 8 x 4".
std::string extent(const std::array<std::int64_t, 3>& size) {
  const auto dimensions = size[2] != 1 ? 3 : size[1] != 1 ? 2 : 1;
  return fmt::to_string(fmt::join(size.begin(), size.begin() + dimensions, " x "));
}

/// "6.0 % below", "0.3 % above", "the same"
std::string apart(double difference) {
  if (std::abs(difference) < 0.0005) return "the same";
  return fmt::format("{:.1f} % {}", 100.0 * std::abs(difference), difference < 0.0 ? "below" : "above");
}

}  // namespace

std::string few_of(const std::vector<std::string>& names, std::size_t max) {
  const auto text = joined(std::span(names).first(std::min(max, names.size())), ", ");
  return names.size() > max ? fmt::format("{} and {} more", text, names.size() - max) : text;
}

std::vector<std::string> activity_warnings(const Run& run) {
  std::vector<std::string> warnings;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> unrecorded;  // by device and reason
  for (const Point& point : run.points)
    if (const auto& activity = point.measurement.activity; activity && !activity->seconds)
      unrecorded[{point.measurement.device, activity->reason}].push_back(label(point.measurement));
  for (const auto& [what, names] : unrecorded)
    warnings.push_back(fmt::format("The kernels of {} on {} were not recorded: {} ({}).", plural(names.size(), "point"),
                                   what.first, what.second, few_of(names)));
  return warnings;
}

std::string counters_summary(const Run& run) {
  const auto on_gpu = [&](const Measurement& measurement) {
    const auto device = std::ranges::find(run.devices, measurement.device, &Device::id);
    return device != run.devices.end() && device->kind == DeviceKind::gpu;
  };
  std::set<std::string_view> all;
  std::set<std::string_view> unsure;
  for (const Point& point : run.points) {
    if (!point.verdict || !on_gpu(point.measurement)) continue;
    all.insert(point.measurement.operation);
    const bool sure = point.verdict->regime != Regime::unknown && point.verdict->certainty == Certainty::certain;
    if (!sure && point.measurement.counters.empty() && point.measurement.absent_counters.empty())
      unsure.insert(point.measurement.operation);
  }
  return unsure.empty() ? ""
                        : fmt::format("{} of {} may be surer with --metrics=core,units", unsure.size(),
                                      plural(all.size(), "operation"));
}

std::string activity_text(const ActivityCheck& check) {
  if (!check.seconds) return check.reason;
  std::string text = fmt::format("{} in {}{}", with_interval(*check.seconds), plural(check.executions, "execution"),
                                 check.source.empty() ? "" : " by " + check.source);
  if (check.span_seconds)
    text += fmt::format(", first start to last end {}", format_seconds(check.span_seconds->value, 4));
  return text;
}

std::string kernel_text(const KernelLaunch& kernel) {
  std::string text = kernel.launches > 1 ? fmt::format("{} x ", kernel.launches) : std::string();
  const std::string blocks = extent(kernel.grid), threads = extent(kernel.block);
  text += fmt::format("{}, {} block{} of {} thread{}, {}", kernel.name, blocks, blocks == "1" ? "" : "s", threads,
                      threads == "1" ? "" : "s", plural(kernel.registers, "register"));
  if (const auto shared = kernel.static_shared_bytes + kernel.dynamic_shared_bytes; shared > 0)
    text += fmt::format(", {} shared", format_bytes(static_cast<double>(shared)));
  if (kernel.local_bytes.value_or(0) > 0)
    text += fmt::format(", {} of local memory a thread", format_bytes(static_cast<double>(*kernel.local_bytes)));
  if (!kernel.code.empty()) text += ", " + kernel.code;
  return text;
}

std::string regime_text(const Verdict& verdict) {
  std::string text(name_of(verdict.regime));
  if (verdict.regime == Regime::unknown) return text;
  if (verdict.certainty == Certainty::likely) text += " ~";
  if (verdict.certainty == Certainty::boundary) text += " ?";
  return text;
}

std::string regime_and_limiter(const Verdict& verdict) {
  return regime_text(verdict) + (verdict.limiter.empty() ? "" : ", " + std::string(label_of(verdict.limiter)));
}

std::vector<KernelRow> kernel_rows(const Point& point) {
  const auto& kernels = point.measurement.kernels;
  std::vector<KernelRow> rows;
  if (kernels.size() < 2) return rows;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelGroup& group = kernels[i];
    const auto share = share_of_kernel(point.measurement, i);
    KernelRow& row = rows.emplace_back();
    row.fraction = share.value_or(0.0);
    row.share = share ? format_percent(*share) : "";
    row.time = group.seconds ? format_seconds(group.seconds->value, 4) : "";
    row.launches = group.launch.launches;
    row.name = shown_name(group);
    if (group.bytes) row.name += ", " + format_bytes(static_cast<double>(*group.bytes));
    if (i >= point.kernel_verdicts.size() || !point.kernel_verdicts[i]) continue;
    const Verdict& verdict = *point.kernel_verdicts[i];
    row.limiter = label_of(verdict.limiter);
    row.regime = regime_text(verdict);
    row.color = verdict.regime;
  }
  std::ranges::stable_sort(rows, std::greater(), &KernelRow::fraction);
  return rows;
}

std::string text_of(const KernelRow& row) {
  const std::string verdict =
      row.regime.empty() ? "" : fmt::format(", {}{}", row.regime, row.limiter.empty() ? "" : " by " + row.limiter);
  return fmt::format("{} {}: {} in {}{}", row.share, row.name, row.time, plural(row.launches, "launch", "launches"),
                     verdict);
}

std::vector<std::string> clock_warnings(const Run& run) {
  struct Found {
    std::vector<std::string> names;
    double max = 0.0;
  };
  std::map<std::pair<std::string, std::string>, Found> found;  // by device and cause
  for (const Point& point : run.points) {
    const Measurement& measurement = point.measurement;
    const auto ratio = device_over_stream(measurement);
    if (!ratio) continue;
    const bool commands = std::ranges::any_of(measurement.kernels, [](const KernelGroup& group) {
      return group.kind == CommandKind::copy || group.kind == CommandKind::fill;
    });
    const char* const cause =
        commands ? "another engine runs their copies in a graph than in a stream"
        : !measurement.kernel_order_reason.empty() && measurement.kernel_order.empty() && !measurement.kernels.empty()
            ? "their kernels run side by side on several streams"
            : "another process used the GPU or its clock fell meanwhile, or they work on other streams";
    Found& group = found[{measurement.device, cause}];
    group.names.push_back(label(measurement));
    group.max = std::max(group.max, *ratio - 1.0);
  }
  std::vector<std::string> warnings;
  warnings.reserve(found.size());
  for (const auto& [what, group] : found)
    warnings.push_back(fmt::format(
        "On {}, {}: device time is longer than the time in a stream, by up to {}, which cannot be. Likely cause: {}. "
        "Their verdicts rest on the stream's time and are never certain.",
        what.first, few_of(group.names, 8), format_percent(group.max), what.second));
  return warnings;
}

std::string runner_up_text(const Verdict& verdict) {
  if (verdict.runner_up == Regime::unknown) return "";
  std::string text(name_of(verdict.runner_up));
  if (verdict.runner_up_probability >= 0.0005) text += " " + format_percent(verdict.runner_up_probability);
  return text;
}

std::string boundary_at_text(const Boundary& boundary) {
  constexpr std::array<std::string_view, placement_names.size()> signs = {"", "> ", "< "};
  return std::string(signs[static_cast<std::size_t>(boundary.placement)]) + format_count(boundary.at);
}

std::string gain_interval(const Advice& advice) {
  if (!advice.gain_ci95) return "";
  return fmt::format("{} to {}", format_number(advice.gain_ci95->low, 2), format_number(advice.gain_ci95->high, 2));
}

std::string advice_text(const Advice& advice) {
  const std::string interval = gain_interval(advice);
  const std::string gain =
      advice.gain ? fmt::format(" (up to {}x{}{})", format_number(*advice.gain), interval.empty() ? "" : ", ", interval)
                  : "";
  return fmt::format("{}{}{}: {}", advice.kernel.empty() ? "" : "in " + advice.kernel + ", ", advice.action, gain,
                     advice.evidence);
}

std::string advice_text(const Verdict& verdict) {
  return joined(verdict.advice, "; ", [](const Advice& advice) { return advice_text(advice); });
}

std::string votes_text(const Verdict& verdict) {
  return joined(verdict.cross_checks, "; ", [](const CrossCheck& check) {
    return fmt::format("{} {} ({}: {})", name_of(check.experiment), name_of(check.outcome), check.says, check.evidence);
  });
}

std::optional<ProductReach> product_reach(const Run& run, const Point& point) {
  const auto rate = flops_per_second(point.measurement);
  const Calibration* const calibration = run.calibration_of(point.measurement.device);
  if (!point.verdict || point.verdict->regime != Regime::compute || !rate || calibration == nullptr) return {};
  const auto& flops = point.measurement.work.flops;
  const auto pipe = std::ranges::max_element(flops, {}, [](const auto& entry) { return entry.second; });
  constexpr std::string_view tensor = "tensor-";
  if (pipe == flops.end() || !name_of(pipe->first).starts_with(tensor)) return {};
  const auto ceiling = [&](std::string_view name) {
    const Ceiling* const found = calibration->find(name);
    return found == nullptr ? 0.0 : found->value;
  };
  const std::string type(name_of(pipe->first).substr(tensor.size()));
  const double library = ceiling(name_of(pipe->first));
  for (const std::string_view instruction : {"wgmma", "mma"})
    if (const double peak = ceiling(fmt::format("{}-{}", instruction, type)); peak > 0.0 && library > 0.0)
      return ProductReach{*rate / library, *rate / peak, instruction};
  return {};
}

std::string of_ceiling_text(const Run& run, const Point& point) {
  if (!point.verdict || !point.verdict->achieved) return {};
  if (const auto product = product_reach(run, point))
    return fmt::format("{} of cuBLASLt's best, {} of {}", format_percent(product->of_library),
                       format_percent(product->of_instruction), product->instruction);
  const std::string& limiter = point.verdict->limiter;
  const bool is_ceiling = !limiter.empty() && limiter != resource::power && point.verdict->regime != Regime::latency;
  return format_percent(*point.verdict->achieved) +
         (is_ceiling ? fmt::format(" of {}", label_of(limiter)) : " of the nearest ceiling");
}

bool is_held(const Measurement& measurement) {
  return measurement.conditions && !measurement.conditions->throttle_reasons.empty();
}

std::string clock_text(const Measurement& measurement) {
  if (!measurement.clock_hz) return {};
  const std::string clock = format_hertz(*measurement.clock_hz);
  return is_held(measurement) ? fmt::format("{} ({})", clock, joined(measurement.conditions->throttle_reasons, ", "))
                              : clock;
}

const Summary* time_as_called(const Measurement& measurement) {
  const Summary* const call = seconds_by(measurement, TimingMode::call);
  const auto& seconds = measurement.seconds();
  const bool differs = call != nullptr && seconds && std::abs(call->median - seconds->median) > 0.1 * seconds->median;
  return differs ? call : nullptr;
}

bool has_time_on_device(const Measurement& measurement) {
  return measurement.primary().clock != TimingMode::device && seconds_by(measurement, TimingMode::device) != nullptr;
}

statistics::Steadiness steadiness(const Measurement& measurement) {
  return statistics::steadiness_of(measurement.primary().samples_seconds);
}

std::string course_text(const statistics::Steadiness& found) {
  const std::string from = format_seconds(found.from), to = format_seconds(found.to);
  const auto then = [&](const char* course) { return fmt::format("{} at first, {} sustained ({})", from, to, course); };
  switch (found.course) {
    case statistics::Course::step: return then("step");
    case statistics::Course::drift: return then("drift");
    case statistics::Course::cold_start: return then("cold start");
    case statistics::Course::two_levels: return fmt::format("two levels, {} and {}", from, to);
    default: return {};
  }
}

std::string spread_text(const Measurement& measurement) {
  switch (steadiness(measurement).course) {
    case statistics::Course::step: return "step";
    case statistics::Course::drift: return "drift";
    case statistics::Course::two_levels: return "2 levels";
    default: break;
  }
  const auto width = relative_half_width(measurement);
  return width ? format_percent(*width) : "";
}

std::vector<AdviceLine> advice_of(const Group& group) {
  std::array<AdviceLine, regime_names.size()> best;
  for (const Point* point : group.points) {
    if (!point->verdict || point->verdict->advice.empty()) continue;
    auto& line = best[static_cast<std::size_t>(point->verdict->regime)];
    const Advice& advice = point->verdict->advice.front();
    if (line.advice != nullptr && advice.gain.value_or(0.0) <= line.advice->gain.value_or(0.0)) continue;
    line.regime = point->verdict->regime;
    line.at = point;
    line.advice = &advice;
  }
  std::vector<AdviceLine> result;
  for (const auto& line : best)
    if (line.advice != nullptr) result.push_back(line);
  return result;
}

std::vector<Doubt> doubts_of(const Group& group) {
  std::vector<Doubt> result;
  for (const Point* point : group.points) {
    if (!point->verdict) continue;
    for (const CrossCheck& check : point->verdict->cross_checks) {
      if (check.outcome != Outcome::disagrees) continue;
      const auto same = std::find_if(result.begin(), result.end(), [&](const Doubt& doubt) {
        return doubt.check->experiment == check.experiment && doubt.check->says == check.says;
      });
      if (same == result.end())
        result.push_back({1, point, &check});
      else
        ++same->points;
    }
  }
  return result;
}

std::string own_figures(const Measurement& measurement) {
  std::string text = measurement.label;
  for (const UserCounter& counter : measurement.user_counters) {
    if (!text.empty()) text += "; ";
    if (const auto rate = items_per_second(measurement); rate && counter.name == items_counter)
      text += format_value(*rate, "items/s");
    else
      text += fmt::format("{} {}", counter.name, format_value(counter.value, counter.unit));
    while (text.ends_with(' ')) text.pop_back();  // no unit
  }
  return text;
}

CeilingGroup group_of(const Ceiling& ceiling) {
  if (ceiling.group) return *ceiling.group;
  if (const Resource* const row = find_resource(ceiling.resource)) return row->group;
  if (ceiling.unit == "s") return CeilingGroup::overhead;
  return ceiling.unit == "B/s" ? CeilingGroup::memory : CeilingGroup::compute;
}

Regime regime_of(CeilingGroup group) {
  if (group == CeilingGroup::latency) return Regime::latency;
  if (group == CeilingGroup::overhead) return Regime::overhead;
  return group == CeilingGroup::compute || group == CeilingGroup::atomics ? Regime::compute : Regime::memory;
}

std::vector<std::pair<CeilingGroup, std::vector<const Ceiling*>>> ceilings_by_group(const Calibration& calibration) {
  std::vector<std::pair<CeilingGroup, std::vector<const Ceiling*>>> groups;
  for (std::size_t i = 0; i < ceiling_group_names.size(); ++i) {
    const auto group = static_cast<CeilingGroup>(i);
    std::vector<const Ceiling*> ceilings;
    for (const Ceiling& ceiling : calibration.ceilings)
      if (group_of(ceiling) == group) ceilings.push_back(&ceiling);
    if (!ceilings.empty()) groups.emplace_back(group, std::move(ceilings));
  }
  return groups;
}

std::vector<Heading> ceiling_headings() {
  return headings("resource; ceiling>; 95 % interval>; of limit>; clock>; method");
}

Rows ceiling_rows(const std::vector<const Ceiling*>& ceilings) {
  Rows rows;
  for (const Ceiling* const ceiling : ceilings) {
    const auto share = share_of_limit(*ceiling);
    rows.push_back({ceiling->resource, format_value(ceiling->value, ceiling->unit, 4),
                    format_interval(ceiling->ci95, ceiling->unit, 4), share ? format_percent(*share) : "",
                    ceiling->clock_hz ? format_hertz(*ceiling->clock_hz) : "",
                    ceiling->method + (ceiling->caveats.empty() ? "" : ". Caveat: " + joined(ceiling->caveats, "; "))});
  }
  return rows;
}

std::optional<double> share_of_limit(const Ceiling& ceiling) {
  if (!ceiling.theoretical_limit || !(*ceiling.theoretical_limit > 0.0)) return std::nullopt;
  return ceiling.value / *ceiling.theoretical_limit;
}

std::string drift_text(const DriftCheck& check) {
  std::vector<std::string> parts;
  for (const DriftReading& reading : check.readings) {
    std::string part = fmt::format("{} {}", reading.resource, apart(reading.change));
    if (reading.outcome != DriftOutcome::agrees) part += fmt::format(" ({})", name_of(reading.outcome));
    if (reading.outcome == DriftOutcome::disturbed) part += ": " + reading.disturbance;
    parts.push_back(std::move(part));
  }
  for (const std::string& reason : check.not_checked) parts.push_back("not checked: " + reason);
  return fmt::format("against the calibration of {}: {}", check.calibration_utc, joined(parts, ", "));
}

bool is_ill(const Health& health) {
  return std::any_of(health.checks.begin(), health.checks.end(), [](const BandCheck& check) { return check.worse; });
}

std::string health_text(const Health& health) {
  if (health.checks.empty())
    return health.kind.empty() ? health.reason : fmt::format("not compared with {}: {}", health.kind, health.reason);
  std::vector<const BandCheck*> outside;
  for (const BandCheck& check : health.checks)
    if (check.standing != Standing::inside) outside.push_back(&check);
  std::stable_sort(outside.begin(), outside.end(), [](const BandCheck* a, const BandCheck* b) {
    return std::abs(a->difference) > std::abs(b->difference);
  });
  std::vector<std::string> worse;
  std::vector<std::string> better;
  for (const BandCheck* const check : outside)
    (check->worse ? worse : better).push_back(fmt::format("{} in {}", apart(check->difference), check->resource));
  const std::size_t like = health.checks.size() - outside.size();
  std::string text = worse.empty() ? fmt::format("as expected of its kind, {}, in {} of {} figures", health.kind, like,
                                                 health.checks.size())
                                   : fmt::format("slower than its kind, {}: {}; as expected in {} of {} figures",
                                                 health.kind, joined(worse, ", "), like, health.checks.size());
  if (!better.empty()) text += fmt::format("; faster: {}", joined(better, ", "));
  if (!health.reason.empty()) text += "; " + health.reason;
  return text;
}

}  // namespace gpubench::reports
