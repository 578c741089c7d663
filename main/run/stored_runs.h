// SPDX-License-Identifier: Apache-2.0
// What commands take of stored runs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/model/run.h"

namespace gpubench {

/// The runs in a folder. Throws UsageError where there is none.
std::vector<std::filesystem::path> run_files_in(const std::filesystem::path& folder);
/// The runs of files, and of all *.json in folders. Throws storage::ReadError; UsageError for an empty folder.
std::vector<Run> read_runs(const std::vector<std::string>& files_and_folders);

/// Leaves out the points whose names --filter does not match. Throws UsageError where none is left.
void keep_matching(const std::string& filter, Run& run);
/// The same, also where no point is left.
void drop_others(const std::string& filter, Run& run);

/// ".json" of "run.JSON".
std::string extension_of(const std::filesystem::path& file);

}  // namespace gpubench
