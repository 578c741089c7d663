// SPDX-License-Identifier: Apache-2.0
// What the commands share that compare runs.
#pragma once

#include <functional>
#include <string>

#include "compare/compare.h"
#include "core/storage/storage.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/run/stored_runs.h"
#include "reports/comparisons.h"

namespace gpubench {

struct ComparisonOptions : Options, FilterOptions, compare::CompareOptions {
  compare::FailOn fail_on = compare::FailOn::regression;
};

/// All of them; a command chooses those that it has.
OptionRows comparison_rows();

/// Writes a comparison or a history to each output, as its extension says; `page` makes the .html of it.
template <class Result>
void write_results(const Result& result, const Options& options, const std::function<std::string()>& page = nullptr) {
  write_each(options.outputs, options.quiet, [&](const std::string& file) {
    const std::string extension = extension_of(file);
    storage::write_file(file, extension == ".json"   ? reports::json(result)
                              : extension == ".csv"  ? reports::csv(result)
                              : extension == ".html" ? page()
                                                     : reports::markdown(result));
  });
}

/// The options with which a program counts and records, for points of a GPU that changed and lack counters; empty where
/// no such point is there.
std::vector<std::string> counting_options(const compare::Comparison& comparison, const std::vector<Run>& base,
                                          const std::vector<Run>& next);
/// Takes over what a run with those options says, into the first run of its side.
void take_counters(const Run& counted, std::vector<Run>& side);

/// Prints and writes it. Returns the exit code.
int report_comparison(const compare::Comparison& comparison, const ComparisonOptions& options,
                      const std::function<std::string()>& page = nullptr);

}  // namespace gpubench
