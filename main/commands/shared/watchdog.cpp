// SPDX-License-Identifier: Apache-2.0
#include "main/commands/shared/watchdog.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "core/base/time.h"
#include "main/cli/command.h"
#include "main/cli/output.h"

namespace gpubench {

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_one();
}

void Watchdog::begin(std::string step) {
  const std::lock_guard lock(mutex_);
  step_ = std::move(step);
  start_ = steady_seconds();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::milliseconds(100), [this] { return over_; })) {
    if (step_.empty() || steady_seconds() - start_ < max_seconds_) continue;
    say(fmt::format("{} did not end within {:g} s: a rank died or hangs, or a link is down", step_, max_seconds_));
    std::_Exit(exit_codes::operation_failed);
  }
}

}  // namespace gpubench
