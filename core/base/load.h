// SPDX-License-Identifier: Apache-2.0
// What share of its cores this process had: others run on them, and so may the host of a virtual machine.
#pragma once

#include <map>
#include <optional>
#include <string_view>

namespace gpubench {

/// Seconds that a thread ran, and was ready while its core worked for others, and how often it was given a core (Linux,
/// scheduler/sched-stats.rst).
struct ThreadTime {
  double ran = 0.0;
  double waited = 0.0;
  double turns = 0.0;
};

/// At one moment since each thread, and the system, started.
struct LoadReading {
  std::map<int, ThreadTime> threads;  ///< of this process, by id; empty where the system does not tell
  double busy = 0.0;                  ///< of all processors, in clock ticks
  double stolen = 0.0;                ///< likewise: that the virtual machine was kept waiting
  double idle = 0.0;                  ///< likewise
  int own = 0;                        ///< id of the thread that reads
  double process = 0.0;               ///< seconds that all threads of this process ran, those that ended included
  int cores = 0;                      ///< that this process may run on; 0: not known
};

LoadReading read_load();

/// The first line of /proc/stat; whether it is that.
bool parse_processor_times(std::string_view line, LoadReading& reading);

/// The share of the time in which it was ready to run that the worst-off thread ran, 0 to 1. Threads that did less than
/// a tenth of what the busiest did do not count. Nor do those that had a core three times at most, but for the one that
/// ran longest: threads of OpenMP spin for some milliseconds after their work. A wait for threads of its own process
/// does not count: others make it wait no longer than they ran. Where more threads than cores work, that is not counted
/// up to a clock tick of each core, as the system counts in ticks. Absent where the system does not tell.
std::optional<double> core_share(const LoadReading& before, const LoadReading& after);

/// Whether another thread of this process has a core, or waits for one.
bool other_threads_run();

/// Processor time of all threads of the process over that of the thread that reads: 1 where no other works. Threads of
/// OpenMP that spin after their work count as working. Absent where the system does not tell.
std::optional<double> threads_used(const LoadReading& before, const LoadReading& after);

}  // namespace gpubench
