// SPDX-License-Identifier: Apache-2.0
#include "compare/causes/program_causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "compare/causes/part_causes.h"
#include "compare/comparability.h"
#include "core/base/text.h"
#include "core/base/units.h"
#include "core/model/points.h"

namespace gpubench::compare {
namespace {

/// Environment that is no library, what other causes tell of, and what only names the run.
constexpr std::string_view no_libraries[] = {"host_code", "device_code", "build",    "compiler", "compiler_flags",
                                             "cpu",       "commit",      "adaptive", "resumed",  "tool"};
constexpr std::string_view library_properties[] = {"driver", "cuda_driver", "cuda_runtime"};

std::string environment(const CauseSide& side, const std::string& key) {
  const auto& all = side.run.context.environment;
  const auto place = all.find(key);
  return place == all.end() ? "" : place->second;
}

/// What differs between two lists of words, as a shell would read them.
std::string words_that_differ(const std::string& old, const std::string& now) {
  const auto words = [](const std::string& text) {
    std::vector<std::string> result;
    std::string word;
    for (const char c : text + " ")
      if (c != ' ')
        word += c;
      else if (!word.empty())
        result.push_back(std::exchange(word, {}));
    return result;
  };
  const auto were = words(old), are = words(now);
  const auto without = [](const std::vector<std::string>& some, const std::vector<std::string>& others) {
    std::vector<std::string> result;
    for (const std::string& each : some)
      if (!contains(others, each)) result.push_back(each);
    return result.empty() ? std::string("none") : joined(result, " ");
  };
  return fmt::format("{} -> {}", without(were, are), without(are, were));
}

}  // namespace

double add_load(const CauseSide& base, const CauseSide& next, double log_ratio, double left, std::vector<Cause>& list) {
  const auto was = share_under_load(base.point.measurement).value_or(1.0),
             is = share_under_load(next.point.measurement).value_or(1.0);
  const auto log = growth(is, was, same_count);
  if (!log || *log * log_ratio < 0.0) return left;
  Unexplained of_load{left * log_ratio, log_ratio, 1.0};
  add_cause(list, CauseKind::load,
            fmt::format("it had {} -> {} of {}, because others ran there: not your change", format_percent(was),
                        format_percent(is), what_it_shared(next.point.measurement)),
            of_load.take(*log));
  return of_load.of_part / of_load.whole;
}

void add_codes(const CauseSide& base, const CauseSide& next, std::vector<Cause>& list) {
  const Measurement &was_measured = base.point.measurement, &is_measured = next.point.measurement;
  std::vector<std::string> differ;
  if (was_measured.activity && is_measured.activity)
    for (const KernelLaunch& was : was_measured.activity->kernels)
      for (const KernelLaunch& is : is_measured.activity->kernels)
        if (was.name == is.name && !was.code.empty() && !is.code.empty() && was.code != is.code)
          if (const std::string name = short_kernel_name(is.name); !contains(differ, name)) differ.push_back(name);
  constexpr std::size_t max_named = 3;
  if (differ.size() > max_named) differ.resize(max_named);
  if (!differ.empty())
    add_cause(list, CauseKind::code, fmt::format("{}: its machine code differs", joined(differ, ", ")));
  else if (code_change(base.run, next.run) == CodeChange::differs)
    add_cause(list, CauseKind::code, "the program's machine code differs");
}

void add_builds(const CauseSide& base, const CauseSide& next, std::vector<Cause>& list) {
  const Measurement &was = base.point.measurement, &is = next.point.measurement;
  const auto differing = [&](const std::string& key) {
    const std::string old = environment(base, key), now = environment(next, key);
    return old.empty() || now.empty() || old == now ? std::optional<std::pair<std::string, std::string>>()
                                                    : std::pair(old, now);
  };
  if (const auto flags = differing("compiler_flags"))
    add_cause(list, CauseKind::build,
              fmt::format("compiler flags: {}", words_that_differ(flags->first, flags->second)));
  for (const auto* key : {"compiler", "build"})
    if (const auto texts = differing(key))
      add_cause(list, CauseKind::build, fmt::format("{} {} -> {}", key, texts->first, texts->second));
  if (was.unoptimized_code && is.unoptimized_code && *was.unoptimized_code != *is.unoptimized_code)
    add_cause(list, CauseKind::build,
              *is.unoptimized_code ? "compiled without optimisation now" : "compiled with optimisation now");
}

std::string library_changes(const CauseSide& base, const CauseSide& next) {
  std::vector<std::string> clauses;
  const auto compare = [&](const std::map<std::string, std::string>& old, const std::map<std::string, std::string>& now,
                           const auto& is_library) {
    for (const auto& [key, value] : now) {
      const auto place = old.find(key);
      if (place == old.end() || place->second == value || !is_library(key)) continue;
      clauses.push_back(key == "libraries" ? words_that_differ(place->second, value)
                                           : fmt::format("{} {} -> {}", key, place->second, value));
    }
  };
  compare(base.run.context.environment, next.run.context.environment,
          [](const std::string& key) { return std::ranges::find(no_libraries, key) == std::end(no_libraries); });
  for (const Device& old : base.run.devices)
    for (const Device& now : next.run.devices)
      if (old.id == now.id && now.id == next.point.measurement.device)
        compare(old.properties, now.properties, [](const std::string& key) {
          return std::ranges::find(library_properties, key) != std::end(library_properties);
        });
  return joined(clauses, ", ");
}

}  // namespace gpubench::compare
