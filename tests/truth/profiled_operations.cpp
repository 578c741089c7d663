// SPDX-License-Identifier: Apache-2.0
// Executes the timed points of a stored run for a profiler that looks only between cudaProfilerStart and
// cudaProfilerStop and takes a CUDA graph for one workload: ncu --profile-from-start off --graph-profiling graph. For
// each point the profiler sees a spin kernel, which marks its beginning, then the kernels of one execution, then graphs
// of few and of many executions in turns: what the many take longer is what executions take one after the other, as
// gpubench times them. The same follows with kernels that only wait, in the launch shapes of the operation's own, as
// the records of the run tell them, for 2000 and for 4000 cycles: what the profiler adds to kernels of these shapes.
// Warm-ups, fills and checks are outside. Prints a line for each point: its name, the executions in a graph of few,
// those in a graph of many, and how many pairs of graphs there are of each kind, with tabs between.
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/cuda/check.h"
#include "bench/cuda/device_timing.h"
#include "bench/cuda/idle_kernels.h"
#include "bench/cuda/working_stream.h"
#include "bench/devices.h"
#include "bench/google_runner.h"
#include "bench/gpu.h"
#include "bench/later_phase.h"
#include "main/after_timing.h"
#include "storage/storage.h"
#include "tests/truth/spin.h"

namespace gpubench {
namespace {

class Profiled final : public bench::LaterPhase {
 public:
  /// `lines` of points that were executed outlives the phase.
  Profiled(std::vector<std::string>& lines, const std::string& current) : lines_(lines), current_(current) {}

  void fill(Measurement& measurement, const bench::Replay& replay) override {
    const std::vector<bench::LaunchShape> shapes = shapes_of(measurement);
    if (!replay.chain || !measurement.seconds || shapes.empty())
      return give_up(measurement, "it cannot be executed in a chain, has no time or no records");
    // A profiler's time of a graph varies by tens of microseconds, whatever is in it.
    const std::int64_t many = few + std::clamp(static_cast<std::int64_t>(20e-3 / measurement.seconds->median),
                                               std::int64_t{50}, std::int64_t{2000});
    try {
      std::vector<std::function<void()>> chains = {replay.chain(few), replay.chain(many)};
      for (const long long cycles : {2000, 4000})
        for (const std::int64_t length : {few, many}) {
          const auto wait = [&shapes, cycles](cudaStream_t stream, std::int64_t executions) {
            for (std::int64_t i = 0; i < executions; ++i)
              for (const bench::LaunchShape& shape : shapes) bench::launch_idle(shape, cycles, stream);
          };
          wait(bench::working_stream(), 1);  // loads the kernel
          chains.push_back(bench::chain(wait, length, bench::working_stream()));
        }
      for (const auto& chain : chains) chain();  // sends the graphs to the GPU
      GPUBENCH_CUDA_CHECK(cudaProfilerStart());
      GPUBENCH_CUDA_CHECK(truth::launch_spin(2000, 132, bench::working_stream()));
      GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
      replay.execute();
      for (std::size_t kind = 0; kind < chains.size(); kind += 2)
        for (int i = 0; i < pairs; ++i) {
          chains[kind]();
          chains[kind + 1]();
        }
      GPUBENCH_CUDA_CHECK(cudaProfilerStop());
      lines_.push_back(fmt::format("{}\t{}\t{}\t{}", current_, few, many, pairs));
    } catch (const std::exception& error) {
      give_up(measurement, error.what());
    }
  }
  void give_up(Measurement&, const std::string& reason) override { warnings_.push_back(current_ + ": " + reason); }
  [[nodiscard]] std::vector<std::string> warnings() const override { return warnings_; }

 private:
  static constexpr std::int64_t few = 10;
  static constexpr int pairs = 5;

  /// Of its kernels, in the order they run; empty without records.
  static std::vector<bench::LaunchShape> shapes_of(const Measurement& measurement) {
    std::vector<bench::LaunchShape> shapes;
    if (!measurement.activity) return shapes;
    const auto size = [](const auto& extent) {
      return dim3(static_cast<unsigned>(extent[0]), static_cast<unsigned>(extent[1]), static_cast<unsigned>(extent[2]));
    };
    for (const auto& kernel : measurement.activity->kernels)
      for (std::int64_t i = 0; i < kernel.launches; ++i)
        shapes.push_back(bench::one_block_each(
            {size(kernel.grid), size(kernel.block), static_cast<unsigned>(kernel.dynamic_shared_bytes), {1, 1, 1}}));
    return shapes;
  }

  std::vector<std::string>& lines_;
  const std::string& current_;
  std::vector<std::string> warnings_;
};

int run(const char* file) {
  if (bench::gpus().empty()) {
    fmt::print(stderr, "profiled_operations: needs a CUDA device: {}\n", bench::why_no_gpu());
    return 77;
  }
  bench::initialize_google("profiled_operations", {});
  Run run = storage::read_run(file);
  if (run.devices.size() != 1)
    throw std::runtime_error(fmt::format("{} has {} devices; give a run of one GPU", file, run.devices.size()));
  const Plan plan = plan_of(bench::choose_devices(run.devices.front().id).front(), "");
  std::vector<std::string> lines;
  std::string current;
  const PhaseAfterTiming phase = {
      "", "profiling", "profiled",
      [&](const Device&) -> std::unique_ptr<bench::LaterPhase> { return std::make_unique<Profiled>(lines, current); }};
  const auto warnings = run_phase(phase, plan, "", {}, run.points, [&](std::size_t position, double) {
                          current = plan.points.at(position).name;
                        }).warnings;
  for (const std::string& line : lines) fmt::print("{}\n", line);
  for (const std::string& warning : warnings) fmt::print(stderr, "profiled_operations: {}\n", warning);
  return warnings.empty() ? 0 : 1;
}

}  // namespace
}  // namespace gpubench

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: profiled_operations RUN.json\n");
    return 64;
  }
  try {
    return gpubench::run(argv[1]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "profiled_operations: {}\n", error.what());
    return 1;
  }
}
