// SPDX-License-Identifier: Apache-2.0
// Results of other benchmark tools as runs, so that old figures come along. Each format is a file in
// core/storage/other_tools that defines an OtherTool called as the file; nothing else names it. Whatever reads a run
// reads these too: a user who has such a file need not first learn how to turn it into another.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/run.h"

namespace gpubench::storage {

class Node;

struct OtherTool {
  std::string_view name;  ///< "pytest-benchmark"
  bool (*knows)(const Node& root);
  /// The node's document has passed the limits. Throws ReadError.
  Run (*read)(const Node& root);
};

/// All of them, by the names of their files: the first that knows a document reads it.
std::span<const OtherTool* const> other_tools();

/// What Context::environment calls the commit that the tool names for its results.
inline constexpr const char* commit_key = "commit";

/// The one that wrote a document; null where none did.
const OtherTool* other_tool_of(const nlohmann::json& json);
/// The run in a document; absent where no other tool wrote it. Throws ReadError.
std::optional<Run> run_of_other_tool(const nlohmann::json& json, std::string_view origin);

/// Of JSON as Python writes it: NaN and Infinity outside of texts become null.
std::string without_not_a_number(std::string_view text);

/// The newest results of each benchmark in a folder of criterion (target/criterion), by path; empty where there are
/// none. `max` bounds what is looked at.
std::vector<std::filesystem::path> criterion_files_in(const std::filesystem::path& folder, std::size_t max = 200'000);

/// What asv writes beside its results: of the machine, and of the benchmarks.
inline bool is_beside_results(const std::filesystem::path& file) {
  return file.filename() == "machine.json" || file.filename() == "benchmarks.json";
}

// What the formats share.

/// A run on one CPU, with the tool's name.
Run run_on_cpu(std::string_view tool, const std::string& cpu);
/// A point of that name, without Google Benchmark's suffix, on the run's first device; what stands before its first
/// slash is its operation. The slashes of a path are no arguments.
Measurement& add_point(Run& run, std::string name);
/// In ISO 8601 and UTC, from such a text with or without an offset; empty of others.
std::string utc_of(const std::string& text);
/// As a text of the file, where it is there and one.
std::string text_or(const Node& node, std::string_view key, const std::string& otherwise = {});
/// By the host's clock, from samples in seconds; not empty.
void set_samples(Measurement& measurement, std::vector<double> samples, std::int64_t executions, std::string method);

/// What a tool tells of times without the samples, in seconds; what is absent is made from the others, and `method`
/// says so. Throws ReadError where they contradict each other.
struct Statistics {
  double median = 0.0;
  std::optional<double> mean, minimum, maximum, lower_quartile, upper_quartile, deviation, mad;
  std::optional<Interval> median_ci95;
  std::int64_t count = 1;
};
void set_statistics(const Node& node, Measurement& measurement, const Statistics& statistics, std::int64_t executions,
                    std::string method, TimingMode clock = TimingMode::host);

}  // namespace gpubench::storage
