// SPDX-License-Identifier: Apache-2.0
#include "main/commands/shared/traces.h"

#include <fmt/format.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <filesystem>

#include "core/base/text.h"
#include "gpubench/version.h"
#include "profile/recording_reader.h"
#include "reports/charts/picture.h"
#include "timeline/readers.h"

namespace gpubench {

timeline::Timeline read_traces(const std::vector<std::string>& files_and_folders) {
#ifdef __GLIBC__
  // What an analysis gives back goes to the system, and not only what is over 32 MB.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
  return timeline::read_timeline({files_and_folders.begin(), files_and_folders.end()}, profile::timeline_of_recording);
}

reports::AboutTrace about_trace(const std::vector<std::string>& inputs, const timeline::Timeline& timeline) {
  const auto name = [](const std::string& file) { return std::filesystem::path(file).filename().string(); };
  std::string title = name(inputs.front());
  if (inputs.size() > 1) title += fmt::format(" and {} more", inputs.size() - 1);
  return {printable(title), std::string(version), timeline.warnings};
}

std::string diff_page(const DiffSides& sides, const std::vector<ResultTable>& tables, const timeline::FlameOptions& how,
                      std::optional<timeline::FlameWeight> weight, bool as_picture) {
  const timeline::FlameGraph before = timeline::flame(sides.base, how), after = timeline::flame(sides.next, how);
  const timeline::FlameDiff diff = timeline::diff(before, after, weight.value_or(before.natural_weight()));
  reports::AboutTrace what = about_trace({sides.next_name}, sides.next);
  what.title = fmt::format("{} against {}", what.title, about_trace({sides.base_name}, sides.base).title);
  what.warnings.insert(what.warnings.begin(), sides.base.warnings.begin(), sides.base.warnings.end());
  if (as_picture) return reports::draw(reports::flame_picture(diff, what), "svg");
  std::vector<ResultTable> longer = tables;
  for (ResultTable& table : longer) table.shown *= 10;
  return reports::flame_html(diff, longer, what);
}

}  // namespace gpubench
