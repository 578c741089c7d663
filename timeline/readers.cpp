// SPDX-License-Identifier: Apache-2.0
#include "timeline/readers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "timeline/input/bytes.h"
#include "timeline/input/common.h"
#include "timeline/operators/captures.h"
#include "timeline/structure/correlations.h"

namespace gpubench::timeline {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t of_our_time_ns = 1'000'000'000'000'000'000;  // 2001: a base before counts from something else
constexpr std::int64_t same_clock_ns = 100'000;  // collectives of one host end within 10 us of each other
constexpr std::size_t min_collectives = 3;
constexpr int max_depth = 8;  // of folders within a folder

/// What no reader takes, and what to do about it.
std::string_view why_refused(std::string_view start, bool is_whole) {
  if (is_whole && start.find_first_not_of(" \n\r\t") == std::string_view::npos)
    return "is empty; record or copy the trace again";
  if (start.starts_with("\x1F\x8B") || start.starts_with("\x28\xB5\x2F\xFD"))
    return "is packed twice; unpack it once with gunzip or zstd -d, then give the result";
  if (start.starts_with("PK\x03\x04")) return "is a zip archive; unpack it and give the trace inside";
  if (is_whole && contains(start, "\"batch_size\"") && !contains(start, "\"ph\""))
    return "says which captures of graphs belong to a trace, and is none; give the trace beside it";
  return {};
}

/// Absent where no reader knows the file.
std::optional<Timeline> read_file(const fs::path& file, const OtherReader& other) {
  std::array<char, 4096> begin = {};
  const std::string_view start(begin.data(), open_bytes(file)->read(begin.data(), begin.size()));
  if (const auto why = why_refused(start, start.size() < begin.size()); !why.empty())
    throw storage::ReadError(fmt::format("{}: {}", file.string(), why));
  for (const Reader* const reader : readers())
    if (reader->knows(start)) return reader->read(file);
  return other ? other(file) : std::nullopt;
}

struct Part {
  fs::path file;
  bool of_folder = false;
  Timeline timeline;
  std::string refused;  // why it is no part
};

std::vector<Part> parts_of(const std::vector<fs::path>& files_and_folders) {
  std::vector<Part> parts;
  for (const fs::path& input : files_and_folders) {
    std::error_code error;
    if (!fs::is_directory(input, error)) {
      parts.push_back({.file = input, .timeline = {}, .refused = {}});
      continue;
    }
    std::vector<fs::path> found;
    for (fs::recursive_directory_iterator place(input, fs::directory_options::skip_permission_denied, error), end;
         !error && place != end; place.increment(error)) {
      const std::string name = place->path().filename().string();
      std::error_code odd;
      // Captures of graphs lie beside what was recorded; they are of another time.
      if (place->is_directory(odd) && (name.starts_with('.') || name == captures_folder || place.depth() >= max_depth))
        place.disable_recursion_pending();
      else if (place->is_regular_file(odd) && !name.starts_with('.') && name != captures_list)
        found.push_back(place->path());
    }
    if (error)
      throw storage::ReadError(
          fmt::format("{}: the folder cannot be read: {}; check its permissions", input.string(), error.message()));
    std::ranges::sort(found);
    for (fs::path& file : found) parts.push_back({std::move(file), true, {}, {}});
  }
  std::set<fs::path> seen;
  std::error_code error;
  for (const Part& part : parts)
    if (const fs::path file = fs::canonical(part.file, error); !error && !seen.insert(file).second)
      throw storage::ReadError(fmt::format("{} is given twice; give one file of each rank", part.file.string()));
  return parts;
}

/// "rank3", "Rank_3", "rank-3" in a file's name.
std::optional<std::int64_t> rank_in(const fs::path& file) {
  const std::string name = lower(file.filename().string());
  for (auto place = name.find("rank"); place != std::string::npos; place = name.find("rank", place + 1)) {
    const auto begin = name.find_first_not_of("_-=.", place + 4);
    if (begin == std::string::npos) break;
    const auto end = std::min(name.find_first_not_of("0123456789", begin), name.size());
    if (const auto rank = number_in<std::int64_t>(std::string_view(name).substr(begin, end - begin))) return rank;
  }
  return std::nullopt;
}

/// A file whose trace does not say its rank may say it in its name.
void name_ranks(std::vector<Part>& parts) {
  std::map<std::int64_t, const Part*> known;
  for (Part& part : parts) {
    auto& processes = part.timeline.processes;
    if (std::ranges::none_of(processes, [](const Process& one) { return one.rank.has_value(); }) &&
        !processes.empty()) {
      std::vector<std::size_t> launches(processes.size());
      for (const Slice& slice : part.timeline.slices)
        if (slice.kind == SliceKind::launch) ++launches[part.timeline.tracks[slice.track].process];
      processes[static_cast<std::size_t>(std::ranges::max_element(launches) - launches.begin())].rank =
          rank_in(part.file);
    }
    for (const Process& process : processes) {
      if (!process.rank) continue;
      const auto [place, added] = known.emplace(*process.rank, &part);
      if (!added && place->second != &part)
        throw storage::ReadError(fmt::format("two traces are of rank {}: {} and {}; give one of them", *process.rank,
                                             place->second->file.string(), part.file.string()));
    }
  }
}

/// Ends of the collectives, by name and in order. Sending and receiving are no meeting of all.
std::map<std::string, std::vector<std::int64_t>> collectives_of(const Timeline& timeline) {
  std::map<std::string, std::vector<std::int64_t>> ends;
  for (const Slice& slice : timeline.slices)
    if (slice.kind == SliceKind::communication)
      if (const std::string& name = timeline.names.text(slice.name); !contains(name, "SendRecv"))
        ends[name].push_back(slice.end_ns());
  return ends;
}

struct Offset {
  std::int64_t ns = 0;  // of the clock, by its median
  std::size_t collectives = 0;
  bool sure = false;  // they agree about it
};

/// How far the second clock is ahead of the first by the ends of the collectives that both took part in, each counted
/// from its own base.
Offset offset_of(const Timeline& first, const Timeline& second) {
  const auto ends = collectives_of(first), others = collectives_of(second);
  std::vector<std::int64_t> differences;
  for (const auto& [name, of_first] : ends)
    if (const auto of_second = others.find(name);
        of_second != others.end() && of_second->second.size() == of_first.size())
      for (std::size_t i = 0; i < of_first.size(); ++i) differences.push_back(of_second->second[i] - of_first[i]);
  if (differences.size() < min_collectives) return {};
  std::ranges::sort(differences);
  const std::int64_t median = differences[differences.size() / 2];
  const std::int64_t spread = differences[differences.size() * 9 / 10] - differences[differences.size() / 10];
  return {median, differences.size(), spread < same_clock_ns * 10};
}

std::int64_t end_of(const Timeline& timeline) {
  std::int64_t end = 0;
  for (const Slice& slice : timeline.slices) end = std::max(end, slice.end_ns());
  return end;
}

/// What is to be added to the second's times so that they count from the first's base. Says where clocks differ.
std::int64_t shift_of(const Part& first, const Part& second, std::vector<std::string>& warnings) {
  const bool dated = first.timeline.base_ns > of_our_time_ns, other_dated = second.timeline.base_ns > of_our_time_ns;
  const std::int64_t by_base = second.timeline.base_ns - first.timeline.base_ns;
  const Offset offset = offset_of(first.timeline, second.timeline);
  const std::string name = second.file.filename().string(), other = first.file.filename().string();
  if (dated != other_dated) {
    warnings.push_back(
        offset.sure
            ? fmt::format("{} and {} have different clocks; the ends of {} collectives were put at one time.", other,
                          name, offset.collectives)
            : fmt::format("{} and {} have different clocks; their beginnings were put at one time.", other, name));
    return offset.sure ? -offset.ns : 0;
  }
  const std::int64_t ahead = by_base + offset.ns;
  if (offset.sure && std::abs(ahead) > same_clock_ns) {
    warnings.push_back(
        fmt::format("The clock of {} is {} {} that of {}, as the ends of {} collectives show; its times were moved.",
                    name, format_seconds(static_cast<double>(std::abs(ahead)) / 1e9), ahead > 0 ? "ahead of" : "behind",
                    other, offset.collectives));
    return -offset.ns;
  }
  const std::int64_t gap = std::max(by_base - end_of(first.timeline), -by_base - end_of(second.timeline));
  constexpr std::int64_t apart_ns = 1'000'000'000;
  if (gap > apart_ns)
    warnings.push_back(fmt::format("{} and {} were not recorded at the same time: {} lie between them.", other, name,
                                   format_seconds(static_cast<double>(gap) / 1e9)));
  return by_base;
}

/// Adds all of `other`, with this added to its times.
void add(Timeline& all, Timeline other, std::int64_t shift) {
  const auto first_process = static_cast<std::uint32_t>(all.processes.size());
  const auto first_track = static_cast<std::uint32_t>(all.tracks.size());
  const auto first_slice = static_cast<std::uint32_t>(all.slices.size());
  const auto first_shape = static_cast<std::int64_t>(all.shapes.size());
  std::vector<std::uint32_t> names;
  for (std::uint32_t i = 0; i < other.names.size(); ++i) names.push_back(all.names.number(other.names.text(i)));
  std::ranges::move(other.processes, std::back_inserter(all.processes));
  std::ranges::move(other.shapes, std::back_inserter(all.shapes));
  for (Track& track : other.tracks) {
    track.process += first_process;
    all.tracks.push_back(std::move(track));
  }
  for (Slice slice : other.slices) {
    slice.start_ns += shift;
    slice.name = names[slice.name];
    slice.track += first_track;
    if (slice.detail >= 0 && is_kernel(slice.kind))
      slice.detail += first_shape;
    else if ((slice.kind == SliceKind::other || slice.kind == SliceKind::launch) && slice.detail >= 0 &&
             slice.detail < static_cast<std::int64_t>(names.size()))
      slice.detail = names[static_cast<std::size_t>(slice.detail)];
    all.slices.push_back(slice);
  }
  for (GpuModel& gpu : other.gpus) all.gpus.push_back({gpu.process + first_process, gpu.device, std::move(gpu.name)});
  for (Message message : other.messages) {
    message.process += first_process;
    for (const auto name : {&Message::collective, &Message::type, &Message::group})
      message.*name = names[message.*name];
    all.messages.push_back(message);
  }
  for (const Flow& flow : other.flows)
    all.flows.push_back({flow.from + first_slice, flow.to + first_slice, names[flow.name]});
  for (const Instant& mark : other.marks)
    all.marks.push_back({mark.time_ns + shift, names[mark.name], mark.track + first_track});
  for (CounterTrack& counter : other.counters) {
    counter.process += first_process;
    for (CounterSample& sample : counter.samples) sample.time_ns += shift;
    all.counters.push_back(std::move(counter));
  }
  for (MemoryEvent event : other.memory) {
    event.time_ns += shift;
    event.process += first_process;
    event.source = names[event.source];
    all.memory.push_back(event);
  }
  all.dropped += other.dropped;
  std::ranges::move(other.warnings, std::back_inserter(all.warnings));
}

/// Clocks of host and GPU that differ show where work begins before its call.
void say_early_work(Timeline& timeline) {
  const Linked linked(timeline);
  long long early = 0;
  std::int64_t most = 0;
  for (std::size_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice* const call = linked.call_of(i);
    const std::int64_t by = call == nullptr ? 0 : call->start_ns - timeline.slices[i].start_ns;
    if (by <= 0) continue;
    ++early;
    most = std::max(most, by);
  }
  if (early > 0)
    timeline.warnings.push_back(fmt::format(
        "{} before the call that launched it, by up to {}: the clocks of host and GPU differ, and launch delays and "
        "causes of idle time are not exact.",
        early == 1 ? "1 piece of work on a GPU begins"
                   : fmt::format("{} pieces of work on GPUs begin", format_count(static_cast<double>(early))),
        format_seconds(static_cast<double>(most) / 1e9)));
}

}  // namespace

Timeline read_timeline(const std::vector<fs::path>& files_and_folders, const OtherReader& other) {
  std::vector<Part> parts = parts_of(files_and_folders);
  for_each_in_parallel(parts.size(), 1, [&](std::size_t i) {
    Part& part = parts[i];
    try {
      if (auto timeline = read_file(part.file, other)) {
        part.timeline = *std::move(timeline);
        add_captured_operators(part.timeline, part.file,
                               [&](const fs::path& file) { return read_file(file, other).value_or(Timeline()); });
      } else {
        part.refused = fmt::format("{}: is no trace of a kind that gpubench knows; give {}", part.file.string(),
                                   joined(readers(), ", or ", [](const Reader* one) { return one->name; }));
        if (!part.of_folder) throw storage::ReadError(part.refused);
      }
    } catch (const storage::ReadError& error) {
      if (!part.of_folder) throw;
      part.refused = error.what();
      part.timeline.warnings.push_back(fmt::format("Left out: {}.", error.what()));
    }
  });
  std::vector<std::string> warnings;
  for (const Part& part : parts)
    if (!part.refused.empty()) std::ranges::copy(part.timeline.warnings, std::back_inserter(warnings));
  std::erase_if(parts, [](const Part& part) { return !part.refused.empty(); });
  if (parts.empty())
    throw storage::ReadError(
        fmt::format("{}: this folder has no trace{}; give one with files such as trace.json or rank0.json.gz",
                    joined(files_and_folders, ", ", [](const fs::path& one) { return one.string(); }),
                    warnings.empty() ? "" : " (" + warnings.front().substr(0, warnings.front().size() - 1) + ")"));
  if (parts.size() > 1) name_ranks(parts);
  std::size_t slices = 0;
  for (const Part& part : parts) slices += part.timeline.slices.size();
  if (slices >= max_slices) throw storage::ReadError("these traces hold over four thousand million slices; give fewer");
  std::vector<std::int64_t> shifts;
  for (std::size_t i = 1; i < parts.size(); ++i) shifts.push_back(shift_of(parts[0], parts[i], warnings));
  Timeline all = std::move(parts.front().timeline);
  all.slices.reserve(slices);
  for (std::size_t i = 1; i < parts.size(); ++i) add(all, std::exchange(parts[i].timeline, {}), shifts[i - 1]);
  std::ranges::move(warnings, std::back_inserter(all.warnings));
  demangle_kernels(all);
  if (parts.size() == 1) {
    say_early_work(all);
    return all;
  }
  if (const std::int64_t first = first_time(all); first < 0) move_times(all, -first);
  sort(all);
  say_early_work(all);
  return all;
}

Timeline read_timeline(const fs::path& file_or_folder, const OtherReader& other) {
  return read_timeline(std::vector{file_or_folder}, other);
}

}  // namespace gpubench::timeline
