// SPDX-License-Identifier: Apache-2.0
// The clocks of a Perfetto trace, tied together by its snapshots.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace gpubench::timeline {

class PerfettoClocks {
 public:
  /// A ClockSnapshot of this sequence.
  void snapshot(std::string_view message, std::uint64_t sequence);
  /// On the trace's own clock; absent beyond 73 years.
  std::optional<std::int64_t> time_of(std::uint64_t time, std::uint32_t clock, std::uint64_t sequence);

  std::optional<std::int64_t> base_ns;  ///< since 1970, of the trace's own clock
  long long unknown = 0;                ///< times of clocks that no snapshot ties to it

 private:
  struct Clock {
    std::uint64_t unit = 1;  // ns
    bool incremental = false;
    std::uint64_t last = 0;   // in units
    std::int64_t offset = 0;  // to the trace's clock
  };
  /// Clocks from 64 to 127 belong to a sequence.
  static std::pair<std::uint64_t, std::uint32_t> clock_key(std::uint32_t id, std::uint64_t sequence) {
    return {id >= 64 && id < 128 ? sequence : 0, id};
  }
  std::map<std::pair<std::uint64_t, std::uint32_t>, Clock> clocks_;
  std::uint32_t primary_ = 0;
};

}  // namespace gpubench::timeline
