// SPDX-License-Identifier: Apache-2.0
// Between the GPU and the host's memory. All rates count payload: bytes that arrive, not what the link carries beside
// them.
#include <fmt/format.h>

#include "calibrate/cuda/calibration_context.h"
#include "core/base/time.h"

namespace gpubench::calibrate {
namespace {

using probes::Direction;

constexpr std::size_t copied_bytes = std::size_t{256} << 20;
constexpr int link_repeats = 7;
/// In all, and where several processes measure it.
constexpr int pageable_repeats = 5;
constexpr int pageable_repeats_of_several = 2;

/// A rate by the host's clock, from the call to the end of the work.
void measure_link(GpuCalibrationContext& bench, const std::string& resource, const std::string& method,
                  std::size_t bytes, const std::function<void()>& work, int times = link_repeats) {
  Ceiling ceiling = new_ceiling(resource, "B/s", CeilingGroup::link, method + "; payload");
  ceiling.work_per_run = static_cast<double>(bytes);
  const auto timed = [&] {
    probes::wait_for_gpu();
    const double start = steady_seconds();
    work();
    probes::wait_for_gpu();
    return Reading{static_cast<double>(bytes) / (steady_seconds() - start)};
  };
  bench.attempt({resource}, [&] {
    (void)timed();  // sets up what the driver sets up once
    bench.measure_now(std::move(ceiling), timed, times);
  });
}

void pinned(GpuCalibrationContext& bench) {
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

int repeats_in_process(const GpuCalibrationContext& bench) {
  return bench.options.part == Part::of_process ? pageable_repeats_of_several : pageable_repeats;
}

void pageable(GpuCalibrationContext& bench) {
  std::vector<std::byte> host(copied_bytes, std::byte{1});
  DeviceVector<std::byte> device(copied_bytes);
  const char* const copy = "a copy of 256 MiB of ordinary host memory, host clock";
  const auto write = [&] { probes::copy_pageable(device.data(), host.data(), copied_bytes, Direction::to_gpu); };
  const auto read = [&] { probes::copy_pageable(host.data(), device.data(), copied_bytes, Direction::from_gpu); };
  measure_link(bench, "host-to-device-pageable", copy, copied_bytes, write, repeats_in_process(bench));
  measure_link(bench, "device-to-host-pageable", copy, copied_bytes, read, repeats_in_process(bench));
}

}  // namespace

void measure_links_of_process(GpuCalibrationContext& bench) {
  bench.attempt({"host-to-device-pageable", "device-to-host-pageable"}, [&] { pageable(bench); });
}

void measure_links(GpuCalibrationContext& bench) {
  bench.attempt({"host-to-device-pinned", "device-to-host-pinned", "host-both-ways-pinned"}, [&] { pinned(bench); });
}

}  // namespace gpubench::calibrate
