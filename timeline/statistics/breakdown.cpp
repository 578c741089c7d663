// SPDX-License-Identifier: Apache-2.0
#include "timeline/statistics/breakdown.h"

#include <algorithm>
#include <limits>

#include "core/base/text.h"

namespace gpubench::timeline {
namespace {

Working work_of(SliceKind kind) {
  return kind == SliceKind::kernel ? computing : kind == SliceKind::communication ? communicating : moving;
}

/// A sweep over slices by start. Each kind runs until the latest end seen so far.
class Sweep {
 public:
  explicit Sweep(const Windows* windows) : windows_(windows) {}
  void add(const Slice& slice) {
    if (now_ == never) part_.start_ns = now_ = slice.start_ns;
    until(slice.start_ns);
    std::int64_t& end = ends_[work_of(slice.kind) / 2];  // 1, 2, 4: place 0, 1, 2
    end = std::max(end, slice.end_ns());
  }
  Breakdown take() {
    const std::int64_t last = std::ranges::max(ends_);
    if (now_ == never) return part_;
    until(last);
    part_.end_ns = std::max(now_, last);
    return part_;
  }

 private:
  void until(std::int64_t time) {
    while (now_ < time) {
      std::size_t kinds = 0;
      std::int64_t next = time;
      for (std::size_t i = 0; i < ends_.size(); ++i) {
        if (ends_[i] <= now_) continue;
        kinds |= std::size_t{1} << i;
        next = std::min(next, ends_[i]);
      }
      part_.by_work_ns[kinds] += windows_ == nullptr ? next - now_ : windows_->within(now_, next);
      now_ = next;
    }
  }
  const Windows* windows_;  // null: all
  Breakdown part_;
  std::int64_t now_ = never;
  std::array<std::int64_t, 3> ends_ = {never, never, never};
};

}  // namespace

std::vector<Breakdown> breakdowns(const Linked& linked, const WindowsOf& windows) {
  const Correlations& links = linked.links;
  std::vector<Sweep> sweeps;
  for (const auto& [process, device] : links.gpus) sweeps.emplace_back(windows.empty() ? nullptr : &windows[process]);
  std::vector<bool> worked(sweeps.size());
  for (const Slice& slice : linked.timeline.slices) {
    const std::uint32_t gpu = linked.gpu_of(slice);
    if (gpu == none) continue;
    sweeps[gpu].add(slice);
    worked[gpu] = true;
  }
  std::vector<Breakdown> result;
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    if (!worked[i]) continue;
    result.push_back(sweeps[i].take());
    result.back().process = links.gpus[i].first;
    result.back().device = links.gpus[i].second;
  }
  return result;
}

Breakdown together(const std::vector<Breakdown>& parts) {
  Breakdown all;
  if (parts.empty()) return all;
  all.start_ns = std::ranges::min(parts, {}, &Breakdown::start_ns).start_ns;
  all.end_ns = std::ranges::max(parts, {}, &Breakdown::end_ns).end_ns;
  for (const Breakdown& part : parts)
    for (std::size_t i = 0; i < part.by_work_ns.size(); ++i) all.by_work_ns[i] += part.by_work_ns[i];
  return all;
}

bool is_python_frame(std::string_view name) {
  return contains(name, "): ") || name.starts_with("<built-in ") || name.starts_with("nn.Module: ");
}

Activity activity(const Timeline& timeline) {
  Activity result;
  Union host, gpu, either;
  const std::vector<bool> python = timeline.names.where(is_python_frame);
  std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = never;
  for (const Slice& slice : timeline.slices) {
    first = std::min(first, slice.start_ns);
    last = std::max(last, slice.end_ns());
    const TrackKind track = timeline.tracks[slice.track].kind;
    if (occupies_gpu(slice.kind) && track == TrackKind::stream) {
      gpu.add(slice.start_ns, slice.end_ns());
    } else if (track == TrackKind::thread && slice.kind != SliceKind::synchronization &&
               slice.kind != SliceKind::overhead && slice.kind != SliceKind::range) {
      if (slice.kind == SliceKind::other && python[slice.name]) continue;
      host.add(slice.start_ns, slice.end_ns());
    } else {
      continue;
    }
    either.add(slice.start_ns, slice.end_ns());
  }
  if (last > first) result.total_ns = last - first;
  result.host_ns = host.total;
  result.gpu_ns = gpu.total;
  result.both_ns = host.total + gpu.total - either.total;
  return result;
}

}  // namespace gpubench::timeline
