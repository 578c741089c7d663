// SPDX-License-Identifier: Apache-2.0
#include "core/base/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/files.h"
#include "core/base/text.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

std::string line(const fs::path& file) { return first_line(file).value_or(""); }

/// Cores that a quota of microseconds allows in each period: 150000 of 100000 is 1.5; "max" and -1 are no limit.
std::optional<double> cores_of(const std::string& quota_and_period) {
  std::istringstream in(quota_and_period);
  const std::vector<std::string> words{std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
  if (words.size() != 2) return std::nullopt;
  const auto microseconds = number_in<std::int64_t>(words[0]), of = number_in<std::int64_t>(words[1]);
  if (!microseconds || !of || *microseconds <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*microseconds) / static_cast<double>(*of);
}

/// The path of this process's control group: of the unified hierarchy (version 2) for an empty `controller`, else of
/// that controller's. Empty when it has none.
std::string cgroup_path(const fs::path& file, const std::string& controller) {
  std::ifstream stream(file);
  for (std::string number, names, path;
       std::getline(stream, number, ':') && std::getline(stream, names, ':') && std::getline(stream, path);)
    if (controller.empty() ? names.empty() : ("," + names + ",").find("," + controller + ",") != std::string::npos)
      return path;
  return {};
}

}  // namespace

std::optional<double> core_limit(const fs::path& root) {
  const fs::path folder = root / "sys/fs/cgroup";
  std::error_code error;
  const bool unified = fs::exists(folder / "cgroup.controllers", error);  // version 2
  const auto limit_in = [&](const fs::path& group) {
    return cores_of(unified ? line(group / "cpu.max")
                            : line(group / "cpu.cfs_quota_us") + " " + line(group / "cpu.cfs_period_us"));
  };
  std::string path = cgroup_path(root / "proc/self/cgroup", unified ? "" : "cpu");
  std::optional<double> narrowest;
  for (;;) {
    const std::string relative = path.empty() || path.front() != '/' ? path : path.substr(1);
    if (const auto limit = limit_in((unified ? folder : folder / "cpu") / relative))
      narrowest = std::min(narrowest.value_or(*limit), *limit);
    const auto slash = path.rfind('/');
    if (path.empty() || slash == std::string::npos) return narrowest;
    path.resize(slash);
  }
}

int affinity_cores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  // More than 1024 cores do not fit a cpu_set_t; then the online ones are all there is to say.
  if (sched_getaffinity(0, sizeof(cores), &cores) != 0) return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  return CPU_COUNT(&cores);
}

int usable_cores(int affinity, std::optional<double> limit) {
  return limit && *limit < affinity ? std::max(1, static_cast<int>(*limit)) : affinity;
}

int usable_cores() {
  static const std::optional<double> limit = core_limit("/");
  return usable_cores(affinity_cores(), limit);
}

}  // namespace gpubench
