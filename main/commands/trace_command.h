// SPDX-License-Identifier: Apache-2.0
// gpubench trace: what traces of programs say. Each returns its exit code and throws on what it cannot do.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "main/cli/options.h"
#include "timeline/analyses/difference.h"
#include "timeline/analyses/flame.h"
#include "timeline/timeline.h"

namespace gpubench {

inline constexpr std::size_t max_traces = 10'000;

int trace_summary(const Options& options);
int trace_timeline(const Options& options);
int trace_flame(const Options& options);
int trace_idle(const Options& options);
int trace_kernels(const Options& options);
int trace_memory(const Options& options);
int trace_critical_path(const Options& options);
int trace_diff(const Options& options);
int trace_convert(const Options& options);

/// One timeline of trace files, and of the traces in folders, read on all cores. What was left out stands in its
/// warnings. Throws storage::ReadError; UsageError for a folder without traces.
timeline::Timeline read_traces(const std::vector<std::string>& files_and_folders);

/// Refuses outputs whose names end in none of these (".json", ".perfetto-trace"), or that cannot be written, before
/// anything is read. Throws UsageError or storage::WriteError.
void check_trace_outputs(const Options& options, const std::vector<std::string>& extensions);

/// Two timelines, and what they are called.
struct DiffSides {
  const timeline::Timeline& base;
  const timeline::Timeline& next;
  std::string base_name, next_name;
};
inline constexpr std::size_t rows_of_diff_page = 100;
/// What changed from one to the other: by stack as an icicle graph, and the tables of `trace diff`; as a picture the
/// graph alone. Without a weight that of the first. Throws reports::PictureError.
std::string diff_page(const DiffSides& sides, const timeline::Difference& difference, const timeline::FlameOptions& how,
                      std::optional<timeline::FlameWeight> weight, bool as_picture);
/// By the options of the command line.
timeline::FlameOptions flame_options(const Options& options, bool by_thread);

}  // namespace gpubench
