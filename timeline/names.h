// SPDX-License-Identifier: Apache-2.0
// What people read for processes, GPUs, streams and threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "timeline/timeline.h"

namespace gpubench::timeline {

/// Of each process what tells it from the others: "python3 (rank 1)", "python3 (4711)"; empty where there is only one.
std::vector<std::string> process_labels(const Timeline& timeline);
/// "NVIDIA H200", where the trace tells; else empty.
std::string gpu_model(const Timeline& timeline, std::uint32_t process, std::int64_t device);
/// "cuda:0"; "gpu" where its number is not told.
std::string gpu_name(std::int64_t device);
/// "cuda:0", "cuda:1 of python3 (rank 1)".
std::string gpu_name(const Timeline& timeline, std::uint32_t process, std::int64_t device);
/// "cuda:0 stream 7"; of lanes after the first "cuda:0 stream 7 (2)".
std::string track_name(const Track& track, std::size_t lane = 0);

}  // namespace gpubench::timeline
