// SPDX-License-Identifier: Apache-2.0
// Operators of graphs. A trace has of a graph's launch its works alone; the trace of its capture has the operators that
// made them. vLLM and SGLang leave such traces beside the program's, with a list of them, execution_details.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "timeline/structure/correlations.h"
#include "timeline/timeline.h"

namespace gpubench::timeline {

inline constexpr std::string_view captures_list = "execution_details.json", captures_folder = "capture_traces";

/// Adds the modules and operators of captures to the works of graphs, as slices of tracks of kind `operators`: of
/// captures in the trace itself, and in the files of the list, if it lies beside the trace or in `captures_folder`
/// there. A capture fits a launch whose works have the names of its kernels; of those that fit, the one of the batch
/// that a range around the launch names comes first. `read` reads a capture and may throw storage::ReadError. What does
/// not fit gets no operators, and that is said.
void add_captured_operators(Timeline& timeline, const std::filesystem::path& trace,
                            const std::function<Timeline(const std::filesystem::path&)>& read);

/// Of works of graphs the call that made them while their graph was captured, in Correlations::calls: as flows of
/// `capture_flow` tell, else where the timeline has a capture that fits. Several that fit count as one where `same`
/// says so of each of their calls; else it is not sure which was launched, and nothing is said.
std::unordered_map<std::uint32_t, std::uint32_t> captured_calls(
    const Linked& linked, const std::function<bool(std::uint32_t, std::uint32_t)>& same);

}  // namespace gpubench::timeline
