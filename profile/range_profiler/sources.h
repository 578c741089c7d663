// SPDX-License-Identifier: Apache-2.0
// What the profile of a program takes from CUDA, so that its logic runs in tests without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/profiling/metric_source.h"
#include "gpubench/profile.h"
#include "profile/recording_writer.h"

namespace gpubench::profile {

/// CUDA's events, of the current device, or instants of the host.
class EventSource {
 public:
  using Event = void*;
  enum class Outcome : std::uint8_t { done, pending, failed };
  struct Elapsed {
    Outcome outcome = Outcome::pending;
    double milliseconds = 0.0;
    std::string reason = {};  ///< of a failure
  };

  virtual ~EventSource() = default;
  virtual int device() = 0;
  /// Adds events of the current device. Empty, or why there are none.
  virtual std::string create(std::size_t count, std::vector<Event>& events) = 0;
  virtual void destroy(Event event) = 0;
  /// Empty, or why it could not be recorded.
  virtual std::string record(Event event, Stream stream) = 0;
  virtual Elapsed elapsed(Event start, Event stop, bool wait) = 0;
  /// What the times are, where they are not those of a GPU: a sentence, or empty.
  [[nodiscard]] virtual std::string note() const { return ""; }
};

/// Of CUDA; in a build without it those of the host.
std::unique_ptr<EventSource> open_events();
/// Instants of the host's clock, for a machine without a GPU: there the program's work is the host's.
std::unique_ptr<EventSource> open_host_events();

/// Counters of the current device. Throws bench::MetricsUnavailable.
std::unique_ptr<bench::MetricSource> open_counters();

void push_nvtx(const std::string& name) noexcept;
void pop_nvtx() noexcept;

/// Writes what happens on GPUs into a recording. From one thread at a time, but for `now`.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// Waits for the current device, so that all that it has done is in the recording.
  virtual void flush() = 0;
  /// Ends recording, with a flush.
  virtual void stop() = 0;
  /// The recording was begun anew, and its lock is held.
  virtual void forget_names() = 0;
  /// By the clock of its records: nanoseconds since 1970.
  [[nodiscard]] virtual std::uint64_t now() const noexcept = 0;
};

/// Starts recording. Throws bench::MetricsUnavailable.
std::unique_ptr<RecordSource> open_records(RecordingWriter& recording, bool memory);
/// The same without asking for a GPU first.
std::unique_ptr<RecordSource> open_cupti_records(RecordingWriter& recording, bool memory);

struct Sources {
  std::function<std::unique_ptr<RecordSource>(RecordingWriter& recording, bool memory)> records = open_records;
  std::function<std::unique_ptr<bench::MetricSource>()> counters = open_counters;
};
/// For tests: what the next `enable` opens.
void use_sources(Sources sources);

}  // namespace gpubench::profile
