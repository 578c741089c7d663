// SPDX-License-Identifier: Apache-2.0
// The one decoder of CUPTI's activity records.
#pragma once

#include <algorithm>
#include <span>

#include "gpu/cuda/cupti/cupti_library.h"
#include "gpu/profiling/activity_records.h"

namespace gpubench::bench {

/// Reads the record at the beginning of `bytes`, which reach to the end of its buffer. Throws MetricsUnavailable where
/// what is read of a record of its kind does not fit in them.
gpu::RecordedActivity decode_record(std::span<const std::uint8_t> bytes);

/// Calls `visit` with each record of a buffer that CUPTI has filled. Throws MetricsUnavailable, and what `visit`
/// throws.
template <class Visit>
void for_each_record(const CuptiLibrary& library, std::uint8_t* buffer, std::size_t bytes, const Visit& visit) {
  CUpti_Activity* record = nullptr;
  while (true) {
    const CUptiResult found = library.cuptiActivityGetNextRecord(buffer, bytes, &record);
    if (found == CUPTI_ERROR_MAX_LIMIT_REACHED) return;
    library.check(found, "cuptiActivityGetNextRecord");
    const auto place = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(record) - buffer);
    visit(decode_record(std::span(buffer, bytes).subspan(std::min(place, bytes))));
  }
}

/// CUPTI lays its records out in another way than the headers of the build.
[[noreturn]] void throw_unknown_layout();

}  // namespace gpubench::bench
