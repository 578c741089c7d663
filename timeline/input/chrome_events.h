// SPDX-License-Identifier: Apache-2.0
// Chrome's JSON in parts: its events one by one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "timeline/input/bytes.h"
#include "timeline/timeline.h"

namespace gpubench::timeline {

/// One event, as far as it is used. Texts last until the next event is read.
struct ChromeEvent {
  std::uint64_t byte = 0;  ///< where it begins
  char phase = 0;
  bool has_shape = false, in_graph = false, counted = false, enclosing = false, flow_in = false, flow_out = false;
  std::string_view name, category, thread_text, process_text;
  std::optional<std::int64_t> time, length, process, thread;
  std::optional<std::int64_t> correlation, device, stream, bytes, address, device_type;
  std::optional<std::int64_t> allocated, reserved;
  std::string_view input_dims, input_types, input_strides, input_values;    // of an operator, as written
  std::string_view inputs;                                                  // all of these, as our writer tells
  std::string_view id, bind_id;                                             // as written
  std::string_view given_name;                                              // args.name of metadata
  std::string_view kernel_details, copy;                                    // of XLA
  std::string_view kernel;                                                  // that a call launches, as ROCm tells
  std::string_view memory_kind, library;                                    // of memory, as our writer tells
  std::array<std::string_view, std::size(message_texts)> collective_texts;  // of communication
  std::string_view group_ranks;                                             // as written
  std::array<std::optional<std::int64_t>, std::size(message_numbers)> collective_numbers;
  LaunchShape shape;
  std::uint32_t static_shared = 0;                           // of its shared memory
  std::vector<std::pair<std::string_view, double>> numbers;  // of its arguments, where it may be a counter
};
/// What stands beside the events.
struct ChromeFields {
  std::int64_t base_ns = 0, dropped = 0;
  bool own = false;  ///< our own writer's
  std::optional<std::int64_t> rank;
  std::map<std::int64_t, std::string> gpus;  ///< their names by number
};

struct ChromeReceiver {
  std::function<void()> take;              ///< an event was read
  std::function<void(std::uint64_t)> odd;  ///< told where an element begins that is no event
  std::function<void()> next;              ///< before each window
  std::function<void(std::string)> warn;
};

/// Reads one event after the other into `event`; `fields` has then what stood before them, and in the end all. Returns
/// why the text broke off, a sentence; empty where it did not. Throws storage::ReadError where nothing can be read.
std::string read_chrome_events(Bytes& bytes, std::string_view origin, std::size_t window_bytes, ChromeFields& fields,
                               ChromeEvent& event, const ChromeReceiver& receiver);

}  // namespace gpubench::timeline
