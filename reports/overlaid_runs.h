// SPDX-License-Identifier: Apache-2.0
// Several runs laid over one another: of one device on several days, or of several devices.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/model/run.h"

namespace gpubench::reports {

inline constexpr std::size_t max_runs = 8;  ///< as many as colours can be told apart

struct NamedRun {
  std::string label;
  Run run;
};

/// What to call runs by their files, each differently: the file's name without extension, else with its folder, else
/// with a number.
std::vector<std::string> labels_of(const std::vector<std::filesystem::path>& files);

/// All in one run, whose device ids begin with the run's label: "old / cuda:0". The context is that of the first.
struct Several {
  Run merged;
  std::vector<std::string> labels;
  std::map<std::string, std::size_t> run_of_device;  ///< by the merged run's ids
  std::vector<Context> contexts;
  std::vector<std::vector<Device>> devices;  ///< as each run names them
};
/// Throws std::invalid_argument for fewer than two or more than `max_runs`.
Several join(const std::vector<NamedRun>& runs);

}  // namespace gpubench::reports
