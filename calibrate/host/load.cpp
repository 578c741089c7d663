// SPDX-License-Identifier: Apache-2.0
#include "calibrate/host/load.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>

namespace gpubench::calibrate {
namespace {

constexpr double worth_saying = 0.02;

std::optional<ProcessorTimes> processor_times() {
  std::ifstream file("/proc/stat");
  std::string line;
  std::getline(file, line);
  return parse_processor_times(line);
}

double own_ticks() {
  std::timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  const double seconds = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  return seconds * static_cast<double>(::sysconf(_SC_CLK_TCK));
}

}  // namespace

std::optional<ProcessorTimes> parse_processor_times(std::string_view text) {
  // "cpu  user nice system idle iowait irq softirq steal guest guest_nice"; guests' time is in user and nice.
  std::istringstream in{std::string(text.substr(0, 4096))};
  std::string name;
  std::array<double, 8> ticks{};
  in >> name;
  for (auto& one : ticks) in >> one;
  if (!in || name != "cpu") return std::nullopt;
  return ProcessorTimes{ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6], ticks[7], ticks[3] + ticks[4]};
}

std::optional<std::string> load_warning(const ProcessorTimes& passed, double own) {
  const double all = passed.busy + passed.stolen + passed.idle;
  if (!(all > 0.0)) return std::nullopt;
  const double others = std::max(0.0, passed.busy - own) / all;
  const double stolen = passed.stolen / all;
  std::string text;
  if (others > worth_saying)
    text = fmt::format("other processes took {:.0f} % of the processors' time", 100.0 * others);
  if (stolen > worth_saying)
    text += fmt::format("{}{:.0f} % of it was kept from this virtual machine by its host",
                        text.empty() ? "of the processors' time, " : "; ", 100.0 * stolen);
  if (text.empty()) return std::nullopt;
  return text + "; ceilings may be low";
}

OtherLoad::OtherLoad() : start_(processor_times()), own_start_(own_ticks()) {}

std::optional<std::string> OtherLoad::warning() const {
  const auto now = processor_times();
  if (!start_ || !now) return std::nullopt;
  return load_warning({now->busy - start_->busy, now->stolen - start_->stolen, now->idle - start_->idle},
                      own_ticks() - own_start_);
}

}  // namespace gpubench::calibrate
