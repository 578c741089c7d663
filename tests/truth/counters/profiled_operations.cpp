// SPDX-License-Identifier: Apache-2.0
// Executes the timed points of a stored run five times each, or as often as it is told, for a profiler that looks only
// between cudaProfilerStart and cudaProfilerStop: ncu --profile-from-start off. A spin kernel goes before each
// execution, so that the profiler's list can be cut into executions. Between the two go kernels that only wait, in the
// launch shapes of the operation's own, as the records of the run tell them: each for 2000 and for 4000 cycles, which
// tells what the profiler adds to kernels of these shapes. Warm-ups, fills and checks are outside. Prints a line for
// each point: its name, a tab and its executions.
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/counters/post_timing_pass.h"
#include "bench/google/google_runner.h"
#include "core/storage/storage.h"
#include "gpu/cuda/handles.h"
#include "gpu/cuda/harness_kernels.h"
#include "gpu/devices.h"
#include "main/run/post_timing.h"
#include "main/run/run_options.h"
#include "tests/truth/spin.h"

namespace gpubench {
namespace {

class Profiled final : public bench::PostTimingPass {
 public:
  /// `names` of points that were executed, and what went wrong, outlive the phase.
  Profiled(std::vector<std::string>& names, const std::string& current, int executions)
      : names_(names), current_(current), executions_(executions) {}

  void fill(Measurement& measurement, const bench::Replay& replay) override {
    try {
      for (int i = 0; i < 3; ++i) replay.execute();
      GPUBENCH_CUDA_CHECK(cudaProfilerStart());
      for (int i = 0; i < executions_; ++i) {
        GPUBENCH_CUDA_CHECK(truth::launch_spin(2000, 132, bench::working_stream()));
        GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
        for (const bench::LaunchShape& shape : shapes_of(measurement))
          for (const long long cycles : {2000, 4000}) {
            bench::launch_idle(shape, cycles, bench::working_stream());
            GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
          }
        replay.execute();
      }
      GPUBENCH_CUDA_CHECK(cudaProfilerStop());
      names_.push_back(current_);
    } catch (const std::exception& error) {
      give_up(measurement, error.what());
    }
  }
  void give_up(Measurement&, const std::string& reason) override { warnings_.push_back(current_ + ": " + reason); }
  [[nodiscard]] std::vector<std::string> warnings() const override { return warnings_; }

 private:
  /// Of its kernels, in the order they run; empty without records.
  static std::vector<bench::LaunchShape> shapes_of(const Measurement& measurement) {
    std::vector<bench::LaunchShape> shapes;
    if (!measurement.activity) return shapes;
    const auto size = [](const auto& extent) {
      return bench::Extent{static_cast<unsigned>(extent[0]), static_cast<unsigned>(extent[1]),
                           static_cast<unsigned>(extent[2])};
    };
    for (const auto& kernel : measurement.activity->kernels)
      for (std::int64_t i = 0; i < kernel.launches; ++i)
        shapes.push_back(bench::one_block_each(
            {size(kernel.grid), size(kernel.block), static_cast<unsigned>(kernel.dynamic_shared_bytes), {1, 1, 1}},
            bench::gpus().front().units));
    return shapes;
  }

  std::vector<std::string>& names_;
  const std::string& current_;
  int executions_;
  std::vector<std::string> warnings_;
};

int run(const char* file, int executions) {
  if (bench::gpus().empty()) {
    fmt::print(stderr, "profiled_operations: needs a CUDA device: {}\n", bench::why_no_gpu());
    return 77;
  }
  bench::initialize_google("profiled_operations", {});
  Run run = storage::read_run(file);
  if (run.devices.size() != 1)
    throw std::runtime_error(fmt::format("{} has {} devices; give a run of one GPU", file, run.devices.size()));
  const Plan plan = plan_of(bench::choose_devices(run.devices.front().id).front(), "");
  std::vector<std::string> names;
  std::string current;
  const PostTimingStep phase = {"", "profiling", "profiled",
                                [&](const Device&) -> std::unique_ptr<bench::PostTimingPass> {
                                  return std::make_unique<Profiled>(names, current, executions);
                                }};
  const auto warnings = run_post_timing(phase, plan, "", {}, run.points, [&](std::size_t position, double) {
                          current = plan.points.at(position).name;
                        }).warnings;
  for (const std::string& name : names) fmt::print("{}\t{}\n", name, executions);
  for (const std::string& warning : warnings) fmt::print(stderr, "profiled_operations: {}\n", warning);
  return warnings.empty() ? 0 : 1;
}

}  // namespace
}  // namespace gpubench

int main(int argc, char** argv) {
  const int executions = argc == 3 ? static_cast<int>(std::strtol(argv[2], nullptr, 10)) : 5;
  if (argc < 2 || argc > 3 || executions < 1) {
    fmt::print(stderr, "usage: profiled_operations RUN.json [EXECUTIONS]\n");
    return 64;
  }
  try {
    return gpubench::run(argv[1], executions);
  } catch (const std::exception& error) {
    fmt::print(stderr, "profiled_operations: {}\n", error.what());
    return 1;
  }
}
