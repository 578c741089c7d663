// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and its kin, kept back until what is finished has been saved.
#pragma once

#include <array>
#include <csignal>

namespace gpubench {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP is only noted (and said on standard error when `say` is not
/// null); a second one ends the process as usual. Signals that the process was started to ignore stay ignored. One at a
/// time.
class Interruption {
 public:
  explicit Interruption(const char* say);
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

  /// The signal that was noted; 0 for none.
  [[nodiscard]] static int noted();
  /// Ends the process by the signal that was noted, so that whoever started it can see why.
  [[noreturn]] static void end();

 private:
  static constexpr std::array<int, 3> signals = {SIGINT, SIGTERM, SIGHUP};
  std::array<struct sigaction, 3> previous_{};
};

}  // namespace gpubench
