// SPDX-License-Identifier: Apache-2.0
// What the commands share that compare runs.
#pragma once

#include <optional>

#include "compare/compare.h"
#include "core/storage/storage.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/run/stored_runs.h"
#include "reports/comparisons.h"

namespace gpubench {

struct ComparisonOptions : Options, FilterOptions {
  compare::FailOn fail_on = compare::FailOn::regression;
  double min_effect = 0.01;
  std::optional<double> process_deviation;
  bool force = false;
  bool paired = false;
  bool same_model = false;         ///< as compare::CompareOptions::same_model
  std::optional<TimingMode> mode;  ///< as compare::CompareOptions::clock
};

/// All of them; a command chooses those that it has.
OptionRows comparison_rows();

compare::CompareOptions compare_options(const ComparisonOptions& options);

/// Refuses what a comparison cannot be written as. Throws UsageError or storage::WriteError.
void check_comparison_outputs(const ComparisonOptions& options);

/// Writes a comparison or a history to each output, as its extension says: .json, .csv or .md.
template <class Result>
void write_results(const Result& result, const Options& options) {
  write_each(options.outputs, options.quiet, [&](const std::string& file) {
    const std::string extension = extension_of(file);
    storage::write_file(file, extension == ".json"  ? reports::json(result)
                              : extension == ".csv" ? reports::csv(result)
                                                    : reports::markdown(result));
  });
}

/// Prints and writes it. Returns the exit code.
int report_comparison(const compare::Comparison& comparison, const ComparisonOptions& options);

}  // namespace gpubench
