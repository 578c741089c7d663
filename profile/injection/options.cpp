// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/options.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/base/environment.h"

namespace gpubench::profile {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(InjectionOptions, max_bytes, start_after_seconds, duration_seconds,
                                                capture_range, on_demand, leave, counting_seconds, counted_launches,
                                                counter_sets)

std::string to_text(const InjectionOptions& options) { return nlohmann::json(options).dump(); }

InjectionOptions options_from(const std::string& text) try {
  const auto value = nlohmann::json::parse(text, nullptr, false);
  return value.is_object() ? value.get<InjectionOptions>() : InjectionOptions();
} catch (const nlohmann::json::exception&) {  // of another type than it has
  return {};
}

InjectionOptions read_injection_options(const std::filesystem::path& file) {
  std::ifstream stream(file);
  return options_from(std::string(std::istreambuf_iterator<char>(stream), {}));
}

std::string rank_of_process() { return environment({"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}); }
std::string local_rank_of_process() {
  return environment({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"});
}

}  // namespace gpubench::profile
