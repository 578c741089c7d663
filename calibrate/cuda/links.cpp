// SPDX-License-Identifier: Apache-2.0
// Between the GPU and the host's memory, and between GPUs. All rates count payload: bytes that arrive, not what the
// link carries beside them.
#include <fmt/format.h>

#include "calibrate/cuda/cuda_calibration.h"
#include "calibrate/cuda/peer_ways.h"
#include "core/base/time.h"
#include "gpu/devices.h"
#include "kernels/probes/cuda/memory.h"

namespace gpubench::calibrate {
namespace {

using probes::Direction;

constexpr std::size_t copied_bytes = std::size_t{256} << 20;
constexpr int link_repeats = 7;
/// In all, and where several processes measure it.
constexpr int pageable_repeats = 5;
constexpr int pageable_repeats_of_several = 2;
constexpr int peer_steps = 4096;

void measure(CudaCalibration& bench, Ceiling ceiling, const std::function<Reading()>& how, int times = link_repeats) {
  bench.attempt({ceiling.resource}, [&] {
    (void)how();  // sets up what the driver sets up once
    bench.measure_now(std::move(ceiling), how, times);
  });
}

/// A rate by the host's clock, from the call to the end of the work.
void measure_link(CudaCalibration& bench, const std::string& resource, const std::string& method, std::size_t bytes,
                  const std::function<void()>& work, int times = link_repeats) {
  Ceiling ceiling = new_ceiling(resource, "B/s", CeilingGroup::link, method + "; payload");
  ceiling.work_per_run = static_cast<double>(bytes);
  const auto timed = [&] {
    probes::wait_for_gpu();
    const double start = steady_seconds();
    work();
    probes::wait_for_gpu();
    return Reading{static_cast<double>(bytes) / (steady_seconds() - start)};
  };
  measure(bench, std::move(ceiling), timed, times);
}

void pinned(CudaCalibration& bench) {
  const probes::PinnedMemory to(copied_bytes);
  const probes::PinnedMemory from(copied_bytes);
  DeviceVector<std::byte> in(copied_bytes);
  DeviceVector<std::byte> out(copied_bytes);
  const probes::SideStream other;
  const auto write = [&] {
    probes::enqueue_copy(in.data(), from.on_host(), copied_bytes, Direction::to_gpu, bench.stream);
  };
  const auto read = [&](Stream stream) {
    probes::enqueue_copy(to.on_host(), out.data(), copied_bytes, Direction::from_gpu, stream);
  };
  const auto both = [&] {
    write();
    read(other.get());
  };
  const char* const copy = "a copy of 256 MiB, host clock";
  measure_link(bench, "host-to-device-pinned", copy, copied_bytes, write);
  measure_link(bench, "device-to-host-pinned", copy, copied_bytes, [&] { read(bench.stream); });
  measure_link(bench, "host-both-ways-pinned", "a copy of 256 MiB each way at once, host clock; both together",
               2 * copied_bytes, both);
}

int repeats_in_process(const CudaCalibration& bench) {
  return bench.options.part == Part::of_process ? pageable_repeats_of_several : pageable_repeats;
}

void pageable(CudaCalibration& bench) {
  std::vector<std::byte> host(copied_bytes, std::byte{1});
  DeviceVector<std::byte> device(copied_bytes);
  const char* const copy = "a copy of 256 MiB of ordinary host memory, host clock";
  const auto write = [&] { probes::copy_pageable(device.data(), host.data(), copied_bytes, Direction::to_gpu); };
  const auto read = [&] { probes::copy_pageable(host.data(), device.data(), copied_bytes, Direction::from_gpu); };
  measure_link(bench, "host-to-device-pageable", copy, copied_bytes, write, repeats_in_process(bench));
  measure_link(bench, "device-to-host-pageable", copy, copied_bytes, read, repeats_in_process(bench));
}

void measure_peer(CudaCalibration& bench, int other) {
  probes::PeerLink link(other, peer_bytes);
  const std::string name = fmt::format("peer-{}", other);
  for (const PeerWay& way : peer_ways) {
    if (way.engine != probes::LinkEngine::copy) continue;
    Ceiling ceiling = new_ceiling(name + way.suffix, "B/s", CeilingGroup::link, way.method);
    ceiling.work_per_run = static_cast<double>(peer_bytes);
    measure(bench, std::move(ceiling),
            [&] { return Reading{link.bytes_per_second(way.way, way.engine, peer_copies, bench.stream)}; });
  }
  // The chain is written by this GPU into the other's memory.
  const auto lines = static_cast<std::uint32_t>((std::size_t{64} << 20) / probes::line_bytes);
  Ceiling latency =
      new_ceiling("latency-" + name, "s", CeilingGroup::latency,
                  fmt::format("pointer chase in a random cycle over 64 MiB of the other GPU's memory, loads past L1; "
                              "cycles and time read in the kernel; mean of {} accesses",
                              peer_steps));
  latency.shape = "one thread";
  latency.work_per_run = peer_steps;
  std::uint64_t seed = 0;
  measure(bench, std::move(latency), [&] {
    probes::launch_chain(link.there(), lines, ++seed, bench.stream);
    probes::launch_chase(probes::ChaseCache::past_l1, link.there(), 0, 0, peer_steps, bench.sink.data(),
                         bench.clock.readings(), bench.stream);
    return reading_over(bench.clock.last(1).front(), peer_steps);
  });
}

}  // namespace

void measure_links_of_process(CudaCalibration& bench) {
  bench.attempt({"host-to-device-pageable", "device-to-host-pageable"}, [&] { pageable(bench); });
}

void measure_links(CudaCalibration& bench) {
  bench.attempt({"host-to-device-pinned", "device-to-host-pinned", "host-both-ways-pinned"}, [&] { pinned(bench); });
  const int count = static_cast<int>(bench::gpus().size());
  for (int other = 0; other < count; ++other)
    if (other != bench.index) bench.attempt({fmt::format("peer-{}", other)}, [&] { measure_peer(bench, other); });
}

}  // namespace gpubench::calibrate
