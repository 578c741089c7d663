// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpubench::profile {

/// What a recording says of a GPU: "name", "uuid", "multiprocessors", ...
using GpuProperties = std::vector<std::pair<std::string_view, std::string>>;

/// Of the GPUs that the program sees, by its own numbers of them. Asked of the driver that it uses; empty until that is
/// initialised. Not for a thread of CUPTI's.
std::vector<GpuProperties> visible_gpus();

}  // namespace gpubench::profile
