// SPDX-License-Identifier: Apache-2.0
// What commands take of stored runs, and the last run of each program on this machine, which the cache keeps.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "core/model/run.h"

namespace gpubench {

/// The runs in a folder, or, where it has none itself, in those right below it. Throws UsageError where there is none.
std::vector<std::filesystem::path> run_files_in(const std::filesystem::path& folder);
/// The runs of files, and of all *.json in folders; a folder of criterion's is one run. Throws storage::ReadError;
/// UsageError for an empty folder.
std::vector<Run> read_runs(const std::vector<std::string>& files_and_folders);
/// One with all that its file holds: of a file, or of a folder of criterion's.
Run read_whole_run(const std::filesystem::path& file);

/// Leaves out the points whose names --filter does not match. Throws UsageError where none is left.
void keep_matching(const std::string& filter, Run& run);
/// The same, also where no point is left.
void drop_others(const std::string& filter, Run& run);

/// ".json" of "run.JSON".
std::string extension_of(const std::filesystem::path& file);

/// The changes since the last run of this program on these devices. Absent where there is none, where it cannot be
/// read, or where something makes ratios meaningless.
std::optional<compare::Comparison> changes_since_last(const Run& run);

/// Keeps the run in the place of the last one; what goes wrong is no reason to fail.
void keep_as_last(const Run& run);

}  // namespace gpubench
