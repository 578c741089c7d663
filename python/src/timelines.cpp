// SPDX-License-Identifier: Apache-2.0
// Traces of programs, and what they say.
#include "reports/timelines.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "gpubench/version.h"
#include "main/run/context.h"
#include "profile/recording_reader.h"
#include "python/src/module.h"
#include "reports/result_table.h"
#include "timeline/analysis.h"
#include "timeline/program/program.h"
#include "timeline/readers.h"
#include "timeline/views/flame.h"
#include "timeline/writers.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace gpubench::python {
namespace {

using timeline::Timeline;

nb::object python_value(const Value& value) {
  return std::visit(
      [](const auto& one) -> nb::object {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, Absent>)
          return nb::none();
        else
          return nb::cast(one);
      },
      value);
}

/// Rows as dicts by the columns' keys; what is absent is None.
nb::list rows_of(const ResultTable& table) {
  nb::list rows;
  for (const auto& row : table.rows) {
    nb::dict one;
    for (std::size_t c = 0; c < row.size(); ++c)
      if (const std::string& key = table.columns[c].key; !key.empty()) one[key.c_str()] = python_value(row[c]);
    rows.append(one);
  }
  return rows;
}

/// By the tables' names; the facts are the row of "".
nb::dict tables_of(const Timeline& timeline, const std::string& analysis, const std::string& by) {
  nb::dict all;
  for (const ResultTable& table : timeline::tables_of(timeline, analysis, by)) all[table.name.c_str()] = rows_of(table);
  return all;
}

timeline::FlameGraph flame_of(const Timeline& timeline, double min_duration_us, std::size_t max_depth,
                              bool group_small_kernels) {
  timeline::FlameOptions options;
  options.min_duration_ns = static_cast<std::int64_t>(min_duration_us * 1e3);
  options.max_depth = max_depth;
  if (!group_small_kernels) options.small_kernel_share = 0.0;
  return timeline::flame(timeline, options);
}

timeline::FlameWeight weight_of(const timeline::FlameGraph& graph, const std::string& name) {
  if (name.empty()) return graph.natural_weight();
  if (name != "host" && name != "gpu") throw std::invalid_argument("a weight is host or gpu, not '" + name + "'");
  return name == "gpu" ? timeline::FlameWeight::gpu : timeline::FlameWeight::host;
}

/// What occupied the GPU: start and end since 1970 (nanoseconds), kind, bytes of a copy or fill (else -1), stream,
/// name.
nb::list gpu_work_of(const Timeline& timeline) {
  nb::list work;
  for (const timeline::Slice& slice : timeline.slices)
    if (timeline::occupies_gpu(slice.kind)) {
      work.append(nb::make_tuple(timeline.base_ns + slice.start_ns, timeline.base_ns + slice.end_ns(),
                                 std::string(timeline::name_of(slice.kind)), is_command(slice.kind) ? slice.detail : -1,
                                 timeline.tracks.at(slice.track).id, timeline.names.text(slice.name)));
    }
  return work;
}

Run run_of(const Timeline& timeline) {
  Run run;
  run.context = gather_context("gpubench", {});
  run.program = timeline::analyze(timeline);
  return run;
}

}  // namespace

void bind_timelines(nb::module_& module) {
  module.def(
      "text_html",
      [](const std::string& title, const std::string& lines) {
        return reports::text_html(title, lines, std::string(version));
      },
      "title"_a, "lines"_a, "A page of lines as they are.");
  nb::class_<timeline::FlameGraph>(module, "FlameGraph", "Time by stack.")
      .def(
          "table",
          [](const timeline::FlameGraph& self, const std::string& weight) {
            return rows_of(timeline::flame_table(self, weight_of(self, weight)));
          },
          "weight"_a = "")
      .def(
          "folded",
          [](const timeline::FlameGraph& self, const std::string& weight) {
            return timeline::folded(self, weight_of(self, weight));
          },
          "weight"_a = "", Release())
      .def(
          "html",
          [](const timeline::FlameGraph& self, const std::string& weight) {
            return reports::flame_html(self, weight_of(self, weight), {"Flame graph", std::string(version), {}});
          },
          "weight"_a = "", Release());
  nb::class_<Timeline>(module, "Timeline", "A trace as the engine holds it. gpubench.Timeline is what users have.")
      .def_static(
          "read",
          [](const std::vector<std::string>& places) {
            return timeline::read_timeline({places.begin(), places.end()}, profile::timeline_of_recording);
          },
          "files_and_folders"_a, Release())
      .def_prop_ro("warnings", [](const Timeline& self) { return self.warnings; })
      .def("__len__", [](const Timeline& self) { return self.slices.size(); })
      .def("tables", &tables_of, "analysis"_a, "by"_a = "")
      .def(
          "console",
          [](const Timeline& self, bool color, int width) {
            return reports::console_text(timeline::tables_of(self, "summary", ""), {.color = color, .width = width});
          },
          "color"_a, "width"_a, "What `gpubench trace summary` prints.", Release())
      .def("gpu_work", &gpu_work_of, "Start and end (nanoseconds since 1970), kind, bytes, stream and name of each.")
      .def_static("analyses",
                  [] {
                    nb::dict all;
                    for (const timeline::Analysis* const one : timeline::analyses())
                      all[nb::str(one->name.data(), one->name.size())] = nb::str(one->what.data(), one->what.size());
                    return all;
                  })
      .def("flame", &flame_of, "min_duration_us"_a = 0.0, "max_depth"_a = 512, "group_small_kernels"_a = true,
           Release())
      .def(
          "html",
          [](const Timeline& self, const std::string& title) {
            return reports::timeline_html(self, {title, std::string(version), self.warnings});
          },
          "title"_a, Release())
      .def("analyze", &run_of, "As a run whose `program` says where the time went.", Release())
      .def(
          "write", [](const Timeline& self, const std::string& file) { timeline::write(self, file); }, "file"_a,
          Release());
}

}  // namespace gpubench::python
