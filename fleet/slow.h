// SPDX-License-Identifier: Apache-2.0
// Who of a fleet is slow, beside peers that should be alike. Pure mathematics.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "core/model/estimate.h"
#include "fleet/campaign.h"

namespace gpubench::fleet {

struct SlowOptions {
  double min_effect = 0.02;       ///< a fraction: what is surely less is no finding
  double false_discovery = 0.01;  ///< expected share of false ones among the findings of a run
  int min_runs = 3;               ///< a finding is confirmed in all runs, at least so many
  /// Below, nobody knows how much peers usually differ. They are taken to differ by compare::card_deviation then, and
  /// only a GPU that is four times as far below the upper median of all, in every run, is found. Of CPUs none is.
  std::size_t min_peers = 7;
};

/// A GPU that is slow in one test.
struct SlowGpu {
  std::size_t gpu = 0, test = 0;  ///< places in the campaign
  /// How far below its peers' median, as a fraction. The 95 % interval is of what a healthy GPU would have had instead:
  /// it rests on how much the peers differ.
  Estimate deficit;
  std::size_t peers = 0;
  int confirmed = 0;  ///< runs in which it was found
  int runs = 0;       ///< in which it was measured
};

/// A link that is slower than both of its GPUs account for.
struct SlowLink {
  std::size_t link = 0;  ///< its place in Campaign::links
  Estimate deficit;
  std::size_t peers = 0;
  int confirmed = 0;
  int runs = 0;
};

/// A test in which a group falls into two kinds: so many are slower than the others that they are no exceptions. Of
/// seven H200s three read DRAM 2 % slower than four (docs/results/h200).
struct Split {
  std::size_t test = 0, group = 0;
  std::size_t lower = 0, gpus = 0;
  double deficit = 0.0;  ///< of the median of the lower ones, as a fraction
};

/// One test over one group.
struct Spread {
  std::size_t test = 0, group = 0;
  std::size_t gpus = 0;
  double median = 0.0;       ///< of all runs, in the test's unit
  double sigma = 0.0;        ///< robust standard deviation between GPUs, as a fraction, without what the clock explains
  double clock_slope = 0.0;  ///< per cents that the value goes with the clock's per cent
  std::optional<double> smallest_found;  ///< the deficit that would just be found; absent with too few peers or runs
};

struct Verdicts {
  std::vector<SlowGpu> slow = {};      ///< confirmed in all runs, the worst first
  std::vector<SlowGpu> suspects = {};  ///< found in some runs, or in too few
  std::vector<SlowLink> slow_links = {};
  std::vector<SlowLink> suspect_links = {};
  std::vector<Split> splits = {};    ///< these have no verdicts
  std::vector<Spread> spreads = {};  ///< by test and group
  /// Logarithm of each value over that of its peers, the median of the runs; below zero is slow. By test and GPU; NaN
  /// where nothing was measured or the peers are too few.
  std::vector<float> deviations = {};
  std::size_t comparisons = 0;  ///< of one run
};

/// The resource under which `add_derived` puts the clock.
inline constexpr std::string_view clock_resource = "clock";
/// What it puts behind a link's resource for what a GPU sends and receives.
inline constexpr std::array<std::string_view, 2> link_directions = {" out", " in"};

/// Adds tests that follow from others: the clock in each phase, and each GPU's share in the speed of its links by
/// median polish, as sender and as receiver.
void add_derived(Campaign& campaign);

Verdicts find_slow(const Campaign& campaign, const SlowOptions& options);

}  // namespace gpubench::fleet
