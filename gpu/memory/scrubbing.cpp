// SPDX-License-Identifier: Apache-2.0
#include "gpu/memory/scrubbing.h"

#include <algorithm>

namespace gpubench::bench {

void Scrubbing::freed(double bytes, double now) {
  const std::lock_guard lock(mutex_);
  until_ = std::max(until_, now) + bytes / bytes_per_second;
  own_ += bytes;
}

void Scrubbing::allocated(double bytes) {
  const std::lock_guard lock(mutex_);
  own_ -= bytes;
}

void Scrubbing::saw_free(double bytes, double now) {
  constexpr double noticeable = 16.0 * (1 << 20);  // the driver takes and gives back pages of 2 MiB for itself
  const std::lock_guard lock(mutex_);
  const double others = free_ ? bytes - *free_ - own_ : 0.0;
  free_ = bytes;
  own_ = 0.0;
  if (others >= noticeable) until_ = std::max(until_, now) + others / bytes_per_second;
}

double Scrubbing::seconds_left(double now) const {
  const std::lock_guard lock(mutex_);
  return std::max(until_ - now, 0.0);
}

Scrubbing& scrubbing() {
  static Scrubbing of_process;
  return of_process;
}

}  // namespace gpubench::bench
