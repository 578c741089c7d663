// SPDX-License-Identifier: Apache-2.0
// What it costs to launch, to wait, to start a block and to copy a few bytes.
#include <fmt/format.h>

#include "bench/timing/costs.h"
#include "calibrate/cuda/calibration_context.h"
#include "core/base/time.h"
#include "gpu/cuda/harness_kernels.h"
#include "gpu/devices.h"
#include "kernels/probes/cuda/compute.h"

namespace gpubench::calibrate {
namespace {

constexpr int overhead_repeats = 9;
/// Of all costs of timing together, a tenth of a second each; and where several processes measure them.
constexpr int timing_repeats = 7;
constexpr int timing_repeats_of_several = 3;

Ceiling overhead(std::string resource, std::string method) {
  return new_ceiling(std::move(resource), "s", CeilingGroup::overhead, std::move(method));
}

/// The costs that `gpubench doctor` tells, measured several times.
void timing_costs(CudaCalibrationContext& bench) {
  const std::map<std::string, std::string> resources = {{"globaltimer step", "globaltimer-step"},
                                                        {"event pair", "event-pair"},
                                                        {"event quantum", "event-quantum"},
                                                        {"stream launch", "launch-stream"},
                                                        {"graph node", "graph-node"},
                                                        {"launch + synchronise", "launch-synchronised"}};
  std::map<std::string, Probe> probes;
  const int rounds = bench.options.part == Part::of_process ? timing_repeats_of_several : timing_repeats;
  for (int i = 0; i < rounds; ++i)
    for (const auto& cost : bench::measure_costs(*bench.gpu)) {
      const auto name = resources.find(cost.what);
      if (name == resources.end()) continue;
      Probe& probe = probes[cost.what];
      if (probe.ceiling.resource.empty()) probe.ceiling = overhead(name->second, cost.method);
      if (cost.seconds)
        probe.values.push_back(*cost.seconds);
      else
        probe.failure = cost.reason;
    }
  for (auto& [what, probe] : probes) {
    if (!probe.values.empty()) probe.failure.clear();
    bench.conclude(probe);
  }
}

class Overheads {
 public:
  explicit Overheads(CudaCalibrationContext& bench)
      : bench_(bench), blocker_(bench.stream), pinned_(4096), device_(4096) {}

  /// What copies and fills of a few bytes take.
  void commands() {
    const auto stream = bench_.stream;
    void* const host = pinned_.on_host();
    void* const device = device_.data();
    void* const other = device_.data() + 2048;
    slot("copy-host-to-device", "copies of 4 bytes from pinned host memory",
         [=] { GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(device, host, 4, cudaMemcpyHostToDevice, stream)); });
    slot("copy-device-to-host", "copies of 4 bytes to pinned host memory",
         [=] { GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(host, device, 4, cudaMemcpyDeviceToHost, stream)); });
    const auto copy = [=] { GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(other, device, 4, cudaMemcpyDeviceToDevice, stream)); };
    const auto fill = [=] { GPUBENCH_CUDA_CHECK(cudaMemsetAsync(device, 0, 4, stream)); };
    slot("copy-device-to-device", "copies of 4 bytes", copy);
    slot("memset", "fills of 4 bytes", fill);
    if (!bench_.full) return;
    slot("copy-device-to-device-graph", "copies of 4 bytes in a CUDA graph", copy, true);
    slot("memset-graph", "fills of 4 bytes in a CUDA graph", fill, true);
  }

  void calls() {
    const auto stream = bench_.stream;
    bench::CudaEvent event;
    call("event-record", "cudaEventRecord on an idle stream", 200, [&] { event.record(stream); });
    call("stream-synchronize", "cudaStreamSynchronize of an idle stream", 500,
         [=] { GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream)); });
    call("device-synchronize", "cudaDeviceSynchronize of an idle GPU", 500,
         [] { GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize()); });
    host_callback();
    grid_sync();
  }

 private:
  /// What one more of them takes on the GPU when they wait in the stream.
  void slot(const char* resource, const char* what, const std::function<void()>& enqueue, bool in_graph = false) {
    static constexpr int few = 50;
    static constexpr int many = 300;  // a held stream takes some 1000 before the host has to wait
    const auto batch = [&](int count) -> std::function<void()> {
      const auto work = [enqueue, count] {
        for (int i = 0; i < count; ++i) enqueue();
      };
      return in_graph ? bench_.as_graph(work) : work;
    };
    const auto time = [this](const std::function<void()>& work) {
      blocker_.block_while([&] {
        start_.record(bench_.stream);
        work();
        stop_.record(bench_.stream);
      });
      stop_.wait();
      blocker_.check();
      return stop_.seconds_since(start_);
    };
    const std::string method =
        fmt::format("{} that wait in the stream behind a kernel: GPU time of {} less that of {}, divided by {}", what,
                    many, few, many - few);
    bench_.attempt({resource}, [&] {
      const auto measure = [time, less = batch(few), more = batch(many)] {
        time(less);
        const double min = time(less);
        return Reading{(time(more) - min) / (many - few)};
      };
      bench_.measure_now(overhead(resource, method), measure, overhead_repeats);
    });
  }

  /// What a call costs the host.
  void call(const char* resource, const char* what, int calls, const std::function<void()>& work) {
    const auto measure = [calls, work] {
      GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
      const double start = steady_seconds();
      for (int i = 0; i < calls; ++i) work();
      return Reading{(steady_seconds() - start) / calls};
    };
    const std::string method = fmt::format("{}, host clock, mean of {} calls in a row", what, calls);
    bench_.measure_now(overhead(resource, method), measure, overhead_repeats);
  }

  void host_callback() {
    constexpr int calls = 200;
    const auto measure = [this] {
      GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(bench_.stream));
      const double start = steady_seconds();
      for (int i = 0; i < calls; ++i)
        GPUBENCH_CUDA_CHECK(cudaLaunchHostFunc(
            bench_.stream, [](void*) {}, nullptr));
      GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(bench_.stream));
      return Reading{(steady_seconds() - start) / calls};
    };
    const std::string method =
        fmt::format("cudaLaunchHostFunc of an empty function, mean of {} in a stream, host clock", calls);
    bench_.measure_now(overhead("host-callback", method), measure, overhead_repeats);
  }

  void grid_sync() {
    constexpr int syncs = 1000;
    const auto measure = [this] {
      probes::Launched launched;
      const cudaError_t error = probes::launch_grid_syncs(
          {syncs, bench_.multiprocessors(), bench_.clock.readings(), bench_.sink.data(), bench_.stream}, launched);
      if (error == cudaErrorNotSupported) throw CudaError("this GPU launches no cooperative kernels");
      check_cuda(error, "launching a cooperative kernel");
      return reading_over(bench_.clock.last(1).front(), syncs);
    };
    const std::string method = fmt::format(
        "cooperative grid of a block of 256 threads on each multiprocessor; mean of {} synchronisations, timed in the "
        "kernel",
        syncs);
    bench_.measure_now(overhead("grid-sync", method), measure, overhead_repeats);
  }

  CudaCalibrationContext& bench_;
  bench::StreamBlocker blocker_;
  bench::CudaEvent start_;
  bench::CudaEvent stop_;
  PinnedMemory pinned_;
  DeviceVector<std::byte> device_;
};

}  // namespace

void measure_overheads(CudaCalibrationContext& bench) {
  if (!bench.full)
    return bench.attempt({"copy-host-to-device", "copy-device-to-host", "copy-device-to-device", "memset"},
                         [&] { Overheads(bench).commands(); });
  bench.attempt({"graph-node", "event-pair", "event-quantum", "launch-stream", "launch-synchronised"},
                [&] { timing_costs(bench); });
  bench.attempt({"event-record", "stream-synchronize", "host-callback", "grid-sync"}, [&] {
    Overheads overheads(bench);
    overheads.commands();
    overheads.calls();
  });
}

/// A GPU seems to look only now and then whether a kernel has ended: back-to-back launches of longer and longer kernels
/// then take longer in steps.
void measure_launch_step(CudaCalibrationContext& bench) {
  constexpr int step_repeats = 7;
  constexpr int launches = 100;
  constexpr long long cycles_apart = 50;
  constexpr int durations = 49;
  bench.attempt({"launch-step"}, [&] {
    const bench::LaunchShape shape = {{1, 1, 1}, {32, 1, 1}, 0, {1, 1, 1}};
    bench::launch_idle(shape, 0, bench.stream);  // loads the kernel
    bench::StreamBlocker blocker(bench.stream);
    bench::CudaEvent start;
    bench::CudaEvent stop;
    const auto measure = [&] {
      std::vector<double> seconds;
      for (int i = 0; i < durations; ++i) {
        blocker.block_while([&] {
          start.record(bench.stream);
          for (int k = 0; k < launches; ++k) bench::launch_idle(shape, i * cycles_apart, bench.stream);
          stop.record(bench.stream);
        });
        stop.wait();
        blocker.check();
        seconds.push_back(stop.seconds_since(start) / launches);
      }
      return Reading{step_height(seconds)};
    };
    const std::string method = fmt::format(
        "{} back-to-back launches, enqueued while the stream was held, of kernels that wait 0, {}, ... {} cycles; "
        "sqrt(12) times the rms distance of the times of a launch from the line through them",
        launches, cycles_apart, (durations - 1) * cycles_apart);
    bench.measure_now(overhead("launch-step", method), measure, step_repeats);
  });
}

void add_block_start_probe(CudaCalibrationContext& bench) {
  // Even the few take long enough for the host to launch the next kernel meanwhile.
  constexpr int launches = 8;
  const int few = 128 * bench.multiprocessors();
  const int many = 1024 * bench.multiprocessors();
  const auto launch = [stream = bench.stream](int blocks) {
    for (int i = 0; i < launches; ++i)
      check_cuda(probes::launch_empty_blocks(blocks, stream), "launching empty blocks");
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
    return Reading{seconds, clock_hz, clock_hz ? std::optional(seconds * *clock_hz) : std::nullopt};
  };
  bench.probes.push_back(std::move(probe));
}

}  // namespace gpubench::calibrate
