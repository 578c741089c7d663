// SPDX-License-Identifier: Apache-2.0
// What one rank of a campaign measured, and its file: JSON lines, so that what was written before a rank died can be
// read. The first line says who it is, each further one is a reading, and the last one says that it ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/device.h"
#include "core/model/estimate.h"

namespace gpubench::fleet {

/// One resource in one phase. A link also has the rank at its other end.
struct Test {
  std::string phase;  ///< "alone", "node" or "fleet"
  std::string resource;
  std::string unit;  ///< "B/s", "FLOP/s", "op/s" or "s"
  std::optional<int> peer = std::nullopt;
  friend bool operator==(const Test&, const Test&) = default;
  friend auto operator<=>(const Test&, const Test&) = default;
};
/// A time is better when it is short, all else when it is much.
inline bool is_time(const Test& test) { return test.unit == "s"; }

struct Reading {
  std::uint32_t test = 0;  ///< its place in RankResult::tests
  int run = 0;             ///< from 0
  Estimate value;
  std::optional<double> clock_hz = std::nullopt;
  friend bool operator==(const Reading&, const Reading&) = default;
};

struct AbsentReading {
  std::string phase, resource, reason;
  int run = 0;
  friend bool operator==(const AbsentReading&, const AbsentReading&) = default;
};

struct RankResult {
  std::string campaign;  ///< what the ranks of one campaign share: a job's number
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;
  std::string node;
  std::string gpubench_version;
  std::string started_utc;
  Device device;  ///< without an id: there was none for this rank

  std::vector<Test> tests = {};
  std::vector<Reading> readings = {};
  std::vector<AbsentReading> absent = {};
  std::map<int, std::string> paths = {};  ///< what lies between its device and that of another rank, as far as known

  std::string ended_utc = {};          ///< empty: it did not end
  std::string failure = {};            ///< why it ended early
  std::vector<std::string> lost = {};  ///< of rank 0: "rank 7 did not come to step 3 within 60 s"
  std::string damage = {};             ///< of a file that was read: what is wrong with its end
  friend bool operator==(const RankResult&, const RankResult&) = default;

  std::uint32_t test_number(const Test& test);
};

/// A campaign must fit into memory: no rank has more.
inline constexpr std::size_t max_readings_of_rank = 1'000'000;
inline constexpr int max_ranks = 1'000'000;
inline constexpr int max_runs = 1000;

/// "rank-000012.jsonl": the numbers sort as the names do.
std::string rank_file_name(int rank);
bool is_rank_file_name(std::string_view name);

std::string to_json_lines(const RankResult& result);
/// Throws storage::ReadError for what is no such file, of another version, or damaged before its end. A file that was
/// cut off is read as far as it goes, and `damage` says so. `origin` names it in errors.
RankResult rank_from_json_lines(std::string_view text, std::string_view origin);
RankResult read_rank(const std::filesystem::path& file);

}  // namespace gpubench::fleet
