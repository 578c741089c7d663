// SPDX-License-Identifier: Apache-2.0
#include "core/base/load.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "core/base/cores.h"
#include "core/base/text.h"

namespace gpubench {

namespace {

constexpr double turns_of_idle = 3.0;  ///< most that a thread has a core while it spins, before it sleeps

/// What each thread did between two readings.
std::map<int, ThreadTime> passed_between(const LoadReading& before, const LoadReading& after) {
  std::map<int, ThreadTime> passed = after.threads;
  for (auto& [id, time] : passed)
    if (const auto then = before.threads.find(id); then != before.threads.end()) {
      time.ran = std::max(0.0, time.ran - then->second.ran);
      time.waited = std::max(0.0, time.waited - then->second.waited);
      time.turns -= then->second.turns;
    }
  return passed;
}

std::vector<int> own_threads() {
  std::vector<int> ids;
  std::error_code error;
  for (std::filesystem::directory_iterator place("/proc/self/task", error), end; !error && place != end;
       place.increment(error))
    ids.push_back(number_in<int>(place->path().filename().string()).value_or(0));
  return ids;
}

int this_thread() { return static_cast<int>(::syscall(SYS_gettid)); }

std::ifstream file_of(int thread, const char* name) {
  return std::ifstream("/proc/self/task/" + std::to_string(thread) + "/" + name);
}

/// The clock of a thread's processor time, which its file tells a tick late. The number is how Linux makes it of the id
/// (include/linux/posix-timers.h).
clockid_t clock_of(int thread) {
  constexpr unsigned of_a_thread = 6;
  return static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | of_a_thread);
}

std::optional<double> seconds_on(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return std::nullopt;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

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
  reading.own = this_thread();
  reading.cores = affinity_cores();
  for (const int id : own_threads()) {
    double ran = 0.0, waited = 0.0, turns = 0.0;  // times in nanoseconds
    if (std::ifstream file = file_of(id, "schedstat"); file >> ran >> waited >> turns)
      reading.threads[id] = {seconds_on(clock_of(id)).value_or(1e-9 * ran), 1e-9 * waited, turns};
  }
  reading.process = seconds_on(CLOCK_PROCESS_CPUTIME_ID).value_or(0.0);
  std::ifstream file("/proc/stat");
  if (std::string line; std::getline(file, line)) parse_processor_times(line, reading);
  return reading;
}

std::optional<double> core_share(const LoadReading& before, const LoadReading& after) {
  const std::map<int, ThreadTime> passed = passed_between(before, after);
  double busiest = 0.0, longest_run = 0.0;
  for (const auto& [id, time] : passed) {
    busiest = std::max(busiest, time.ran + time.waited);
    longest_run = std::max(longest_run, time.ran);
  }
  if (busiest <= 0.0) return std::nullopt;
  std::vector<ThreadTime> working;
  for (const auto& [id, time] : passed)
    if (time.ran + time.waited >= 0.1 * busiest && (time.turns > turns_of_idle || time.ran >= longest_run))
      working.push_back(time);
  const double stolen = std::max(0.0, after.stolen - before.stolen), busy = std::max(0.0, after.busy - before.busy);
  const bool take_turns = after.cores > 0 && working.size() > static_cast<std::size_t>(after.cores);
  const double unsure_ticks = take_turns ? after.cores : 0;
  const double others =  // seconds; more than that a thread waited for those of its own process
      busy > 0.0 ? std::max(0.0, (busy - unsure_ticks) / static_cast<double>(sysconf(_SC_CLK_TCK)) -
                                     (after.process - before.process))
                 : std::numeric_limits<double>::infinity();
  double share = 1.0;
  for (const ThreadTime& time : working) share = std::min(share, time.ran / (time.ran + std::min(time.waited, others)));
  return stolen > 0.0 ? share * busy / (busy + stolen) : share;
}

std::optional<double> threads_used(const LoadReading& before, const LoadReading& after) {
  double all = 0.0, own = 0.0;
  for (const auto& [id, time] : passed_between(before, after)) {
    all += time.ran;
    if (id == after.own) own = time.ran;
  }
  if (own <= 0.0) return std::nullopt;
  return std::max(all, after.process - before.process) / own;
}

bool other_threads_run() {
  return std::ranges::any_of(own_threads(), [own = this_thread()](int thread) {
    std::ifstream file = file_of(thread, "stat");
    std::string line;  // "123 (name, which may hold anything) R ..."
    return thread != own && std::getline(file, line) && line.rfind(") R ") != std::string::npos;
  });
}

}  // namespace gpubench
