// SPDX-License-Identifier: Apache-2.0
#include "kernel_trace/trace.h"

#include <fmt/format.h>

#include <limits>
#include <stdexcept>

#include "core/storage/storage.h"
#include "kernel_trace/decode.h"
#include "kernel_trace/statistics.h"
#include "kernel_trace/timeline.h"
#include "timeline/writers.h"

namespace gpubench::kernel_trace {
namespace {

void refuse_options(const Options& options) {
  const auto refuse = [](const std::string& why) { throw std::invalid_argument("a buffer of events " + why); };
  if (options.blocks == 0 || options.warps == 0 || options.events == 0 || options.launches == 0)
    refuse("has at least one block, one warp, one event and one launch.");
  if (options.warps > 0xFFFF) refuse(fmt::format("has at most 65535 warps of a block, not {}.", options.warps));
  if (options.events >= 1U << 28) refuse(fmt::format("has below 2^28 events of a warp, not {}.", options.events));
  if (options.every_block == 0 || options.every_warp == 0) refuse("records every first block and warp, or every n-th.");
  if (options.launches >= (1ULL << 32) / (std::uint64_t{options.blocks} * options.warps))
    refuse(fmt::format("has below 2^32 warps of all launches, not {} launches of {} blocks with {} warps.",
                       options.launches, options.blocks, options.warps));
  if (std::uint64_t{options.blocks} * options.warps >= 1ULL << 29)
    refuse(fmt::format("has below 2^29 warps, not {} blocks of {}.", options.blocks, options.warps));
}

std::uint32_t slice_offset(const Options& options) {
  return static_cast<std::uint32_t>(sizeof(BufferHeader) + claim_bytes(options.blocks, options.warps));
}

}  // namespace

std::uint64_t bytes(const Options& options) {
  refuse_options(options);
  const std::uint64_t slices = std::uint64_t{options.blocks} * options.warps * options.launches;
  const std::uint64_t each = slice_bytes(options.events);
  if (slices > (std::numeric_limits<std::int64_t>::max() / 2) / each)
    throw std::invalid_argument("a buffer of events of that size needs more bytes than there are.");
  return slice_offset(options) + slices * each;
}

BufferHeader header_of(const Options& options) {
  const std::uint64_t bytes = kernel_trace::bytes(options);
  return {.magic = buffer_magic,
          .version = buffer_version,
          .blocks = options.blocks,
          .warps = options.warps,
          .slots = options.events,
          .launches = options.launches,
          .enabled = options.enabled ? 1U : 0U,
          .slice_offset = slice_offset(options),
          .refused = 0,
          .bytes = bytes,
          .reserved = {}};
}

std::vector<std::byte> header_bytes(const Options& options) {
  const BufferHeader header = header_of(options);
  const auto* const bytes = reinterpret_cast<const std::byte*>(&header);
  return {bytes, bytes + sizeof header};
}

Trace decode_bytes(std::span<const std::byte> buffer, const std::vector<std::string>& names,
                   const std::vector<std::string>& kernels) {
  return Trace(
      std::make_shared<Recording>(decode(buffer, {.names = names, .kernels = kernels, .rate = {}, .host = {}})));
}

Trace Trace::corrected(double event_ns, double scope_ns) const {
  if (!(event_ns >= 0.0 && scope_ns >= 0.0))
    throw std::invalid_argument("the time to take off for an event or a scope must be 0 or more.");
  auto copy = std::make_shared<Recording>(*recording_);
  copy->event_ns = event_ns;
  copy->scope_ns = scope_ns;
  return Trace(std::move(copy));
}

Statistics Trace::statistics() const { return statistics_of(*recording_); }
std::string Trace::table() const { return statistics_table(statistics()); }
std::string Trace::csv() const { return statistics_csv(statistics()); }
std::string Trace::json() const { return statistics_json(statistics()); }

void Trace::write(const std::filesystem::path& file) const {
  const std::string name = file.filename().string();
  if (name.ends_with(".stats.json"))
    storage::write_file(file, json());
  else if (name.ends_with(".csv"))
    storage::write_file(file, csv());
  else if (name.ends_with(".txt"))
    storage::write_file(file, table());
  else if (name.ends_with(".json") || name.ends_with(".perfetto-trace"))
    timeline::write(timeline_of(*recording_), file);
  else
    throw std::invalid_argument(
        name + " names no format of a trace: end it in .perfetto-trace, .json, .stats.json, .csv or .txt.");
}

}  // namespace gpubench::kernel_trace
