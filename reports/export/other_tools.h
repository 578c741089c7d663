// SPDX-License-Identifier: Apache-2.0
// A run in the words of other tools, so that those that read them read ours. All text has been through `printable`; a
// number that is not known is not there.
#pragma once

#include <string>

#include "core/model/run.h"

namespace gpubench::reports {

/// Google Benchmark's JSON, one entry a point: the median in nanoseconds as real_time. cpu_time is what the host takes
/// to launch one execution, or real_time again where that was not measured: "cpu_time_source" says which. A point
/// without time stands in a list of its own, "without_time", with error_occurred or skipped and the reason: compare.py
/// ends in an exception on an entry without real_time, and a zero would be a time. Where points are of several devices,
/// names end in the device: "saxpy/1024/manual_time/cuda:1".
std::string google_benchmark_json(const Run& run);

/// nvbench's JSON, version 1.0.0: a benchmark for each operation, a state for each point. Whatever the cache state and
/// the clock, times stand under the tags of nvbench's isolated measurements (nv/cold/time/gpu/...), which are those its
/// tools compare; the mean's description says how they were taken.
std::string nvbench_json(const Run& run);

/// OpenMetrics 1.0 text of gauges without timestamps, which is Prometheus' text format as well: the textfile collector
/// of its node exporter takes files called .prom. Points and ceilings.
std::string open_metrics(const Run& run);

/// JUnit XML: a suite for each operation on each device, a case for each point, its time the median of one execution
/// in seconds.
std::string junit_xml(const Run& run);

}  // namespace gpubench::reports
