// SPDX-License-Identifier: Apache-2.0
#include "compare/history/bisection.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/base/text.h"
#include "core/statistics/statistics.h"

namespace gpubench::compare {
namespace {

/// GOOD against itself: known.
constexpr double known_variance = 1e-12;
/// Tails of the likelihood are those of Student's t with at most so many degrees of freedom: no single commit, whose
/// build may be odd, rules out another for good.
constexpr double max_degrees = 8.0;
/// The effect is known when it is so many standard errors.
constexpr double known_errors = 7.0;
/// A commit lies on neither side when chance puts it so far from both so seldom, and it has so many pairs.
constexpr double neither_p = 1e-4;
constexpr std::size_t neither_pairs = 8;
/// Bits of belief. Below the first no further commit is measured; a measured one is preferred to a build where it tells
/// at least half as much.
constexpr double min_bits = 0.02;
constexpr double worth_of_build = 0.5;

double entropy(double p) {
  const auto part = [](double q) { return q > 0.0 ? -q * std::log2(q) : 0.0; };
  return part(p) + part(1.0 - p);
}

/// Of the pairs of one commit, the mean without the quarter at each end (one of four already): a process that others
/// disturbed moves it little.
struct Middle {
  double mean = 0.0;
  double kept = 0.0;     ///< values in it
  double squares = 0.0;  ///< of what the values differ by, those beyond pulled in; over `degrees` the variance of one
  double degrees = 0.0;
};
Middle middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t off = values.size() / 4, end = values.size() - off;
  Middle middle;
  middle.kept = static_cast<double>(end - off);
  for (std::size_t i = off; i < end; ++i) middle.mean += values[i] / middle.kept;
  double pulled_in_mean = 0.0;
  for (double& value : values) {
    value = std::clamp(value, values[off], values[end - 1]);
    pulled_in_mean += value / static_cast<double>(values.size());
  }
  for (const double value : values) middle.squares += (value - pulled_in_mean) * (value - pulled_in_mean);
  middle.degrees = middle.kept - 1.0;
  return middle;
}

/// The logarithm of Student's density at `errors`, but for what does not depend on it.
double log_likelihood(double errors, double degrees) {
  const double n = std::clamp(degrees, 1.0, max_degrees);
  return -0.5 * (n + 1.0) * std::log1p(errors * errors / n);
}

}  // namespace

Bisection::Bisection(std::size_t commits, std::size_t points, const BisectionOptions& options)
    : commits_(commits), points_(points), options_(options) {}

void Bisection::add_pair(std::size_t commit, const ProcessValues& differences) {
  pairs_[commit].push_back(differences);
  last_ = commit;
}

void Bisection::leave_out(std::size_t commit) {
  left_out_.insert(commit);
  pairs_.erase(commit);
}

std::size_t Bisection::pairs_of(std::size_t commit) const {
  const auto place = pairs_.find(commit);
  return place == pairs_.end() ? 0 : place->second.size();
}

double Bisection::Search::above(std::size_t commit) const {
  if (commit <= low) return 0.0;
  if (commit >= high) return 1.0;
  return std::accumulate(belief.begin(), belief.begin() + static_cast<std::ptrdiff_t>(commit - low), 0.0);
}

Bisection::Search Bisection::search_of(std::size_t point, std::size_t low, std::size_t high,
                                       const std::vector<Level>& levels) const {
  Search search{point, low, high, {}, std::vector<double>(high - low), {}, {}};
  for (const Level& level : levels)
    if (level.commit >= low && level.commit <= high) search.levels.push_back(level);
  // The weighted mean of the commits of one side.
  const auto fit = [&](std::size_t first_after, bool after) {
    Level mean;
    double weights = 0.0;
    for (const Level& level : search.levels) {
      if ((level.commit >= first_after) != after) continue;
      weights += 1.0 / level.variance;
      mean.mean += level.mean / level.variance;
      mean.degrees = std::max(mean.degrees, level.degrees);
    }
    mean.mean /= weights;
    mean.variance = 1.0 / weights;
    return mean;
  };
  double best = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < search.belief.size(); ++i) {
    const std::size_t commit = low + 1 + i;
    const Level before = fit(commit, false), after = fit(commit, true);
    double sum = 0.0;
    for (const Level& level : search.levels) {
      const Level& side = level.commit >= commit ? after : before;
      sum += log_likelihood((level.mean - side.mean) / std::sqrt(level.variance), level.degrees);
    }
    search.belief[i] = sum;
    if (sum <= best) continue;
    best = sum;
    search.before = before;
    search.after = after;
  }
  double total = 0.0;
  for (double& each : search.belief) total += each = std::exp(each - best);
  for (double& each : search.belief) each /= total;
  return search;
}

/// A commit inside that lies on neither side: two changes, then, one before and one after it.
const Bisection::Level* Bisection::neither(const Search& search) const {
  const Level* found = nullptr;
  double least = neither_p;
  for (const Level& level : search.levels) {
    if (level.commit == search.low || level.commit == search.high) continue;
    double p = 0.0;
    for (const Level* end : {&search.levels.front(), &search.levels.back()}) {
      const double difference = std::abs(level.mean - end->mean);
      const double error = std::sqrt(level.variance + end->variance);
      p = std::max(p, difference < 0.5 * options_.min_effect
                          ? 1.0
                          : 2.0 * statistics::student_tail(difference / error, level.degrees));
    }
    if (p >= least) continue;
    least = p;
    found = &level;
  }
  return found;
}

std::vector<Bisection::Level> Bisection::levels_of(std::size_t point) const {
  // Of all commits together: what is left of pairs when the odd ones among them are pulled in (Yuen, Biometrika 61).
  double squares = 0.0, degrees = 0.0;
  std::vector<std::pair<std::size_t, Middle>> middles;
  for (const auto& [commit, pairs] : pairs_) {
    const std::vector<double> values = values_of(pairs, point);
    if (values.empty()) continue;
    middles.emplace_back(commit, middle_of(values));
    squares += middles.back().second.squares;
    degrees += middles.back().second.degrees;
  }
  if (!(degrees > 0.0) || middles.back().first != commits_) return {};
  const double least = min_process_deviation * min_process_deviation;
  const double of_build = options_.build_deviation * options_.build_deviation;
  std::vector<Level> levels = {{0, 0.0, known_variance, max_degrees}};
  for (const auto& [commit, middle] : middles)
    levels.push_back({commit, middle.mean, std::max(squares / degrees, least) / middle.kept + of_build, degrees});
  return levels;
}

std::vector<Bisection::Search> Bisection::searches() const {
  std::vector<Search> result;
  for (std::size_t point = 0; point < points_; ++point) {
    const std::vector<Level> levels = levels_of(point);
    if (levels.empty()) continue;
    std::vector<std::pair<std::size_t, std::size_t>> open = {{0, commits_}};
    while (!open.empty()) {
      const auto [low, high] = open.back();
      open.pop_back();
      Search search = search_of(point, low, high, levels);
      const Level* const split = neither(search);
      if (split != nullptr && pairs_of(split->commit) >= neither_pairs) {
        open.emplace_back(split->commit, high);
        open.emplace_back(low, split->commit);
      } else {
        result.push_back(std::move(search));
      }
    }
  }
  return result;
}

std::vector<Bisection::Cell> Bisection::cells_of(const Search& search) const {
  std::vector<Cell> cells(1);
  for (std::size_t commit = search.low + 1; commit <= search.high; ++commit) {
    cells.back().commits.push_back(commit);
    cells.back().belief += search.belief[commit - search.low - 1];
    // One that has pairs but no time of this point tells as little as one that was left out.
    const bool told = contains(search.levels, commit, &Level::commit);
    if (commit < search.high && (told || (usable(commit) && pairs_of(commit) == 0))) cells.emplace_back();
  }
  std::ranges::stable_sort(cells, std::ranges::greater(), &Cell::belief);
  return cells;
}

/// What builds differ by hides what more pairs could tell.
bool Bisection::is_saturated(std::size_t commit) const {
  if (pairs_of(commit) < options_.min_pairs) return false;
  constexpr double small_part = 0.1;
  const double of_build = options_.build_deviation * options_.build_deviation;
  for (std::size_t point = 0; point < points_; ++point)
    for (const Level& level : levels_of(point))
      if (level.commit == commit && level.variance - of_build > small_part * of_build) return false;
  return true;
}

/// Of BAD itself: what the other commits are held against.
bool Bisection::effects_known() const {
  for (std::size_t point = 0; point < points_; ++point) {
    const std::vector<Level> levels = levels_of(point);
    if (levels.empty()) continue;
    const double of_build = options_.build_deviation * options_.build_deviation;
    if (std::abs(levels.back().mean) < known_errors * std::sqrt(levels.back().variance - of_build)) return false;
  }
  return true;
}

std::vector<Bisection::Search> Bisection::open_searches() const {
  std::vector<Search> open = searches();
  std::erase_if(open, [&](const Search& search) { return cells_of(search).front().belief >= options_.confidence; });
  return open;
}

/// Where the belief is halved, and each half again: one of these is next, whatever the pairs at hand will tell.
std::vector<std::size_t> Bisection::later(std::size_t max) const {
  constexpr int depths = 3;
  constexpr double rounding = 1e-9;
  std::vector<std::size_t> found;
  const auto add = [&](std::size_t commit) {
    if (commit < commits_ && usable(commit) && pairs_of(commit) == 0 && !contains(found, commit))
      found.push_back(commit);
  };
  const std::vector<Search> open = open_searches();
  for (int depth = 1; depth <= depths; ++depth)
    for (int part = 1; part < 1 << depth; part += 2)
      for (const Search& search : open) {
        const double share = static_cast<double>(part) / (1 << depth);
        std::size_t commit = search.low + 1;
        for (std::size_t other = commit + 1; other < search.high; ++other)
          if (std::abs(search.above(other) - share) < std::abs(search.above(commit) - share) - rounding) commit = other;
        add(commit);
        if (found.size() >= max) return found;
      }
  return found;
}

std::optional<std::size_t> Bisection::next() const {
  if (last_ != commits_ && usable(last_) && pairs_of(last_) < options_.min_pairs && last_ != 0) return last_;
  if (pairs_of(commits_) < options_.bad_pairs || (pairs_of(commits_) < options_.max_pairs && !effects_known()))
    return commits_;
  const std::vector<Search> open = open_searches();
  const auto bits = [&](std::size_t commit) {
    double sum = 0.0;
    for (const Search& search : open) {
      const bool silent = pairs_of(commit) > 0 && !contains(search.levels, commit, &Level::commit);
      if (!silent) sum += entropy(search.above(commit));
    }
    return sum;
  };
  const auto has_room = [&](std::size_t commit) {
    return usable(commit) && pairs_of(commit) < options_.max_pairs && !is_saturated(commit);
  };
  if (last_ != commits_ && has_room(last_)) {
    if (pairs_of(last_) < neither_pairs)
      for (const Search& search : open)
        if (const Level* const level = neither(search); level != nullptr && level->commit == last_) return last_;
    for (const Search& search : open)
      if (const double above = search.above(last_);
          std::max(above, 1.0 - above) < options_.side_confidence && bits(last_) > min_bits)
        return last_;
  }
  std::size_t measured = 0, fresh = 0;
  double most_measured = 0.0, most_fresh = 0.0;
  for (std::size_t commit = 1; commit < commits_; ++commit) {
    if (!has_room(commit)) continue;
    const double told = bits(commit);
    double& most = pairs_of(commit) > 0 ? most_measured : most_fresh;
    if (told <= most) continue;
    most = told;
    (pairs_of(commit) > 0 ? measured : fresh) = commit;
  }
  if (std::max(most_measured, most_fresh) < min_bits) return std::nullopt;
  return most_measured >= worth_of_build * most_fresh ? measured : fresh;
}

std::vector<Culprit> Bisection::culprits() const {
  std::vector<Culprit> result;
  for (const Search& search : searches()) {
    Culprit culprit;
    culprit.point = search.point;
    for (const Cell& cell : cells_of(search)) {
      culprit.commits.insert(culprit.commits.end(), cell.commits.begin(), cell.commits.end());
      culprit.probability += cell.belief;
      if (culprit.probability >= options_.confidence) break;
    }
    std::ranges::sort(culprit.commits);
    const Difference change{search.after.mean - search.before.mean,
                            std::sqrt(search.after.variance + search.before.variance),
                            std::min(search.after.degrees, search.before.degrees)};
    culprit.ratio = ratio_of(change, student_quantile(0.025, change.degrees) * change.standard_error);
    // A part between two commits that hardly differ is no change.
    if (std::abs(change.value) >= 0.5 * options_.min_effect) result.push_back(std::move(culprit));
  }
  return result;
}

}  // namespace gpubench::compare
