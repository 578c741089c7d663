// SPDX-License-Identifier: Apache-2.0
#include "main/bisect/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "compare/causes/causes.h"
#include "compare/compare.h"
#include "compare/history/bisection.h"
#include "compare/noise/looks.h"
#include "compare/noise/point_table.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"
#include "core/storage/document.h"
#include "core/storage/storage.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "main/commands/shared/comparison.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Pairs of GOOD and BAD before the search begins, where some point is slower for sure, and where none is.
constexpr std::size_t enough_pairs = 12, max_first_pairs = 40;
/// What builds of equal code differ by, by their layout.
constexpr double gpu_build_deviation = 0.002, cpu_build_deviation = 0.005;
constexpr std::string_view state_schema = "gpubench-bisect";
constexpr int state_version = 1;

}  // namespace

class BisectSearch::Search {
 public:
  /// `hashes`: GOOD, then the commits up to BAD.
  Search(const BisectOptions& options, const Repository& repository, std::vector<std::string> hashes,
         const SearchFolder& folder)
      : options_(options),
        repository_(repository),
        folder_(folder),
        progress_(options.quiet),
        builds_(options, repository, folder, progress_),
        hashes_(std::move(hashes)) {
    resume();
  }

  reports::Bisected run() {
    std::string stopped;
    try {
      // Where an earlier search has measured them, they may not be needed again.
      if (pairs_.empty()) {
        ahead({last(), last() / 2, last() / 4, 3 * last() / 4});
        for (const std::size_t commit : {std::size_t{0}, last()}) build_end(commit);
      }
      compare_ends();
      if (!points_.empty()) bisect();
    } catch (const Stopped& why) {
      stopped = why.why;
    }
    builds_.end_ahead();
    progress_.clear();
    if (Interruption::noted() != 0) {
      save();
      return {};
    }
    reports::Bisected result = result_of();
    result.stopped = stopped;
    save();
    return result;
  }

  /// Once no worktree is needed any more. Returns sentences.
  [[nodiscard]] std::vector<std::string> end() const {
    if (options_.keep) return {fmt::format("The worktrees are in {}.", (folder_.path() / "trees").string())};
    const auto left = builds_.remove_all();
    std::vector<std::string> words;
    if (!left.empty())
      words.push_back(
          fmt::format("These could not be removed: {}. Remove them, then: git worktree prune.", joined(left, ", ")));
    words.push_back(fmt::format("The runs are in {}.", folder_.path().string()));
    return words;
  }

 private:
  struct Pair {
    std::size_t commit = 0;
    std::size_t good_file = 0, new_file = 0;
    Run good, next;
  };

  [[nodiscard]] std::size_t last() const { return hashes_.size() - 1; }

  [[nodiscard]] reports::Commit described(std::size_t commit) const {
    return repository_.describe(hashes_[commit], commit > 0 ? hashes_[commit - 1] : "");
  }

  void ahead(const std::vector<std::size_t>& commits) {
    std::vector<std::string> hashes;
    for (const std::size_t commit : commits)
      if (commit > 0 && !left_out_.contains(commit)) hashes.push_back(hashes_[commit]);
    builds_.build_ahead(std::move(hashes));
  }

  void build_end(std::size_t commit) {
    try {
      builds_.build(hashes_[commit]);
    } catch (const Unusable& error) {
      throw std::runtime_error(fmt::format("{} ({}) cannot be measured: {}. Give a commit that can.",
                                           commit == 0 ? "GOOD" : "BAD", hashes_[commit].substr(0, 10), error.what()));
    }
  }

  /// In turns, so that what drifts evenly meets both alike.
  void add_pair(std::size_t commit) {
    Pair pair{commit, next_file_, next_file_ + 1, {}, {}};
    progress_.step(fmt::format("{}: pair {} ({} of {} commits)", hashes_[commit].substr(0, 10), pairs_of(commit) + 1,
                               builds_.count(), hashes_.size()),
                   builds_.share());
    const bool good_first = pairs_of(commit) % 2 == 0;
    for (const bool of_good : {good_first, !good_first}) {
      Run& run = of_good ? pair.good : pair.next;
      try {
        run = builds_.run(hashes_[of_good ? 0 : commit], folder_.run(of_good ? pair.good_file : pair.new_file));
      } catch (const Unusable& error) {
        if (of_good) throw std::runtime_error(fmt::format("GOOD ({}): {}.", hashes_[0].substr(0, 10), error.what()));
        throw;
      }
    }
    next_file_ += 2;
    pairs_.push_back(std::move(pair));
    save();
  }

  [[nodiscard]] std::size_t pairs_of(std::size_t commit) const {
    return static_cast<std::size_t>(std::ranges::count(pairs_, commit, &Pair::commit));
  }

  [[nodiscard]] compare::Comparison comparison() const {
    std::vector<Run> base, next;
    for (const Pair& pair : pairs_)
      if (pair.commit == last()) base.push_back(pair.good), next.push_back(pair.next);
    compare::CompareOptions how;
    how.min_effect = options_.min_effect;
    how.paired = true;
    return compare::compare(base, next, how);
  }

  /// GOOD against BAD, until it is known of each point whether it is slower.
  void compare_ends() {
    compare::Comparison found;
    for (int look = 1;; ++look) {
      while (pairs_of(last()) < compare::pairs_due(look)) try {
          add_pair(last());
        } catch (const Unusable& error) {
          throw std::runtime_error(fmt::format("BAD ({}): {}.", hashes_[last()].substr(0, 10), error.what()));
        }
      found = comparison();
      if (!found.comparable)
        throw std::runtime_error(fmt::format("GOOD and BAD cannot be compared: {}.", found.forbidding.empty()
                                                                                         ? joined(found.notes, ", ")
                                                                                         : found.forbidding.front()));
      const double limit = compare::share_of_look(look) * compare::family_significance;
      std::size_t open = 0, slower = 0;
      for (const compare::ComparedPoint& point : found.points) {
        const bool decided = point.p_value <= limit;
        if (decided && point.change == compare::Change::slower) ++slower;
        if (!decided && point.ratio.ci95.high > 1.0 + options_.min_effect) ++open;
      }
      const std::size_t pairs = pairs_of(last());
      if (open == 0 || (slower > 0 && pairs >= enough_pairs) || pairs >= max_first_pairs) break;
    }
    choose_points(found);
  }

  void choose_points(const compare::Comparison& found) {
    const Run& first = pairs_.front().good;
    compare::Runs base, next;
    for (const Pair& pair : pairs_)
      if (pair.commit == last()) base.push_back(&pair.good), next.push_back(&pair.next);
    for (const compare::Runs* side : {&base, &next})
      for (const Run* run : *side) index_.add(*run);
    for (const compare::PointClock& each : compare::choose_clocks(index_, base, next, std::nullopt))
      clocks_.push_back(each.clock);
    bool on_cpu = false;
    for (const compare::ComparedPoint& point : found.points) {
      if (point.change == compare::Change::inconclusive && point.ratio.ci95.high > 1.0 + options_.min_effect)
        undecided_.push_back(point.name);
      if (point.change != compare::Change::slower) continue;
      for (std::size_t place = 0; place < index_.keys().size(); ++place)
        if (index_.keys()[place].device == point.device && without_suffix(index_.keys()[place].name) == point.name)
          points_.push_back({point.name, point.device, place, point.by_fastest});
      for (const Device& device : first.devices)
        on_cpu = on_cpu || (device.id == point.device && device.kind == DeviceKind::cpu);
    }
    if (!undecided_.empty() && points_.empty())
      notes_.push_back(
          fmt::format("{} of runs vary too much to tell: let each run measure longer, or take a quieter machine",
                      plural(std::ssize(base), "pair")));
    for (const std::string& name : found.only_in_base) notes_.push_back(fmt::format("{} is gone in BAD", name));
    for (const std::string& name : found.only_in_new) notes_.push_back(fmt::format("{} is not in GOOD", name));
    for (const std::string& name : found.failed_in_new) notes_.push_back(fmt::format("{} fails in BAD", name));
    compare::BisectionOptions how;
    how.min_effect = options_.min_effect;
    how.build_deviation = on_cpu ? cpu_build_deviation : gpu_build_deviation;
    bisection_.emplace(last(), points_.size(), how);
    for (const auto& [commit, reason] : left_out_) bisection_->leave_out(commit);
    for (const Pair& pair : pairs_) bisection_->add_pair(pair.commit, differences_of(pair));
  }

  [[nodiscard]] compare::ProcessValues differences_of(const Pair& pair) const {
    const auto good = index_.table_of(pair.good, clocks_), next = index_.table_of(pair.next, clocks_);
    compare::ProcessValues values;
    for (const SearchedPoint& point : points_) {
      const compare::LogTime time =
          point.by_fastest ? &compare::ProcessPoint::log_fastest : &compare::ProcessPoint::log_seconds;
      const auto &old = good[point.place].*time, &now = next[point.place].*time;
      values.push_back(old && now ? *now - *old : std::numeric_limits<double>::quiet_NaN());
    }
    return values;
  }

  void bisect() {
    while (const auto commit = bisection_->next()) {
      ahead(bisection_->later(static_cast<std::size_t>(options_.builds_ahead)));
      try {
        add_pair(*commit);
        bisection_->add_pair(*commit, differences_of(pairs_.back()));
      } catch (const Unusable& error) {
        left_out_[*commit] = error.what();
        bisection_->leave_out(*commit);
        std::erase_if(pairs_, [&](const Pair& pair) { return pair.commit == *commit; });
        if (!options_.quiet) say(fmt::format("{} is left out: {}", hashes_[*commit].substr(0, 10), error.what()));
        save();
      }
    }
  }

  [[nodiscard]] std::vector<Run> runs_of(std::size_t commit) const {
    std::vector<Run> runs;
    for (const Pair& pair : pairs_)
      if (commit == 0 || pair.commit == commit) runs.push_back(commit == 0 ? pair.good : pair.next);
    return runs;
  }

  /// From the last commit measured before each change to the first one after it, with what counters tell where a GPU
  /// has some.
  void explain(std::vector<reports::BisectedChange>& changes, const std::vector<compare::Culprit>& culprits) {
    std::map<std::size_t, std::vector<Run>> sides;  // by commit
    for (std::size_t i = 0; i < changes.size(); ++i) {
      std::size_t before = culprits[i].commits.front() - 1, after = culprits[i].commits.back();
      while (before > 0 && pairs_of(before) == 0) --before;
      while (after < last() && pairs_of(after) == 0) ++after;
      for (const std::size_t commit : {before, after}) {
        if (sides.contains(commit)) continue;
        sides[commit] = runs_of(commit);
        if (kind_of_id(changes[i].device) == DeviceKind::gpu) count(commit, sides[commit]);
      }
      const auto typical = [&](std::size_t commit) {
        std::vector<const Point*> points;
        for (const Run& run : sides.at(commit))
          if (const Point* const point = point_in(run, changes[i].point, changes[i].device)) points.push_back(point);
        return points.empty() ? std::optional<Point>() : compare::typical_of(points, true);
      };
      const auto was = typical(before), is = typical(after);
      if (was && is)
        changes[i].causes = compare::causes_of({*was, sides.at(before).front()}, {*is, sides.at(after).front()},
                                               changes[i].ratio.value);
      const std::string& hint = changes[i].causes.hint;
      if (!hint.empty() && !contains(notes_, hint)) notes_.push_back(hint);
    }
  }

  void count(std::size_t commit, std::vector<Run>& side) {
    const auto no_counters = [&](std::string_view why) {
      notes_.push_back(fmt::format("why points changed is told without counters: {}", why));
    };
    if (side.empty()) return;
    try {
      const fs::path file = folder_.path() / "counted.json";
      take_counters(builds_.run(hashes_[commit], file, {"--metrics=core,units", "--check"}), side);
    } catch (const Unusable& error) {
      no_counters(error.what());
    } catch (const Stopped& stopped) {
      no_counters(stopped.why);
    }
  }

  [[nodiscard]] static const Point* point_in(const Run& run, const std::string& name, const std::string& device) {
    for (const Point& point : run.points)
      if (point.measurement.device == device && without_suffix(point.measurement.name) == name) return &point;
    return nullptr;
  }

  [[nodiscard]] reports::Bisected result_of() {
    reports::Bisected result;
    result.good = described(0);
    result.bad = described(last());
    result.commits = last();
    result.undecided = undecided_;
    for (const std::string& name : builds_.empty_submodules())
      result.notes.push_back(
          fmt::format("submodule {} is not in your checkout, so it stays empty: git submodule update", name));
    if (repository_.is_dirty())
      result.notes.emplace_back("your checkout has changes that are in no commit: they were not measured");
    std::set<std::size_t> built = {0};
    for (const Pair& pair : pairs_) built.insert(pair.commit);
    result.builds = built.size() + left_out_.size();
    result.pairs = pairs_.size();
    result.seconds = earlier_seconds_ + builds_.elapsed();
    if (const std::size_t all = builds_.count() + left_out_.size(); all > result.builds)
      result.notes.push_back(
          fmt::format("{} more were built ahead, and not needed", plural(all - result.builds, "commit")));
    for (const auto& [commit, reason] : left_out_) result.left_out.emplace_back(described(commit), reason);
    const auto with_notes = [&]() -> reports::Bisected& {
      result.notes.insert(result.notes.begin(), notes_.begin(), notes_.end());
      return result;
    };
    if (!bisection_ || points_.empty()) return with_notes();
    const auto culprits = bisection_->culprits();
    for (const compare::Culprit& culprit : culprits) {
      const SearchedPoint& point = points_[culprit.point];
      reports::BisectedChange change;
      change.point = point.name;
      change.device = point.device;
      change.probability = culprit.probability;
      change.ratio = culprit.ratio;
      constexpr std::size_t max_named = 20;
      for (std::size_t i = 0; i < culprit.commits.size() && i < max_named; ++i)
        change.commits.push_back(described(culprit.commits[i]));
      change.candidates = culprit.commits.size();
      result.changes.push_back(std::move(change));
    }
    explain(result.changes, culprits);
    for (std::size_t commit = 1; commit <= last(); ++commit) {
      if (pairs_of(commit) == 0) continue;
      reports::MeasuredCommit measured{described(commit), pairs_of(commit), {}};
      for (std::size_t i = 0; i < points_.size(); ++i)
        for (const auto& level : bisection_->levels_of(i))
          if (level.commit == commit) {
            const compare::Difference difference{level.mean, std::sqrt(level.variance), level.degrees};
            measured.ratios.emplace_back(points_[i].name,
                                         compare::ratio_of(difference, compare::student_quantile(0.025, level.degrees) *
                                                                           difference.standard_error));
          }
      result.measured.push_back(std::move(measured));
    }
    return with_notes();
  }

  // The state: what was measured, so that the same words go on after an interruption.

  void save() const {
    Json pairs = Json::array(), left_out = Json::array();
    for (const Pair& pair : pairs_)
      pairs.push_back({{"commit", hashes_[pair.commit]}, {"good", pair.good_file}, {"new", pair.new_file}});
    for (const auto& [commit, reason] : left_out_)
      left_out.push_back({{"commit", hashes_[commit]}, {"reason", reason}});
    const Json body = {{"good", hashes_[0]},
                       {"bad", hashes_[last()]},
                       {"build", options_.build},
                       {"run", options_.run_command},
                       {"seconds", earlier_seconds_ + builds_.elapsed()},
                       {"pairs", pairs},
                       {"left_out", left_out}};
    storage::write_file(folder_.state(), storage::document_text(body, state_schema, state_version));
  }

  void resume() {
    std::error_code none;
    if (options_.restart) fs::remove(folder_.state(), none);
    if (!fs::exists(folder_.state(), none)) return;
    const std::string origin = folder_.state().string();
    const auto document =
        storage::parse_document(storage::read_text(folder_.state()), origin, state_schema, state_version);
    const storage::Node root = document.root(origin);
    for (const auto& [key, value] : {std::pair("good", hashes_[0]), std::pair("bad", hashes_[last()]),
                                     std::pair("build", options_.build), std::pair("run", options_.run_command)})
      if (root.at(key).text() != value)
        throw UsageError(
            fmt::format("{} is of another search. Give --restart to begin anew there, or another --folder.",
                        folder_.path().string()));
    earlier_seconds_ = root.at("seconds").number(storage::Domain::not_negative);
    std::map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < hashes_.size(); ++i) places[hashes_[i]] = i;
    const auto place_of = [&](const storage::Node& node) {
      const auto found = places.find(node.at("commit").text());
      if (found == places.end() || found->second == 0) node.fail("names a commit that is not between GOOD and BAD");
      return found->second;
    };
    constexpr std::int64_t max_files = 1'000'000;
    (void)root.at("pairs").list([&](const storage::Node& node) {
      Pair pair{place_of(node),
                static_cast<std::size_t>(node.at("good").integer(0, max_files)),
                static_cast<std::size_t>(node.at("new").integer(0, max_files)),
                {},
                {}};
      pair.good = storage::read_slim_run(folder_.run(pair.good_file));
      pair.next = storage::read_slim_run(folder_.run(pair.new_file));
      next_file_ = std::max({next_file_, pair.good_file + 1, pair.new_file + 1});
      pairs_.push_back(std::move(pair));
      return 0;
    });
    (void)root.at("left_out").list([&](const storage::Node& node) {
      left_out_[place_of(node)] = node.at("reason").text();
      return 0;
    });
    if (!options_.quiet && !pairs_.empty())
      say(fmt::format("going on with {} of an earlier search in {}", plural(std::ssize(pairs_), "pair"),
                      folder_.path().string()));
  }

  struct SearchedPoint {
    std::string name, device;
    std::size_t place = 0;  ///< in the index
    bool by_fastest = false;
  };

  const BisectOptions& options_;
  const Repository& repository_;
  const SearchFolder& folder_;
  ProgressLine progress_;
  Builds builds_;
  std::vector<std::string> hashes_;  ///< GOOD, then the commits up to BAD
  std::vector<Pair> pairs_;
  std::size_t next_file_ = 1;
  double earlier_seconds_ = 0.0;                 ///< of searches that this one goes on with
  std::map<std::size_t, std::string> left_out_;  ///< commits, and why
  compare::PointIndex index_;
  compare::PointClocks clocks_;
  std::vector<SearchedPoint> points_;
  std::vector<std::string> undecided_, notes_;
  std::optional<compare::Bisection> bisection_;
};

BisectSearch::BisectSearch(const BisectOptions& options, const Repository& repository, std::vector<std::string> hashes,
                           const SearchFolder& folder)
    : search_(std::make_unique<Search>(options, repository, std::move(hashes), folder)) {}
BisectSearch::~BisectSearch() = default;
reports::Bisected BisectSearch::run() { return search_->run(); }
std::vector<std::string> BisectSearch::end() const { return search_->end(); }

}  // namespace gpubench
