// SPDX-License-Identifier: Apache-2.0
// What it costs to launch, to start a block and to copy a few bytes.
#include <fmt/format.h>

#include <algorithm>

#include "bench/timing/costs.h"
#include "calibrate/cuda/cuda_calibration.h"

namespace gpubench::calibrate {
namespace {

using probes::Direction;

constexpr int overhead_repeats = 9;
/// A tenth of a second each; and where several processes measure it.
constexpr int node_repeats = 7;
constexpr int node_repeats_of_several = 3;

Ceiling overhead(std::string resource, std::string method) {
  return new_ceiling(std::move(resource), "s", CeilingGroup::overhead, std::move(method));
}

/// As `gpubench doctor` tells it, measured several times.
void graph_node(CudaCalibration& bench) {
  const auto cost = [&bench] {
    const auto costs = bench::measure_costs(*bench.gpu);
    return *std::ranges::find(costs, "graph node", &bench::Cost::what);
  };
  const auto measure = [cost] {
    const bench::Cost found = cost();
    if (!found.seconds) throw GpuError(found.reason);
    return Reading{*found.seconds};
  };
  bench.measure_now(overhead("graph-node", cost().method), measure,
                    bench.options.part == Part::all ? node_repeats : node_repeats_of_several);
}

/// Seconds of work on the GPU that waits in the stream until all of it is enqueued.
class BlockedTimer {
 public:
  explicit BlockedTimer(bench::Gpu& gpu) : gpu_(gpu), start_(gpu.event()), stop_(gpu.event()) {}
  double seconds(const std::function<void()>& work) {
    gpu_.block_while([&] {
      start_->record(gpu_.stream());
      work();
      stop_->record(gpu_.stream());
    });
    stop_->wait();
    gpu_.check_blocked();
    return stop_->seconds_since(*start_);
  }

 private:
  bench::Gpu& gpu_;
  std::unique_ptr<bench::Event> start_;
  std::unique_ptr<bench::Event> stop_;
};

/// What copies and fills of a few bytes take.
void small_commands(CudaCalibration& bench) {
  BlockedTimer timer(*bench.gpu);
  const probes::PinnedMemory pinned(4096);
  DeviceVector<std::byte> memory(4096);
  /// What one more of them takes on the GPU when they wait in the stream.
  const auto slot = [&](const char* resource, const char* what, const std::function<void()>& enqueue) {
    static constexpr int few = 50;
    static constexpr int many = 300;  // a held stream takes some 1000 before the host has to wait
    const std::string method =
        fmt::format("{} that wait in the stream behind a kernel: GPU time of {} less that of {}, divided by {}", what,
                    many, few, many - few);
    const auto seconds = [&](int count) {
      return timer.seconds([&] {
        for (int i = 0; i < count; ++i) enqueue();
      });
    };
    const auto measure = [&] {
      seconds(few);
      const double min = seconds(few);
      return Reading{(seconds(many) - min) / (many - few)};
    };
    bench.measure_now(overhead(resource, method), measure, overhead_repeats);
  };
  const auto stream = bench.stream;
  std::byte* const host = pinned.on_host();
  std::byte* const device = memory.data();
  slot("copy-host-to-device", "copies of 4 bytes from pinned host memory",
       [=] { probes::enqueue_copy(device, host, 4, Direction::to_gpu, stream); });
  slot("copy-device-to-host", "copies of 4 bytes to pinned host memory",
       [=] { probes::enqueue_copy(host, device, 4, Direction::from_gpu, stream); });
  slot("copy-device-to-device", "copies of 4 bytes",
       [=] { probes::enqueue_copy(device + 2048, device, 4, Direction::within_gpu, stream); });
  slot("memset", "fills of 4 bytes", [=] { probes::enqueue_fill(device, 0, 4, stream); });
}

}  // namespace

void measure_overheads(CudaCalibration& bench) {
  if (bench.full) bench.attempt({"graph-node"}, [&] { graph_node(bench); });
  bench.attempt({"copy-host-to-device", "copy-device-to-host", "copy-device-to-device", "memset"},
                [&] { small_commands(bench); });
}

/// A GPU seems to look only now and then whether a kernel has ended: back-to-back launches of longer and longer kernels
/// then take longer in steps.
void measure_launch_step(CudaCalibration& bench) {
  constexpr int step_repeats = 7;
  constexpr int launches = 100;
  constexpr long long cycles_apart = 50;
  constexpr int durations = 49;
  bench.attempt({"launch-step"}, [&] {
    const bench::LaunchShape shape = {{1, 1, 1}, {32, 1, 1}, 0, {1, 1, 1}};
    bench.gpu->launch_idle(shape, 0, bench.stream);  // loads the kernel
    BlockedTimer timer(*bench.gpu);
    const auto measure = [&] {
      std::vector<double> seconds;
      for (int i = 0; i < durations; ++i)
        seconds.push_back(timer.seconds([&] {
          for (int k = 0; k < launches; ++k) bench.gpu->launch_idle(shape, i * cycles_apart, bench.stream);
        }) / launches);
      return Reading{step_height(seconds)};
    };
    const std::string method = fmt::format(
        "{} back-to-back launches, enqueued while the stream was held, of kernels that wait 0, {}, ... {} cycles; "
        "sqrt(12) times the rms distance of the times of a launch from the line through them",
        launches, cycles_apart, (durations - 1) * cycles_apart);
    bench.measure_now(overhead("launch-step", method), measure, step_repeats);
  });
}

void add_block_start_probe(CudaCalibration& bench) {
  // Even the few take long enough for the host to launch the next kernel meanwhile.
  constexpr int launches = 8;
  const int few = 128 * bench.multiprocessors();
  const int many = 1024 * bench.multiprocessors();
  const auto launch = [stream = bench.stream](int blocks) {
    for (int i = 0; i < launches; ++i) probes::launch_empty_blocks(blocks, stream);
  };
  Probe probe;
  probe.ceiling =
      overhead("block-start", fmt::format("{} back-to-back empty kernels of {} blocks of {} threads, less as "
                                          "many of {} blocks, divided by the difference in blocks",
                                          launches, many, probes::threads_of_empty_block, few));
  probe.measure = [&bench, launch, few, many] {
    launch(few);  // the first one of a process also loads the kernel
    const double less = bench.timer.seconds([&] { launch(few); });
    const double more = bench.timer.seconds([&] { launch(many); });
    const auto clock_hz = bench.clock.during([&] { launch(many); }, more, bench.timer);
    const double seconds = (more - less) / (static_cast<double>(many - few) * launches);
    return Reading{
        .value = seconds, .clock_hz = clock_hz, .cycles = clock_hz ? std::optional(seconds * *clock_hz) : std::nullopt};
  };
  bench.probes.push_back(std::move(probe));
}

}  // namespace gpubench::calibrate
