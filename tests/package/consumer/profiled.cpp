// SPDX-License-Identifier: Apache-2.0
#include <gpubench/profile.h>

namespace profile = gpubench::profile;

int main() {
  const profile::Status status = profile::enable();
  profile::Profiler profiler;
  {
    const profile::Range range("step");
    const auto scope = profiler.profile_kernel("kernel");
  }
  profile::print_ranges();
  const auto ranges = profile::results();
  // With and without a GPU: a reason stands where there are no records.
  return ranges.size() == 1 && ranges[0].calls == 1 && status.records == status.records_reason.empty() ? 0 : 1;
}
