// SPDX-License-Identifier: Apache-2.0
#include "profile/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/base/units.h"
#include "core/statistics/statistics.h"
#include "profile/groups.h"
#include "timeline/analyses/operators.h"

namespace gpubench::profile {
namespace {

constexpr std::size_t max_operators = 500;  // points

/// The pipe that a type is calculated in. Whether float runs as TF32 is told by names: that of CUTLASS's and cuDNN's
/// kernels ("tf32", and "s1688" for the instruction), and nvjet, cuBLAS's kernels for the tensor cores of Hopper.
std::optional<Pipe> pipe_of(const timeline::OperatorWork& work, std::string_view kernel) {
  const auto has = [&](std::string_view part) { return kernel.find(part) != std::string_view::npos; };
  if (work.type == "float")
    return work.matrix && (has("tf32") || has("s1688") || has("nvjet")) ? Pipe::tensor_tf32 : Pipe::fp32;
  if (work.type == "double") return work.matrix ? Pipe::tensor_fp64 : Pipe::fp64;
  if (work.type == "c10::Half") return work.matrix ? Pipe::tensor_fp16 : Pipe::fp32;
  if (work.type == "c10::BFloat16") return work.matrix ? Pipe::tensor_bf16 : Pipe::fp32;
  return std::nullopt;
}

/// One of the lists that stand one behind the other, without blanks and quotes.
std::string list_of(std::string_view inputs, int number) {
  std::string text;
  int depth = 0;
  for (const char c : inputs) {
    if (c == '[') ++depth;
    if (number == 0 && depth > 0 && c != ' ' && c != '"') text += c;
    if (c == ']' && --depth == 0 && number-- == 0) break;
  }
  return text;
}

/// "[2048,512][512,1536]" of "[[2048, 512], [512, 1536], []]..."; behind it, of operators that need them, the values.
std::string shapes_text(std::string_view inputs) {
  std::string text, values;
  int depth = 0;
  for (const char c : list_of(inputs, 0)) {
    depth += c == '[' ? 1 : 0;
    if (depth > 1) text += c;
    depth -= c == ']' ? 1 : 0;
    if (text.ends_with("[]")) text.resize(text.size() - 2);  // a scalar has no shape
  }
  for (const char c : list_of(inputs, 2))
    if (c != ',' || !(values.ends_with(',') || values.ends_with('['))) values += c;
  if (values.ends_with(",]")) values.replace(values.size() - 2, 2, "]");
  return values.size() > 2 ? text + " " + values : text;
}

}  // namespace

Run run_of_operators(const timeline::Timeline& timeline, const Calibration& calibration, OperatorShare& share) {
  using Key = std::tuple<std::int64_t, std::uint32_t, std::int64_t>;  // device, name, inputs
  struct Group {
    timeline::OperatorWork work;
    std::vector<timeline::OperatorCall> calls;
    std::int64_t total_ns = 0;
  };
  std::map<Key, Group> groups;
  std::set<std::int64_t> devices;
  std::int64_t all = 0, of_operators = 0;
  for (const timeline::Slice& slice : timeline.slices)
    if (occupies_gpu(slice.kind) && timeline.tracks[slice.track].kind == timeline::TrackKind::stream)
      all += slice.duration_ns;
  for (const timeline::OperatorCall& call : timeline::operator_calls(timeline)) {
    const timeline::Slice& slice = timeline.slices[call.slice];
    of_operators += call.gpu_ns;
    if (slice.detail < 0 || slice.detail >= static_cast<std::int64_t>(timeline.names.size())) {
      share.without_shapes += seconds_of(call.gpu_ns);
      continue;
    }
    Group& group = groups[{call.device, slice.name, slice.detail}];
    group.calls.push_back(call);
    group.total_ns += call.gpu_ns;
  }
  share.without_operator = seconds_of(all - of_operators);
  std::vector<std::pair<Key, Group*>> order;
  std::map<std::string_view, std::int64_t> unknown;
  for (auto& [key, group] : groups) {
    const auto& [device, name, inputs] = key;
    const std::string& text = timeline.names.text(static_cast<std::uint32_t>(inputs));
    const auto work = timeline::operator_work(timeline.names.text(name), text);
    if (!work && timeline::work_needs_values(timeline.names.text(name)) && list_of(text, 2).empty()) {
      share.without_values += seconds_of(group.total_ns);
      continue;
    }
    if (!work) {
      share.unknown_work += seconds_of(group.total_ns);
      unknown[timeline.names.text(name)] += group.total_ns;
      continue;
    }
    group.work = *work;
    share.judged_seconds += seconds_of(group.total_ns);
    devices.insert(device);
    order.emplace_back(key, &group);
  }
  std::vector<std::pair<std::int64_t, std::string_view>> most;
  most.reserve(unknown.size());
  for (const auto& [name, ns] : unknown) most.emplace_back(-ns, name);
  std::ranges::sort(most);
  for (const auto& [ns, name] : most)
    if (share.unknown_operators.size() < 3) share.unknown_operators.emplace_back(name);
  std::ranges::stable_sort(order, std::ranges::greater(), [](const auto& one) { return one.second->total_ns; });
  if (order.size() > max_operators) order.resize(max_operators);
  Run run;
  for (const std::int64_t number : devices) {
    Calibration own = calibration;
    own.device.id = gpu_id(std::max<std::int64_t>(number, 0));
    run.devices.push_back(own.device);
    run.calibrations.push_back(std::move(own));
  }
  const auto costs = fixed_costs_of(calibration);
  for (const auto& [key, group] : order) {
    const auto& [device, name, inputs] = key;
    Measurement measurement;
    measurement.operation = timeline.names.text(name);
    measurement.device = gpu_id(std::max<std::int64_t>(device, 0));
    measurement.cache_state = "as in the program";
    measurement.arguments.push_back(
        {.name = "in", .value = 0, .text = shapes_text(timeline.names.text(static_cast<std::uint32_t>(inputs)))});
    measurement.arguments.push_back({.name = "type", .value = 0, .text = group->work.type});
    measurement.name = fmt::format("{}/in:{}/type:{}", measurement.operation, *measurement.arguments[0].text,
                                   *measurement.arguments[1].text);
    measurement.work.bytes_read = group->work.bytes_read;
    measurement.work.bytes_written = group->work.bytes_written;
    if (const auto pipe = pipe_of(group->work, timeline.names.text(group->calls.front().kernel));
        pipe && group->work.flops > 0.0)
      measurement.work.flops[*pipe] = group->work.flops;
    const timeline::OperatorCall& first = group->calls.front();
    measurement.launches = Launches{first.works, first.blocks,
                                    std::max<std::int64_t>(first.blocks - first.kernels * calibration.device.units, 0)};
    Timing timing;
    timing.clock = TimingMode::device;
    timing.stop_reason = StopReason::count;
    timing.executions_per_sample = 1;
    timing.method = "the trace's records of what the operator launched";
    const double overhead = costs ? costs->record_seconds * static_cast<double>(first.kernels) : 0.0;
    const std::size_t stride = group->calls.size() / max_samples + 1;
    for (std::size_t i = 0; i < group->calls.size(); i += stride)
      timing.samples_seconds.push_back(std::max(seconds_of(group->calls[i].gpu_ns) - overhead, min_seconds));
    timing.block_sizes = {static_cast<std::int64_t>(timing.samples_seconds.size())};
    timing.seconds = statistics::summarize(timing.samples_seconds);
    if (costs) {
      timing.kernel_overhead_seconds = Estimate{overhead, {overhead, overhead}};
      timing.method += ", less the calibrated kernel overhead";
      Timing stream = timing;
      stream.clock = TimingMode::stream;
      stream.samples_seconds.clear();
      stream.block_sizes.clear();
      stream.kernel_overhead_seconds = std::nullopt;
      const double launch = costs->launch_seconds * static_cast<double>(first.works);
      for (double* const value :
           {&stream.seconds->median, &stream.seconds->mean, &stream.seconds->minimum, &stream.seconds->maximum,
            &stream.seconds->lower_quartile, &stream.seconds->upper_quartile, &stream.seconds->median_ci95.low,
            &stream.seconds->median_ci95.high})
        *value += launch;
      stream.method = "the device time and the calibrated cost of launches in a full stream: estimated, not measured";
      measurement.timings = {std::move(timing), std::move(stream)};
    } else {
      measurement.timings = {std::move(timing)};
    }
    share.calls.push_back(static_cast<std::int64_t>(group->calls.size()));
    share.total_seconds.push_back(seconds_of(group->total_ns));
    run.points.push_back({.measurement = std::move(measurement), .verdict = std::nullopt});
  }
  return run;
}

}  // namespace gpubench::profile
