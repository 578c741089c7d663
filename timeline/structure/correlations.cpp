// SPDX-License-Identifier: Apache-2.0
#include "timeline/structure/correlations.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string_view>
#include <unordered_set>

#include "core/base/text.h"

namespace gpubench::timeline {
namespace {

std::uint32_t place_of(std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t>& known,
                       std::pair<std::uint32_t, std::int64_t> key,
                       std::vector<std::pair<std::uint32_t, std::int64_t>>& list) {
  const auto [place, added] = known.emplace(key, static_cast<std::uint32_t>(list.size()));
  if (added) list.push_back(key);
  return place->second;
}

void check(const Timeline& timeline) {
  const auto fail = [](const char* what) { throw std::invalid_argument(what); };
  if (timeline.slices.size() >= none) fail("a timeline of over four thousand million slices");
  for (const Track& track : timeline.tracks)
    if (track.process >= timeline.processes.size()) fail("a track of a process that the timeline does not have");
  std::int64_t before = std::numeric_limits<std::int64_t>::min();
  for (const Slice& slice : timeline.slices) {
    if (slice.track >= timeline.tracks.size()) fail("a slice on a track that the timeline does not have");
    if (slice.start_ns < before) fail("a timeline whose slices are not sorted");
    before = slice.start_ns;
  }
}

/// Calls of one process by their correlation.
class CallsByKey {
 public:
  void add(std::uint32_t correlation, std::uint32_t call) { calls_.emplace_back(correlation, call); }
  void sort() {
    if (!std::ranges::is_sorted(calls_)) std::ranges::sort(calls_);
  }
  /// The first that has it; `none` where none has. Work mostly comes in the order of its calls, which is tried before.
  std::uint32_t at(std::uint32_t correlation) {
    const auto first_at = [&](std::size_t place) {
      return place < calls_.size() && calls_[place].first == correlation &&
             (place == 0 || calls_[place - 1].first != correlation);
    };
    if (first_at(last_ + 1)) {
      ++last_;
    } else if (!first_at(last_)) {
      const auto place = std::ranges::lower_bound(calls_, correlation, {}, &Entry::first);
      if (place == calls_.end() || place->first != correlation) return none;
      last_ = static_cast<std::size_t>(place - calls_.begin());
    }
    return calls_[last_].second;
  }

 private:
  using Entry = std::pair<std::uint32_t, std::uint32_t>;
  std::vector<Entry> calls_;
  std::size_t last_ = 0;
};

void tie_works(const Timeline& timeline, Correlations& links) {
  std::vector<CallsByKey> of_process(timeline.processes.size());
  for (std::uint32_t i = 0; i < links.calls.size(); ++i) {
    const Slice& slice = timeline.slices[links.calls[i].slice];
    if (slice.correlation != 0) of_process[timeline.tracks[slice.track].process].add(slice.correlation, i);
  }
  for (CallsByKey& calls : of_process) calls.sort();
  // Calls that may wait for the copy they start, and copies that make an asynchronous call wait.
  const auto has = [](std::string_view part) { return [part](std::string_view name) { return contains(name, part); }; };
  const std::vector<bool> asynchronous = timeline.names.where(has("Async")),
                          pageable = timeline.names.where(has("Pageable"));
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& work = timeline.slices[i];
    if (!occupies_gpu(work.kind) || work.correlation == 0) continue;
    const std::uint32_t place = of_process[timeline.tracks[work.track].process].at(work.correlation);
    if (place == none) continue;
    links.call_of.add(i, place);
    Call& call = links.calls[place];
    if (const std::uint32_t gpu = links.gpu_of_track[work.track]; call.gpu == Call::no_gpu && gpu != none)
      call.gpu = gpu & Call::no_gpu;
    const Slice& started = timeline.slices[call.slice];
    if (work.kind == SliceKind::copy && started.kind == SliceKind::transfer && started.end_ns() >= work.end_ns() &&
        (!asynchronous[started.name] || pageable[work.name]))
      call.waits = 1;
  }
}

/// Calls that wait: by their name, as a copy that was done when it returned, or by the record of a wait within.
void find_host_waits(const Timeline& timeline, Correlations& links) {
  links.host_waits.assign(timeline.slices.size(), false);
  std::unordered_set<std::uint64_t> recorded;
  for (const Slice& slice : timeline.slices)
    if (slice.kind == SliceKind::synchronization && slice.correlation != 0 && slice.duration_ns > 0 &&
        links.thread_of_track[slice.track] == none)
      recorded.insert(joined_key(timeline.tracks[slice.track].process, slice.correlation));
  for (const Call& call : links.calls)
    if (call.waits == 1) links.host_waits[call.slice] = true;
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    if (links.thread_of_track[slice.track] == none) continue;
    const bool is_call = slice.kind == SliceKind::call || slice.kind == SliceKind::transfer;
    if (slice.kind == SliceKind::synchronization ||
        (is_call && !recorded.empty() &&
         recorded.contains(joined_key(timeline.tracks[slice.track].process, slice.correlation))))
      links.host_waits[i] = true;
  }
}

/// Of each call the last wait before it on its thread.
void find_waits(const Timeline& timeline, Correlations& links) {
  std::vector<std::uint32_t> last(links.threads.size(), none);
  auto call = links.calls.begin();
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const std::uint32_t thread = links.thread_of_track[timeline.slices[i].track];
    if (call != links.calls.end() && call->slice == i) {
      call->wait = last[thread];
      ++call;
    }
    if (links.host_waits[i]) last[thread] = i;
  }
}

}  // namespace

Correlations link(const Timeline& timeline) {
  check(timeline);
  Correlations links;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> gpus;
  std::map<std::pair<std::uint32_t, std::int64_t>, std::uint32_t> threads;
  for (const Track& track : timeline.tracks) {
    const bool has_calls = track.kind == TrackKind::thread || track.kind == TrackKind::ranges;
    links.thread_of_track.push_back(has_calls ? place_of(threads, {track.process, track.id}, links.threads) : none);
    links.gpu_of_track.push_back(
        track.kind == TrackKind::stream ? place_of(gpus, {track.process, track.device}, links.gpus) : none);
  }
  links.call_of = CallOf(timeline.slices.size());
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    const std::uint32_t thread = links.thread_of_track[slice.track];
    if ((slice.kind == SliceKind::launch || slice.kind == SliceKind::transfer) && thread != none)
      links.calls.push_back({.slice = i});
  }
  tie_works(timeline, links);
  find_host_waits(timeline, links);
  find_waits(timeline, links);
  return links;
}

Messages::Messages(const Timeline& timeline) : timeline_(timeline) {
  for (const Message& message : timeline.messages)
    messages_.emplace(joined_key(message.process, message.correlation), &message);
}

const Message* Messages::of(const Slice& slice) const {
  if (slice.kind != SliceKind::communication) return nullptr;
  const auto found = messages_.find(joined_key(timeline_.tracks[slice.track].process, slice.correlation));
  return found == messages_.end() ? nullptr : found->second;
}

Linked::Linked(const Timeline& of) : timeline(of), links(link(of)) {}

}  // namespace gpubench::timeline
