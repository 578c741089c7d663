// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "bench/google/google_runner.h"
#include "main/commands/commands.h"
#include "main/commands/plan.h"

namespace gpubench {
namespace {

constexpr std::string_view google_ending = "/manual_time";

/// As tables name it.
std::string short_name(const bench::PointName& point) {
  std::string name = point.name;
  if (name.ends_with(google_ending)) name.resize(name.size() - google_ending.size());
  return name;
}

/// For a POSIX shell.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_-./:=,+@").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// The name of a range as Nsight Compute's --nvtx-include takes it: what it reads as its own is escaped, and the last
/// slash says that the range was pushed.
std::string include_of(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (std::string_view("@,[]/*+\\").find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text + "/";
}

}  // namespace

int print_once_commands(const std::vector<Plan>& plans, const Options& options) {
  std::string command = quoted(options.program);
  for (const std::string& argument : options.words)
    if (argument != "--dry") command += " " + quoted(argument);
  std::vector<std::string> names;
  for (const Plan& plan : plans)
    for (const bench::PointName& point : plan.points) names.push_back(short_name(point));
  const std::string report = options.name() + "-once";
  fmt::print("# a timeline of {} point{}, each once\n", names.size(), names.size() == 1 ? "" : "s");
  fmt::print("nsys profile --trace=cuda,nvtx --capture-range=cudaProfilerApi --capture-range-end=none -o {} {}\n",
             quoted(report), command);
  fmt::print("# every kernel of {}, by Nsight Compute\n", names.size() == 1 ? "it" : "them");
  fmt::print("ncu --nvtx --profile-from-start off --set full -o {} {}\n", quoted(report), command);
  if (names.size() > 1) {
    fmt::print("# one point alone\n");
    fmt::print("ncu --nvtx --nvtx-include {} --set full -o {} {}\n", quoted(include_of(names.front())), quoted(report),
               command);
  }
  return exit_codes::fine;
}

int run_points_once(const std::vector<Plan>& plans, const Options& options) {
  std::size_t count = 0;
  std::size_t failed = 0;
  for (const Plan& plan : plans) {
    if (plan.points.empty()) continue;
    bench::OpenDevice device(plan.device, options.cache_state == "cold");
    bench::go_over(plan.device, options.filter,
                   [&](const bench::PointCall& call, std::size_t position) -> std::optional<Measurement> {
                     const std::string name = short_name(plan.points.at(position));
                     const Measurement measurement = bench::run_once(device, call, name);
                     ++count;
                     if (measurement.failure) {
                       ++failed;
                       say(fmt::format("{} failed: {}", name, measurement.failure->message));
                     } else if (!options.quiet) {
                       fmt::print("{}\n", name);
                     }
                     return measurement;
                   });
  }
  if (failed > 0) say(fmt::format("{} of {} points failed", failed, count));
  return failed > 0 ? exit_codes::operation_failed : exit_codes::fine;
}

}  // namespace gpubench
