// SPDX-License-Identifier: Apache-2.0
// What the commands that compare have in common.
#pragma once

#include <string>
#include <vector>

#include "compare/compare.h"
#include "core/model/run.h"
#include "core/storage/storage.h"
#include "main/cli/options.h"

namespace gpubench {

/// The runs of files and folders; of a folder all files named *.json, by name. Throws storage::ReadError, and
/// UsageError for a folder without any.
std::vector<Run> read_runs(const std::vector<std::string>& files_and_folders);

compare::CompareOptions compare_options(const Options& options);

/// Refuses what a comparison cannot be written as, before anything is measured. Throws UsageError or
/// storage::WriteError.
void check_comparison_outputs(const Options& options);

/// Prints and writes it. Returns the exit code.
int report_comparison(const compare::Comparison& comparison, const Options& options);

}  // namespace gpubench
