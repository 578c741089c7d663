// SPDX-License-Identifier: Apache-2.0
// Cores that this process may use: by its affinity, and by what its control groups allow, as those of a container do.
#pragma once

#include <filesystem>
#include <optional>

namespace gpubench {

/// What the control groups of this process allow, in cores, by files below `root`; absent where they set no limit. Each
/// bounds all below it, so the narrowest limit counts.
std::optional<double> core_limit(const std::filesystem::path& root);

/// Those that the affinity of this process has.
int affinity_cores();

/// As many threads as never pause: no more than the cores of the affinity, nor than whole ones of the limit; 1 at
/// least.
int usable_cores(int affinity, std::optional<double> limit);
/// Those of this process. The limit is that of its first call.
int usable_cores();

}  // namespace gpubench
