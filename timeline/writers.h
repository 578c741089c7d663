// SPDX-License-Identifier: Apache-2.0
// Timelines as files for viewers: ui.perfetto.dev, chrome://tracing.
#pragma once

#include <filesystem>
#include <functional>
#include <string_view>

#include "timeline/timeline.h"

namespace gpubench::timeline {

/// Takes the parts of a file, in order.
using Sink = std::function<void(std::string_view part)>;

/// Chrome's JSON: complete events with microseconds of three decimals since the timeline's base, which stands in
/// "otherData". Slices of one track that overlap without nesting lie on lanes of their own. The timeline is sorted;
/// throws std::invalid_argument otherwise.
void write_chrome_json(const Timeline& timeline, const Sink& sink);

/// Perfetto's protobuf: tracks by process, names once each, flows from launches to what they start, live memory as
/// counters. Throws likewise.
void write_perfetto(const Timeline& timeline, const Sink& sink);

/// As the name ends: ".perfetto-trace", else Chrome's JSON. Whole or not at all. Throws storage::WriteError.
void write(const Timeline& timeline, const std::filesystem::path& file);

}  // namespace gpubench::timeline
