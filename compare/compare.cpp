// SPDX-License-Identifier: Apache-2.0
#include "compare/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "compare/causes/operations.h"
#include "compare/causes/programs.h"
#include "compare/comparability.h"
#include "compare/noise/noise.h"
#include "compare/noise/point_table.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"

namespace gpubench::compare {
namespace {

/// One side: what each of its processes says of each point.
struct Side {
  Runs runs;
  std::vector<ProcessTable> tables;

  /// How many processes have any of that.
  [[nodiscard]] int count(std::size_t point, int ProcessPoint::*member) const {
    return static_cast<int>(
        std::ranges::count_if(tables, [&](const ProcessTable& table) { return table[point].*member > 0; }));
  }
  [[nodiscard]] bool has(std::size_t point, int ProcessPoint::*member) const { return count(point, member) > 0; }
  [[nodiscard]] const ProcessPoint* first_timed(std::size_t point) const {
    for (const ProcessTable& table : tables)
      if (table[point].timed > 0) return &table[point];
    return nullptr;
  }
  [[nodiscard]] std::vector<const Point*> timed_points(std::size_t point) const {
    std::vector<const Point*> result;
    for (const ProcessTable& table : tables)
      if (table[point].timed > 0 && table[point].shown != nullptr) result.push_back(table[point].shown);
    return result;
  }
  [[nodiscard]] const Verdict* verdict(std::size_t point) const {
    for (const ProcessTable& table : tables)
      if (table[point].verdict != nullptr) return table[point].verdict;
    return nullptr;
  }
};

/// What is said of points together, and of which.
enum class Remark { unlike, without_ratio, unpaired, other_clock, duplicate, loaded, without_loaded, by_fastest, gap };
constexpr std::string_view remarks[] = {
    "left out, because another run used another cache state",
    "left out, because a time is not positive",
    "left out, because there are fewer than two pairs",
    "timed in different ways: compared by a time that both sides have",
    "more than once in one run file: taken as repetitions",
    "measured under load, when others ran on the cores or the GPU: ",
    "compared without the processes that ran under load, which are left out of a point where more ran without",
    "told by the fastest sample of each process, because work of others disturbed the medians more",
    "not in all runs: compared in the runs that have it"};

class Comparing {
 public:
  Comparing(Runs base, Runs next, const CompareOptions& options, const std::vector<Runs>& alike) : options_(options) {
    result_.min_effect = options.min_effect;
    base_.runs = options.paired ? std::move(base) : without_duplicates(base, "base");
    next_.runs = options.paired ? std::move(next) : without_duplicates(next, "new");
    result_.base_processes = static_cast<int>(base_.runs.size());
    result_.new_processes = static_cast<int>(next_.runs.size());
    compare_contexts();
    name_cards();
    for (const Side* side : {&base_, &next_})
      for (const Run* run : side->runs) index_.add(*run);
    clocks_ = choose_clocks(index_, base_.runs, next_.runs, options_.clock);
    PointClocks clocks;
    for (const PointClock& each : clocks_) clocks.push_back(each.clock);
    for (Side* side : {&base_, &next_})
      for (const Run* run : side->runs) side->tables.push_back(index_.table_of(*run, clocks));
    for (const Runs& group : alike) {
      alike_.emplace_back();
      for (const Run* run : group) alike_.back().push_back(index_.table_of(*run, clocks));
    }
    std::set<std::string_view> devices;
    for (const auto& key : index_.keys()) devices.insert(key.device);
    several_devices_ = devices.size() > 1;
  }

  Comparison run() {
    sort_points();
    for (const auto& [device, points] : comparable_)
      for (const std::size_t point : points) look_at_load(point);
    std::vector<Judged> judged;
    one_after_the_other_ = one_after_the_other() && !options_.updates;
    for (const auto& [device, points] : comparable_) judge_device(device, points, judged);
    decide(judged, options_.min_effect);
    std::ranges::sort(judged, {}, &Judged::place);  // as the points first appeared, not device by device
    note_remarks();
    note_order();
    note_same_runs();
    note_unfinished();
    take_points(judged);
    const bool nothing = result_.points.empty() && result_.failed_in_new.empty() && some_left_out_;
    result_.comparable = common_ && (!foreign_used_ || options_.force) && !nothing;
    result_.forced = result_.comparable && foreign_used_ && options_.force;
    return std::move(result_);
  }

 private:
  Runs without_duplicates(const Runs& runs, std::string_view side) {
    Runs kept;
    for (const Run* run : runs)
      if (std::ranges::none_of(kept, [&](const Run* other) { return same_run(*run, *other); })) kept.push_back(run);
    if (const auto copies = std::ssize(runs) - std::ssize(kept); copies > 0)
      result_.notes.push_back(fmt::format("{} of the {} side {} a copy of another and counts once",
                                          plural(copies, "run"), side, copies == 1 ? "is" : "are each"));
    return kept;
  }

  /// Every run is held against the first one.
  void compare_contexts() {
    const Run& first = *base_.runs.front();
    std::set<std::pair<const void*, std::string>> known;
    const auto add = [&](std::vector<std::string>& list, const std::vector<std::string>& more) {
      for (const std::string& text : more)
        if (known.emplace(&list, text).second) list.push_back(text);
    };
    bool some_differ = false, all_known = true;
    std::set<CodeChange> device_code;
    for (const Side* side : {&base_, &next_})
      for (const Run* run : side->runs) {
        if (run == &first) continue;
        const Comparability found = comparability_of(first, *run, options_.same_model);
        add(result_.differences, found.differences);
        add(result_.forbidding, found.forbidding);
        add(result_.notes, found.notes);
        foreign_.insert(found.foreign_device_ids.begin(), found.foreign_device_ids.end());
        const CodeChange code = code_change(first, *run);
        all_known = all_known && code != CodeChange::not_known;
        device_code.insert(device_code_change(first, *run));
        if (code == CodeChange::differs) (side == &next_ ? some_differ : mixed_base_) = true;
      }
    if (mixed_base_)
      result_.notes.emplace_back("the base runs are not all of the same code, so their differences count as noise");
    if (device_code.size() == 1) result_.device_code = *device_code.begin();
    result_.code = some_differ                 ? CodeChange::differs
                   : all_known && !mixed_base_ ? CodeChange::same
                                               : CodeChange::not_known;
  }

  [[nodiscard]] static std::set<std::string> cards_of(const Side& side) {
    std::set<std::string> cards;
    for (const Run* run : side.runs) cards.insert(card_of(*run));
    return cards;
  }

  void name_cards() {
    if (!options_.same_model) return;
    const auto old = cards_of(base_), now = cards_of(next_);
    if (old.size() == 1 && old == now) return;
    other_card_ = old.size() == 1 && now.size() == 1 && !options_.paired;
    std::string noise = "the spread between cards is in the noise";
    if (other_card_)
      noise = options_.process_deviation
                  ? "the noise is as given"
                  : fmt::format(
                        "{:.0f} % is added to the noise for what cards differ by. Several cards a side show "
                        "what these differ by",
                        100.0 * card_deviation);
    result_.cards = old.size() > 1 || now.size() > 1;
    result_.notes.push_back(
        fmt::format("the base is of {}, the new side of {}: {}", joined(old, ", "), joined(now, ", "), noise));
  }

  [[nodiscard]] bool one_after_the_other() const {
    if (options_.paired) return false;
    const auto times = [](const Side& side) {
      std::vector<std::string_view> result;
      for (const Run* run : side.runs) result.emplace_back(run->context.created_utc);
      return std::ranges::minmax(result);
    };
    const auto [oldest_base, newest_base] = times(base_);
    const auto [oldest_new, newest_new] = times(next_);
    return newest_base < oldest_new || newest_new < oldest_base;
  }

  /// Where one side was measured before the other, the machine may have changed meanwhile.
  void note_order() {
    if (!one_after_the_other_ || base_.runs.size() + next_.runs.size() < 3) return;
    const bool on_cpu = !options_.process_deviation && std::ranges::any_of(comparable_, [&](const auto& each) {
      return kind_of(each.first) == DeviceKind::cpu;
    });
    result_.notes.push_back(fmt::format(
        "all runs of one side are older than those of the other: what the machine did meanwhile is in the ratios, {}; "
        "gpubench ab alternates",
        on_cpu ? fmt::format("and {:.0f} % is added to the noise of a CPU for it", 100.0 * host_drift_deviation)
               : "and not in the noise"));
  }

  void note_same_runs() {
    std::ptrdiff_t copies = 0;
    for (const Run* run : next_.runs)
      copies += std::ranges::any_of(base_.runs, [&](const Run* other) { return same_run(*run, *other); }) ? 1 : 0;
    if (copies > 0)
      result_.notes.push_back(
          fmt::format("{} of the new side {} on the base side too: compared with itself, a run shows no change",
                      plural(copies, "run"), copies == 1 ? "is" : "are"));
  }

  void note_unfinished() {
    for (const Side* side : {&base_, &next_})
      for (const Run* run : side->runs)
        if (run->unfinished) {
          result_.unfinished = true;
          result_.notes.push_back(
              fmt::format("the {} run of {} is unfinished: it has {} of {} points, so those it lacks are undecided. "
                          "Finish it with --resume, or measure again",
                          side == &base_ ? "base" : "new", run->context.created_utc, run->unfinished->finished,
                          run->unfinished->planned));
        }
  }

  [[nodiscard]] std::string shown(std::size_t point) const {
    const auto& key = index_.keys()[point];
    return without_suffix(key.name) + (several_devices_ ? " on " + std::string(key.device) : "");
  }

  void sort_points() {
    for (std::size_t point = 0; point < index_.keys().size(); ++point) {
      const std::string device(index_.keys()[point].device);
      if (appears(base_, point) && appears(next_, point)) {
        common_ = true;
        if (foreign_.count(device) > 0) {
          foreign_used_ = true;
          if (!options_.force) continue;
        }
      }
      sort_point(point, device);
    }
  }

  /// Timed, failed or skipped.
  static bool appears(const Side& side, std::size_t point) {
    return side.has(point, &ProcessPoint::timed) || side.has(point, &ProcessPoint::failed);
  }

  void sort_point(std::size_t point, const std::string& device) {
    if (!base_.has(point, &ProcessPoint::timed)) {
      if (next_.has(point, &ProcessPoint::timed)) result_.only_in_new.push_back(shown(point));
    } else if (next_.has(point, &ProcessPoint::failed)) {
      result_.failed_in_new.push_back(shown(point));
    } else if (!next_.has(point, &ProcessPoint::timed)) {
      result_.only_in_base.push_back(shown(point));
    } else if (!clocks_[point].absent_reason.empty()) {
      result_.left_out.push_back({shown(point), clocks_[point].absent_reason});
    } else if (has_any(point, [&, cache = base_.first_timed(point)->cache_state](const ProcessPoint& entry) {
                 // Times with warm and with cold caches answer different questions.
                 return entry.timed > 0 && (entry.unlike || entry.cache_state != cache);
               })) {
      remark(Remark::unlike, point);
    } else if (has_any(point, [](const ProcessPoint& entry) { return entry.by_clock > 0 && !entry.log_seconds; })) {
      remark(Remark::without_ratio, point);
    } else {
      comparable_[device].push_back(point);
      if (has_any(point, [](const ProcessPoint& entry) { return entry.duplicate; })) remark(Remark::duplicate, point);
      if (clocks_[point].of_necessity) remark(Remark::other_clock, point);
      const int processes = base_.count(point, &ProcessPoint::by_clock) + next_.count(point, &ProcessPoint::by_clock);
      if (processes < result_.base_processes + result_.new_processes) remark(Remark::gap, point);
    }
  }

  /// Pairs met it in turn.
  void look_at_load(std::size_t point) {
    if (!options_.paired) {
      const bool of_base = leave_loaded_out(base_.tables, point), of_new = leave_loaded_out(next_.tables, point);
      if (of_base || of_new) remark(Remark::without_loaded, point);
      for (auto& tables : alike_) leave_loaded_out(tables, point);
    }
    if (has_any(point, is_loaded)) remark(Remark::loaded, point);
  }

  void remark(Remark what, std::size_t point) { remarks_[what].push_back(shown(point)); }

  /// Whether any process of either side has such a point.
  [[nodiscard]] bool has_any(std::size_t point, const auto& is_such) const {
    const auto in = [&](const Side& side) {
      return std::ranges::any_of(side.tables, [&](const ProcessTable& table) { return is_such(table[point]); });
    };
    return in(base_) || in(next_);
  }

  /// New less base of the processes that ran next to each other.
  [[nodiscard]] ProcessGroup pair_differences(const std::vector<std::size_t>& points, LogTime time) const {
    ProcessGroup pairs = group_of(next_.tables, points, time);
    const ProcessGroup base = group_of(base_.tables, points, time);
    for (std::size_t i = 0; i < pairs.size(); ++i)
      for (std::size_t p = 0; p < points.size(); ++p) pairs[i][p] -= base[i][p];
    return pairs;
  }

  [[nodiscard]] DeviceKind kind_of(const std::string& device) const {
    for (const Device& each : base_.runs.front()->devices)
      if (each.id == device) return each.kind;
    return kind_of_id(device);
  }

  void judge_device(const std::string& device, const std::vector<std::size_t>& points, std::vector<Judged>& judged) {
    if (options_.paired) return judge_pairs_of(device, points, judged);
    std::vector<ProcessGroup> groups;
    groups.push_back(group_of(base_.tables, points));
    groups.push_back(group_of(next_.tables, points));
    for (const auto& tables : alike_) groups.push_back(group_of(tables, points));
    // Of several processes of one card their noise is not that of cards; one a side is held against other operations.
    const bool card_unknown = other_card_ && groups[0].size() + groups[1].size() > 2;
    if (!card_unknown) judge_operations(device, points, groups[0], groups[1]);
    const ProcessNoise noise = learn_noise(groups, points.size());
    const bool history = std::ranges::any_of(alike_, [](const auto& tables) { return tables.size() > 1; });
    const NoiseSource source = history ? NoiseSource::history : NoiseSource::processes;
    for (std::size_t i = 0; i < points.size(); ++i)
      keep(judge(sides_of(points[i]), noise.of_point[i], source, kind_of(device), options_), points[i], device, judged);
  }

  void judge_pairs_of(const std::string& device, const std::vector<std::size_t>& points, std::vector<Judged>& judged) {
    const auto noise_of = [&](LogTime time) {
      return learn_noise({winsorised(pair_differences(points, time))}, points.size());
    };
    const ProcessNoise noise = noise_of(&ProcessPoint::log_seconds);
    const ProcessNoise of_fastest = noise_of(&ProcessPoint::log_fastest);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const PointSides sides = paired_sides(points[i], &ProcessPoint::log_seconds);
      if (sides.base.size() < 2 || !noise.of_point[i]) {
        remark(Remark::unpaired, points[i]);
        continue;
      }
      const PointSides fastest = paired_sides(points[i], &ProcessPoint::log_fastest);
      const bool both = kind_of(device) == DeviceKind::cpu && of_fastest.of_point[i] && fastest.base.size() > 1;
      const double looks = both ? 2.0 : 1.0;
      Judged each = judge_pairs(sides, *noise.of_point[i], options_, looks);
      if (both)
        each = surer_of(std::move(each), judge_pairs(fastest, *of_fastest.of_point[i], options_, looks),
                        options_.min_effect);
      if (each.point.by_fastest) remark(Remark::by_fastest, points[i]);
      keep(std::move(each), points[i], device, judged);
    }
  }

  void keep(Judged each, std::size_t point, const std::string& device, std::vector<Judged>& judged) const {
    ComparedPoint& compared = each.point;
    compared.name = without_suffix(index_.keys()[point].name);
    compared.device = device;
    compared.clock = clocks_[point].clock.value_or(TimingMode::host);
    compared.kernels = kernels_text(base_.first_timed(point)->shown, next_.first_timed(point)->shown);
    const auto describe = [](const Verdict* verdict, std::string& regime, std::string& bound) {
      if (verdict != nullptr) regime = name_of(verdict->regime);
      bound = bound_of(verdict);
    };
    describe(base_.verdict(point), compared.base_regime, compared.base_bound);
    describe(next_.verdict(point), compared.new_regime, compared.new_bound);
    const bool single = compared.noise == NoiseSource::assumed || compared.noise == NoiseSource::given;
    each.few_samples = single && has_any(point, [](const ProcessPoint& entry) {
                         return entry.log_seconds && entry.samples < min_samples;
                       });
    each.place = point;
    judged.push_back(std::move(each));
  }

  /// Each operation of several points, and all of them where there are several.
  void judge_operations(const std::string& device, const std::vector<std::size_t>& points, const ProcessGroup& base,
                        const ProcessGroup& next) {
    std::vector<std::string> names;
    std::vector<std::size_t> places;
    for (const std::size_t point : points) {
      const std::string_view name = operation_of(index_.keys()[point].name);
      const auto found = std::ranges::find(names, name);
      places.push_back(static_cast<std::size_t>(found - names.begin()));
      if (found == names.end()) names.emplace_back(name);
    }
    // One operation of one process a side is held against others, which drift alike.
    const bool drifts = one_after_the_other_ && base.size() + next.size() > 2 && kind_of(device) == DeviceKind::cpu;
    const Spread drift = drifts ? host_drift : Spread{};
    std::vector<double> loads;  // of each point
    for (const std::size_t point : points) loads.push_back(sides_of(point).load_variance);
    const auto add = [&](const std::vector<std::size_t>& of_point, const std::vector<std::string>& of) {
      std::vector<double> load(of.size()), count(of.size());
      for (std::size_t i = 0; i < points.size(); ++i) {
        load[of_point[i]] += loads[i];
        ++count[of_point[i]];
      }
      std::vector<Spread> beside;
      for (std::size_t k = 0; k < of.size(); ++k)
        beside.push_back(sum_of(drift, {load[k] / count[k], std::numeric_limits<double>::infinity()}));
      for (auto& each : judged_operations(base, next, of_point, of, device, options_.min_effect, beside))
        if (each.points > 1) result_.operations.push_back(std::move(each));
    };
    add(places, names);
    if (names.size() > 1) add(std::vector<std::size_t>(points.size(), 0), {""});
  }

  [[nodiscard]] PointSides sides_of(std::size_t point) const {
    PointSides sides;
    const auto take = [&](const Side& side, std::vector<double>& values) {
      double variance = 0.0, load = 0.0;
      for (const ProcessTable& table : side.tables)
        if (const ProcessPoint& entry = table[point]; entry.log_seconds) {
          values.push_back(*entry.log_seconds);
          variance += entry.standard_error * entry.standard_error;
          load += entry.load_error * entry.load_error;
        }
      const auto squared = static_cast<double>(values.size() * values.size());
      sides.load_variance += load / squared;
      sides.within_variance += (variance + load) / squared;
    };
    take(base_, sides.base);
    take(next_, sides.next);
    sides.one_after_the_other = one_after_the_other_;
    sides.other_card = other_card_;
    return sides;
  }

  [[nodiscard]] PointSides paired_sides(std::size_t point, LogTime time) const {
    PointSides sides;
    for (std::size_t i = 0; i < base_.tables.size() && i < next_.tables.size(); ++i) {
      const ProcessPoint& old = base_.tables[i][point];
      const ProcessPoint& now = next_.tables[i][point];
      if (!(old.*time) || !(now.*time)) continue;
      sides.base.push_back(*(old.*time));
      sides.next.push_back(*(now.*time));
      // Known of medians only. What the fastest sample leaves open is in what pairs differ by.
      if (time == &ProcessPoint::log_seconds)
        sides.within_variance += old.standard_error * old.standard_error + now.standard_error * now.standard_error;
      // Load is no part of it: both sides met it in turn, and what pairs differ by shows what it did.
    }
    if (!sides.base.empty()) sides.within_variance /= static_cast<double>(sides.base.size() * sides.base.size());
    return sides;
  }

  void note_remarks() {
    some_left_out_ = !result_.left_out.empty() || remarks_.contains(Remark::unlike) ||
                     remarks_.contains(Remark::without_ratio) || remarks_.contains(Remark::unpaired);
    for (const auto& [what, points] : remarks_)
      result_.notes.push_back(fmt::format("{} {}{} (first: {})", plural(std::ssize(points), "point"),
                                          remarks[static_cast<int>(what)],
                                          what != Remark::loaded ? ""
                                          : options_.paired      ? "give more pairs, or a quiet machine"
                                                                 : "the intervals are widened for that",
                                          points.front()));
    if (!common_) result_.notes.emplace_back("no point is in both");
  }

  void take_points(std::vector<Judged>& judged) {
    std::vector<double> seen;
    for (Judged& each : judged) {
      seen.push_back(each.point.min_seen);
      const auto old = base_.timed_points(each.place), now = next_.timed_points(each.place);
      if (is_change(each.point.change) && !old.empty() && !now.empty()) {
        const Point was = typical_of(old, options_.paired), is = typical_of(now, options_.paired);
        each.point.causes = causes_of({was, *base_.runs.front()}, {is, *next_.runs.front()}, each.point.ratio.value);
      }
      result_.points.push_back(std::move(each.point));
    }
    if (seen.empty()) return;
    std::ranges::sort(seen);
    result_.min_seen_by_half = seen[(seen.size() - 1) / 2];
    result_.min_seen_by_all = seen.back();
  }

  CompareOptions options_;
  Side base_, next_;
  std::vector<std::vector<ProcessTable>> alike_;
  PointIndex index_;
  std::vector<PointClock> clocks_;  ///< by point
  std::set<std::string> foreign_;
  bool several_devices_ = false;
  bool mixed_base_ = false;
  bool common_ = false;
  bool foreign_used_ = false;
  bool some_left_out_ = false;
  bool one_after_the_other_ = false;                            ///< and the noise does not tell of it
  bool other_card_ = false;                                     ///< as PointSides::other_card
  std::map<std::string, std::vector<std::size_t>> comparable_;  ///< by device
  std::map<Remark, std::vector<std::string>> remarks_;
  Comparison result_;
};

bool has(const Comparison& comparison, Change change) {
  return contains(comparison.points, change, &ComparedPoint::change);
}

/// Of each card the mean of its runs.
std::vector<Run> by_card(const std::vector<Run>& runs) {
  std::map<std::string, std::vector<Run>> cards;
  for (const Run& run : runs) cards[card_of(run)].push_back(run);
  std::vector<Run> result;
  for (const auto& [card, of_card] : cards) result.push_back(of_card.size() > 1 ? mean_run(of_card) : of_card.front());
  return result;
}

Runs pointers_to(const std::vector<Run>& runs) {
  Runs result;
  for (const Run& run : runs) result.push_back(&run);
  return result;
}

}  // namespace

Comparison compare(const std::vector<Run>& base, const std::vector<Run>& next, const CompareOptions& options,
                   const std::vector<std::vector<Run>>& alike) {
  if (options.same_model && !options.paired) {
    const auto old = by_card(base), now = by_card(next);
    std::vector<std::vector<Run>> others;
    for (const auto& group : alike) others.push_back(by_card(group));
    // The processes of a card share it: where a side has several cards, these are the units.
    if ((old.size() > 1 || now.size() > 1) && (old.size() < base.size() || now.size() < next.size()))
      return compare(old, now, options, others);
  }
  std::vector<Runs> groups;
  for (const auto& group : alike) groups.push_back(pointers_to(group));
  CompareOptions of_kind = options;
  auto program = program_change(base, next);
  of_kind.programs = program.has_value();
  const WholeTimes whole = with_whole_times(base, next);
  const bool is_mixed = !whole.mixed.empty();
  Comparison comparison =
      Comparing(pointers_to(is_mixed ? whole.base : base), pointers_to(is_mixed ? whole.next : next), of_kind, groups)
          .run();
  if (is_mixed)
    comparison.notes.push_back(
        fmt::format(
            "launches of several lengths are compared by their mean, all of them together: {}",
            fmt::join(whole.mixed.begin(),
                      whole.mixed.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(whole.mixed.size(), 5)),
                      ", ")) +
        (whole.mixed.size() > 5 ? fmt::format(" and {} more groups", whole.mixed.size() - 5) : ""));
  comparison.program = std::move(program);
  return comparison;
}

int exit_code(const Comparison& comparison, FailOn fail_on) {
  if (fail_on == FailOn::never) return 0;
  if (!comparison.comparable) return 3;
  if (!comparison.failed_in_new.empty()) return 2;
  if (has(comparison, Change::slower)) return 1;
  const bool undecided =
      has(comparison, Change::inconclusive) || !comparison.only_in_base.empty() || comparison.unfinished;
  if (fail_on == FailOn::inconclusive && undecided) return 4;
  return comparison.unfinished ? 3 : 0;
}

}  // namespace gpubench::compare
