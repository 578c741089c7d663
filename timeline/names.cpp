// SPDX-License-Identifier: Apache-2.0
#include "timeline/names.h"

#include <fmt/format.h>

#include <map>

#include "core/model/device.h"

namespace gpubench::timeline {

std::vector<std::string> process_labels(const Timeline& timeline) {
  std::vector<std::string> labels;
  if (timeline.processes.size() < 2) return std::vector<std::string>(timeline.processes.size());
  std::map<std::string, int> count;
  for (const Process& process : timeline.processes) {
    std::string name = process.name.substr(0, process.name.find(' '));
    name.erase(0, name.rfind('/') + 1);
    if (name.empty()) name = "process";
    labels.push_back(process.rank ? fmt::format("{} (rank {})", name, *process.rank)
                                  : fmt::format("{} ({})", name, process.id));
    ++count[labels.back()];
  }
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (count[labels[i]] > 1) labels[i] += fmt::format(", {}", timeline.processes[i].id);
  return labels;
}

std::string gpu_model(const Timeline& timeline, std::uint32_t process, std::int64_t device) {
  for (const GpuModel& gpu : timeline.gpus)
    if (gpu.process == process && gpu.device == device) return gpu.name;
  return {};
}

std::string gpu_name(std::int64_t device) { return device < 0 ? "gpu" : gpu_id(device); }

std::string gpu_name(const Timeline& timeline, std::uint32_t process, std::int64_t device) {
  const std::string label = process_labels(timeline)[process];
  return label.empty() ? gpu_name(device) : fmt::format("{} of {}", gpu_name(device), label);
}

std::string track_name(const Track& track, std::size_t lane) {
  std::string name = track.kind == TrackKind::stream && track.device >= 0 ? gpu_id(track.device) + " " : "";
  name += !track.name.empty()               ? track.name
          : track.kind == TrackKind::stream ? fmt::format("stream {}", track.id)
          : track.kind == TrackKind::ranges ? fmt::format("ranges of thread {}", track.id)
                                            : fmt::format("thread {}", track.id);
  return lane > 0 ? name + fmt::format(" ({})", lane + 1) : name;
}

}  // namespace gpubench::timeline
