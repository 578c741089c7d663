// SPDX-License-Identifier: Apache-2.0
#include "reports/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "reports/differences.h"
#include "reports/points.h"
#include "reports/ratio.h"
#include "statistics/statistics.h"

namespace gpubench::reports {
namespace {

using Key = std::pair<std::string, std::string>;  // device and name

/// All measurements of one name on one device: repetitions, and duplicates in one file.
struct Side {
  std::vector<const Measurement*> timed;
  bool failed = false;
  std::string regime;
};

struct Sides {
  std::map<Key, Side> by_key;
  std::vector<Key> order;  ///< of first appearance
};

Sides sides_of(const Run& run) {
  Sides sides;
  for (const Point& point : run.points) {
    Key key{point.measurement.device, point.measurement.name};
    const auto [place, added] = sides.by_key.try_emplace(key);
    if (added) sides.order.push_back(std::move(key));
    Side& side = place->second;
    const Status status = status_of(point.measurement);
    if (status == Status::failed) side.failed = true;
    if (status == Status::timed) side.timed.push_back(&point.measurement);
    if (point.verdict && side.regime.empty()) side.regime = name_of(point.verdict->regime);
  }
  return sides;
}

/// The samples of all repetitions, sorted; empty when one of them kept none.
std::vector<double> pooled_samples(const Side& side) {
  std::vector<double> samples;
  for (const Measurement* measurement : side.timed) {
    if (measurement->samples_seconds.empty()) return {};
    samples.insert(samples.end(), measurement->samples_seconds.begin(), measurement->samples_seconds.end());
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

/// The median and interval of a side whose samples were not kept: the middle one of the medians, the hull of the
/// intervals.
Estimate summarized(const Side& side) {
  std::vector<double> medians;
  Interval hull = side.timed.front()->seconds->median_ci95;
  for (const Measurement* measurement : side.timed) {
    medians.push_back(measurement->seconds->median);
    hull.low = std::min(hull.low, measurement->seconds->median_ci95.low);
    hull.high = std::max(hull.high, measurement->seconds->median_ci95.high);
  }
  std::nth_element(medians.begin(), medians.begin() + static_cast<std::ptrdiff_t>(medians.size() / 2), medians.end());
  const double median = medians[medians.size() / 2];
  return {median, {std::min(hull.low, median), std::max(hull.high, median)}};
}

std::int64_t count_of(const Side& side) {
  std::int64_t count = 0;
  for (const Measurement* measurement : side.timed)
    count = std::max(
        count, std::max(measurement->seconds->count, static_cast<std::int64_t>(measurement->samples_seconds.size())));
  return count;
}

Change change_of(const Interval& interval, double least_effect) {
  if (interval.low > 1.0 + least_effect) return Change::slower;
  if (interval.high < 1.0 - least_effect) return Change::faster;
  if (interval.low >= 1.0 - least_effect && interval.high <= 1.0 + least_effect) return Change::same;
  return Change::inconclusive;
}

/// The times of one point and their ratio; nothing when there is no ratio.
std::optional<ComparedPoint> compared(const Side& base, const Side& next, MedianRatio& median_ratio,
                                      double least_effect) {
  ComparedPoint point;
  const auto old_samples = pooled_samples(base);
  const auto new_samples = pooled_samples(next);
  std::int64_t fewest = 0;
  std::optional<Estimate> ratio;
  if (!old_samples.empty() && !new_samples.empty()) {
    fewest = static_cast<std::int64_t>(std::min(old_samples.size(), new_samples.size()));
    point.base_seconds = statistics::quantile(old_samples, 0.5);
    point.new_seconds = statistics::quantile(new_samples, 0.5);
    ratio = median_ratio(old_samples, new_samples);
  } else {
    fewest = std::min(count_of(base), count_of(next));
    const Estimate old_time = summarized(base), new_time = summarized(next);
    point.base_seconds = old_time.value;
    point.new_seconds = new_time.value;
    ratio = ratio_of(old_time, new_time);
  }
  if (!ratio) return std::nullopt;
  point.ratio = *ratio;
  point.base_regime = base.regime;
  point.new_regime = next.regime;
  point.change = fewest < fewest_samples ? Change::inconclusive : change_of(ratio->ci95, least_effect);
  return point;
}

/// Times that answer different questions have no ratio.
bool timed_alike(const Side& base, const Side& next) {
  const Measurement& first = *base.timed.front();
  const auto alike = [&](const Measurement* other) {
    return other->clock == first.clock && other->cache_state == first.cache_state;
  };
  return std::all_of(base.timed.begin(), base.timed.end(), alike) &&
         std::all_of(next.timed.begin(), next.timed.end(), alike);
}

/// Builds a comparison point by point.
class Comparing {
 public:
  Comparing(const Run& base, const Run& next, const CompareOptions& options)
      : base_(sides_of(base)), next_(sides_of(next)), options_(options) {
    auto differences = differences_of(base, next);
    result_.differences = std::move(differences.sentences);
    foreign_ = std::move(differences.foreign_device_ids);
    std::set<std::string> devices;
    for (const auto* sides : {&base_, &next_})
      for (const Key& key : sides->order) devices.insert(key.first);
    several_devices_ = devices.size() > 1;
  }

  Comparison run() {
    bool common = false;
    for (const Key& key : base_.order) {
      const auto place = next_.by_key.find(key);
      if (place == next_.by_key.end()) {
        if (!base_.by_key.at(key).timed.empty()) result_.only_in_base.push_back(shown(key));
        continue;
      }
      common = true;
      if (foreign_.count(key.first) == 0) add(key, base_.by_key.at(key), place->second);
    }
    for (const Key& key : next_.order)
      if (base_.by_key.count(key) == 0) result_.only_in_new.push_back(shown(key));
    if (!common) result_.differences.emplace_back("no point is in both runs");
    note_unusable();
    const bool nothing = result_.points.empty() && result_.failed_in_new.empty() && unlike_ + without_ratio_ > 0;
    result_.comparable = common && foreign_used() == 0 && !nothing;
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::string shown(const Key& key) const {
    return without_suffix(key.second) + (several_devices_ ? " on " + key.first : "");
  }

  [[nodiscard]] std::ptrdiff_t foreign_used() const {
    return std::count_if(base_.order.begin(), base_.order.end(),
                         [&](const Key& key) { return foreign_.count(key.first) > 0 && next_.by_key.count(key) > 0; });
  }

  void add(const Key& key, const Side& base, const Side& next) {
    if (base.timed.empty()) {
      if (!next.timed.empty()) result_.only_in_new.push_back(shown(key));
      return;
    }
    if (next.failed) {
      result_.failed_in_new.push_back(shown(key));
    } else if (next.timed.empty()) {
      result_.only_in_base.push_back(shown(key));
    } else if (!timed_alike(base, next)) {
      if (unlike_++ == 0) unlike_example_ = shown(key);
    } else if (auto point = compared(base, next, median_ratio_, options_.least_effect)) {
      point->name = without_suffix(key.second);
      point->device = key.first;
      result_.points.push_back(std::move(*point));
    } else if (without_ratio_++ == 0) {
      without_ratio_example_ = shown(key);
    }
  }

  void note_unusable() {
    if (unlike_ > 0)
      result_.differences.push_back(
          fmt::format("{} left out, timed with another clock or cache state in the new run (first: {})",
                      points_text(unlike_), unlike_example_));
    if (without_ratio_ > 0)
      result_.differences.push_back(fmt::format("{} left out, with times that are not above zero (first: {})",
                                                points_text(without_ratio_), without_ratio_example_));
  }

  static std::string points_text(int count) { return fmt::format("{} point{}", count, count == 1 ? "" : "s"); }

  Sides base_;
  Sides next_;
  CompareOptions options_;
  std::set<std::string> foreign_;
  bool several_devices_ = false;
  MedianRatio median_ratio_;
  Comparison result_;
  int unlike_ = 0;
  int without_ratio_ = 0;
  std::string unlike_example_;
  std::string without_ratio_example_;
};

bool has(const Comparison& comparison, Change change) {
  return std::any_of(comparison.points.begin(), comparison.points.end(),
                     [&](const ComparedPoint& point) { return point.change == change; });
}

}  // namespace

Comparison compare(const Run& base, const Run& next, const CompareOptions& options) {
  return Comparing(base, next, options).run();
}

int exit_code(const Comparison& comparison, FailOn fail_on) {
  if (fail_on == FailOn::never) return 0;
  if (!comparison.comparable) return 3;
  if (!comparison.failed_in_new.empty()) return 2;
  if (has(comparison, Change::slower)) return 1;
  if (fail_on == FailOn::inconclusive && has(comparison, Change::inconclusive)) return 4;
  return 0;
}

}  // namespace gpubench::reports
