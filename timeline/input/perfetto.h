// SPDX-License-Identifier: Apache-2.0
// Numbers of fields of Perfetto's public schema (protos/perfetto/trace/perfetto_trace.proto), as far as they are read
// and written, and what our annotations are called.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "timeline/timeline.h"

namespace gpubench::timeline::perfetto {

namespace packet {
inline constexpr std::uint32_t clock_snapshot = 6, timestamp = 8, sequence = 10, track_event = 11, interned = 12,
                               flags = 13, cleared = 41, lost = 42, compressed = 50, clock = 58, defaults = 59,
                               track_descriptor = 60;
inline constexpr std::uint64_t state_cleared = 1, needs_state = 2;  // flags
}  // namespace packet
namespace snapshot {
inline constexpr std::uint32_t clocks = 1, primary = 2, id = 1, time = 2, incremental = 3, unit = 4, real_time = 1,
                               boot_time = 6;
}  // namespace snapshot
namespace descriptor {
inline constexpr std::uint32_t uuid = 1, name = 2, process = 3, thread = 4, parent = 5, counter = 8, static_name = 10,
                               atrace_name = 13, description = 14;
inline constexpr std::uint32_t pid = 1, process_name = 6, tid = 2, thread_name = 5;  // of a process, of a thread
inline constexpr std::uint32_t unit = 3, unit_size = 4, incremental = 5, unit_name = 6;
inline constexpr std::uint64_t unit_ns = 1, unit_bytes = 3;
}  // namespace descriptor
namespace event {
inline constexpr std::uint32_t category = 3, annotation = 4, type = 9, name = 10, track = 11, own_category = 22,
                               own_name = 23, counter = 30, old_flow = 36, old_ending_flow = 42, double_counter = 44,
                               flow = 47, ending_flow = 48;
inline constexpr std::uint64_t begin = 1, end = 2, instant = 3, value = 4;  // types
}  // namespace event
namespace annotation {
inline constexpr std::uint32_t name = 1, boolean = 2, whole = 3, negative = 4, words = 6, own_name = 10;
inline constexpr std::pair<std::string_view, std::array<std::uint32_t, 3> LaunchShape::*> extents[] = {
    {"grid", &LaunchShape::grid}, {"block", &LaunchShape::block}};
inline constexpr std::pair<std::string_view, std::uint32_t LaunchShape::*> numbers[] = {
    {"registers of a thread", &LaunchShape::registers},
    {"static shared bytes", &LaunchShape::static_shared_bytes},
    {"dynamic shared bytes", &LaunchShape::dynamic_shared_bytes},
    {"local bytes of a thread", &LaunchShape::local_bytes}};
inline constexpr std::string_view memory = "[memory]", address = "address", bytes = "bytes", device = "device",
                                  memory_kind = "memory kind", library = "library";
}  // namespace annotation
/// Texts that have numbers.
namespace interned {
inline constexpr std::uint32_t categories = 1, names = 2, annotations = 3, number = 1, text = 2;
}

}  // namespace gpubench::timeline::perfetto
