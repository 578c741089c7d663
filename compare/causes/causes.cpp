// SPDX-License-Identifier: Apache-2.0
#include "compare/causes/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "compare/causes/part_causes.h"
#include "compare/causes/program_causes.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/statistics/statistics.h"

namespace gpubench::compare {
namespace {

/// A part of the change that is not worth a word.
constexpr double small_share = 0.05;

/// What a kernel's name says of what it is for, in lower case.
constexpr std::pair<std::string_view, std::string_view> known_kernels[] = {
    {"nchwtonhwc", "a layout change"},      {"nhwctonchw", "a layout change"},
    {"transpose", "a layout change"},       {"permute", "a layout change"},
    {"vectorized_copy", "a layout change"}, {"contiguous", "a layout change"},
    {"reorder", "a layout change"},         {"cast", "a change of type"},
    {"convert", "a change of type"},        {"copy", "a copy, as of another layout or type"}};

std::string purpose_of(const std::string& kernel) {
  const std::string name = lower(kernel);
  for (const auto& [word, purpose] : known_kernels)
    if (contains(name, word)) return fmt::format(": {}", purpose);
  return {};
}

/// The same function, of whatever template arguments.
bool same_template(const std::string& one, const std::string& other) {
  return one == other || short_kernel_name(one) == short_kernel_name(other);
}

/// "many<32> -> many<160>", where that is short.
std::string template_names(const std::string& old, const std::string& now) {
  constexpr std::size_t short_enough = 24;
  const std::string name = short_kernel_name(now), was = kernel_arguments(old), is = kernel_arguments(now);
  if (was == is) return name;
  if (was.size() > short_enough || is.size() > short_enough) return name + " of other template arguments";
  const std::string word = name.substr(0, name.find('<'));
  return fmt::format("{0}<{1}> -> {0}<{2}>", word, was, is);
}

class Explaining {
 public:
  Explaining(const CauseSide& base, const CauseSide& next, double ratio)
      : base_(base),
        next_(next),
        old_(base.point.measurement),
        now_(next.point.measurement),
        log_ratio_(std::log(ratio)) {
    const auto& seconds = old_.seconds();
    difference_ = seconds ? seconds->median * (ratio - 1.0) : 0.0;
  }

  Causes all() {
    if (!std::isfinite(log_ratio_) || log_ratio_ == 0.0) return {};
    if (!parts_by_time()) {
      commands_without_times();
      whole();
    }
    left_ = add_load(base_, next_, log_ratio_, left_, causes_.list);
    add_codes(base_, next_, causes_.list);
    add_builds(base_, next_, causes_.list);
    if (const std::string text = library_changes(base_, next_); !text.empty() && !libraries_told_)
      add(CauseKind::libraries, text, std::nullopt);
    return finish();
  }

 private:
  void add(CauseKind kind, std::string text, std::optional<double> share) {
    add_cause(causes_.list, kind, std::move(text), share);
  }

  // Kernels, copies and fills, one by one.

  struct Matched {
    const KernelGroup* was = nullptr;
    const KernelGroup* is = nullptr;
  };

  enum class Likeness { shape, name, template_name };

  static bool alike(const KernelGroup& one, const KernelGroup& other, Likeness least) {
    if (one.kind != other.kind) return false;
    if (least == Likeness::template_name) return same_template(one.launch.name, other.launch.name);
    return one.launch.name == other.launch.name &&
           (least == Likeness::name || (one.launch.grid == other.launch.grid &&
                                        one.launch.block == other.launch.block && one.bytes == other.bytes));
  }

  /// By name and shape, by name, by the name less its template arguments, in their order; what is left stands alone.
  [[nodiscard]] std::vector<Matched> matched() const {
    std::vector<Matched> result;
    std::vector<bool> taken(now_.kernels.size());
    std::vector<const KernelGroup*> partner(old_.kernels.size());
    for (const Likeness least : {Likeness::shape, Likeness::name, Likeness::template_name})
      for (std::size_t i = 0; i < old_.kernels.size(); ++i)
        for (std::size_t j = 0; j < now_.kernels.size() && partner[i] == nullptr; ++j)
          if (!taken[j] && alike(old_.kernels[i], now_.kernels[j], least)) {
            partner[i] = &now_.kernels[j];
            taken[j] = true;
          }
    for (std::size_t i = 0; i < old_.kernels.size(); ++i) result.push_back({&old_.kernels[i], partner[i]});
    // One that is gone and a new one at its place, of the same kind: another in its place.
    for (std::size_t j = 0; j < now_.kernels.size(); ++j) {
      if (taken[j]) continue;
      const auto gone = std::ranges::find_if(result, [&](const Matched& each) {
        return each.is == nullptr && each.was != nullptr && each.was->kind == now_.kernels[j].kind;
      });
      if (gone != result.end() && old_.kernels.size() == now_.kernels.size())
        gone->is = &now_.kernels[j];
      else
        result.push_back({nullptr, &now_.kernels[j]});
    }
    return result;
  }

  /// Where all of both sides have times. Returns whether they do.
  bool parts_by_time() {
    const auto timed = [](const Measurement& measurement) {
      return !measurement.kernels.empty() && std::ranges::all_of(measurement.kernels, [](const KernelGroup& group) {
        return group.seconds && group.seconds->value > 0.0;
      });
    };
    if (!timed(old_) || !timed(now_) || difference_ == 0.0) return false;
    double told = 0.0;
    for (const Matched& each : matched()) {
      const double was = each.was != nullptr ? each.was->seconds->value : 0.0;
      const double is = each.is != nullptr ? each.is->seconds->value : 0.0;
      const double share = (is - was) / difference_;
      told += share;
      if (share < small_share) continue;
      if (each.was == nullptr || each.is == nullptr)
        lone(each.was != nullptr ? *each.was : *each.is, each.was != nullptr, share);
      else if (!same_template(each.was->launch.name, each.is->launch.name))
        replaced(*each.was, *each.is, share);
      else
        left_ += explain_part(base_, next_, part_of(each, share, std::log(is / was)), causes_.list);
    }
    if (const double rest = 1.0 - told; rest > 2.0 * small_share) beside_kernels(rest);
    return true;
  }

  /// What the kernels' own times leave: the host where it launches more slowly than they run, else the gaps between.
  void beside_kernels(double share) {
    const auto &was = old_.launch_seconds, &is = now_.launch_seconds;
    const auto launched = [](const Measurement& measurement) {
      std::int64_t sum = 0;
      for (const KernelGroup& group : measurement.kernels) sum += std::max<std::int64_t>(1, group.launch.launches);
      return sum;
    };
    const auto old = launched(old_), now = launched(now_);
    const auto* const slow = log_ratio_ > 0.0 ? &now_ : &old_;  // the side whose time the host could be
    const bool host = was && is && slow->launch_seconds->value > slow->seconds()->median &&
                      (is->value > was->value) == (log_ratio_ > 0.0);
    std::string text =
        fmt::format("the time between its kernels and copies is {}", log_ratio_ > 0.0 ? "longer" : "shorter");
    if (host)
      text = fmt::format("the host launches it in {}, before in {}", format_seconds(is->value),
                         format_seconds(was->value));
    if (old == now) return add(CauseKind::host, text, share);
    add(CauseKind::launches, fmt::format("{}: {}", arrow("launches", old, now), text), share);
  }

  void lone(const KernelGroup& group, bool gone, double share) {
    const bool kernel = group.kind == CommandKind::kernel;
    const std::int64_t count = std::max<std::int64_t>(1, group.launch.launches);
    const std::string name = shown_name(group);
    std::string text = fmt::format("{} {}: {}, {}", kernel ? plural(count, "kernel") : plural(count, "command"),
                                   gone ? "less" : "more", name, format_seconds(group.seconds->value));
    if (group.bytes) text += fmt::format(" for {}", format_bytes(static_cast<double>(*group.bytes)));
    if (kernel) text += purpose_of(name);
    add(kernel ? CauseKind::kernel : CauseKind::copy, text, share);
  }

  void replaced(const KernelGroup& was, const KernelGroup& is, double share) {
    const std::string libraries = library_changes(base_, next_);
    const std::string text = fmt::format("another kernel: {} -> {}, {} -> {}", short_kernel_name(was.launch.name),
                                         short_kernel_name(is.launch.name), format_seconds(was.seconds->value),
                                         format_seconds(is.seconds->value));
    if (libraries.empty()) return add(CauseKind::kernel, text, share);
    libraries_told_ = true;
    add(CauseKind::libraries, fmt::format("{} brings {}", libraries, text), share);
  }

  [[nodiscard]] Part part_of(const Matched& each, double share, double log_ratio) const {
    Part part;
    const bool other_arguments = each.is->kind == CommandKind::kernel && each.was->launch.name != each.is->launch.name;
    part.name = other_arguments ? template_names(each.was->launch.name, each.is->launch.name) : shown_name(*each.is);
    part.was = &each.was->launch;
    part.is = &each.is->launch;
    part.old_launches = each.was->launch.launches;
    part.new_launches = each.is->launch.launches;
    const bool alone = old_.kernels.size() == 1 && now_.kernels.size() == 1;
    part.old_counters = each.was->counters.empty() && alone ? &old_.counters : &each.was->counters;
    part.new_counters = each.is->counters.empty() && alone ? &now_.counters : &each.is->counters;
    part.old_blocks = each.was->blocks_per_multiprocessor;
    part.new_blocks = each.is->blocks_per_multiprocessor;
    const auto place = static_cast<std::size_t>(each.is - now_.kernels.data());
    const auto& verdicts = next_.point.kernel_verdicts;
    if (place < verdicts.size() && verdicts[place])
      part.verdict = &*verdicts[place];
    else if (alone && next_.point.verdict)
      part.verdict = &*next_.point.verdict;
    part.share = share;
    part.log_ratio = log_ratio;
    return part;
  }

  // The point as one, where no record tells of its parts.

  void commands_without_times() {
    const auto &old = old_.activity, &now = now_.activity;
    if (old && now && old->copies != now->copies)
      add(CauseKind::copy, arrow("copies and fills", old->copies, now->copies), std::nullopt);
  }

  void whole() {
    Part part;
    const auto kernels = [](const Measurement& measurement) {
      return measurement.activity ? &measurement.activity->kernels : nullptr;
    };
    const auto *old = kernels(old_), *now = kernels(now_);
    const bool one = old != nullptr && now != nullptr && old->size() == 1 && now->size() == 1;
    if (one) {
      part.was = old->data();
      part.is = now->data();
      part.name = short_kernel_name(part.is->name);
      if (part.was->name != part.is->name)
        add(CauseKind::kernel, fmt::format("another kernel: {} -> {}", short_kernel_name(part.was->name), part.name),
            std::nullopt);
    }
    part.old_launches = old_.launches ? old_.launches->kernels : one ? part.was->launches : 0;
    part.new_launches = now_.launches ? now_.launches->kernels : one ? part.is->launches : 0;
    part.old_counters = &old_.counters;
    part.new_counters = &now_.counters;
    if (old_.grid && now_.grid && old_.grid->blocks_per_multiprocessor > 0 &&
        now_.grid->blocks_per_multiprocessor > 0) {
      part.old_blocks = old_.grid->blocks_per_multiprocessor;
      part.new_blocks = now_.grid->blocks_per_multiprocessor;
    }
    part.verdict = next_.point.verdict ? &*next_.point.verdict : base_.point.verdict ? &*base_.point.verdict : nullptr;
    part.log_ratio = log_ratio_;
    left_ += explain_part(base_, next_, part, causes_.list);
  }

  Causes finish() {
    // Of those whose share cannot be told, what the user did stands before what follows from it.
    constexpr CauseKind order[] = {CauseKind::build,        CauseKind::copy,    CauseKind::kernel,
                                   CauseKind::launches,     CauseKind::atomics, CauseKind::spills,
                                   CauseKind::occupancy,    CauseKind::bytes,   CauseKind::arithmetic,
                                   CauseKind::instructions, CauseKind::waits,   CauseKind::libraries};
    const auto rank = [&](const Cause& cause) {
      const bool told = cause.share && *cause.share >= small_share;
      return std::pair(told ? -*cause.share : 0.0, told ? std::begin(order) : std::ranges::find(order, cause.kind));
    };
    std::ranges::stable_sort(causes_.list, {}, rank);
    double told = 0.0;
    for (const Cause& cause : causes_.list) told += cause.share.value_or(0.0);
    const double rest = std::clamp(1.0 - told, 0.0, 1.0);
    const bool counters = !now_.counters.empty() && !old_.counters.empty();
    const bool on_gpu = kind_of_id(now_.device) == DeviceKind::gpu;
    if (causes_.list.empty())
      causes_.rest = "nothing that both sides carry differs with it";
    else if (told < small_share)
      causes_.rest = "how much of the change this explains cannot be told";
    else if (rest > 2.0 * small_share)
      causes_.rest = fmt::format("{} of the change is left", format_percent(rest));
    if (on_gpu && !counters && !causes_.rest.empty())
      causes_.hint = now_.absent_counters.empty()
                         ? "Counters on both sides could tell more of why points changed: --metrics=core,units --check."
                         : fmt::format("Counters could tell more of why points changed, but there are none: {}.",
                                       now_.absent_counters.front().reason);
    return std::move(causes_);
  }

  const CauseSide &base_, &next_;
  const Measurement &old_, &now_;
  double log_ratio_;
  double difference_ = 0.0;  ///< of times, by the base's
  double left_ = 0.0;        ///< of the change, of parts that were looked into
  bool libraries_told_ = false;
  Causes causes_;
};

}  // namespace

Point typical_of(const std::vector<const Point*>& processes, bool in_turns) {
  const auto counted =
      std::ranges::find_if(processes, [](const Point* point) { return !point->measurement.counters.empty(); });
  Point typical = counted == processes.end() ? *processes.front() : **counted;
  const auto median_of = [&](const auto& value_of) {
    std::vector<double> values;
    for (const Point* point : processes)
      if (const std::optional<double> value = value_of(point->measurement)) values.push_back(*value);
    return values.empty() ? std::optional<double>() : statistics::median(values);
  };
  const auto of_conditions = [&](std::optional<double> DeviceConditions::*member) {
    return median_of([&](const Measurement& it) { return it.conditions ? (*it.conditions).*member : std::nullopt; });
  };
  typical.measurement.clock_hz = median_of([](const Measurement& it) { return it.clock_hz; });
  if (auto& conditions = typical.measurement.conditions) {
    conditions->core_share = in_turns ? std::nullopt : of_conditions(&DeviceConditions::core_share);
    conditions->gpu_share = in_turns ? std::nullopt : of_conditions(&DeviceConditions::gpu_share);
    std::erase_if(conditions->throttle_reasons, [&](const std::string& reason) {
      const auto with = std::ranges::count_if(processes, [&](const Point* point) {
        const auto& its = point->measurement.conditions;
        return its && contains(its->throttle_reasons, reason);
      });
      return 2 * with < std::ssize(processes);
    });
  }
  return typical;
}

void add_explanations(const Point& from, Point& to) {
  const Measurement& told = from.measurement;
  Measurement& measurement = to.measurement;
  if (measurement.counters.empty()) {
    measurement.counters = told.counters;
    measurement.absent_counters = told.absent_counters;
    if (from.verdict) to.verdict = from.verdict;  // it rests on them
  }
  if (measurement.kernels.empty()) {
    measurement.kernels = told.kernels;
    to.kernel_verdicts = from.kernel_verdicts;
  }
  if (!measurement.activity) measurement.activity = told.activity;
  if (!measurement.launches) measurement.launches = told.launches;
}

Causes causes_of(const CauseSide& base, const CauseSide& next, double ratio) {
  return Explaining(base, next, ratio).all();
}

}  // namespace gpubench::compare
