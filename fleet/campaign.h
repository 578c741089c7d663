// SPDX-License-Identifier: Apache-2.0
// The results of all ranks of a campaign side by side, and what is wrong with them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "core/model/device.h"
#include "fleet/rank_file.h"

namespace gpubench::fleet {

/// What of a fleet is not as it should be. None of it takes part in an average.
enum class TroubleKind { unreadable, missing, cut_off, failed, unfinished, lost, foreign, repeated, clock, mixed };
inline constexpr auto trouble_names = std::to_array<std::string_view>(
    {"unreadable", "missing", "cut-off", "failed", "unfinished", "lost", "foreign", "repeated", "clock", "mixed"});
constexpr const auto& names_of(TroubleKind) { return trouble_names; }

struct Trouble {
  TroubleKind kind;
  std::string text;  ///< a sentence
};
/// It leaves out a GPU that was to be measured; else it is worth knowing.
constexpr bool costs_a_gpu(TroubleKind kind) { return kind < TroubleKind::foreign; }

struct Gpu {
  int rank = 0;
  int local_rank = 0;
  std::string node;
  Device device;
  std::size_t group = 0;  ///< its place in Campaign::groups
  std::size_t file = 0;   ///< its place in Campaign::files

  /// The UUID, or what stands for it: "node07 rank 3".
  [[nodiscard]] std::string uuid() const;
  /// "node07 cuda:3".
  [[nodiscard]] std::string name() const { return node + " " + device.id; }
};

/// GPUs that should be alike: of one model, power limit, MIG and ECC state, driver, topology and gpubench.
struct Group {
  std::string name;  ///< "NVIDIA H200, 700 W, driver 580.65"; what all groups share is left out
  std::size_t gpus = 0;
};

/// A link that was measured from a GPU to another.
struct Link {
  std::size_t test = 0;          ///< its place in Campaign::link_tests
  std::size_t from = 0, to = 0;  ///< places in Campaign::gpus
  std::vector<double> values;    ///< by run; NaN where it was not measured
  std::size_t path = 0;          ///< what lies between: its place in Campaign::paths
};

/// What GPUs did not measure, and why.
struct AbsentTest {
  std::string phase, resource, reason;
  std::size_t gpus = 0;
};

struct Campaign {
  std::string name;
  std::string started_utc;
  int ranks = 0;  ///< that were to be there
  int runs = 0;
  std::vector<Gpu> gpus = {};  ///< by node and local rank
  std::vector<Group> groups = {};
  std::vector<Test> tests = {};
  std::vector<Test> link_tests = {};  ///< without a peer
  std::vector<Link> links = {};
  std::vector<std::string> paths = {};  ///< of links: "18 NVLinks through switches"; empty where it is not known
  std::vector<AbsentTest> absent = {};
  std::vector<Trouble> troubles = {};
  std::vector<std::string> files = {};

  static constexpr double none = std::numeric_limits<double>::quiet_NaN();
  [[nodiscard]] std::size_t place(std::size_t test, int run, std::size_t gpu) const {
    return (test * static_cast<std::size_t>(runs) + static_cast<std::size_t>(run)) * gpus.size() + gpu;
  }
  /// NaN where it was not measured.
  [[nodiscard]] double value(std::size_t test, int run, std::size_t gpu) const { return values[place(test, run, gpu)]; }
  [[nodiscard]] double clock(std::size_t test, int run, std::size_t gpu) const { return clocks[place(test, run, gpu)]; }
  std::vector<double> values = {}, lows = {}, highs = {}, clocks = {};  ///< by `place`; the interval is of 95 %
};

/// Joins results; `files` names where each is from. What does not belong together is left out and named.
/// Throws std::length_error where the tables would be too large.
Campaign join(std::vector<RankResult> results, std::vector<std::string> files, std::vector<Trouble> troubles = {});

/// Reads the files of the ranks in a folder, on all cores, and joins them. Throws storage::ReadError for a folder that
/// cannot be read or has no such file.
Campaign join_folder(const std::filesystem::path& folder);

/// What changed from one campaign to the next: how many times as good each value is, of the GPUs that both have.
Campaign change_of(const Campaign& base, const Campaign& next);

/// Numbers as people write them: "0, 3, 7 to 9 and 12 more".
std::string ranges_of(const std::vector<int>& ascending, std::size_t max_parts = 8);

}  // namespace gpubench::fleet
