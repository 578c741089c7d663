// SPDX-License-Identifier: Apache-2.0
// What a search for the commit that made a benchmark slower is asked for.
#pragma once

#include <string>

#include "main/cli/options.h"

namespace gpubench {

struct BisectOptions : Options {
  std::string build;
  std::string run_command;
  std::string repository = ".";
  std::string folder;
  double total_budget_seconds = 3600.0;
  double build_limit_seconds = 1800.0;
  double run_limit_seconds = 600.0;
  double min_effect = 0.01;
  int builds_ahead = 0;
  bool restart = false;
  bool keep = false;
};

}  // namespace gpubench
