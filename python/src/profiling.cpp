// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "core/storage/document.h"
#include "gpubench/profile.h"
#include "profile/range_profiler/range_reports.h"
#include "python/src/module.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace gpubench::python {
namespace {

// NOLINTNEXTLINE(performance-no-int-to-ptr): Python holds streams as integers
Stream stream_at(std::uintptr_t handle) { return reinterpret_cast<Stream>(handle); }

profile::Reduction reduction_of(const std::string& name) {
  if (name == "SUM") return profile::Reduction::sum;
  if (name == "MAX") return profile::Reduction::max;
  if (name == "MEAN") return profile::Reduction::mean;
  throw std::invalid_argument("a reduction is SUM, MAX or MEAN, not '" + name + "'");
}

/// As Python has the JSON.
template <class Object = nb::dict>
Object python_of(const nlohmann::json& value) {
  const std::string text = storage::json_text(value);
  return nb::cast<Object>(nb::module_::import_("json").attr("loads")(text));
}

template <class Call>
auto without_lock(const Call& call) {
  const nb::gil_scoped_release unlock;
  return call();
}

nb::dict status_of(const profile::Status& status) {
  nlohmann::json value = status;
  value["enabled"] = status.enabled;
  value["text"] = status.text();
  return python_of(value);
}

/// What files leave out is None, or an empty note.
nlohmann::json full_json_of(const std::vector<profile::RangeResult>& ranges) {
  nlohmann::json all = profile::json_of(ranges);
  for (auto& range : all) {
    range.emplace("memory", nullptr);
    for (auto& metric : range["metrics"]) metric.emplace("note", "");
  }
  return all;
}

nb::dict device_memory() {
  const profile::DeviceMemory m = profile::device_memory();
  const auto maybe = [](const auto& bytes) { return bytes ? nlohmann::json(*bytes) : nlohmann::json(); };
  return python_of({{"pool_used", maybe(m.pool_used)},
                    {"pool_used_peak", maybe(m.pool_used_peak)},
                    {"pool_reserved", maybe(m.pool_reserved)},
                    {"pool_reserved_peak", maybe(m.pool_reserved_peak)},
                    {"used", maybe(m.used)},
                    {"total", maybe(m.total)},
                    {"reason", m.reason}});
}

std::optional<nb::dict> timing_of(profile::KernelTimer& timer, const std::string& name) {
  const auto found = without_lock([&] { return timer.timing(name); });
  if (!found) return std::nullopt;
  const profile::Timing& t = *found;
  return python_of({{"count", t.count},
                    {"total", t.total_ms},
                    {"exclusive", t.exclusive_ms},
                    {"mean", t.mean_ms},
                    {"min", t.min_ms},
                    {"max", t.max_ms},
                    {"p50", t.p50_ms},
                    {"p95", t.p95_ms},
                    {"p99", t.p99_ms},
                    {"std", t.deviation_ms}});
}

std::optional<nb::dict> info_of(const profile::MemoryTracker& tracker, const std::string& name) {
  const auto info = tracker.info(name);
  if (!info) return std::nullopt;
  nb::dict result = python_of({{"name", info->name},
                               {"pointer", reinterpret_cast<std::uintptr_t>(info->pointer)},
                               {"dtype", info->type},
                               {"bytes", info->bytes}});
  result["shape"] = nb::tuple(nb::cast(info->shape));
  return result;
}

/// A name with Python's `with`, entered as often as one likes: again inside itself, and by several threads. Called with
/// the interpreter's lock.
class Range {
 public:
  explicit Range(std::string name) : name_(std::move(name)) {}
  Range(std::string name, const std::string& type) : name_(std::move(name)) {
    const auto known = profile::range_type(type);
    if (!known) throw std::invalid_argument("a range's type is CONCURRENT_KERNEL or MEMORY, not '" + type + "'");
    type_ = *known;
  }
  Range& operator=(Range&&) = delete;  ///< not copied, not moved
  void enter() { open_[std::this_thread::get_id()].push_back(std::make_unique<profile::Range>(name_, type_)); }
  /// The newest that this thread has entered.
  void exit() {
    if (auto& mine = open_[std::this_thread::get_id()]; !mine.empty()) mine.pop_back();
  }

 private:
  std::string name_;
  profile::RangeType type_ = profile::RangeType::kernels;
  std::map<std::thread::id, std::vector<std::unique_ptr<profile::Range>>> open_;
};

}  // namespace

void bind_profile(nb::module_& module) {
  nb::class_<profile::KernelTimer>(module, "KernelTimer", "Times work on streams by pairs of CUDA events.")
      .def(nb::init<>())
      .def(
          "start",
          [](profile::KernelTimer& self, const std::string& name, std::uintptr_t stream) {
            self.start(name, stream_at(stream));
          },
          "name"_a, "stream"_a = 0, Release())
      .def(
          "stop",
          [](profile::KernelTimer& self, const std::string& name, std::optional<std::uintptr_t> stream) {
            stream ? self.stop(name, stream_at(*stream)) : self.stop(name);
          },
          "name"_a, "stream"_a = nb::none(), Release())
      .def(
          "get_timing", &timing_of, "kernel_name"_a,
          "count, total, exclusive, mean, min, max, p50, p95, p99, std in milliseconds; None before an interval ended.")
      .def_prop_ro("names", &profile::KernelTimer::names, "In the order of their first start.")
      .def("get_report", &profile::KernelTimer::report, Release(),
           "A table of all names; TOTAL counts nested time once.")
      .def("problem", &profile::KernelTimer::problem, "Why something was not timed; else empty.")
      .def("reset", &profile::KernelTimer::reset, Release(), "Forgets all times.");
  nb::class_<profile::MemoryTracker>(module, "MemoryTracker", "Named memory with its sizes. It holds none of it.")
      .def(nb::init<>())
      .def(
          "track",
          [](profile::MemoryTracker& self, const std::string& name, std::uintptr_t pointer,
             std::vector<std::int64_t> shape, const std::string& type, std::uint64_t bytes) {
            // NOLINTNEXTLINE(performance-no-int-to-ptr): Python holds addresses as integers
            self.track(name, reinterpret_cast<const void*>(pointer), std::move(shape), type, bytes);
          },
          "name"_a, "pointer"_a, "shape"_a, "type"_a, "bytes"_a)
      .def(
          "untrack_tensor", [](profile::MemoryTracker& self, const std::string& name) { return self.untrack(name); },
          "name"_a, "False where nothing of the name is tracked.")
      .def("get_tensor_info", &info_of, "name"_a,
           "name, pointer, shape, dtype and bytes; None where nothing of the name is tracked.")
      .def("get_total_memory", &profile::MemoryTracker::total, "Bytes tracked now.")
      .def("get_peak_memory", &profile::MemoryTracker::peak, "The most since the beginning or the last reset.")
      .def("report", &profile::MemoryTracker::report)
      .def("reset", &profile::MemoryTracker::reset, "Forgets everything.");
  nb::class_<Range>(module, "Range", "A stretch of the program that its author named.")
      .def(nb::init<std::string>(), "name"_a)
      .def(nb::init<std::string, std::string>(), "name"_a, "type"_a)
      .def("__enter__", &Range::enter)
      .def(
          "__exit__", [](Range& self, nb::handle, nb::handle, nb::handle) { self.exit(); }, "kind"_a.none(),
          "error"_a.none(), "trace"_a.none());
  module.def(
      "enable",
      [](const std::vector<std::string>& metrics, bool memory) {
        return status_of(without_lock([&] { return profile::enable({metrics, memory}); }));
      },
      "metrics"_a, "memory"_a = true);
  module.def("disable", &profile::disable, Release());
  module.def("reset", &profile::reset, Release());
  module.def("status", [] { return status_of(profile::status()); });
  module.def(
      "results",
      [](const std::string& reduction) {
        return python_of<nb::list>(
            without_lock([&] { return full_json_of(profile::results(reduction_of(reduction))); }));
      },
      "reduction"_a = "SUM");
  module.def(
      "ranges_text", [](const std::string& reduction) { return profile::ranges_text(reduction_of(reduction)); },
      "reduction"_a = "SUM", Release());
  module.def(
      "write_ranges",
      [](const std::string& path, const std::string& reduction) {
        return profile::write_ranges(path, reduction_of(reduction));
      },
      "path"_a, "reduction"_a = "SUM", Release());
  module.def("memory_activity", [] {
    const profile::MemoryActivity activity = without_lock([] { return profile::memory_activity(); });
    auto kinds = nlohmann::json::object();
    for (const auto& kind : activity.kinds) kinds[kind.kind] = kind.memory;
    return python_of({{"kinds", kinds}, {"ranges", full_json_of(activity.ranges)}, {"reason", activity.reason}});
  });
  module.def("memory_activity_text", &profile::memory_activity_text, Release());
  module.def("device_memory", &device_memory,
             "What the current device says of its memory, and of cudaMallocAsync's pool.");
}

}  // namespace gpubench::python
