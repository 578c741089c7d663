// SPDX-License-Identifier: Apache-2.0
#include "timeline/structure/repeats.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/statistics/statistics.h"

namespace gpubench::timeline {
namespace {

constexpr std::size_t min_turns = 3;
constexpr double min_alike = 0.95;                           // of the elements of two parts together
constexpr double min_explained = 0.99;                       // of what the best cut explains
constexpr double min_weight = 0.5;                           // of all
constexpr std::size_t max_looked_at = std::size_t{1} << 25;  // elements, over all cuts that are tried
constexpr std::size_t min_cuts = 8, max_cuts = 128;

/// Parts of the sequence against one that is kept.
class Comparer {
 public:
  Comparer(std::span<const std::uint32_t> names, std::span<const std::uint32_t> weights)
      : names_(names), weights_(weights) {
    const std::uint32_t last = names.empty() ? 0 : std::ranges::max(names);
    kept_.assign(last + 1, 0);
    seen_.assign(last + 1, {0, 0});
  }

  void keep(Repeat part) {
    for (std::size_t i = of_.first; i < of_.end(); ++i) kept_[names_[i]] = 0;
    of_ = part;
    for (std::size_t i = of_.first; i < of_.end(); ++i) ++kept_[names_[i]];
  }
  [[nodiscard]] const Repeat& kept() const { return of_; }

  struct Common {
    bool alike = false;
    std::int64_t weight = 0;  ///< of the part's elements that the kept one has, too
  };
  Common with(Repeat part) {
    ++turn_;
    Common common;
    std::size_t count = 0;
    for (std::size_t i = part.first; i < part.end(); ++i) {
      auto& [turn, number] = seen_[names_[i]];
      if (std::exchange(turn, turn_) != turn_) number = 0;
      if (number++ >= kept_[names_[i]]) continue;
      ++count;
      common.weight += weights_[i];
    }
    common.alike = 2.0 * static_cast<double>(count) >= min_alike * static_cast<double>(part.size + of_.size);
    return common;
  }

 private:
  std::span<const std::uint32_t> names_;
  std::span<const std::uint32_t> weights_;
  Repeat of_;
  std::vector<std::uint32_t> kept_;                            // of each name how often the kept part has it
  std::vector<std::pair<std::uint64_t, std::uint32_t>> seen_;  // of each name the same in the part of this turn
  std::uint64_t turn_ = 0;
};

using Places = std::vector<std::uint32_t>;

/// A way to cut: at each so manieth place of a name.
struct Cut {
  const Places* of_name = nullptr;
  std::size_t step = 1;
  std::size_t parts = 0;
  std::int64_t explained = 0;
  Repeat turn = {};  ///< the one that most of the weight is like

  [[nodiscard]] Places places() const {
    Places result;
    for (std::size_t i = 0; i < of_name->size(); i += step) result.push_back((*of_name)[i]);
    return result;
  }
};

/// The part behind the last place is as long as the one before.
Repeat part_at(const Places& places, std::size_t k, std::size_t end) {
  const std::size_t next = k + 1 < places.size() ? places[k + 1] : end;
  const std::size_t before = k > 0 ? places[k] - places[k - 1] : next - places[k];
  return {places[k], k + 1 < places.size() ? next - places[k] : std::min(before, end - places[k])};
}

/// How many elements before a turn are those that end it, so that it may as well begin there.
std::size_t back_from(std::span<const std::uint32_t> names, Repeat turn) {
  std::size_t back = 0;
  while (back + 1 < turn.size && back < turn.first && names[turn.first - 1 - back] == names[turn.end() - 1 - back])
    ++back;
  return back;
}

/// A part that is like the kept one, or begins like it, where something else follows; of size 0 where it does not.
Repeat alike_in(Repeat part, Comparer& comparer, std::int64_t& weight) {
  for (const std::size_t size : {part.size, std::min(part.size, comparer.kept().size)}) {
    const auto common = comparer.with({part.first, size});
    if (!common.alike) continue;
    weight += common.weight;
    return {part.first, size};
  }
  return {};
}

void weigh(Cut& cut, const Places& places, Comparer& comparer, std::span<const std::uint32_t> names,
           std::span<const std::uint32_t> weights) {
  std::int64_t weight = 0, most = -1;
  std::size_t turns = 0;
  const auto close = [&](std::size_t next) {
    const Repeat turn = comparer.kept();
    // A turn may be cut in two at the ends.
    const std::size_t back = back_from(names, turn);
    std::size_t ahead = 0;
    while (ahead < turn.size && next + ahead < names.size() && names[next + ahead] == names[turn.first + ahead])
      ++ahead;
    if (back + ahead >= turn.size) ++turns;
    if (turns < min_turns) return;
    for (std::size_t i = turn.first - back; i < turn.first; ++i) weight += weights[i];
    for (std::size_t i = next; i < next + ahead; ++i) weight += weights[i];
    cut.explained += weight;
    if (weight <= most) return;
    most = weight;
    cut.turn = turn;
  };
  for (std::size_t k = 0; k < places.size(); ++k) {
    const Repeat part = part_at(places, k, names.size());
    if (turns > 0) {
      if (alike_in(part, comparer, weight).size > 0) {
        ++turns;
        continue;
      }
      close(part.first);
    }
    comparer.keep(part);
    weight = comparer.with(part).weight;
    turns = 1;
  }
  close(names.size());
}

/// Cuts by each name at each of its places, rare names first; by the rarest, which may stand several times in a turn,
/// also at each second, third and so on. Of those that cut alike one is tried.
std::vector<Cut> weighed_cuts(const std::unordered_map<std::uint32_t, Places>& places, Comparer& comparer,
                              std::span<const std::uint32_t> names, std::span<const std::uint32_t> weights) {
  std::vector<const Places*> anchors;
  for (const auto& [name, at] : places)
    if (at.size() >= min_turns) anchors.push_back(&at);
  std::ranges::sort(anchors, {}, [](const Places* at) { return std::pair(at->size(), at->front()); });
  constexpr std::size_t rarest = 4, most_in_turn = 16;
  const std::size_t wanted = std::clamp(max_looked_at / std::max<std::size_t>(names.size(), 1), min_cuts, max_cuts);
  std::vector<Cut> cuts;
  std::set<std::pair<std::size_t, std::uint32_t>> tried;  // how many parts, and their median size
  for (std::size_t step = 1; step <= most_in_turn; ++step)
    for (std::size_t k = 0; k < (step == 1 ? anchors.size() : std::min(anchors.size(), rarest)); ++k) {
      if (cuts.size() == wanted) return cuts;
      Cut cut{.of_name = anchors[k], .step = step};
      const Places at = cut.places();
      cut.parts = at.size();
      if (cut.parts < min_turns) continue;
      Places sizes;
      for (std::size_t i = 1; i < at.size(); ++i) sizes.push_back(at[i] - at[i - 1]);
      if (!tried.emplace(cut.parts, statistics::upper_median(std::move(sizes)).value()).second) continue;
      weigh(cut, at, comparer, names, weights);
      cuts.push_back(cut);
    }
  return cuts;
}

}  // namespace

std::vector<Repeat> repeats(std::span<const std::uint32_t> names, std::span<const std::uint32_t> weights) {
  std::unordered_map<std::uint32_t, Places> places_of;
  for (std::size_t i = 0; i < names.size(); ++i) places_of[names[i]].push_back(static_cast<std::uint32_t>(i));
  Comparer comparer(names, weights);
  const std::vector<Cut> cuts = weighed_cuts(places_of, comparer, names, weights);
  std::int64_t best = 0;
  for (const Cut& cut : cuts) best = std::max(best, cut.explained);
  const Cut* chosen = nullptr;
  for (const Cut& cut : cuts)
    if (cut.turn.size > 0 && static_cast<double>(cut.explained) >= min_explained * static_cast<double>(best) &&
        (chosen == nullptr || cut.parts > chosen->parts))
      chosen = &cut;
  if (chosen == nullptr) return {};
  // A turn begins as early as what stands before it is what ends a turn, not where its rarest name stands.
  const Repeat turn = chosen->turn;
  const std::size_t back = back_from(names, turn);
  Places places = chosen->places();
  std::erase_if(places, [&](std::uint32_t place) { return place < back; });
  for (std::uint32_t& place : places) place -= static_cast<std::uint32_t>(back);
  comparer.keep({turn.first - back, turn.size});
  std::vector<Repeat> turns;
  std::int64_t weight = 0;
  for (std::size_t k = 0; k < places.size(); ++k)
    if (const Repeat one = alike_in(part_at(places, k, names.size()), comparer, weight); one.size > 0)
      turns.push_back(one);
  const std::int64_t all = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  if (turns.size() < min_turns || static_cast<double>(weight) < min_weight * static_cast<double>(all)) return {};
  return turns;
}

}  // namespace gpubench::timeline
