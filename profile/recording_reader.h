// SPDX-License-Identifier: Apache-2.0
// Reads what a profiled program left. Knows no CUDA.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "timeline/timeline.h"

namespace gpubench::profile {

/// Around one launch, by metric.
struct CountedLaunch {
  std::uint32_t process = 0;  ///< in Timeline::processes
  std::uint32_t correlation = 0;
  std::vector<std::pair<std::uint32_t, double>> values;  ///< number of the metric's name in Timeline::names
};

/// A GPU as one process saw it, by the properties it wrote.
struct RecordedDevice {
  std::uint32_t process = 0;
  int index = 0;
  std::map<std::string, std::string, std::less<>> properties;  ///< "name", "uuid", "multiprocessors", ...

  /// Of this property; empty where it is not told.
  [[nodiscard]] std::string text(std::string_view property) const;
  /// The same as a number.
  [[nodiscard]] std::optional<std::int64_t> number(std::string_view property) const;
};

/// All that the processes of one program left.
struct Recordings {
  timeline::Timeline timeline;
  std::vector<RecordedDevice> devices;
  std::vector<CountedLaunch> counted;
  std::map<std::string, std::set<std::uint32_t>> noted_by;  ///< why there are no counters, or fewer: in these processes
  std::vector<std::string> counter_notes;                   ///< these, with what the processes are
  struct Cost {
    std::string what;
    std::int64_t count = 0;
    double seconds = 0.0;
  };
  std::vector<Cost> costs;
  std::int64_t kernels = 0;
};

/// A recording that cannot be read; what() is one sentence.
struct RecordingError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Reads recordings, and all in folders. Files are hostile: what is cut off is said in a warning and the rest kept;
/// what is no recording throws RecordingError. None at all gives an empty timeline.
Recordings read_recordings(const std::vector<std::filesystem::path>& places);
inline Recordings read_recordings(const std::filesystem::path& folder) { return read_recordings(std::vector{folder}); }
/// Adds one file. `goes_on`: its process still writes it, so that it has no end.
void read_recording(const std::filesystem::path& file, Recordings& recordings, bool goes_on = false);

/// Whether a file begins as a recording does.
bool is_recording(const std::filesystem::path& file);

/// The timeline of one recording; absent where the file is none. A timeline::OtherReader: throws storage::ReadError.
std::optional<timeline::Timeline> timeline_of_recording(const std::filesystem::path& file);

}  // namespace gpubench::profile
