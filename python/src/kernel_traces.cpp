// SPDX-License-Identifier: Apache-2.0
// Events inside kernels of Triton: the same buffer and the same engine as those of CUDA.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <vector>

#include "kernel_trace/decode.h"
#include "python/src/module.h"
#ifdef GPUBENCH_WITH_CUDA
#include "kernel_trace/probes.h"
#endif

namespace nb = nanobind;
using namespace nb::literals;

namespace gpubench::python {
namespace {

using kernel_trace::Recording;
using kernel_trace::Trace;
/// Block, group, SM, event, kind (0: a range, 2: an instant), start and end in ns, whether it never ended.
using Row =
    std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, int, std::int64_t, std::int64_t, bool>;

std::vector<Row> rows_of(const Trace& trace) {
  const Recording& recording = trace.recording();
  std::vector<Row> rows;
  rows.reserve(recording.spans.size() + recording.instants.size());
  const auto add = [&](std::uint32_t warp, std::uint32_t id, int kind, std::int64_t start, std::int64_t end,
                       bool open) {
    const kernel_trace::WarpRecord& one = recording.warps[warp];
    rows.emplace_back(one.block, one.warp, one.sm, id, kind, recording.base_ns + start, recording.base_ns + end, open);
  };
  for (const auto& span : recording.spans) add(span.warp, span.id, 0, span.start_ns, span.end_ns(), span.unended);
  for (const auto& one : recording.instants) add(one.warp, one.id, 2, one.time_ns, one.time_ns, false);
  std::ranges::sort(rows, {}, [](const Row& row) {
    return std::tuple(std::get<0>(row), std::get<1>(row), std::get<5>(row), -std::get<6>(row));
  });
  return rows;
}

/// On the host's clock where the buffer was on a GPU.
Trace decoded(const nb::bytes& buffer, const std::vector<std::string>& names, const std::string& kernel,
              [[maybe_unused]] bool on_gpu) {
  kernel_trace::DecodeOptions options = {.names = names, .kernels = {kernel}, .rate = {}, .host = {}};
#ifdef GPUBENCH_WITH_CUDA
  if (on_gpu) {
    options.rate = kernel_trace::measure_rate();
    if (const auto moment = kernel_trace::measure_host_clock()) options.host.push_back(*moment);
  }
#endif
  return Trace(std::make_shared<Recording>(
      kernel_trace::decode({static_cast<const std::byte*>(buffer.data()), buffer.size()}, options)));
}

}  // namespace

void bind_kernel_traces(nb::module_& module) {
  nb::class_<Trace>(module, "KernelTrace", "Events inside kernels. gpubench.kernel_trace is what users have.")
      .def_static(
          "header",
          [](std::uint32_t blocks, std::uint32_t groups, std::uint32_t events, bool enabled) {
            const kernel_trace::Options options = {
                .blocks = blocks, .warps = groups, .events = events, .enabled = enabled};
            const auto header = kernel_trace::header_bytes(options);
            return std::tuple(nb::bytes(header.data(), header.size()), kernel_trace::bytes(options));
          },
          "blocks"_a, "groups"_a, "events"_a, "enabled"_a, "With what a buffer begins, and its bytes.")
      .def_static("decode", &decoded, "buffer"_a, "names"_a, "kernel"_a, "on_gpu"_a)
      .def_prop_ro("dropped", [](const Trace& self) { return self.recording().dropped + self.recording().refused; })
      .def_prop_ro("warnings", [](const Trace& self) { return self.recording().warnings; })
      .def("rows", &rows_of)
      .def("json", &Trace::json, Release())
      .def("table", &Trace::table, Release())
      .def(
          "write", [](const Trace& self, const std::string& file) { self.write(file); }, "file"_a, Release());
}

}  // namespace gpubench::python
