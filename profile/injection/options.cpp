// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/options.h"

#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <sstream>
#include <string_view>

namespace gpubench::profile {

namespace {

/// Each with its key.
template <class Options, class Use>
void for_each_value(Options& options, const Use& use) {
  use("max_bytes", options.max_bytes);
  use("start_after", options.start_after_seconds);
  use("duration", options.duration_seconds);
  use("capture_range", options.capture_range);
  use("counted_launches", options.counted_launches);
  use("counting_seconds", options.counting_seconds);
}

}  // namespace

std::string to_text(const InjectionOptions& options) {
  std::ostringstream text;
  for_each_value(options, [&](const char* key, const auto& value) { text << key << '=' << value << '\n'; });
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
    std::istringstream words(line);
    std::string key;
    std::getline(words, key, '=');
    for_each_value(options, [&](std::string_view known, auto& value) {
      if (key == known) words >> value;
    });
    if (key != "counters") continue;
    auto& set = options.counter_sets.emplace_back();
    for (std::string name; std::getline(words, name, ',');) set.push_back(name);
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
