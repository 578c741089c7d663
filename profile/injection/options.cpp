// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/options.h"

#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <sstream>

namespace gpubench::profile {

std::string to_text(const InjectionOptions& options) {
  std::ostringstream text;
  text << "max_bytes=" << options.max_bytes << "\nstart_after=" << options.start_after_seconds
       << "\nduration=" << options.duration_seconds << "\ncapture_range=" << options.capture_range
       << "\ncounted_launches=" << options.counted_launches << '\n';
  for (const auto& set : options.counter_sets) {
    text << "counters=";
    for (const std::string& counter : set) text << (&counter == &set.front() ? "" : ",") << counter;
    text << '\n';
  }
  return text.str();
}

InjectionOptions read_injection_options(const std::filesystem::path& file) {
  InjectionOptions options;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = line.substr(0, equals);
    const std::string value = line.substr(equals + 1);
    if (key == "max_bytes") options.max_bytes = std::strtoull(value.c_str(), nullptr, 10);
    if (key == "start_after") options.start_after_seconds = std::strtod(value.c_str(), nullptr);
    if (key == "duration") options.duration_seconds = std::strtod(value.c_str(), nullptr);
    if (key == "capture_range") options.capture_range = value == "1";
    if (key == "counted_launches")
      options.counted_launches = static_cast<std::uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
    if (key != "counters") continue;
    std::istringstream names(value);
    auto& set = options.counter_sets.emplace_back();
    for (std::string name; std::getline(names, name, ',');) set.push_back(name);
  }
  return options;
}

namespace {

std::string first_variable_of(std::initializer_list<const char*> names) {
  for (const char* const name : names)
    if (const char* const value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return {};
}

}  // namespace

std::string rank_of_process() {
  return first_variable_of({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"});
}
std::string local_rank_of_process() {
  return first_variable_of({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"});
}

}  // namespace gpubench::profile
