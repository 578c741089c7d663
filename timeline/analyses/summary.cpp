// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/units.h"
#include "core/model/device.h"
#include "timeline/analyses/parts.h"

namespace gpubench::timeline {
namespace {

constexpr double min_spread = 0.1;  // of the median, from the median to the slowest iteration

/// What other ranks lose because one enters collectives late.
void add_straggler(const Timeline& timeline, Summary& summary) {
  const Stragglers& all = summary.stragglers;
  if (all.collectives.empty()) return;
  const auto late = std::ranges::max_element(all.ranks, {}, &RankWait::kept_waiting_ns);
  // Of the other ranks each waited for it on average as long. What it waited itself is no matter of one rank alone.
  const double waited = seconds_of(late->kept_waiting_ns) / static_cast<double>(all.ranks.size() - 1);
  const double lost = waited - seconds_of(late->waited_ns);
  if (lost < min_share * summary.program.wall_seconds) return;
  const std::string name = process_labels(timeline)[late->process];
  Finding finding;
  finding.code = "ranks.straggler";
  finding.gain_seconds = lost;
  finding.evidence =
      fmt::format("{} entered {} of {} collectives last: the others waited {} for it{}, and it {} for others.", name,
                  late->last, all.collectives.size(), format_seconds(waited),
                  all.ranks.size() > 2 ? " each, on average" : "", format_seconds(seconds_of(late->waited_ns)));
  finding.advice = "Compare its data, its host and its GPU's clock with those of the others.";
  finding.threshold = fmt::format("{} of the time, more than it waits itself", format_percent(min_share));
  finding.text = fmt::format("{} {} This saves up to {} of {}.", finding.evidence, finding.advice, format_seconds(lost),
                             format_seconds(summary.program.wall_seconds));
  summary.program.findings.push_back(std::move(finding));
}

void add_slow_iterations(const Timeline& timeline, Summary& summary) {
  const auto labels = process_labels(timeline);
  for (const Iterations& one : summary.iterations) {
    const std::int64_t slow = one.slow();
    if (slow == 0) continue;
    double lost = 0.0;
    for (const Iteration& iteration : one.all) {
      const auto took = static_cast<double>(iteration.end_ns - iteration.start_ns);
      if (took > Iterations::slow_factor * one.duration_ns.p50) lost += (took - one.duration_ns.p50) / 1e9;
    }
    if (lost < min_spread * one.duration_ns.sum / 1e9) continue;
    Finding finding;
    finding.code = "iterations.slow";
    finding.gain_seconds = lost;
    finding.evidence = fmt::format("{} of {} iterations{}{} took more than {} times their median of {}.", slow,
                                   one.all.size(), labels[one.process].empty() ? "" : " of ", labels[one.process],
                                   format_number(Iterations::slow_factor), format_seconds(one.duration_ns.p50 / 1e9));
    finding.advice = "See what only they do: first steps, loading, saving, printing.";
    finding.threshold = fmt::format("{} of all iterations' time", format_percent(min_spread));
    finding.text = fmt::format("{} {} This saves up to {} of {}.", finding.evidence, finding.advice,
                               format_seconds(lost), format_seconds(summary.program.wall_seconds));
    summary.program.findings.push_back(std::move(finding));
    return;
  }
}

}  // namespace

std::string gpu_model(const Timeline& timeline, std::uint32_t process, std::int64_t device) {
  for (const GpuModel& gpu : timeline.gpus)
    if (gpu.process == process && gpu.device == device) return gpu.name;
  return {};
}

std::string gpu_name(const Timeline& timeline, std::uint32_t process, std::int64_t device) {
  const std::string label = process_labels(timeline)[process];
  const std::string name = device < 0 ? "gpu" : gpu_id(device);
  return label.empty() ? name : fmt::format("{} of {}", name, label);
}

Summary summarize(const Timeline& timeline) {
  Summary summary;
  const Correlations links = link(timeline);
  summary.program = analyze(timeline, links, {});
  summary.activity = activity(timeline);
  summary.gpus = breakdowns(timeline, links);
  summary.idle = stream_idle(timeline, links, consecutive_kernel_delay_ns);
  summary.kernels = kernel_times(timeline, links, KernelsBy::name, nullptr);
  summary.launches = launch_times(timeline, links);
  summary.launch_bound = launch_bound(timeline, links);
  summary.copies = copy_times(timeline, links);
  summary.iterations = iterations(timeline, links);
  summary.stragglers = stragglers(timeline);
  add_straggler(timeline, summary);
  add_slow_iterations(timeline, summary);
  std::ranges::stable_sort(summary.program.findings, std::ranges::greater(),
                           [](const Finding& finding) { return finding.gain_seconds.value_or(-1.0); });
  return summary;
}

}  // namespace gpubench::timeline
