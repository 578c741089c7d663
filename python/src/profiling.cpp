// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <list>
#include <optional>
#include <thread>

#include "gpubench/profile.h"
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

void add(nb::dict&) {}
template <class Value, class... Others>
void add(nb::dict& to, const char* key, const Value& value, const Others&... others) {
  to[key] = value;
  add(to, others...);
}
/// Of keys, each followed by its value. What is absent is None.
template <class... KeysAndValues>
nb::dict dict_of(const KeysAndValues&... keys_and_values) {
  nb::dict result;
  add(result, keys_and_values...);
  return result;
}

template <class Call>
auto without_lock(const Call& call) {
  const nb::gil_scoped_release unlock;
  return call();
}

nb::dict as_dict(const profile::Status& s) {
  return dict_of("enabled", s.enabled, "records", s.records, "records_reason", s.records_reason, "counters", s.counters,
                 "counters_reason", s.counters_reason, "dropped", s.dropped, "kernels_outside", s.kernels_outside,
                 "note", s.note, "text", s.text());
}

nb::dict as_dict(const profile::RangeMemory& m) {
  return dict_of("allocations", m.allocations, "allocated_bytes", m.allocated_bytes, "releases", m.releases,
                 "freed_bytes", m.freed_bytes, "live_bytes", m.live_bytes, "peak_bytes", m.peak_bytes);
}

nb::dict as_dict(const profile::RangeResult& range) {
  nb::list metrics;
  for (const profile::RangeMetric& each : range.metrics)
    metrics.append(dict_of("name", each.name, "unit", each.unit, "inclusive", each.inclusive, "exclusive",
                           each.exclusive, "note", each.note));
  return dict_of("name", range.name, "path", range.path, "depth", range.depth, "type",
                 std::string(range.type == profile::RangeType::memory ? "MEMORY" : "CONCURRENT_KERNEL"), "calls",
                 range.calls, "host_ms", range.host_ms, "kernels", range.kernels, "exclusive_kernels",
                 range.exclusive_kernels, "metrics", metrics, "memory",
                 range.memory ? nb::object(as_dict(*range.memory)) : nb::none());
}

nb::list as_list(const std::vector<profile::RangeResult>& ranges) {
  nb::list result;
  for (const auto& range : ranges) result.append(as_dict(range));
  return result;
}

nb::dict device_memory() {
  const profile::DeviceMemory m = profile::device_memory();
  return dict_of("pool_used", m.pool_used, "pool_used_peak", m.pool_used_peak, "pool_reserved", m.pool_reserved,
                 "pool_reserved_peak", m.pool_reserved_peak, "used", m.used, "total", m.total, "reason", m.reason);
}

std::optional<nb::dict> timing_of(profile::KernelTimer& timer, const std::string& name) {
  const auto found = without_lock([&] { return timer.timing(name); });
  if (!found) return std::nullopt;
  const profile::Timing& t = *found;
  return dict_of("count", t.count, "total", t.total_ms, "exclusive", t.exclusive_ms, "mean", t.mean_ms, "min", t.min_ms,
                 "max", t.max_ms, "p50", t.p50_ms, "p95", t.p95_ms, "p99", t.p99_ms, "std", t.deviation_ms);
}

std::optional<nb::dict> info_of(const profile::MemoryTracker& tracker, const std::string& name) {
  const auto info = tracker.info(name);
  if (!info) return std::nullopt;
  return dict_of("name", info->name, "pointer", reinterpret_cast<std::uintptr_t>(info->pointer), "shape",
                 nb::tuple(nb::cast(info->shape)), "dtype", info->type, "bytes", info->bytes);
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
  void enter() {
    if (first_ || !others_.empty())
      others_.emplace_back(name_, type_);
    else
      first_.emplace(name_, type_);
  }
  /// The newest that this thread has entered.
  void exit() {
    const auto mine = [](const Open& open) { return open.thread == std::this_thread::get_id(); };
    if (others_.empty()) return first_.reset();
    const auto newest = std::find_if(others_.rbegin(), others_.rend(), mine);
    if (newest == others_.rend()) return first_.reset();
    others_.erase(std::next(newest).base());
  }

 private:
  struct Open {
    Open(const std::string& name, profile::RangeType type) : range(name, type) {}
    std::thread::id thread = std::this_thread::get_id();
    profile::Range range;
  };
  std::string name_;
  profile::RangeType type_ = profile::RangeType::kernels;
  std::optional<Open> first_;
  std::list<Open> others_;
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
        return as_dict(without_lock([&] { return profile::enable({metrics, memory}); }));
      },
      "metrics"_a, "memory"_a = true);
  module.def("disable", &profile::disable, Release());
  module.def("reset", &profile::reset, Release());
  module.def("status", [] { return as_dict(profile::status()); });
  module.def(
      "results",
      [](const std::string& reduction) {
        return as_list(without_lock([&] { return profile::results(reduction_of(reduction)); }));
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
    nb::dict kinds;
    for (const auto& kind : activity.kinds) kinds[kind.kind.c_str()] = as_dict(kind.memory);
    return dict_of("kinds", kinds, "ranges", as_list(activity.ranges), "reason", activity.reason);
  });
  module.def("memory_activity_text", &profile::memory_activity_text, Release());
  module.def("device_memory", &device_memory,
             "What the current device says of its memory, and of cudaMallocAsync's pool.");
  module.def(
      "self_cost",
      [] {
        nb::list list;
        for (const auto& cost : profile::self_cost())
          list.append(dict_of("what", cost.what, "nanoseconds", cost.nanoseconds, "reason", cost.reason));
        return list;
      },
      "What these calls cost here, in nanoseconds.");
}

}  // namespace gpubench::python
