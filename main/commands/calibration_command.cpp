// SPDX-License-Identifier: Apache-2.0
// gpubench calibration: what is stored, looked at and moved about. Measures nothing.
#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "calibrate/calibrate.h"
#include "calibrate/check/health.h"
#include "compare/compare.h"
#include "core/base/table.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "gpu/devices.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/cli/terminal.h"
#include "main/run/context.h"
#include "reports/comparisons.h"
#include "reports/reports.h"

namespace gpubench {
namespace {

std::vector<Device> devices_here() {
  std::vector<Device> devices = bench::gpus();
  devices.push_back(bench::host_device());
  return devices;
}

std::filesystem::path cache_folder() {
  if (const auto folder = calibrate::cache_directory()) return *folder;
  throw UsageError("There is no folder for calibrations. Set HOME or XDG_CACHE_HOME.");
}

/// Which device of this machine a calibration is of, or why none.
struct FittingDevice {
  std::string device;
  std::string reason;
};

FittingDevice fit_of(const Calibration& calibration, const std::vector<Device>& devices) {
  FittingDevice fit{"", fmt::format("this machine has no {}", calibration.device.name)};
  for (const Device& device : devices) {
    const auto why = calibrate::why_not_fitting(calibration, device);
    if (!why) return {device.id, ""};
    if (device.name == calibration.device.name) fit.reason = *why;
  }
  return fit;
}

bool is_file(const std::string& name) {
  std::error_code error;
  return std::filesystem::exists(name, error);
}

/// A device's id, or the name that `calibration list` shows, or enough of its beginning.
std::filesystem::path stored_file(const std::string& name) {
  const auto folder = cache_folder();
  for (const Device& device : devices_here())
    if (device.id == name) {
      auto file = calibrate::cache_file(folder, device);
      if (is_file(file.string())) return file;
      throw UsageError(fmt::format("No calibration of {0} is stored. To measure one: gpubench --calibrate --device={0}",
                                   name, name));
    }
  std::vector<std::filesystem::path> matches;
  for (const auto& stored : calibrate::stored_calibrations()) {
    if (stored.name == name) return stored.file;
    if (stored.name.starts_with(name)) matches.push_back(stored.file);
  }
  if (matches.size() == 1) return matches.front();
  throw UsageError(
      matches.empty()
          ? fmt::format("'{}' is neither a file nor a stored calibration. To list those: gpubench calibration list",
                        printable(name))
          : fmt::format("'{}' matches {} stored calibrations. Give more of the name.", printable(name),
                        matches.size()));
}

/// The calibrations that a file or a name stands for; of those in a file, FILE@DEVICE chooses one.
std::vector<Calibration> calibrations_of(const std::string& name) {
  if (is_file(name)) return storage::read_calibrations(name);
  if (const auto at = name.rfind('@'); at != std::string::npos && is_file(name.substr(0, at))) {
    auto all = storage::read_calibrations(name.substr(0, at));
    std::erase_if(all, [&](const Calibration& one) { return one.device.id != name.substr(at + 1); });
    return all;
  }
  return {storage::read_calibration(stored_file(name))};
}

Calibration one_calibration_of(const std::string& name) {
  auto all = calibrations_of(name);
  if (all.size() == 1) return std::move(all.front());
  if (all.empty()) throw UsageError(fmt::format("{} has no such calibration.", printable(name)));
  const std::string ids = joined(all, ", ", [](const Calibration& one) { return printable(one.device.id); });
  throw UsageError(fmt::format("{} has calibrations of {}. Choose one: {}@{}", printable(name), ids, printable(name),
                               printable(all.front().device.id)));
}

std::vector<Calibration> shown(const Options& options) {
  if (!options.inputs.empty()) return calibrations_of(options.inputs.front());
  std::vector<Calibration> all;
  for (const Device& device : devices_here())
    if (auto cached = calibrate::load_cached(device); cached.calibration) {
      cached.calibration->device.id = device.id;
      all.push_back(*std::move(cached.calibration));
    }
  if (all.empty())
    throw UsageError("No stored calibration fits a device of this machine. To measure one: gpubench --calibrate");
  return all;
}

int list_calibrations(const Options& options) {
  const auto folder = cache_folder();
  const auto all = calibrate::stored_calibrations();
  if (all.empty()) {
    say(fmt::format("no calibrations are stored in {}. To measure one: gpubench --calibrate", folder.string()));
    return exit_codes::fine;
  }
  const auto devices = devices_here();
  const auto style = stdout_style(options);
  const std::string now = utc_now();
  std::vector<Column> columns = {{"name", false, {}}, {"device", false, {}}, {"mode", false, {}},
                                 {"age", false, {}},  {"fits", false, {}},   {"driver", false, {}}};
  std::string notes;
  for (const auto& stored : all) {
    std::vector<std::string> cells = {stored.name, "", "", "", "no", ""};
    std::string reason = stored.reason;
    if (stored.calibration) {
      const Calibration& one = *stored.calibration;
      const FittingDevice fit = fit_of(one, devices);
      reason = fit.reason;
      const auto driver = one.device.properties.find("driver");
      cells = {stored.name,
               one.device.name,
               one.mode,
               format_age(one.created_utc, now),
               reason.empty() ? fit.device : "no",
               driver == one.device.properties.end() ? "" : driver->second};
    }
    if (!reason.empty())
      notes += paragraph("", fmt::format("{}: {}", printable(stored.name), printable(reason)), color::dim, style);
    for (std::size_t i = 0; i < cells.size(); ++i) columns[i].cells.push_back({printable(cells[i])});
  }
  // The name is what the other actions take, so it is the last to be shortened.
  show(fmt::format("{}\n{}{}", printable(folder.string()),
                   table_text(columns, 8, style, {{"driver"}, {"fits"}, {"age"}, {"mode"}}, 1), notes));
  return exit_codes::fine;
}

int show_calibrations(const Options& options) {
  for (const std::string& output : options.outputs) storage::check_writable(output);
  Run run;
  run.context = gather_context("gpubench", {});
  run.calibrations = shown(options);
  if (run.calibrations.empty())
    throw UsageError(fmt::format("{} has no calibration.", printable(options.inputs.front())));
  const auto style = stdout_style(options);
  for (Calibration& calibration : run.calibrations) {
    calibration.health = calibrate::assess(calibration);
    run.devices.push_back(calibration.device);
    if (!options.quiet && options.outputs.empty())
      show(fmt::format("{}{}", &calibration == run.calibrations.data() ? "" : "\n",
                       reports::console(calibration, style)));
  }
  if (!options.quiet && options.outputs.empty())
    show(reports::console(calibrate::compare_gpus(run.calibrations), style));
  write_each(options.outputs, options.quiet, [&](const std::string& file) { reports::write(run, file); });
  return exit_codes::fine;
}

int export_calibration(const Options& options) {
  const std::string& file = options.inputs.at(1);
  Calibration calibration = one_calibration_of(options.inputs.at(0));
  calibration.drift.reset();  // of a run
  storage::write_file(file, storage::to_json(calibration));
  say(fmt::format("wrote {}: {} calibration of {}, {}", file, printable(calibration.mode),
                  printable(calibration.device.name), printable(calibration.created_utc)));
  return exit_codes::fine;
}

int import_calibration(const Options& options) {
  const std::string& name = options.inputs.at(0);
  const Calibration calibration = one_calibration_of(name);
  if (const auto reason = calibrate::why_not_acceptable(calibration))
    throw UsageError(fmt::format("{} was not imported: {}. Give an unchanged file written by gpubench.",
                                 printable(name), printable(*reason)));
  const auto target = calibrate::cache_file(cache_folder(), calibration.device);
  std::string replaced;
  if (is_file(target.string())) try {
      replaced = fmt::format(", in place of that of {}", printable(storage::read_calibration(target).created_utc));
    } catch (const storage::ReadError&) {
      replaced = ", in place of one that cannot be read";
    }
  calibrate::store(calibration);
  const FittingDevice fit = fit_of(calibration, devices_here());
  say(fmt::format("imported as {}{}; {}", target.string(), replaced,
                  fit.reason.empty() ? "it fits " + fit.device : "no run here will use it: " + printable(fit.reason)));
  return exit_codes::fine;
}

int diff_calibrations(const Options& options) {
  const Calibration base = one_calibration_of(options.inputs.at(0));
  const Calibration next = one_calibration_of(options.inputs.at(1));
  const auto style = stdout_style(options);
  for (const auto& [role, one] : {std::pair{"base", &base}, {"new", &next}})
    show(fmt::format("{:<5}{}, {} calibration of {}\n", role, printable(one->device.name), printable(one->mode),
                     printable(one->created_utc)));
  if (const auto reason = calibrate::why_not_fitting(base, next.device))
    show(paragraph("note: ", printable(*reason), color::yellow, style));
  show(fmt::format("\n{}", reports::console(compare::diff(base, next), style)));
  return exit_codes::fine;
}

}  // namespace

extern const CommandFile calibration_command{
    90, [] {
      return std::vector{
          Command{"calibration", "List, show, move and compare stored calibrations"},
          with(Command{"calibration list", "List the stored calibrations, and say which fit this machine",
                       "gpubench calibration list"},
               list_calibrations),
          with(Command{"calibration show",
                       "Print a calibration, or write it with --out",
                       "gpubench calibration show cuda:0\n"
                       "gpubench calibration show run.json --out=ceilings.html",
                       {"[CALIBRATION]",
                        "A name of the list, a device such as cuda:0, or a file. Without it, all that "
                        "fit this machine.",
                        0, 1},
                       Writes::run,
                       false,
                       {run_output_row()}},
               show_calibrations),
          with(Command{"calibration export",
                       "Write a stored calibration to a file",
                       "gpubench calibration export cuda:0 h200.json",
                       {"CALIBRATION FILE", "What to write (a name of the list or a device), and the file.", 2, 2}},
               export_calibration),
          with(Command{"calibration import",
                       "Store a calibration from a file; it replaces that of the same device",
                       "gpubench calibration import h200.json",
                       {"FILE", "A calibration or a run. FILE@cuda:1 chooses one of several.", 1, 1}},
               import_calibration),
          with(Command{"calibration diff",
                       "Compare two calibrations, ceiling by ceiling",
                       "gpubench calibration diff cuda:0 cuda:1\n"
                       "gpubench calibration diff old.json cuda:0",
                       {"BASE NEW", "Names of the list, devices or files.", 2, 2}},
               diff_calibrations)};
    }};

}  // namespace gpubench
