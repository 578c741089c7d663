// SPDX-License-Identifier: Apache-2.0
// What XLA writes in Chrome's JSON: the GPUs as processes, and the launch's shape as a text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "timeline/timeline.h"

namespace gpubench::timeline {

/// Of XLA: "regs:32 static_shared:0 dynamic_shared:16 grid:4,1,1 block:128,1,1".
void read_xla_details(std::string_view details, LaunchShape& shape);

/// XLA has a process for each GPU, "/device:GPU:0", and on it a thread for each stream: they become GPUs and streams of
/// the program. `threads` are the names of each track's thread; tracks without a process of their own are noted in
/// `of_nobody`. Returns of each process what it became; nothing where no process is such a GPU.
std::optional<std::vector<std::uint32_t>> take_xla_devices(Timeline& timeline,
                                                           const std::vector<std::string_view>& threads,
                                                           std::vector<bool>& of_nobody);

}  // namespace gpubench::timeline
