// SPDX-License-Identifier: Apache-2.0
// The steps in which back-to-back launches of longer and longer kernels take longer, as if a GPU looked only now and
// then whether a kernel has ended (on an H200 every tenth of a microsecond or so, at other places in every process).
#include "calibrate/launch_step.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "bench/cuda/handles.h"
#include "bench/cuda/harness_kernels.h"
#include "calibrate/cuda/workbench.h"

namespace gpubench::calibrate {
namespace {

constexpr int repeats = 7;
constexpr int launches = 100;
constexpr long long cycles_apart = 50;  // some 25 ns
constexpr int durations = 49;

}  // namespace

void measure_launch_step(Workbench& bench) {
  bench.attempt({"launch-step"}, [&] {
    const bench::LaunchShape shape = {{1, 1, 1}, {32, 1, 1}, 0, {1, 1, 1}};
    bench::launch_idle(shape, 0, bench.stream);  // loads the kernel
    bench::Blocker blocker(bench.stream);
    bench::Event start;
    bench::Event stop;
    Probe probe = overhead_probe(
        "launch-step", fmt::format("{} back-to-back launches, enqueued while the stream was held, of kernels that wait "
                                   "0, {}, ... {} cycles; sqrt(12) times the rms distance of the times of a launch "
                                   "from the line through them",
                                   launches, cycles_apart, (durations - 1) * cycles_apart));
    probe.measure = [&] {
      std::vector<double> seconds;
      for (int i = 0; i < durations; ++i) {
        blocker.hold_while([&] {
          start.record(bench.stream);
          for (int k = 0; k < launches; ++k) bench::launch_idle(shape, i * cycles_apart, bench.stream);
          stop.record(bench.stream);
        });
        stop.wait();
        blocker.check();
        seconds.push_back(bench::seconds_between(start, stop) / launches);
      }
      return Reading{step_height(seconds), std::nullopt, std::nullopt};
    };
    bench.measure_now(std::move(probe), repeats);
  });
}

}  // namespace gpubench::calibrate
