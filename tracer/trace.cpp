// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "core/storage/storage.h"
#include "tracer/recording.h"
#include "traces/writers.h"

namespace gpubench::kernel_trace {

Trace Trace::corrected(double event_ns) const {
  if (!(event_ns >= 0.0)) throw std::invalid_argument("the time to take off for an event must be 0 or more.");
  auto copy = std::make_shared<Recording>(*recording_);
  copy->event_ns = event_ns;
  return Trace(std::move(copy));
}

Statistics Trace::statistics() const { return statistics_of(*recording_); }
std::string Trace::table() const { return statistics_table(statistics()); }
std::string Trace::csv() const { return statistics_csv(statistics()); }
std::string Trace::json() const { return statistics_json(statistics()); }

void Trace::write(const std::filesystem::path& file) const {
  const std::string name = file.filename().string();
  if (name.ends_with(".stats.json"))
    storage::write_file(file, json());
  else if (name.ends_with(".csv"))
    storage::write_file(file, csv());
  else if (name.ends_with(".txt"))
    storage::write_file(file, table());
  else if (name.ends_with(".json") || name.ends_with(".perfetto-trace"))
    traces::write(timeline_of(*recording_), file);
  else
    throw std::invalid_argument(
        name + " names no format of a trace: end it in .perfetto-trace, .json, .stats.json, .csv or .txt.");
}

}  // namespace gpubench::kernel_trace
