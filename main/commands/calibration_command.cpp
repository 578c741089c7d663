// SPDX-License-Identifier: Apache-2.0
// gpubench calibration: what is stored, looked at and moved about. Measures nothing.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <tuple>
#include <utility>

#include "calibrate/calibrate.h"
#include "calibrate/check/health.h"
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
#include "reports/reports.h"

namespace gpubench {
namespace {

std::vector<Device> devices_here() {
  std::vector<Device> devices = bench::gpus();
  devices.push_back(bench::host_device());
  return devices;
}

/// Which device of this machine a calibration is of, and why none.
std::pair<std::string, std::string> fit_of(const Calibration& calibration, const std::vector<Device>& devices) {
  std::string reason = fmt::format("this machine has no {}", calibration.device.name);
  for (const Device& device : devices) {
    const auto why = calibrate::why_not_fitting(calibration, device);
    if (!why) return {device.id, ""};
    if (device.name == calibration.device.name) reason = *why;
  }
  return {"no", reason};
}

/// The calibrations that a file stands for, a device's id, or the name that `calibration list` shows, or its beginning.
std::vector<Calibration> calibrations_of(const std::string& name) {
  std::error_code error;
  if (std::filesystem::exists(name, error)) return storage::read_calibrations(name);
  const auto devices = devices_here();
  const auto device = std::ranges::find(devices, name, &Device::id);
  std::vector<std::filesystem::path> matches;
  for (const auto& stored : calibrate::stored_calibrations()) {
    const bool is_of_device =
        device != devices.end() && calibrate::cache_file(stored.file.parent_path(), *device) == stored.file;
    if (is_of_device || stored.name == name) return {storage::read_calibration(stored.file)};
    if (device == devices.end() && stored.name.starts_with(name)) matches.push_back(stored.file);
  }
  if (matches.size() == 1) return {storage::read_calibration(matches.front())};
  throw UsageError(
      matches.empty()
          ? fmt::format("'{}' is neither a file nor a stored calibration. To list those: gpubench calibration list. To "
                        "measure one: gpubench --calibrate",
                        printable(name))
          : fmt::format("'{}' matches {} stored calibrations. Give more of the name.", printable(name),
                        matches.size()));
}

/// Of a file with several, FILE@DEVICE chooses one.
Calibration one_calibration_of(const std::string& name) {
  std::error_code error;
  const auto at = name.rfind('@');
  const bool chosen = at != std::string::npos && std::filesystem::exists(name.substr(0, at), error);
  auto all = calibrations_of(chosen ? name.substr(0, at) : name);
  if (chosen) std::erase_if(all, [&](const Calibration& one) { return one.device.id != name.substr(at + 1); });
  if (all.size() == 1) {
    all.front().drift.reset();  // of a run
    return std::move(all.front());
  }
  throw UsageError(
      fmt::format("{} has {} such calibrations. Choose one of several with FILE@DEVICE.", printable(name), all.size()));
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
  const auto all = calibrate::stored_calibrations();
  const auto folder = calibrate::cache_directory();
  if (!folder) throw UsageError("There is no folder for calibrations. Set HOME or XDG_CACHE_HOME.");
  if (all.empty()) {
    say(fmt::format("no calibrations are stored in {}. To measure one: gpubench --calibrate", folder->string()));
    return exit_codes::fine;
  }
  const auto devices = devices_here();
  const auto style = stdout_style(options);
  const std::string now = utc_now();
  std::vector<Column> columns = {{"name"}, {"device"}, {"mode"}, {"age"}, {"fits"}, {"driver"}};
  std::string notes;
  for (const auto& stored : all) {
    std::vector<std::string> cells = {stored.name, "", "", "", "no", ""};
    std::string reason = stored.reason;
    if (stored.calibration) {
      const Calibration& one = *stored.calibration;
      std::string fits;
      std::tie(fits, reason) = fit_of(one, devices);
      cells = {stored.name, one.device.name,
               one.mode,    format_age(one.created_utc, now),
               fits,        one.device.property("driver")};
    }
    if (!reason.empty())
      notes += paragraph("", fmt::format("{}: {}", printable(stored.name), printable(reason)), color::dim, style);
    for (std::size_t i = 0; i < cells.size(); ++i) columns[i].cells.push_back({printable(cells[i])});
  }
  // The name is what the other actions take, so it is the last to be shortened.
  show(fmt::format("{}\n{}{}", printable(folder->string()),
                   table_text(columns, 8, style, {{"driver"}, {"fits"}, {"age"}, {"mode"}}, 1), notes));
  return exit_codes::fine;
}

int show_calibrations(const Options& options) {
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
  const Calibration calibration = one_calibration_of(options.inputs.at(0));
  storage::write_file(options.inputs.at(1), storage::to_json(calibration));
  say(fmt::format("wrote {}: {} calibration of {}, {}", options.inputs.at(1), printable(calibration.mode),
                  printable(calibration.device.name), printable(calibration.created_utc)));
  return exit_codes::fine;
}

int import_calibration(const Options& options) {
  const std::string name = printable(options.inputs.at(0));
  const Calibration calibration = one_calibration_of(options.inputs.at(0));
  if (const auto reason = calibrate::why_not_acceptable(calibration))
    throw UsageError(
        fmt::format("{} was not imported: {}. Give an unchanged file written by gpubench.", name, printable(*reason)));
  const auto [device, reason] = fit_of(calibration, devices_here());
  say(fmt::format("imported {} as {}; {}", name, calibrate::store(calibration).string(),
                  reason.empty() ? "it fits " + device : "no run here will use it: " + printable(reason)));
  return exit_codes::fine;
}

/// Ceiling by ceiling, the largest ratio either way first; what only one of both has comes last.
int diff_calibrations(const Options& options) {
  const Calibration base = one_calibration_of(options.inputs.at(0));
  const Calibration next = one_calibration_of(options.inputs.at(1));
  const auto style = stdout_style(options);
  for (const auto& [role, one] : {std::pair{"base", &base}, {"new", &next}})
    show(fmt::format("{:<5}{}, {} calibration of {}\n", role, printable(one->device.name), printable(one->mode),
                     printable(one->created_utc)));
  if (const auto reason = calibrate::why_not_fitting(base, next.device))
    show(paragraph("note: ", printable(*reason), color::yellow, style));
  std::vector<std::pair<double, std::vector<Cell>>> rows;
  std::size_t apart = 0, both = 0;
  const auto add = [&](const Ceiling& one, const Ceiling* then, const Ceiling* now) {
    const bool comparable = then != nullptr && now != nullptr && then->unit == now->unit;
    const double ratio = comparable ? now->value / then->value : 1.0;
    const bool overlap = !comparable || (now->ci95.low <= then->ci95.high && then->ci95.low <= now->ci95.high);
    const auto look = overlap ? color::dim : (ratio < 1.0) == (one.unit == "s") ? color::green : color::red;
    const auto value = [](const Ceiling* of) { return of ? format_value(of->value, printable(of->unit), 4) : "none"; };
    both += comparable ? 1 : 0;
    apart += overlap ? 0 : 1;
    rows.emplace_back(comparable ? std::abs(std::log(ratio)) : -1.0,
                      std::vector<Cell>{{printable(one.resource)},
                                        {value(then)},
                                        {value(now)},
                                        {comparable ? fmt::format("{:.4f}", ratio) : "", look},
                                        {!comparable ? ""
                                         : overlap   ? "overlap"
                                                     : "apart",
                                         look}});
  };
  for (const Ceiling& then : base.ceilings) add(then, &then, next.find(then.resource));
  for (const Ceiling& now : next.ceilings)
    if (base.find(now.resource) == nullptr) add(now, nullptr, &now);
  std::ranges::stable_sort(rows, std::ranges::greater(), [](const auto& row) { return row.first; });
  std::vector<Column> columns = {{"resource"}, {"base", true}, {"new", true}, {"ratio", true}, {"intervals"}};
  for (auto& [size, cells] : rows) add_row(columns, std::move(cells));
  show("\n" + (rows.empty() ? "" : table_text(columns, 8, style)) +
       paragraph("", fmt::format("{} of {} ceilings differ by more than their 95 % intervals", apart, both),
                 color::bold, style));
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
                       reports::known_extensions()},
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
