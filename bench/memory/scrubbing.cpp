// SPDX-License-Identifier: Apache-2.0
#include "bench/memory/scrubbing.h"

#include <algorithm>

namespace gpubench::bench {

void Scrubbing::freed(double bytes, double now) {
  const std::lock_guard lock(mutex_);
  until_ = std::max(until_, now) + bytes / bytes_per_second;
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
