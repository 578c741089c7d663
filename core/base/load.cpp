// SPDX-License-Identifier: Apache-2.0
#include "core/base/load.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include "core/base/text.h"

namespace gpubench {

namespace {

constexpr double turns_of_idle = 3.0;  ///< most that a thread has a core while it spins, before it sleeps

}  // namespace

bool parse_processor_times(std::string_view line, LoadReading& reading) {
  // "cpu  user nice system idle iowait irq softirq steal ..."
  std::istringstream in{std::string(line.substr(0, 4096))};
  std::string name;
  std::array<double, 8> ticks{};
  in >> name;
  for (double& one : ticks) in >> one;
  if (!in || name != "cpu") return false;
  reading.busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6];
  reading.stolen = ticks[7];
  reading.idle = ticks[3] + ticks[4];
  return true;
}

LoadReading read_load() {
  LoadReading reading;
  std::error_code error;
  for (std::filesystem::directory_iterator place("/proc/self/task", error), end; !error && place != end;
       place.increment(error)) {
    const int id = number_in<int>(place->path().filename().string()).value_or(0);
    double ran = 0.0, waited = 0.0, turns = 0.0;  // times in nanoseconds
    if (std::ifstream file(place->path() / "schedstat"); file >> ran >> waited >> turns)
      reading.threads[id] = {1e-9 * ran, 1e-9 * waited, turns};
  }
  std::ifstream file("/proc/stat");
  if (std::string line; std::getline(file, line)) parse_processor_times(line, reading);
  return reading;
}

std::optional<double> core_share(const LoadReading& before, const LoadReading& after) {
  std::map<int, ThreadTime> passed = after.threads;
  double busiest = 0.0, longest_run = 0.0;
  for (auto& [id, time] : passed) {
    if (const auto then = before.threads.find(id); then != before.threads.end()) {
      time.ran = std::max(0.0, time.ran - then->second.ran);
      time.waited = std::max(0.0, time.waited - then->second.waited);
      time.turns -= then->second.turns;
    }
    busiest = std::max(busiest, time.ran + time.waited);
    longest_run = std::max(longest_run, time.ran);
  }
  if (busiest <= 0.0) return std::nullopt;
  double share = 1.0;
  for (const auto& [id, time] : passed)
    if (const double ready = time.ran + time.waited;
        ready >= 0.1 * busiest && (time.turns > turns_of_idle || time.ran >= longest_run))
      share = std::min(share, time.ran / ready);
  const double stolen = std::max(0.0, after.stolen - before.stolen), busy = std::max(0.0, after.busy - before.busy);
  return stolen > 0.0 ? share * busy / (busy + stolen) : share;
}

}  // namespace gpubench
