// SPDX-License-Identifier: Apache-2.0
// Kernels and memory of a session, as they are recorded. Tests put fakes in its place.
#pragma once

#include <cstdint>
#include <memory>

#include "profile/recording_writer.h"

namespace gpubench::profile {

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

}  // namespace gpubench::profile
