// SPDX-License-Identifier: Apache-2.0
// What it costs to launch, to wait and to copy next to nothing.
#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/clocks/costs.h"
#include "bench/cuda/cuda_error.h"
#include "bench/cuda/harness_kernels.h"
#include "calibrate/cuda/pinned_memory.h"
#include "calibrate/cuda/workbench.h"
#include "core/base/time.h"
#include "core/statistics/statistics.h"
#include "kernels/probes/cuda_atomics.h"

namespace gpubench::calibrate {
namespace {

constexpr int repeats = 9;
/// Of all costs of timing together, a tenth of a second each; and where several processes measure them.
constexpr int timing_repeats = 7;
constexpr int timing_repeats_of_several = 3;

/// The costs that `gpubench doctor` tells, measured several times.
void timing_costs(Workbench& bench) {
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
      Probe& probe = probes.try_emplace(cost.what, overhead_probe(name->second, cost.method)).first->second;
      if (cost.seconds)
        probe.values.push_back(*cost.seconds);
      else
        probe.failure = cost.reason;
    }
  for (auto& [what, probe] : probes) {
    if (probe.values.empty())
      bench.absent(probe.ceiling.resource, probe.failure);
    else
      bench.calibration.ceilings.push_back(ceiling_of(probe, bench.multiprocessors()));
  }
}

class Overheads {
 public:
  explicit Overheads(Workbench& bench) : bench_(bench), blocker_(bench.stream), pinned_(4096), device_(4096) {}

  void run() {
    const auto stream = bench_.stream;
    void* const host = pinned_.on_host();
    void* const device = device_.data();
    void* const other = device_.data() + 2048;
    slot("copy-host-to-device", "copies of 4 bytes from pinned host memory",
         [=] { GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(device, host, 4, cudaMemcpyHostToDevice, stream)); });
    slot("copy-device-to-host", "copies of 4 bytes to pinned host memory",
         [=] { GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(host, device, 4, cudaMemcpyDeviceToHost, stream)); });
    slot("copy-device-to-device", "copies of 4 bytes",
         [=] { GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(other, device, 4, cudaMemcpyDeviceToDevice, stream)); });
    slot("memset", "fills of 4 bytes", [=] { GPUBENCH_CUDA_CHECK(cudaMemsetAsync(device, 0, 4, stream)); });
    bench::Event event;
    call("event-record", "cudaEventRecord on an idle stream", 200, [&] { event.record(stream); });
    call("stream-synchronize", "cudaStreamSynchronize of an idle stream", 500,
         [=] { GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream)); });
    call("device-synchronize", "cudaDeviceSynchronize of an idle GPU", 500,
         [] { GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize()); });
    host_callback();
    grid_sync();
  }

 private:
  void measure(Probe probe) {
    const std::string resource = probe.ceiling.resource;
    bench_.attempt({resource}, [&] { bench_.measure_now(std::move(probe), repeats); });
  }

  /// What one more of them takes on the GPU when they wait in the stream.
  void slot(const char* resource, const char* what, const std::function<void()>& enqueue) {
    constexpr int few = 50;
    constexpr int many = 300;  // a held stream takes some 1000 before the host has to wait
    Probe probe =
        overhead_probe(resource, fmt::format("{} that wait in the stream behind a kernel, GPU time of {} less that of "
                                             "{}, over {}",
                                             what, many, few, many - few));
    probe.measure = [this, enqueue] {
      const auto time = [&](int count) {
        blocker_.hold_while([&] {
          start_.record(bench_.stream);
          for (int i = 0; i < count; ++i) enqueue();
          stop_.record(bench_.stream);
        });
        stop_.wait();
        blocker_.check();
        return bench::seconds_between(start_, stop_);
      };
      time(few);
      const double min = time(few);
      return Reading{(time(many) - min) / (many - few), std::nullopt, std::nullopt};
    };
    measure(std::move(probe));
  }

  /// What a call costs the host.
  void call(const char* resource, const char* what, int calls, const std::function<void()>& work) {
    Probe probe = overhead_probe(resource, fmt::format("{}, host clock, mean of {} calls in a row", what, calls));
    probe.measure = [calls, work] {
      GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
      const double start = steady_seconds();
      for (int i = 0; i < calls; ++i) work();
      return Reading{(steady_seconds() - start) / calls, std::nullopt, std::nullopt};
    };
    measure(std::move(probe));
  }

  void host_callback() {
    constexpr int calls = 200;
    Probe probe = overhead_probe("host-callback",
                                 fmt::format("cudaLaunchHostFunc of an empty function, {} in a stream, host clock from "
                                             "the first to the end of the last, over their number",
                                             calls));
    probe.measure = [this] {
      GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(bench_.stream));
      const double start = steady_seconds();
      for (int i = 0; i < calls; ++i)
        GPUBENCH_CUDA_CHECK(cudaLaunchHostFunc(
            bench_.stream, [](void*) {}, nullptr));
      GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(bench_.stream));
      return Reading{(steady_seconds() - start) / calls, std::nullopt, std::nullopt};
    };
    measure(std::move(probe));
  }

  void grid_sync() {
    constexpr int syncs = 1000;
    Probe probe =
        overhead_probe("grid-sync", fmt::format("cooperative grid of a block of 256 threads on each multiprocessor; "
                                                "mean of {} synchronisations, timed in the kernel",
                                                syncs));
    probe.measure = [this] {
      probes::Launched launched;
      const cudaError_t error = probes::launch_grid_syncs(
          {syncs, bench_.multiprocessors(), bench_.clock.readings(), bench_.sink.data(), bench_.stream}, launched);
      if (error == cudaErrorNotSupported) throw CudaError("this GPU launches no cooperative kernels");
      check_cuda(error, "launching a cooperative kernel");
      const auto passed = bench_.clock.last(1).front();
      return Reading{1e-9 * static_cast<double>(passed.nanoseconds) / syncs, probes::mean_hertz({&passed, 1}),
                     static_cast<double>(passed.cycles) / syncs};
    };
    measure(std::move(probe));
  }

  Workbench& bench_;
  bench::Blocker blocker_;
  bench::Event start_;
  bench::Event stop_;
  PinnedMemory pinned_;
  DeviceVector<std::byte> device_;
};

}  // namespace

void measure_overheads(Workbench& bench) {
  bench.attempt({"graph-node", "event-pair", "event-quantum", "launch-stream", "launch-synchronised"},
                [&] { timing_costs(bench); });
  bench.attempt({"event-record", "stream-synchronize", "host-callback", "grid-sync"}, [&] { Overheads(bench).run(); });
}

}  // namespace gpubench::calibrate
