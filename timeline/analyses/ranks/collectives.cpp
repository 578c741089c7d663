// SPDX-License-Identifier: Apache-2.0
#include "timeline/analyses/ranks/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/collective.h"
#include "timeline/analysis.h"
#include "timeline/names.h"
#include "timeline/statistics/distribution.h"

namespace gpubench::timeline {
namespace {

std::int64_t bytes_of_element(std::string_view type) {
  constexpr std::pair<std::string_view, std::int64_t> sizes[] = {{"double", 8},
                                                                 {"long", 8},
                                                                 {"float", 4},
                                                                 {"int", 4},
                                                                 {"half", 2},
                                                                 {"bfloat16", 2},
                                                                 {"short", 2},
                                                                 {"byte", 1},
                                                                 {"char", 1},
                                                                 {"bool", 1},
                                                                 {"float8_e4m3fn", 1},
                                                                 {"float8_e5m2", 1},
                                                                 {"float8_e4m3fnuz", 1},
                                                                 {"float8_e5m2fnuz", 1}};
  const std::string name = lower(std::string(type));
  const auto found = std::ranges::find(sizes, name, &std::pair<std::string_view, std::int64_t>::first);
  return found == std::end(sizes) ? 0 : found->second;
}

/// Without what tells variants apart: "_allgather_base" and "all_gather" are "allgather".
std::string plain_collective(std::string_view collective) {
  std::string name;
  for (const char c : lower(std::string(collective)))
    if (c != '_') name += c;
  for (const std::string_view known : {"allreduce", "reducescatter", "allgather", "alltoallv", "alltoall"})
    if (name.starts_with(known)) return std::string(known);
  return name;
}

/// Gathering makes the message, all else takes it.
std::optional<std::int64_t> bytes_of(const Timeline& timeline, const Message& message) {
  const std::int64_t each = bytes_of_element(timeline.names.text(message.type));
  const bool gathers = plain_collective(timeline.names.text(message.collective)) == "allgather";
  const std::int64_t elements = gathers ? message.elements_out : message.elements_in;
  if (message.collective == 0 || each == 0 || elements < 0 || elements > std::numeric_limits<std::int64_t>::max() / 8)
    return std::nullopt;
  return each * elements;
}

}  // namespace

std::optional<double> bus_factor(std::string_view collective, std::int64_t ranks) {
  const std::string name = plain_collective(collective);
  if (ranks < 1) return std::nullopt;
  for (const Collective one :
       {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all}) {
    std::string plain(name_of(one));
    std::erase(plain, '-');
    if (plain == name) return gpubench::bus_factor(one, static_cast<double>(ranks));
  }
  return std::nullopt;
}

GroupCollectives group_collectives(const Linked& linked) {
  const Timeline& timeline = linked.timeline;
  const Messages messages(timeline);
  // By group, or by name where the trace tells none, then by process.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint32_t, std::vector<std::uint32_t>>> groups;
  const auto message_of = [&](std::uint32_t i) {
    const Message* const found = messages.of(timeline.slices[i]);
    return found == nullptr ? Message() : *found;
  };
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    if (slice.kind != SliceKind::communication || !linked.works(slice)) continue;
    const Message message = message_of(i);
    const bool known = message.collective != 0;
    groups[{known ? message.group : 0, known ? 0 : slice.name}][timeline.tracks[slice.track].process].push_back(i);
  }
  GroupCollectives result;
  for (const auto& [group, of_process] : groups) {
    std::size_t most = 0;
    for (const auto& [process, slices] : of_process) most = std::max(most, slices.size());
    for (std::size_t k = 0; k < most; ++k) {
      GroupCollective one;
      std::int64_t first = std::numeric_limits<std::int64_t>::max(), first_end = first, last = never, last_end = never;
      bool same = true;
      for (const auto& [process, slices] : of_process) {
        if (k >= slices.size()) {
          same = false;
          continue;
        }
        const Slice& slice = timeline.slices[slices[k]];
        const Message message = message_of(slices[k]);
        if (one.slices.empty()) {
          one.message = message;
          one.latency_ns = slice.duration_ns;
        }
        same = same && std::tie(message.collective, message.type, message.elements_in, message.elements_out) ==
                           std::tie(one.message.collective, one.message.type, one.message.elements_in,
                                    one.message.elements_out);
        one.slices.push_back(slices[k]);
        one.latency_ns = std::min(one.latency_ns, slice.duration_ns);
        first = std::min(first, slice.start_ns);
        last = std::max(last, slice.start_ns);
        first_end = std::min(first_end, slice.end_ns());
        last_end = std::max(last_end, slice.end_ns());
      }
      // Partners run at the same time for a while; what does not is of another part of the program.
      if (!same || last > first_end) {
        result.unmatched += static_cast<std::int64_t>(one.slices.size());
        continue;
      }
      one.start_skew_ns = last - first;
      one.end_skew_ns = last_end - first_end;
      one.bytes = bytes_of(timeline, one.message);
      result.all.push_back(std::move(one));
    }
  }
  return result;
}

namespace {

constexpr std::size_t max_each = 100'000;  // in files

std::vector<ResultTable> collective_tables(const Linked& linked, std::string_view /*by*/) {
  const Timeline& timeline = linked.timeline;
  const GroupCollectives found = group_collectives(linked);
  struct Sum {
    const GroupCollective* first = nullptr;
    std::vector<double> latency, start_skew, end_skew, rate;
  };
  ResultTable each{"each_collective",
                   columns_of("collective; group; bytes; start_seconds; latency_seconds; start_skew_seconds; "
                              "end_skew_seconds; algorithm_rate:rate; bus_rate:rate; last_rank")};
  each.shown = 0;
  const auto name_of = [&](const GroupCollective& one) {
    return timeline.names.text(one.message.collective == 0 ? timeline.slices[one.slices.front()].name
                                                           : one.message.collective);
  };
  const auto bus = [&](const GroupCollective& one, const Value& rate) {
    const auto factor = bus_factor(name_of(one), one.message.ranks);
    return factor && std::holds_alternative<double>(rate) ? Value(*factor * std::get<double>(rate))
                                                          : Absent{"no such figure of this collective"};
  };
  const Absent no_size{"the trace does not tell its size"}, one_rank{"the traces are of one rank: give those of all"};
  const auto labels = process_labels(timeline);
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t, std::int64_t>, Sum> sums;
  bool several = false;
  for (const GroupCollective& one : found.all) {
    Sum& sum = sums[{name_of(one), one.message.type, one.message.group, one.bytes.value_or(-1)}];
    if (sum.first == nullptr) sum.first = &one;
    const double latency = seconds_of(one.latency_ns);
    const Value rate = one.bytes && latency > 0.0 ? Value(static_cast<double>(*one.bytes) / latency) : no_size;
    sum.latency.push_back(latency);
    sum.start_skew.push_back(seconds_of(one.start_skew_ns));
    sum.end_skew.push_back(seconds_of(one.end_skew_ns));
    if (const double* const value = std::get_if<double>(&rate)) sum.rate.push_back(*value);
    const bool has_ranks = one.slices.size() > 1;
    several |= has_ranks;
    if (each.rows.size() == max_each) continue;
    const std::uint32_t last =
        *std::ranges::max_element(one.slices, {}, [&](std::uint32_t slice) { return timeline.slices[slice].start_ns; });
    each.add({name_of(one), timeline.names.text(one.message.group), one.bytes ? Value(*one.bytes) : no_size,
              seconds_of(timeline.slices[one.slices.front()].start_ns), latency,
              has_ranks ? Value(seconds_of(one.start_skew_ns)) : one_rank,
              has_ranks ? Value(seconds_of(one.end_skew_ns)) : one_rank, rate, bus(one, rate),
              has_ranks ? Value(labels[timeline.tracks[timeline.slices[last].track].process]) : one_rank});
  }
  ResultTable table{
      "collectives",
      columns_of(
          "collective=collective; type=type~3|(not told); group=group~2|(not told); ranks:count=ranks; "
          "bytes=message; count=count; latency_seconds=time; start_skew_seconds=start skew; "
          "end_skew_seconds=end skew~1; algorithm_rate:rate=algorithm~4; bus_rate:rate=bus; total_seconds=total~5")};
  table.none = "The trace has no communication between GPUs.";
  std::vector<const Sum*> order;
  for (const auto& [key, sum] : sums) order.push_back(&sum);
  const auto total = [](const Sum* one) { return distribution_of(one->latency).sum; };
  std::ranges::stable_sort(order, std::ranges::greater(), total);
  for (const Sum* const sum : order) {
    const GroupCollective& one = *sum->first;
    const bool has_ranks = one.slices.size() > 1;
    const Value rate = sum->rate.empty() ? Value(no_size) : distribution_of(sum->rate).mean;
    table.add({name_of(one), timeline.names.text(one.message.type), timeline.names.text(one.message.group),
               one.message.ranks > 0 ? one.message.ranks : static_cast<std::int64_t>(one.slices.size()),
               one.bytes ? Value(*one.bytes) : no_size, static_cast<std::int64_t>(sum->latency.size()),
               distribution_of(sum->latency).mean, has_ranks ? Value(distribution_of(sum->start_skew).mean) : one_rank,
               has_ranks ? Value(distribution_of(sum->end_skew).mean) : one_rank, rate, bus(one, rate), total(sum)});
  }
  if (!table.rows.empty())
    table.notes.emplace_back(
        several ? "Means. The time is that of the last rank to enter; the skew is from the first rank to the last."
                : "Means, of one rank: waits for others are in the time. Give the traces of all ranks.");
  if (found.unmatched > 0)
    table.notes.push_back(
        fmt::format("{} found no partner in every rank and are left out.", plural(found.unmatched, "collective")));
  return {std::move(table), std::move(each)};
}

}  // namespace

extern const Analysis collectives_analysis{
    .name = "collectives",
    .what = "Say how fast collectives moved their messages, and how late ranks came",
    .tables = collective_tables,
    .needs_gpu = true};

}  // namespace gpubench::timeline
