// SPDX-License-Identifier: Apache-2.0
// How fast the blocks of a grid start, one after another.
#include <fmt/format.h>

#include <utility>

#include "calibrate/cuda/workbench.h"
#include "kernels/probes/cuda_blocks.h"

namespace gpubench::calibrate {
namespace {

// Blocks on each multiprocessor. Even the few take long enough for the host to launch the next kernel meanwhile.
constexpr int few_each = 128;
constexpr int many_each = 1024;
constexpr int launches = 8;

}  // namespace

void add_block_start_probe(Workbench& bench) {
  const int few = few_each * bench.multiprocessors();
  const int many = many_each * bench.multiprocessors();
  const auto launch = [stream = bench.stream](int blocks) {
    for (int i = 0; i < launches; ++i)
      check_cuda(probes::launch_empty_blocks(blocks, stream), "launching empty blocks");
  };
  Probe probe = overhead_probe(
      "block-start",
      fmt::format(
          "{} back-to-back kernels of {} blocks of {} threads that end at once, less as many of {} blocks, over "
          "the blocks between",
          launches, many, probes::threads_of_empty_block, few));
  probe.measure = [&bench, launch, few, many] {
    launch(few);  // the first one of a process also loads the kernel
    const double less = bench.timer.seconds([&] { launch(few); });
    const double more = bench.timer.seconds([&] { launch(many); });
    const auto clock_hz = bench.clock.during([&] { launch(many); }, more, bench.timer);
    const double seconds = (more - less) / (static_cast<double>(many - few) * launches);
    return Reading{seconds, clock_hz, clock_hz ? std::optional(seconds * *clock_hz) : std::nullopt};
  };
  bench.probes.push_back(std::move(probe));
}

}  // namespace gpubench::calibrate
