// SPDX-License-Identifier: Apache-2.0
#include "timeline/input/chrome_xla.h"

#include <algorithm>

#include "core/base/text.h"
#include "timeline/input/common.h"

namespace gpubench::timeline {
namespace {

bool begins_with(std::string_view text, std::initializer_list<std::string_view> with) {
  return std::ranges::any_of(with, [&](std::string_view one) { return text.starts_with(one); });
}
}  // namespace

void read_xla_details(std::string_view details, LaunchShape& shape) {
  while (!details.empty()) {
    const std::string_view part = details.substr(0, details.find(' '));
    details.remove_prefix(std::min(part.size() + 1, details.size()));
    const auto colon = part.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = part.substr(0, colon);
    std::string_view rest = part.substr(colon + 1);
    const auto next = [&] {
      const std::string_view number = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(number.size() + 1, rest.size()));
      return to_uint32(number_in<std::int64_t>(number));
    };
    if (key == "regs") shape.registers = next();
    if (key == "static_shared") shape.static_shared_bytes = next();
    if (key == "dynamic_shared") shape.dynamic_shared_bytes = next();
    if (key == "grid")
      for (auto& extent : shape.grid) extent = next();
    if (key == "block")
      for (auto& extent : shape.block) extent = next();
  }
}
std::optional<std::vector<std::uint32_t>> take_xla_devices(Timeline& timeline,
                                                           const std::vector<std::string_view>& threads,
                                                           std::vector<bool>& of_nobody) {
  std::vector<std::int64_t> device(timeline.processes.size(), -1);
  bool any = false;
  for (std::size_t i = 0; i < device.size(); ++i) {
    constexpr std::string_view begin = "/device:GPU:";
    const std::string_view name = timeline.processes[i].name;
    if (!name.starts_with(begin)) continue;
    const std::string_view number = name.substr(begin.size());
    device[i] = number_in<std::int64_t>(number.substr(0, number.find_first_not_of("0123456789"))).value_or(-1);
    any |= device[i] >= 0;
  }
  if (!any) return std::nullopt;
  std::vector<bool> work(timeline.tracks.size());
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i) {
    Track& track = timeline.tracks[i];
    if (device[track.process] < 0) continue;
    const std::string_view thread = threads[i];
    const bool stream = thread.starts_with("Stream #");
    of_nobody[i] = true;
    work[i] = stream;
    track.kind = stream ? TrackKind::stream : TrackKind::other;
    track.device = stream ? device[track.process] : -1;
    if (stream)
      track.id = number_in<std::int64_t>(thread.substr(8, thread.find_first_not_of("0123456789", 8) - 8)).value_or(0);
  }
  for (Slice& slice : timeline.slices) {
    if (!work[slice.track]) continue;
    const std::string& name = timeline.names.text(slice.name);
    slice.kind = begins_with(name, {"Memcpy", "memcpy", "MemcpyD"})  ? SliceKind::copy
                 : begins_with(name, {"Memset", "memset", "MemSet"}) ? SliceKind::fill
                                                                     : kind_of_kernel(name);
  }
  // Their processes are no programs.
  std::vector<std::uint32_t> place(device.size(), 0);
  std::vector<Process> kept;
  for (std::size_t i = 0; i < device.size(); ++i) {
    place[i] = static_cast<std::uint32_t>(kept.size());
    if (device[i] < 0) kept.push_back(timeline.processes[i]);
  }
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i)
    timeline.tracks[i].process = of_nobody[i] ? 0 : place[timeline.tracks[i].process];
  for (CounterTrack& counter : timeline.counters)
    counter.process = device[counter.process] < 0 ? place[counter.process] : 0;
  for (MemoryEvent& event : timeline.memory) event.process = device[event.process] < 0 ? place[event.process] : 0;
  if (kept.empty()) kept.push_back({});
  timeline.processes = std::move(kept);
  for (std::size_t i = 0; i < place.size(); ++i) place[i] = device[i] < 0 ? place[i] : 0;
  return place;
}

}  // namespace gpubench::timeline
