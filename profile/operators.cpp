// SPDX-License-Identifier: Apache-2.0
// From a framework's operators in a trace to what they reach of the GPU's ceilings.

#include "timeline/operators/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "classifier/classifier.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "profile/verdicts.h"
#include "timeline/operators/operator_work.h"

namespace gpubench::profile {
namespace {

constexpr std::size_t max_operators = 500;  // points

/// The pipe that a type is calculated in. Whether float runs as TF32 is told by names: that of CUTLASS's and cuDNN's
/// kernels ("tf32", and "s1688" for the instruction), and nvjet, cuBLAS's kernels for the tensor cores of Hopper.
std::optional<Pipe> pipe_of(const timeline::OperatorWork& work, std::string_view kernel) {
  const auto has = [&](std::string_view part) { return contains(kernel, part); };
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
    if (number == 0 && depth > 0 && c > ' ' && c != '"') text += c;
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

using timeline::Timeline;

/// What of the GPUs' time has a point, and why the rest has none.
struct OperatorShare {
  double judged_seconds = 0.0;                 ///< work launched by operators whose work their inputs tell
  double without_shapes = 0.0;                 ///< by operators without shapes
  double without_values = 0.0;                 ///< by convolutions and attention without the values they need
  double unknown_work = 0.0;                   ///< by operators whose shapes do not tell their work
  double without_operator = 0.0;               ///< by no operator
  std::vector<std::string> unknown_operators;  ///< the three that take most of that
};

/// Calls of one operator with one list of inputs on one GPU.
struct Group {
  std::int64_t device = 0;
  std::uint32_t name = 0, inputs = 0;  ///< in Timeline::names
  timeline::OperatorWork work;
  std::vector<timeline::OperatorCall> calls;
  std::int64_t total_ns = 0;

  [[nodiscard]] std::string device_id() const { return gpu_id(std::max<std::int64_t>(device, 0)); }
};

/// Those with shapes, in the order of devices and names.
std::vector<Group> groups_with_shapes(const Timeline& timeline, OperatorShare& share) {
  std::map<std::tuple<std::int64_t, std::uint32_t, std::string_view>, Group> groups;  // strides do not tell work
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
    const std::string_view inputs =
        timeline::inputs_of_work(timeline.names.text(static_cast<std::uint32_t>(slice.detail)));
    Group& group = groups[{call.device, slice.name, inputs}];
    group.device = call.device;
    group.name = slice.name;
    group.inputs = static_cast<std::uint32_t>(slice.detail);
    group.calls.push_back(call);
    group.total_ns += call.gpu_ns;
  }
  share.without_operator = seconds_of(all - of_operators);
  std::vector<Group> result;
  for (auto& [key, group] : groups) result.push_back(std::move(group));
  return result;
}

/// Those whose work their shapes tell, by falling time.
std::vector<Group> groups_with_work(const Timeline& timeline, OperatorShare& share) {
  std::map<std::string_view, std::int64_t> unknown;
  std::vector<Group> known;
  for (Group& group : groups_with_shapes(timeline, share)) {
    const std::string& name = timeline.names.text(group.name);
    const std::string& inputs = timeline.names.text(group.inputs);
    const double seconds = seconds_of(group.total_ns);
    if (const auto work = timeline::operator_work(name, inputs)) {
      share.judged_seconds += seconds;
      group.work = *work;
      known.push_back(std::move(group));
    } else if (timeline::work_needs_values(name) && list_of(inputs, 2).size() <= 2) {
      share.without_values += seconds;
    } else {
      share.unknown_work += seconds;
      unknown[name] += group.total_ns;
    }
  }
  std::vector<std::pair<std::int64_t, std::string_view>> most;
  for (const auto& [name, ns] : unknown) most.emplace_back(-ns, name);
  std::ranges::sort(most);
  most.resize(std::min<std::size_t>(most.size(), 3));
  for (const auto& [ns, name] : most) share.unknown_operators.emplace_back(name);
  std::ranges::stable_sort(known, std::ranges::greater(), &Group::total_ns);
  return known;
}

Measurement measurement_of(const Group& group, const Timeline& timeline, const Calibration& calibration) {
  const timeline::OperatorCall& first = group.calls.front();
  Measurement measurement;
  measurement.operation = timeline.names.text(group.name);
  measurement.device = group.device_id();
  measurement.cache_state = "as in the program";
  measurement.arguments.push_back({.name = "in", .value = 0, .text = shapes_text(timeline.names.text(group.inputs))});
  measurement.arguments.push_back({.name = "type", .value = 0, .text = group.work.type});
  measurement.name = fmt::format("{}/in:{}/type:{}", measurement.operation, *measurement.arguments[0].text,
                                 *measurement.arguments[1].text);
  measurement.work.bytes_read = group.work.bytes_read;
  measurement.work.bytes_written = group.work.bytes_written;
  if (const auto pipe = pipe_of(group.work, timeline.names.text(first.kernel)); pipe && group.work.flops > 0.0)
    measurement.work.flops[*pipe] = group.work.flops;
  measurement.launches = Launches{first.works, first.blocks,
                                  std::max<std::int64_t>(first.blocks - first.kernels * calibration.device.units, 0)};
  RecordedTimes times{.durations_ns = {},
                      .kernels = first.kernels,
                      .launches = first.works,
                      .method = "the trace's records of what the operator launched"};
  for (const timeline::OperatorCall& call : group.calls) times.durations_ns.push_back(call.gpu_ns);
  measurement.timings = timings_of(times, fixed_costs_of(calibration));
  return measurement;
}

/// Of work the group of the call that launched it.
timeline::Roofs roofs_of(const timeline::Linked& linked, const std::vector<Group>& groups, const Run& run) {
  timeline::Roofs roofs;
  std::unordered_map<std::uint32_t, std::uint32_t> of_call;  // by the operator's slice
  for (std::uint32_t i = 0; i < groups.size(); ++i) {
    const Measurement& measurement = run.points[i].measurement;
    roofs.groups.push_back(
        {fmt::format("{} {}", measurement.operation, *measurement.arguments[0].text), roof_share(run.points[i])});
    for (const timeline::OperatorCall& call : groups[i].calls) of_call.emplace(call.slice, i);
  }
  const timeline::Operators found = timeline::operators(linked);
  roofs.of_slice.assign(linked.timeline.slices.size(), timeline::none);
  for (std::uint32_t i = 0; i < roofs.of_slice.size(); ++i) {
    const std::uint32_t operation =
        linked.works(linked.timeline.slices[i]) ? found.of_work(linked.links, i) : timeline::none;
    if (operation == timeline::none) continue;
    if (const auto group = of_call.find(found.all[operation].slice); group != of_call.end())
      roofs.of_slice[i] = group->second;
  }
  return roofs;
}

/// What the verdicts of operators cover, and why the rest has none.
std::string rest_of(const OperatorShare& share, const Timeline& timeline, const Calibration& calibration) {
  std::string other;
  for (const timeline::GpuModel& traced : timeline.gpus) {
    if (traced.name == calibration.device.name) {
      other.clear();
      break;
    }
    other = fmt::format(", but the trace is of {}: give the ceilings of that", printable(traced.name));
  }
  const double all =
      share.judged_seconds + share.without_shapes + share.without_values + share.unknown_work + share.without_operator;
  const auto part = [&](double seconds) { return format_percent(all > 0.0 ? seconds / all : 0.0); };
  std::string none;
  const auto add = [&](double seconds, std::string_view why) {
    if (seconds > 0.0)
      none += fmt::format("{} {} launched by {}", none.empty() ? " None have:" : ",", part(seconds), why);
  };
  add(share.unknown_work, fmt::format("operators whose shapes do not tell their work (most of it by {})",
                                      printable(joined(share.unknown_operators, ", "))));
  add(share.without_values,
      "convolutions and attention of which the trace has no \"Concrete Inputs\" (PyTorch writes them from 2.1 on)");
  add(share.without_shapes, "operators without shapes");
  add(share.without_operator, "no operator");
  return fmt::format("By the ceilings of {}{}. Verdicts cover {} of the work on the GPU.{}{}{}",
                     printable(calibration.device.name), other, part(share.judged_seconds), none,
                     none.empty() ? "" : ".", share.judged_seconds > 0.0 ? "" : " Record with record_shapes=True.");
}

}  // namespace

WorkVerdicts operator_verdicts(const Timeline& timeline, const Calibration& calibration, timeline::Roofs* roofs) {
  OperatorShare share;
  WorkVerdicts verdicts;
  std::vector<Group> groups = groups_with_work(timeline, share);
  std::map<std::int64_t, std::string> devices;
  for (const Group& group : groups) devices[group.device] = group.device_id();
  for (const auto& [number, id] : devices) {
    Calibration own = calibration;
    own.device.id = id;
    verdicts.run.devices.push_back(own.device);
    verdicts.run.calibrations.push_back(std::move(own));
  }
  groups.resize(std::min(groups.size(), max_operators));
  for (const Group& group : groups) {
    verdicts.calls.push_back(static_cast<std::int64_t>(group.calls.size()));
    verdicts.total_seconds.push_back(seconds_of(group.total_ns));
    verdicts.run.points.push_back(
        {.measurement = measurement_of(group, timeline, calibration), .verdict = std::nullopt});
  }
  if (!groups.empty()) classifier::classify(verdicts.run);
  verdicts.rest = rest_of(share, timeline, calibration);
  if (roofs != nullptr) *roofs = roofs_of(timeline, groups, verdicts.run);
  return verdicts;
}

}  // namespace gpubench::profile
