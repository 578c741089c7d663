// SPDX-License-Identifier: Apache-2.0
// Writes a recording in the process that is recorded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "profile/recording_format.h"

namespace gpubench::profile {

/// Appends to one recording. Threads may share it. Never throws: a full disk or the limit end the recording, once, and
/// what was written stays.
class RecordingWriter {
 public:
  /// Creates the file, readable by this user alone. Not `open` on failure.
  RecordingWriter(const std::filesystem::path& file, const RecordingHeader& header, std::uint64_t max_bytes);
  ~RecordingWriter();
  RecordingWriter& operator=(RecordingWriter&&) = delete;  ///< not copied, not moved

  /// False once nothing more is kept.
  [[nodiscard]] bool open() const { return file_ >= 0 && !full_; }

  /// Several calls that belong together hold one of these.
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }
  // With the lock held:
  std::uint32_t name(std::string_view text);
  std::uint32_t shape(std::uint8_t device, std::uint32_t name, const timeline::LaunchShape& shape);
  template <class Record>
  void add(const Record& record) {
    static_assert(std::is_trivially_copyable_v<Record> && alignof(Record) <= 4);
    hold(&record, sizeof record);
    flush_if_much();
  }
  void counted(std::uint32_t correlation, const std::vector<std::pair<std::uint32_t, double>>& values);
  /// What recording took of this thread's time, from then, as utc_nanoseconds tells it, until now.
  void held_up(std::string_view by, std::int64_t since_ns);
  void note(std::string_view sentence, bool about_counters = false);
  /// Begins the recording anew: what was written is gone, names and shapes have no numbers any more.
  void restart();
  /// Hands over to the system what is still held.
  void flush();
  [[nodiscard]] int descriptor() const { return file_; }

 private:
  void hold(const void* bytes, std::size_t count);
  void flush_if_much();  ///< between whole records alone

  RecordingHeader header_;
  std::mutex mutex_;
  int file_ = -1;
  bool full_ = false;
  bool ending_ = false;
  std::uint32_t disk_full_ = 0;  ///< the number of the sentence that says so: a full disk has no room for it
  std::uint64_t written_ = 0;
  std::uint64_t max_bytes_;
  std::vector<std::uint8_t> held_;
  std::map<std::string, std::uint32_t, std::less<>> names_;
  std::map<std::pair<std::pair<std::uint8_t, std::uint32_t>, timeline::LaunchShape>, std::uint32_t> shapes_;
};

}  // namespace gpubench::profile
