// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "core/base/units.h"
#include "core/model/resources.h"
#include "reports/shared_text.h"
#include "reports/timelines.h"

namespace gpubench::reports {
namespace {

/// "[8,64]x3[64,1]" of "[8,64][8,64][8,64][64,1]": three or more alike are one.
std::string joined_shapes(std::string_view shapes) {
  std::string text;
  while (!shapes.empty()) {
    const std::string_view one = shapes.substr(0, shapes.find(']') + 1);
    std::size_t count = 1;
    while (!one.empty() && shapes.substr(count * one.size()).starts_with(one)) ++count;
    if (one.empty() || count < 3) count = 1;
    text += one.empty() ? shapes : one;
    if (count > 1) text += fmt::format("x{}", count);
    shapes.remove_prefix(one.empty() ? shapes.size() : count * one.size());
  }
  return text;
}

}  // namespace

std::vector<ResultTable> verdict_tables(const WorkVerdicts& verdicts) {
  ResultTable table{"verdicts",
                    columns_of("operator; inputs; type; =operator and shapes; device; calls:count=calls~2; "
                               "total_seconds=total; median_seconds=median~1; "
                               "flops; bytes; flops_per_byte; flops_per_second:count; bytes_per_second:rate=moved~4; "
                               "=calculated~5; achieved:share=of ceiling; regime; =regime; limiter; =limiter~3")};
  table.title = "What limits the operators, by their shapes";
  table.notes = {verdicts.rest};
  const Absent none{"no verdict"};
  for (std::size_t i = 0; i < verdicts.run.points.size(); ++i) {
    const Point& point = verdicts.run.points[i];
    const Measurement& of = point.measurement;
    const auto argument = [&](std::size_t k) { return of.arguments.at(k).text.value_or(""); };
    const auto& verdict = point.verdict;
    const auto& seconds = of.seconds();
    const Value achieved = verdict ? or_absent(verdict->achieved, "no verdict") : Value(none);
    const double flops = of.work.total_flops(), bytes = of.work.bytes();
    const auto a_second = [&](double amount) {
      return amount > 0.0 && seconds && seconds->median > 0.0 ? Value(amount / seconds->median) : Absent{"none"};
    };
    const Value rate = a_second(flops);
    table.add(
        {of.operation, argument(0), argument(1),
         fmt::format("{} {} {}", of.operation, joined_shapes(argument(0)), argument(1)), of.device,
         verdicts.calls.at(i), verdicts.total_seconds.at(i), seconds ? Value(seconds->median) : Absent{"not measured"},
         flops, bytes, bytes > 0.0 ? Value(flops / bytes) : Absent{"no bytes"}, rate, a_second(bytes),
         std::holds_alternative<double>(rate) ? Value(format_value(std::get<double>(rate), "FLOP/s")) : rate, achieved,
         verdict ? Value(std::string(name_of(verdict->regime))) : none, verdict ? Value(regime_text(*verdict)) : none,
         verdict ? Value(verdict->limiter) : none, verdict ? Value(std::string(label_of(verdict->limiter))) : none});
  }
  ResultTable facts{"", columns_of("verdicts_rest")};
  facts.add({verdicts.rest});
  return {std::move(table), std::move(facts)};
}

}  // namespace gpubench::reports
