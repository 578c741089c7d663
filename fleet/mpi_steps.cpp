// SPDX-License-Identifier: Apache-2.0
// Steps by MPI. The program itself links no MPI: the module does, and is loaded where a launcher of MPI started this.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>

#include "core/base/environment.h"
#include "core/base/files.h"
#include "core/model/estimate.h"
#include "fleet/mpi/module.h"
#include "fleet/steps.h"

namespace gpubench::fleet {
namespace {

namespace fs = std::filesystem;

constexpr const char* module_name = "libgpubench_mpi.so";

/// Where it lies beside this program; empty where it does not.
fs::path module_file() {
  if (const std::string given = environment("GPUBENCH_MPI_MODULE"); !given.empty()) return given;
  std::error_code error;
  const fs::path here = program_folder();
  for (const fs::path& place : {here / module_name, here.parent_path() / "lib" / "gpubench" / module_name})
    if (fs::exists(place, error)) return place;
  return {};
}

template <class Function>
Function symbol_of(void* module, const char* name) {
  return reinterpret_cast<Function>(dlsym(module, name));
}

class MpiSteps : public MpiLink {
 public:
  MpiSteps(void* module, double max_seconds)
      : start(symbol_of<decltype(&gpubench_mpi_start)>(module, "gpubench_mpi_start")),
        meet_(symbol_of<decltype(&gpubench_mpi_meet)>(module, "gpubench_mpi_meet")),
        share_(symbol_of<decltype(&gpubench_mpi_share)>(module, "gpubench_mpi_share")),
        collective_(symbol_of<decltype(&gpubench_mpi_collective)>(module, "gpubench_mpi_collective")),
        alone_(symbol_of<decltype(&gpubench_mpi_alone)>(module, "gpubench_mpi_alone")),
        send_(symbol_of<decltype(&gpubench_mpi_send)>(module, "gpubench_mpi_send")),
        end_(symbol_of<decltype(&gpubench_mpi_end)>(module, "gpubench_mpi_end")),
        max_seconds_(max_seconds) {}
  ~MpiSteps() override {
    if (started && end_ != nullptr) end_(out_of_step_ ? 1 : 0);
  }
  [[nodiscard]] bool complete() const {
    return start != nullptr && meet_ != nullptr && share_ != nullptr && collective_ != nullptr && alone_ != nullptr &&
           send_ != nullptr && end_ != nullptr;
  }

  int meet(std::string_view name, int value) override {
    ++step_;
    int max = value;
    const int problem = meet_(value, max_seconds_, &max);
    if (problem == 0) return max;
    out_of_step_ = true;
    throw OutOfStep(problem == 1
                        ? fmt::format("Not all ranks came to step {} ({}) within {:g} s. MPI cannot go on without "
                                      "those that died or hang; --steps=files can.",
                                      step_, name, max_seconds_)
                        : fmt::format("MPI failed in step {} ({}).", step_, name));
  }
  std::string share(std::string_view of_rank_0) override {
    std::string text(of_rank_0);
    text.resize(static_cast<std::size_t>(meet("the size of what rank 0 shares", static_cast<int>(text.size()))));
    require(share_(text.data(), static_cast<int>(text.size())) == 0 ? 0 : 2, "", "Sharing what rank 0 has");
    return text;
  }
  std::vector<double> time_collective(Collective collective, std::int64_t bytes, int iterations) override {
    std::vector<double> seconds(static_cast<std::size_t>(iterations));
    require(collective_(static_cast<int>(collective), bytes, iterations, seconds.data()), "a result was wrong",
            fmt::format("{} of {} bytes", name_of(collective), bytes));
    return seconds;
  }
  double time_alone() override {
    double seconds = 0.0;
    require(alone_(&seconds), "", "An all-reduce of a rank alone");
    return seconds;
  }
  std::vector<double> time_link(int peer, bool sends, std::int64_t bytes, int iterations) override {
    std::vector<double> seconds(static_cast<std::size_t>(iterations));
    require(send_(peer, sends ? 1 : 0, bytes, iterations, max_seconds_, seconds.data()),
            fmt::format("it did not answer within {:g} s", max_seconds_),
            fmt::format("A message to or from rank {}", peer));
    return sends ? seconds : std::vector<double>();
  }
  [[nodiscard]] std::vector<std::string> lost() const override { return {}; }
  [[nodiscard]] std::string_view kind() const override { return "MPI"; }

  decltype(&gpubench_mpi_start) start;
  bool started = false;

 private:
  /// Throws what a problem of the module means.
  void require(int problem, const std::string& first, const std::string& of) {
    if (problem == 0) return;
    out_of_step_ = true;
    const std::array<std::string, 3> problems = {first, "MPI failed", "there is not enough memory"};
    throw OutOfStep(fmt::format("{}: {}.", of, problems.at(static_cast<std::size_t>(std::clamp(problem, 1, 3) - 1))));
  }

  decltype(&gpubench_mpi_meet) meet_;
  decltype(&gpubench_mpi_share) share_;
  decltype(&gpubench_mpi_collective) collective_;
  decltype(&gpubench_mpi_alone) alone_;
  decltype(&gpubench_mpi_send) send_;
  decltype(&gpubench_mpi_end) end_;
  double max_seconds_;
  int step_ = 0;
  bool out_of_step_ = false;
};

}  // namespace

std::unique_ptr<MpiLink> mpi_steps(Place& place, double max_seconds, std::string& reason) {
  const fs::path file = module_file();
  if (file.empty()) {
    reason = fmt::format("this gpubench was built without MPI: there is no {}", module_name);
    return nullptr;
  }
  // Global, for Open MPI loads components of its own that look for its symbols. Never closed: MPI has threads.
  void* const module = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (module == nullptr) {
    reason = fmt::format("{} cannot be loaded: {}", file.string(), dlerror());
    return nullptr;
  }
  auto steps = std::make_unique<MpiSteps>(module, max_seconds);
  if (!steps->complete() || steps->start(&place.rank, &place.ranks, &place.local_rank) != 0) {
    reason = "MPI could not be started";
    return nullptr;
  }
  steps->started = true;
  return steps;
}

}  // namespace gpubench::fleet
