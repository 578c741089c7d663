// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace gpubench {

/// Whoever waits for a lost rank inside NCCL or MPI waits for ever: this ends the process then.
class Watchdog {
 public:
  explicit Watchdog(double max_seconds) : max_seconds_(max_seconds), thread_([this] { watch(); }) {}
  ~Watchdog();
  Watchdog& operator=(Watchdog&&) = delete;  ///< not copied, not moved
  void begin(std::string step);
  void end() { begin(""); }

 private:
  void watch();

  double max_seconds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string step_;
  double start_ = 0.0;
  bool over_ = false;
  std::jthread thread_;
};

}  // namespace gpubench
