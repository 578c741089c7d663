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
#include "python/src/parts.h"

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

template <class Value>
nb::object or_none(const std::optional<Value>& value) {
  return value ? nb::cast(*value) : nb::none();
}

nb::dict as_dict(const profile::Timing& timing) {
  nb::dict result;
  result["count"] = timing.count;
  result["total"] = timing.total_ms;
  result["exclusive"] = timing.exclusive_ms;
  result["mean"] = timing.mean_ms;
  result["min"] = timing.min_ms;
  result["max"] = timing.max_ms;
  result["p50"] = timing.p50_ms;
  result["p95"] = timing.p95_ms;
  result["p99"] = timing.p99_ms;
  result["std"] = timing.deviation_ms;
  return result;
}

nb::dict as_dict(const profile::Status& status) {
  nb::dict result;
  result["enabled"] = status.enabled;
  result["records"] = status.records;
  result["records_reason"] = status.records_reason;
  result["counters"] = status.counters;
  result["counters_reason"] = status.counters_reason;
  result["dropped"] = status.dropped;
  result["kernels_outside"] = status.kernels_outside;
  result["note"] = status.note;
  result["text"] = status.text();
  return result;
}

nb::dict as_dict(const profile::RangeMemory& memory) {
  nb::dict result;
  result["allocations"] = memory.allocations;
  result["allocated_bytes"] = memory.allocated_bytes;
  result["releases"] = memory.releases;
  result["freed_bytes"] = memory.freed_bytes;
  result["live_bytes"] = memory.live_bytes;
  result["peak_bytes"] = memory.peak_bytes;
  return result;
}

nb::dict as_dict(const profile::RangeResult& range) {
  nb::dict result;
  result["name"] = range.name;
  result["path"] = range.path;
  result["depth"] = range.depth;
  result["type"] = range.type == profile::RangeType::memory ? "MEMORY" : "CONCURRENT_KERNEL";
  result["calls"] = range.calls;
  result["host_ms"] = range.host_ms;
  result["kernels"] = or_none(range.kernels);
  result["exclusive_kernels"] = or_none(range.exclusive_kernels);
  nb::list metrics;
  for (const profile::RangeMetric& metric : range.metrics) {
    nb::dict one;
    one["name"] = metric.name;
    one["unit"] = metric.unit;
    one["inclusive"] = or_none(metric.inclusive);
    one["exclusive"] = or_none(metric.exclusive);
    one["note"] = metric.note;
    metrics.append(one);
  }
  result["metrics"] = metrics;
  result["memory"] = range.memory ? nb::object(as_dict(*range.memory)) : nb::none();
  return result;
}

nb::list as_list(const std::vector<profile::RangeResult>& ranges) {
  nb::list result;
  for (const auto& range : ranges) result.append(as_dict(range));
  return result;
}

nb::dict device_memory() {
  const profile::DeviceMemory memory = profile::device_memory();
  nb::dict result;
  result["pool_used"] = or_none(memory.pool_used);
  result["pool_used_peak"] = or_none(memory.pool_used_peak);
  result["pool_reserved"] = or_none(memory.pool_reserved);
  result["pool_reserved_peak"] = or_none(memory.pool_reserved_peak);
  result["used"] = or_none(memory.used);
  result["total"] = or_none(memory.total);
  result["reason"] = memory.reason;
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
          "timing",
          [](profile::KernelTimer& self, const std::string& name) -> nb::object {
            std::optional<profile::Timing> timing;
            {
              const nb::gil_scoped_release unlock;
              timing = self.timing(name);
            }
            return timing ? nb::object(as_dict(*timing)) : nb::none();
          },
          "name"_a)
      .def("names", &profile::KernelTimer::names)
      .def("report", &profile::KernelTimer::report, Release())
      .def("problem", &profile::KernelTimer::problem)
      .def("reset", &profile::KernelTimer::reset, Release());
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
          "untrack", [](profile::MemoryTracker& self, const std::string& name) { return self.untrack(name); }, "name"_a)
      .def(
          "info",
          [](const profile::MemoryTracker& self, const std::string& name) -> nb::object {
            const auto info = self.info(name);
            if (!info) return nb::none();
            nb::dict result;
            result["name"] = info->name;
            result["pointer"] = reinterpret_cast<std::uintptr_t>(info->pointer);
            result["shape"] = nb::tuple(nb::cast(info->shape));
            result["dtype"] = info->type;
            result["bytes"] = info->bytes;
            return result;
          },
          "name"_a)
      .def("total", &profile::MemoryTracker::total)
      .def("peak", &profile::MemoryTracker::peak)
      .def("report", &profile::MemoryTracker::report)
      .def("reset", &profile::MemoryTracker::reset);
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
        profile::Status status;
        {
          const nb::gil_scoped_release unlock;
          status = profile::enable({metrics, memory});
        }
        return as_dict(status);
      },
      "metrics"_a, "memory"_a = true);
  module.def("disable", &profile::disable, Release());
  module.def("reset", &profile::reset, Release());
  module.def("status", [] { return as_dict(profile::status()); });
  module.def(
      "results",
      [](const std::string& reduction) {
        std::vector<profile::RangeResult> results;
        const auto wanted = reduction_of(reduction);
        {
          const nb::gil_scoped_release unlock;
          results = profile::results(wanted);
        }
        return as_list(results);
      },
      "reduction"_a = "SUM");
  module.def(
      "ranges_text", [](const std::string& reduction) { return profile::ranges_text(reduction_of(reduction)); },
      "reduction"_a = "SUM", Release());
  module.def(
      "ranges_csv", [](const std::string& reduction) { return profile::ranges_csv(reduction_of(reduction)); },
      "reduction"_a = "SUM", Release());
  module.def(
      "write_ranges",
      [](const std::string& path, const std::string& reduction) {
        return profile::write_ranges(path, reduction_of(reduction));
      },
      "path"_a, "reduction"_a = "SUM", Release());
  module.def("memory_activity", [] {
    profile::MemoryActivity activity;
    {
      const nb::gil_scoped_release unlock;
      activity = profile::memory_activity();
    }
    nb::dict kinds;
    for (const auto& kind : activity.kinds) kinds[kind.kind.c_str()] = as_dict(kind.memory);
    nb::dict result;
    result["kinds"] = kinds;
    result["ranges"] = as_list(activity.ranges);
    result["reason"] = activity.reason;
    return result;
  });
  module.def("memory_activity_text", &profile::memory_activity_text, Release());
  module.def("device_memory", &device_memory);
  module.def("self_cost", [] {
    nb::list list;
    for (const auto& cost : profile::self_cost()) {
      nb::dict one;
      one["what"] = cost.what;
      one["nanoseconds"] = or_none(cost.nanoseconds);
      one["reason"] = cost.reason;
      list.append(one);
    }
    return list;
  });
}

}  // namespace gpubench::python
