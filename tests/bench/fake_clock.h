// SPDX-License-Identifier: Apache-2.0
// A clock whose operation takes the time a test says, in a world where nothing else takes any.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/timing/timer.h"

namespace gpubench::bench {

/// Wall time that clocks of one test share.
struct FakeWorld {
  double now = 0.0;
};

class FakeClock final : public Timer {
 public:
  /// `seconds(sample)` is the time of one execution in the sample-th batch; `fixed` is added to every batch.
  explicit FakeClock(std::function<double(std::int64_t sample)> seconds, double fixed = 0.0, double min_batch = 0.0)
      : seconds_(std::move(seconds)), fixed_(fixed), min_batch_(min_batch) {}

  double time(std::int64_t executions) override {
    const double took = fixed_ + seconds_(batches++) * static_cast<double>(executions);
    world->now += took;
    longest_batch = std::max(longest_batch, executions);
    if (order != nullptr) order->push_back(name);
    return took;
  }
  [[nodiscard]] std::optional<double> device_clock_hz() override {
    return hertz ? std::optional(hertz(batches - 1)) : std::nullopt;
  }
  [[nodiscard]] double min_batch_seconds() const override { return min_batch_; }
  [[nodiscard]] std::int64_t first_executions() override { return first; }
  [[nodiscard]] std::int64_t min_executions(double seconds_of_one) const override {
    return seconds_of_one < long_seconds ? least : 1;
  }
  [[nodiscard]] bool warms_up() const override { return warms; }
  double now() override { return world->now; }
  [[nodiscard]] TimingMode clock() const override { return mode; }
  [[nodiscard]] std::string method(std::int64_t) const override { return "fake clock"; }

  std::int64_t batches = 0;
  std::int64_t longest_batch = 0;
  std::int64_t first = 1;
  std::int64_t least = 1;      ///< executions of a batch,
  double long_seconds = 1e99;  ///< unless one takes so long
  bool warms = false;
  TimingMode mode = TimingMode::host;
  std::shared_ptr<FakeWorld> world = std::make_shared<FakeWorld>();
  std::function<double(std::int64_t batch)> hertz;  ///< empty: this clock does not know the device's
  std::vector<char>* order = nullptr;               ///< `name` is added to it with each batch
  char name = 'a';

 private:
  std::function<double(std::int64_t)> seconds_;
  double fixed_;
  double min_batch_;
};

}  // namespace gpubench::bench
