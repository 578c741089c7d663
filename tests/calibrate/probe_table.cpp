// SPDX-License-Identifier: Apache-2.0
// Calibrates a GPU, or the host, in full and prints every ceiling with all that is known of it, as a table in Markdown,
// and what each step took. For those who work on probes: `probe_table [quick|full] [cpu|cuda:N] [FILE.json]`.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/calibrate.h"
#include "core/base/time.h"
#include "core/storage/storage.h"
#include "gpu/devices.h"

namespace {

using namespace gpubench;

std::string maybe(const std::optional<double>& value, double scale, const char* format) {
  return value ? fmt::format(fmt::runtime(format), *value * scale) : std::string();
}

std::string counted(const Ceiling& ceiling) {
  if (!ceiling.confirmation) return "";
  if (ceiling.confirmation->ratio) return fmt::format("{:.4f}", *ceiling.confirmation->ratio);
  return "no: " + ceiling.confirmation->reason;
}

void print(const Calibration& calibration) {
  fmt::print(
      "| group | resource | value | unit | +- % | n | % of limit | /clk/SM | MHz | cycles | W | C | counted | load | "
      "data | shape |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const auto& c : calibration.ceilings) {
    fmt::print(
        "| {} | {} | {:.5g} | {} | {:.2f} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        c.group ? name_of(*c.group) : "", c.resource, c.value, c.unit, 50.0 * (c.ci95.high - c.ci95.low) / c.value,
        c.repeats, c.theoretical_limit ? fmt::format("{:.2f}", 100.0 * c.value / *c.theoretical_limit) : "",
        maybe(c.rate_per_clock, 1.0, "{:.2f}"), maybe(c.clock_hz, 1e-6, "{:.0f}"), maybe(c.cycles, 1.0, "{:.2f}"),
        maybe(c.power_watts, 1.0, "{:.0f}"), maybe(c.temperature_celsius, 1.0, "{:.0f}"), counted(c),
        c.load ? name_of(*c.load) : "", c.conditions, c.shape);
  }
  for (const auto& one : calibration.absent) fmt::print("absent: {}: {}\n", one.resource, one.reason);
  for (const auto& c : calibration.ceilings)
    for (const auto& caveat : c.caveats) fmt::print("caveat: {}: {}\n", c.resource, caveat);
  for (const auto& warning : calibration.warnings) fmt::print("warning: {}\n", warning);
  const auto levels = [](const char* what, const std::vector<CacheLevel>& all) {
    for (const auto& one : all)
      fmt::print("{}: {} {:.0f} KiB ({:.0f} to {:.0f})\n", what, one.resource, one.capacity_bytes / 1024,
                 one.capacity_ci95.low / 1024, one.capacity_ci95.high / 1024);
  };
  levels("level of the GPU", calibration.levels);
  levels("level of a multiprocessor", calibration.unit_levels);
  for (const auto& p : calibration.ladder)
    fmt::print("ladder {:.0f} KiB {:.0f} GB/s\n", p.working_set_bytes / 1024, 1e-9 * p.bytes_per_second);
  for (const auto& p : calibration.unit_ladder)
    fmt::print("ladder of a multiprocessor {:.0f} KiB {:.0f} GB/s\n", p.working_set_bytes / 1024,
               1e-9 * p.bytes_per_second);
  for (const auto& p : calibration.latency_curve)
    fmt::print("latency {:.0f} KiB {:.1f} cycles {:.1f} ns\n", p.working_set_bytes / 1024, p.cycles, 1e9 * p.seconds);
  for (const auto& p : calibration.intensity_sweep)
    fmt::print("intensity {:.1f} FLOP/B {:.2f} TFLOP/s {:.0f} GB/s {} MHz\n", p.flops_per_byte,
               1e-12 * p.flops_per_second, 1e-9 * p.bytes_per_second, maybe(p.clock_hz, 1e-6, "{:.0f}"));
}

/// Seconds between the first calls of each step.
class StepTimes {
 public:
  void step(std::string_view name) {
    if (!steps_.empty() && steps_.back().first == name) return;
    steps_.emplace_back(name, steady_seconds());
  }
  void print() const {
    for (std::size_t i = 0; i + 1 < steps_.size(); ++i)
      fmt::print("step {}: {:.2f} s\n", steps_[i].first, steps_[i + 1].second - steps_[i].second);
  }

 private:
  std::vector<std::pair<std::string, double>> steps_;
};

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    calibrate::CalibrationOptions options;
    options.mode = calibrate::Mode::full;
    std::string id;
    std::string file;
    for (const auto& argument : arguments) {
      if (argument == "quick") options.mode = calibrate::Mode::quick;
      if (argument == "cpu" || argument.starts_with("cuda:")) id = argument;
      if (argument.ends_with(".json")) file = argument;
    }
    StepTimes times;
    options.progress = [&](std::string_view step, double) { times.step(step); };
    for (const auto& device : id == "cpu" ? std::vector<Device>{bench::host_device()} : bench::gpus()) {
      if (!id.empty() && device.id != id) continue;
      const Calibration calibration = calibrate::calibrate(device, options);
      fmt::print("# {} {}, {} calibration in {:.2f} s\n", device.id, device.name, calibration.mode,
                 calibration.seconds_taken);
      print(calibration);
      times.print();
      if (!file.empty()) std::ofstream(file) << storage::to_json(calibration);
      return 0;
    }
    fmt::print(stderr, "no such GPU: {}\n", bench::why_no_gpu());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
  return 1;
}
