// SPDX-License-Identifier: Apache-2.0
// Two runs, point by point.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gpubench/estimate.h"
#include "gpubench/run.h"
#include "reports/reports.h"

namespace gpubench::reports {

enum class Change { faster, slower, same, inconclusive };

struct ComparedPoint {
  std::string name;
  std::string device;
  double base_seconds = 0.0;
  double new_seconds = 0.0;
  Estimate ratio;  ///< new over base, of medians; with its 95 % interval
  Change change = Change::inconclusive;
  std::string base_regime;
  std::string new_regime;
};

struct Comparison {
  std::vector<ComparedPoint> points;
  std::vector<std::string> only_in_base;  ///< names of points
  std::vector<std::string> only_in_new;
  std::vector<std::string> failed_in_new;  ///< timed in the base, failed in the new run
  std::vector<std::string> differences;    ///< of device and settings, each a sentence
  bool comparable = true;                  ///< false: the devices differ so that no ratio means anything
};

struct CompareOptions {
  double least_effect = 0.01;  ///< changes smaller than this fraction count as the same
};

Comparison compare(const Run& base, const Run& next, const CompareOptions& options);

std::string console(const Comparison& comparison, const ConsoleStyle& style);
std::string markdown(const Comparison& comparison);
std::string csv(const Comparison& comparison);
std::string json(const Comparison& comparison);

enum class FailOn { regression, inconclusive, never };
/// 0 fine, 1 regression, 2 a point failed in the new run, 3 not comparable, 4 inconclusive (only with
/// FailOn::inconclusive).
int exit_code(const Comparison& comparison, FailOn fail_on);

}  // namespace gpubench::reports
