// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "core/base/text.h"
#include "profile/range_profiler/range_reports.h"

namespace gpubench::profile {
namespace {

std::string megabytes(std::uint64_t bytes) { return fmt::format("{:.3f}", static_cast<double>(bytes) * 1e-6); }

std::string without_end_spaces(std::string line) {
  line.resize(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string column(std::string_view text, std::size_t width) {
  return pad_right(shorten(printable(text), width), width) + " ";
}

/// As Python writes a tuple: "(64, 64)", "(5,)", "()".
std::string shape_text(const std::vector<std::int64_t>& shape) {
  const std::string extents = joined(shape, ", ", [](std::int64_t extent) { return std::to_string(extent); });
  return "(" + extents + (shape.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string memory_report(const std::vector<MemoryInfo>& tracked, std::uint64_t peak, const DeviceMemory& device) {
  constexpr std::size_t width = 80;
  const std::string strong = std::string(width, '=').append(1, '\n');
  const std::string thin = std::string(width, '-').append(1, '\n');
  const auto row = [](std::string_view name, std::string_view shape, std::string_view type, std::string_view size) {
    return without_end_spaces(column(name, 30) + column(shape, 20) + column(type, 10) + std::string(size));
  };
  const auto device_row = [](std::string_view name, std::optional<std::uint64_t> bytes) {
    return bytes ? fmt::format("{:<30} {:<12} MB\n", name, megabytes(*bytes)) : "";
  };
  std::uint64_t total = 0;
  std::string text =
      strong + "GPU MEMORY TRACKING REPORT\n" + strong + row("Tensor", "Shape", "Dtype", "Size (MB)") + thin;
  for (const MemoryInfo& memory : tracked) {
    total += memory.bytes;
    text += row(memory.name, shape_text(memory.shape), memory.type, megabytes(memory.bytes));
  }
  text += thin + row("TOTAL TRACKED", "", "", megabytes(total)) + row("PEAK MEMORY", "", "", megabytes(peak)) + thin;
  text += device_row("CUDA Memory Pool Used", device.pool_used) +
          device_row("CUDA Memory Pool Used, Peak", device.pool_used_peak) +
          device_row("CUDA Memory Pool Total", device.pool_reserved) +
          device_row("CUDA Memory Pool Total, Peak", device.pool_reserved_peak) +
          device_row("Device Memory Used", device.used) + device_row("Device Memory Total", device.total);
  if (!device.reason.empty()) text += "Not all of the device's memory is known: " + device.reason + ".\n";
  return text + strong;
}

struct MemoryTracker::Tracked {
  [[nodiscard]] auto find(std::string_view name) const { return std::ranges::find(all, name, &MemoryInfo::name); }
  mutable std::mutex mutex;
  std::vector<MemoryInfo> all;  ///< in the order of tracking
  std::uint64_t total = 0;
  std::uint64_t peak = 0;
};

MemoryTracker::MemoryTracker() : tracked_(std::make_unique<Tracked>()) {}
MemoryTracker::~MemoryTracker() = default;

void MemoryTracker::track(std::string_view name, const void* pointer, std::vector<std::int64_t> shape,
                          std::string_view type, std::uint64_t bytes) {
  (void)untrack(name);
  const std::lock_guard lock(tracked_->mutex);
  tracked_->all.push_back({std::string(name), pointer, std::move(shape), std::string(type), bytes});
  tracked_->total += bytes;
  tracked_->peak = std::max(tracked_->peak, tracked_->total);
}

bool MemoryTracker::untrack(std::string_view name) {
  const std::lock_guard lock(tracked_->mutex);
  const auto place = tracked_->find(name);
  if (place == tracked_->all.end()) return false;
  tracked_->total -= place->bytes;
  tracked_->all.erase(place);
  return true;
}

std::optional<MemoryInfo> MemoryTracker::info(std::string_view name) const {
  const std::lock_guard lock(tracked_->mutex);
  const auto place = tracked_->find(name);
  return place == tracked_->all.end() ? std::nullopt : std::optional(*place);
}

std::uint64_t MemoryTracker::total() const {
  const std::lock_guard lock(tracked_->mutex);
  return tracked_->total;
}

std::uint64_t MemoryTracker::peak() const {
  const std::lock_guard lock(tracked_->mutex);
  return tracked_->peak;
}

std::string MemoryTracker::report() const {
  const DeviceMemory device = device_memory();
  const std::lock_guard lock(tracked_->mutex);
  return memory_report(tracked_->all, tracked_->peak, device);
}

void MemoryTracker::reset() {
  const std::lock_guard lock(tracked_->mutex);
  tracked_->all.clear();
  tracked_->total = tracked_->peak = 0;
}

}  // namespace gpubench::profile
