// SPDX-License-Identifier: Apache-2.0
#include "tests/reports/program_run.h"

#include <array>
#include <string>
#include <utility>

#include "tests/reports/sample_run.h"

namespace gpubench {
namespace {

struct NamedKernel {
  const char* name;
  const char* range;
  std::int64_t launches;
  double total;
};
constexpr std::array kernels = {
    NamedKernel{"void gemm_kernel<float, 128>(float const*, float const*, float*, int)", "step *", 1200, 6.1e-3},
    NamedKernel{"void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor>(int)", "step */forward", 640,
                1.4e-3},
    NamedKernel{"softmax_kernel(float*, int)", "step */forward", 320, 9e-4},
    NamedKernel{"layer_norm_kernel(float*)", "step */forward", 320, 6e-4},
    NamedKernel{"void at::native::reduce_kernel<512, 1>(at::native::Reduce)", "step */backward", 200, 4e-4},
    NamedKernel{"adam_kernel(float*, float*)", "step */optimizer", 100, 3e-4},
    NamedKernel{"gather_kernel(float*, int*)", "", 40, 1e-4},
    NamedKernel{"scatter_kernel(float*, int*)", "", 40, 9e-5},
    NamedKernel{"dropout_kernel(float*)", "step */forward", 20, 5e-5},
    NamedKernel{"fill_kernel(float*)", "", 20, 4e-5},
    NamedKernel{"cast_kernel(float*)", "", 8, 1e-5},
    NamedKernel{"count_kernel(int*)", "", 2, 4e-6}};

ProgramTrack track(std::string name, int count, double step, WorkKind kind, std::int64_t shown) {
  ProgramTrack result;
  result.name = std::move(name);
  for (int i = 0; i < count; ++i) {
    result.starts_seconds.push_back(1e-3 + i * step);
    result.lengths_seconds.push_back(0.6 * step);
    result.kinds.push_back(i % 7 == 6 ? WorkKind::memory : kind);
    result.names.push_back(i % 5 == 4 ? -1 : shown);
  }
  return result;
}

}  // namespace

Run program_run() {
  Run run = sample_run();
  run.context.program = "python3";
  run.context.arguments = {"train.py"};
  run.boundaries.clear();
  run.warnings.resize(1);
  std::vector<Point> timed;
  for (const Point& point : run.points)
    if (point.measurement.seconds()) timed.push_back(point);
  run.points.clear();
  double all = 0.0;
  for (const NamedKernel& kernel : kernels) all += kernel.total;
  Program program;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const NamedKernel& kernel = kernels[i];
    Point point = timed[(i + 3) % timed.size()];
    point.measurement.operation = point.measurement.name = kernel.name;
    point.measurement.arguments.clear();
    if (point.measurement.name.starts_with("fill")) point.measurement.arguments = {{"bytes", 1 << 20}};
    point.measurement.repetition = 0;
    point.measurement.kernels.clear();
    point.kernel_verdicts.clear();
    run.points.push_back(point);
    const double mean = kernel.total / static_cast<double>(kernel.launches);
    program.kernels.push_back({kernel.name, kernel.range, kernel.launches, i < 3 ? 20 : 0, kernel.total, 0.98 * mean,
                               1.3 * mean, kernel.total / all});
  }
  program.command = {"python3", "train.py", "--steps=20"};
  program.ended = "exit code 0";
  program.wall_seconds = 16.4e-3;
  GpuTime gpu;
  gpu.device = "cuda:0";
  gpu.process = "python3 (rank 0)";
  gpu.wall_seconds = 16.4e-3;
  gpu.busy_seconds = 10.2e-3;
  gpu.compute_seconds = 9.0e-3;
  gpu.memory_seconds = 1.1e-3;
  gpu.memory_overlap_seconds = 0.3e-3;
  gpu.communication_seconds = 0.9e-3;
  gpu.communication_overlap_seconds = 0.5e-3;
  gpu.idle = {{IdleCause::launch, 4.0e-3, 900}, {IdleCause::synchronization, 1.2e-3, 20}, {IdleCause::edges, 1e-3, 2}};
  gpu.launches = 2910;
  gpu.launch_call_seconds = 2.4e-6;
  gpu.launch_period_seconds = 5.1e-6;
  program.gpus.push_back(gpu);
  gpu.device = "cuda:1";
  gpu.process = "python3 (rank 1)";
  gpu.memory_seconds = gpu.memory_overlap_seconds = 0.0;
  program.gpus.push_back(gpu);
  program.findings = {
      {"cuda:0 of python3 (rank 0) is idle 24 % of the time because the host launches too slowly: 2 910 launches, one "
       "every 5.10 us of host time. Capture what repeats in a CUDA graph, or fuse kernels. This saves up to 4.00 ms of "
       "16.4 ms. The same holds for 1 GPU more.",
       4.0e-3},
      {"cuda:0 of python3 (rank 0) is idle 7.3 % of the time because the host waited for it before it launched more: "
       "cudaStreamSynchronize (20 calls). This saves up to 1.20 ms of 16.4 ms.",
       1.2e-3},
      {"Communication on cuda:0 takes 900 us, of which 56 % runs during kernels. This saves up to 400 us of 16.4 ms.",
       4e-4},
      {"2 100 of 2 910 kernels on cuda:0 take less than 5.00 us. Fuse neighbouring kernels.", std::nullopt}};
  const std::string rank = "python3 (rank 0)";
  program.ranges = {{rank, "step *", 0, 20, 15e-3, 9.6e-3, 6.1e-3, 2780},
                    {rank, "step */forward", 1, 20, 6e-3, 2.95e-3, 2.95e-3, 1300},
                    {rank, "step */backward", 1, 20, 5e-3, 4e-4, 4e-4, 200},
                    {rank, "step */optimizer", 1, 20, 1e-3, 3e-4, 3e-4, 100},
                    {"python3 (rank 1)", "step *", 0, 20, 15e-3, 9.6e-3, 9.6e-3, 2780}};
  program.memory = {{rank,
                     "device",
                     14,
                     std::int64_t{1288490189},
                     3.2e-3,
                     12'582'912,
                     {0, 1e-3, 3.2e-3, 9e-3, 16e-3},
                     {0, 800'000'000, 1'288'490'189, 900'000'000, 12'582'912}},
                    {rank, "pinned", 2, 1 << 20, 1e-3, 0, {1e-3, 15e-3}, {1 << 20, 0}}};
  program.never_freed = {{"libtorch_cuda.so", "device", 3, 8 << 20}, {"", "device", 1, 4 << 20}};
  program.overview_names = {"gemm_kernel", "step", "cudaLaunchKernel"};
  program.overview = {track("python3 (rank 0) ranges of thread 1", 4, 3.7e-3, WorkKind::range, 1),
                      track("python3 (rank 0) thread 1", 300, 5e-5, WorkKind::launch, 2),
                      track("python3 (rank 0) cuda:0 stream 7", 700, 2e-5, WorkKind::compute, 0),
                      track("python3 (rank 1) cuda:1 stream 7", 150, 1e-4, WorkKind::communication, -1)};
  program.phases = {{PhaseKind::start, rank, 0.0, 2.1e-3, 0},
                    {PhaseKind::weights, rank, 2.1e-3, 0.3e-3, 0},
                    {PhaseKind::compilation, rank, 2.4e-3, 3.0e-3, 0},
                    {PhaseKind::warm_up, rank, 5.4e-3, 1.4e-3, 3},
                    {PhaseKind::steady, rank, 6.8e-3, 9.2e-3, 20},
                    {PhaseKind::end, rank, 16.0e-3, 0.4e-3, 0},
                    {PhaseKind::start, "python3 (rank 1)", 0.0, 7.2e-3, 0},
                    {PhaseKind::steady, "python3 (rank 1)", 7.2e-3, 9.2e-3, 20}};
  program.steady = SteadyState{"range step", 40, 9.2e-3, 0.93};
  program.steps = {{"cuda:0",
                    rank,
                    "range step",
                    20,
                    820e-6,
                    0.0,
                    {{StepPartKind::roof, "", 260e-6},
                     {StepPartKind::above_roof, "gemm_kernel", 110e-6},
                     {StepPartKind::above_roof, "softmax_kernel", 50e-6},
                     {StepPartKind::above_roof, "", 30e-6},
                     {StepPartKind::collectives, "", 20e-6},
                     {StepPartKind::copies, "", 40e-6},
                     {StepPartKind::launch, "", 200e-6},
                     {StepPartKind::waiting, "", 110e-6}},
                    700e-6,
                    620e-6,
                    430e-6,
                    ""},
                   {"cuda:1",
                    "python3 (rank 1)",
                    "range step",
                    20,
                    820e-6,
                    12e-6,
                    {{StepPartKind::no_verdict, "", 500e-6}, {StepPartKind::launch, "", 320e-6}},
                    std::nullopt,
                    500e-6,
                    std::nullopt,
                    "no kernel of the step has a verdict"}};
  program.self_cost = {{"a kernel launch, recorded", 2910, 4.1e-7},
                       {"a kernel launch, counted", 60, 1.1e-3},
                       {"a range", 80, std::nullopt}};
  program.kernel_launches = 2910;
  program.counted_launches = 60;
  program.dropped_records = 3;
  run.program = program;
  return run;
}

}  // namespace gpubench
