// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <sstream>

#include "bench/devices.h"
#include "bench/google_runner.h"
#include "bench/gpu.h"
#include "bench/harness.h"
#include "bench/host_clock.h"
#include "calibrate/cache.h"
#include "calibrate/calibrate.h"
#include "classifier/classifier.h"
#include "gpubench/version.h"
#include "main/commands.h"
#include "main/context.h"
#include "main/terminal.h"
#include "reports/reports.h"
#include "storage/storage.h"

namespace gpubench {
namespace {

/// Everything that can be refused is refused before anything is measured.
void check_outputs(const Options& options) {
  for (const std::string& output : options.outputs) storage::check_writable(output);
  if (options.google.out) storage::check_writable(*options.google.out);
}

void list_points(const std::vector<Device>& devices, const std::string& filter) {
  for (const Device& device : devices) {
    std::string previous;
    for (const auto& point : bench::discover(device, filter)) {
      if (point.name != previous)
        fmt::print("{}{}\n", devices.size() > 1 ? device.id + "  " : std::string(), point.name);
      previous = point.name;
    }
  }
}

Calibration measure_ceilings(const Device& device, calibrate::Mode mode, bool quiet) {
  ProgressLine progress(quiet);
  calibrate::Options options;
  options.mode = mode;
  options.progress = [&](std::string_view step, double done) {
    progress.step(fmt::format("calibrating {}: {}", device.id, step), done);
  };
  const double start = bench::steady_seconds();
  Calibration calibration = calibrate::calibrate(device, options);
  calibration.created_utc = utc_now();
  calibration.gpubench_version = std::string(version);
  calibration.seconds_taken = bench::steady_seconds() - start;
  return calibration;
}

void keep_in_cache(const Calibration& calibration) {
  try {
    say(fmt::format("calibration of {} kept in {}", calibration.device.id, calibrate::store(calibration).string()));
  } catch (const storage::WriteError& error) {
    say(error.what());
  }
}

Calibration ceilings_for(const Device& device, const Options& options, std::vector<std::string>& warnings) {
  if (options.calibration_file) {
    Calibration calibration = storage::read_calibration(*options.calibration_file);
    if (const auto reason = calibrate::why_not_fitting(calibration, device))
      warnings.push_back(fmt::format("{} was not measured on this {} as it is now ({}); its verdicts may mislead.",
                                     *options.calibration_file, device.id, *reason));
    calibration.device.id = device.id;
    return calibration;
  }
  auto cached = calibrate::load_cached(device);
  if (cached.calibration) {
    cached.calibration->device.id = device.id;  // the same GPU may be numbered anew
    return *std::move(cached.calibration);
  }
  say(fmt::format("no calibration of {} to re-use: {}; measuring a quick one", device.id, cached.reason));
  Calibration calibration = measure_ceilings(device, calibrate::Mode::quick, options.quiet);
  keep_in_cache(calibration);
  return calibration;
}

bench::SamplingOptions sampling_options(const Options& options) {
  bench::SamplingOptions sampling;
  sampling.budget_seconds = options.time_budget_seconds;
  if (options.google.min_time_seconds) sampling.least_seconds = *options.google.min_time_seconds;
  sampling.exact_samples = options.google.exact_iterations;
  return sampling;
}

std::unique_ptr<benchmark::BenchmarkReporter> google_reporter(const std::string& format) {
  if (format == "json") return std::make_unique<benchmark::JSONReporter>();
  if (format == "csv") {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return std::make_unique<benchmark::CSVReporter>();
#pragma GCC diagnostic pop
  }
  return std::make_unique<benchmark::ConsoleReporter>(benchmark::ConsoleReporter::OO_Tabular);
}

/// Google Benchmark's own reporters, as its flags ask for them.
class GoogleOutputs {
 public:
  explicit GoogleOutputs(const bench::GoogleFlags& flags) : flags_(flags) {
    if (flags.format) add(*flags.format, display_, flags.report_aggregates_only || flags.display_aggregates_only);
    if (flags.out) add(flags.out_format, file_, flags.report_aggregates_only);
  }
  [[nodiscard]] const std::vector<bench::Sink>& sinks() const { return sinks_; }
  void write() const {
    if (flags_.format) fmt::print("{}", display_.str());
    if (flags_.out) storage::write_file(*flags_.out, file_.str());
  }

 private:
  void add(const std::string& format, std::ostringstream& stream, bool aggregates_only) {
    reporters_.push_back(google_reporter(format));
    reporters_.back()->SetOutputStream(&stream);
    reporters_.back()->SetErrorStream(&stream);
    sinks_.push_back({reporters_.back().get(), aggregates_only});
  }

  const bench::GoogleFlags& flags_;
  std::ostringstream display_;
  std::ostringstream file_;
  std::vector<std::unique_ptr<benchmark::BenchmarkReporter>> reporters_;
  std::vector<bench::Sink> sinks_;
};

void measure(const Device& device, const Calibration& calibration, const Options& options, GoogleOutputs& google,
             ProgressLine& progress, std::size_t done_before, std::size_t total, Run& run) {
  const auto points = bench::discover(device, options.filter);
  if (points.empty()) return;
  Harness harness(device, sampling_options(options));
  harness.set_labeller([&](const Measurement& measurement) {
    return std::string(name_of(classifier::classify(measurement, calibration).regime));
  });
  harness.set_clocks(options.clocks);
  harness.set_watcher([&](std::size_t done) {
    const std::string_view name = done < points.size() ? std::string_view(points[done].name) : std::string_view();
    progress.point(done_before + done, total, name);
  });
  if (!options.metrics.empty()) harness.count(options.metrics);
  bench::run_google(harness, options.filter, google.sinks());
  for (auto& warning : harness.counter_warnings()) run.warnings.push_back(std::move(warning));
  for (auto& measurement : harness.measurements()) run.points.push_back({std::move(measurement), std::nullopt});
}

int report(const Run& run, const Options& options, const GoogleOutputs& google) {
  for (const std::string& warning : run.warnings) say(warning);
  google.write();
  if (!options.quiet && !options.google.format) fmt::print("{}", reports::console(run, stdout_style(options.color)));
  for (const std::string& output : options.outputs) {
    reports::write(run, output);
    if (!options.quiet) say(fmt::format("wrote {}", output));
  }
  int failed = 0;
  for (const Point& point : run.points)
    if (const auto& failure = point.measurement.failure) {
      ++failed;
      say(fmt::format("{} on {} failed ({}): {}", point.measurement.name, point.measurement.device,
                      failure_kind_names[static_cast<std::size_t>(failure->kind)], failure->message));
    }
  if (failed > 0) say(fmt::format("{} of {} points failed", failed, run.points.size()));
  return failed > 0 ? exit_codes::operation_failed : exit_codes::fine;
}

int calibrate_only(const Options& options, const std::vector<Device>& devices, Run run) {
  for (const Device& device : devices) {
    Calibration calibration = measure_ceilings(device, *options.calibrate, options.quiet);
    if (!options.quiet) fmt::print("{}", reports::console(calibration, stdout_style(options.color)));
    keep_in_cache(calibration);
    run.devices.push_back(device);
    run.calibrations.push_back(std::move(calibration));
  }
  for (const std::string& output : options.outputs) reports::write(run, output);
  return exit_codes::fine;
}

}  // namespace

int run_command(const Options& options, const std::string& program, const std::vector<std::string>& arguments) {
  bench::initialize_google(program, options.google);
  const std::vector<Device> devices = bench::choose_devices(options.device);
  if (options.list) {
    list_points(devices, options.filter);
    return exit_codes::fine;
  }
  check_outputs(options);
  for (const Device& device : devices) {
    const std::string why = device.kind == DeviceKind::cpu && options.device.empty()
                                ? fmt::format(" ({})", bench::why_no_gpu())
                                : std::string();
    say(fmt::format("device {}: {}{}", device.id, device.name, why));
  }
  Run run;
  run.context = gather_context(program, arguments);
  if (run.context.environment["build"] == "debug")
    run.warnings.push_back("This is a debug build: its times say little about an optimised one.");
  if (options.calibrate) return calibrate_only(options, devices, std::move(run));

  std::size_t total = 0;
  for (const Device& device : devices) total += bench::discover(device, options.filter).size();
  if (total == 0)
    throw UsageError(
        fmt::format("No operation of this program matches the filter '{}' on the chosen device; --list names "
                    "them all.",
                    options.filter));
  run.devices = devices;
  for (const Device& device : devices) run.calibrations.push_back(ceilings_for(device, options, run.warnings));
  GoogleOutputs google(options.google);
  {
    ProgressLine progress(options.quiet);
    for (std::size_t i = 0; i < devices.size(); ++i)
      measure(devices[i], run.calibrations[i], options, google, progress, run.points.size(), total, run);
  }
  classifier::classify(run);
  return report(run, options, google);
}

}  // namespace gpubench
