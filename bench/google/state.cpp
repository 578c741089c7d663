// SPDX-License-Identifier: Apache-2.0
#include "gpubench/state.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "bench/google/harness.h"

namespace gpubench {

void State::offer(OfferedVariant variant) {
  if (!(variant.remaining_fraction >= 0.0 && variant.remaining_fraction < 1.0))
    throw std::invalid_argument("state.perturb takes a part of the work that is left from 0 to less than 1, not " +
                                std::to_string(variant.remaining_fraction));
  variants_.push_back(std::move(variant));
}

void State::skip(std::string reason) { harness_.skip(std::move(reason)); }

Work State::work() const {
  Work work = work_;
  if (!work.footprint_bytes && allocated_bytes_ > 0.0) work.footprint_bytes = allocated_bytes_;
  return work;
}

void State::measure_device(const std::function<void(cudaStream_t, std::int64_t)>& batch) {
  harness_.measure_device(*this, batch);
}

void State::measure_host(const std::function<void(std::int64_t)>& batch) { harness_.measure_host(*this, batch); }

}  // namespace gpubench
