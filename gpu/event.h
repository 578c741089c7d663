// SPDX-License-Identifier: Apache-2.0
// A moment on a stream.
#pragma once

#include <memory>
#include <utility>

#include "gpubench/stream.h"

namespace gpubench::bench {

/// Members throw GpuError.
class Event {
 public:
  virtual ~Event() = default;
  virtual void record(Stream stream) = 0;
  /// Waits until the stream has passed it.
  virtual void wait() = 0;
  /// Since another, both passed.
  [[nodiscard]] virtual double seconds_since(const Event& start) const = 0;
};

/// Seconds between two events around work on a stream.
class EventTimer {
 public:
  EventTimer(Stream stream, std::unique_ptr<Event> start, std::unique_ptr<Event> stop)
      : stream_(stream), start_(std::move(start)), stop_(std::move(stop)) {}

  template <class Enqueue>
  double seconds(Enqueue&& enqueue) {
    start_->record(stream_);
    enqueue();
    stop_->record(stream_);
    stop_->wait();
    return stop_->seconds_since(*start_);
  }

 private:
  Stream stream_;
  std::unique_ptr<Event> start_;
  std::unique_ptr<Event> stop_;
};

}  // namespace gpubench::bench
