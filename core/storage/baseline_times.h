// SPDX-License-Identifier: Apache-2.0
// Many baselines by the names and times of their points alone: some ten times as fast as a whole one.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "core/storage/baselines.h"

namespace gpubench::storage {

/// Reads one file after the other, in the same memory. Of what is left out nothing is checked, and of a time only
/// count, minimum, median and maximum are read.
class BaselineTimes {
 public:
  BaselineTimes();
  ~BaselineTimes();
  BaselineTimes(BaselineTimes&&) noexcept;

  /// Until the next one is read. Throws ReadError.
  BaselineEntry& read(const std::filesystem::path& file);

 private:
  friend BaselineEntry baseline_times_from_json(std::string_view text, std::string_view origin);
  struct State;
  std::unique_ptr<State> state_;
};

/// One of them. `origin` names the source in errors. Throws ReadError.
BaselineEntry baseline_times_from_json(std::string_view text, std::string_view origin);

}  // namespace gpubench::storage
