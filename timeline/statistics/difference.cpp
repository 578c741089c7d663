// SPDX-License-Identifier: Apache-2.0
#include "timeline/statistics/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_map>

#include "core/base/parallel.h"
#include "core/base/units.h"
#include "core/statistics/statistics.h"
#include "timeline/analyses/steps/iterations.h"
#include "timeline/operators/operators.h"

namespace gpubench::timeline {
namespace {

/// What one name took: sums and sums of squares over iterations.
struct Sums {
  std::int64_t count = 0;
  double total = 0.0, squares = 0.0;  ///< seconds
};

void add(Sums& sums, double seconds, std::int64_t count = 1) {
  sums.count += count;
  sums.total += seconds;
  sums.squares += seconds * seconds;
}

/// Adds up an iteration at a time: slices come by time, but iterations of several processes run at once.
class Table {
 public:
  explicit Table(std::size_t iterations) : parts_(iterations) {}
  void add_time(std::size_t iteration, std::uint32_t name, std::int64_t ns) {
    auto& [time, calls] = parts_[iteration][name];
    time += ns;
    ++calls;
  }
  [[nodiscard]] std::map<std::string, Sums> sums(const Timeline& timeline) const {
    std::map<std::string, Sums> result;
    for (const auto& part : parts_)
      for (const auto& [name, value] : part)
        add(result[name == 0 ? "(no operator)" : timeline.names.text(name)], seconds_of(value.first), value.second);
    return result;
  }

 private:
  std::vector<std::unordered_map<std::uint32_t, std::pair<std::int64_t, std::int64_t>>> parts_;
};

struct Side {
  std::string by;
  std::size_t iterations = 0;
  std::map<std::string, Sums> kernels, operators, host;
  Sums duration, gpu, total, total_gpu;
  bool of_repeats = false;
};

Side side_of(const Linked& linked) {
  const Timeline& timeline = linked.timeline;
  const Correlations& links = linked.links;
  const std::vector<Iterations> found = iterations(linked);
  std::vector<const Iterations*> of_process(timeline.processes.size(), nullptr);
  std::vector<std::size_t> first(timeline.processes.size(), 0);
  Side side;
  for (const Iterations& one : found) {
    of_process[one.process] = &one;
    first[one.process] = side.iterations;
    side.iterations += one.all.size();
    side.by = one.by;
    side.of_repeats = one.of_work;
    for (const Iteration& iteration : one.all) {
      add(side.duration, seconds_of(iteration.end_ns - iteration.start_ns));
      add(side.gpu, seconds_of(iteration.work_ns));
    }
  }
  const bool whole = side.iterations == 0;
  if (whole) side.iterations = 1;
  Table kernels(side.iterations), by_operator(side.iterations), host(side.iterations);
  const auto place_of = [&](std::uint32_t process, std::int64_t time) -> std::optional<std::size_t> {
    if (whole) return 0;
    const std::int64_t place = of_process[process] == nullptr ? -1 : of_process[process]->at(time);
    return place < 0 ? std::nullopt : std::optional(first[process] + static_cast<std::size_t>(place));
  };
  const Operators found_operators = operators(linked);
  std::int64_t start = std::numeric_limits<std::int64_t>::max(), end = std::numeric_limits<std::int64_t>::min();
  double all_work = 0.0;
  for (std::uint32_t i = 0; i < timeline.slices.size(); ++i) {
    const Slice& work = timeline.slices[i];
    start = std::min(start, work.start_ns);
    end = std::max(end, work.end_ns());
    if (!linked.works(work)) continue;
    all_work += seconds_of(work.duration_ns);
    const std::uint32_t call = links.call_of[i];
    const std::uint32_t process = timeline.tracks[work.track].process;
    const bool by_itself = call == none || (of_process[process] != nullptr && of_process[process]->of_work);
    const Slice& started = by_itself ? work : timeline.slices[links.calls[call].slice];
    const auto place = place_of(process, started.start_ns);
    if (!place) continue;
    kernels.add_time(*place, work.name, work.duration_ns);
    const std::uint32_t operation = found_operators.of_work(links, i);
    const std::uint32_t name = operation == none ? 0 : timeline.slices[found_operators.all[operation].slice].name;
    by_operator.add_time(*place, name, work.duration_ns);
  }
  for (const Operators::One& one : found_operators.all) {
    const Slice& slice = timeline.slices[one.slice];
    if (const auto place = place_of(timeline.tracks[slice.track].process, slice.start_ns))
      host.add_time(*place, slice.name, one.self_ns);
  }
  if (end > start) {
    add(side.total, seconds_of(end - start));
    add(side.total_gpu, all_work);
  }
  if (whole) {
    side.duration = side.total;
    side.gpu = side.total_gpu;
  }
  side.kernels = kernels.sums(timeline);
  side.operators = by_operator.sums(timeline);
  side.host = host.sums(timeline);
  return side;
}

Change change_of(const std::string& name, const Sums& base, std::size_t base_count, const Sums& next,
                 std::size_t next_count) {
  Change change;
  change.name = name;
  const auto mean_of = [](const Sums& sums, std::size_t count) {
    return SideTime{sums.total / static_cast<double>(count),
                    static_cast<double>(sums.count) / static_cast<double>(count)};
  };
  change.base = mean_of(base, base_count);
  change.next = mean_of(next, next_count);
  if (base_count < 2 || next_count < 2) return change;
  // Welch's t: iterations without the name count with 0 s.
  const auto squared_error = [](const Sums& sums, double mean, std::size_t count) {
    const auto n = static_cast<double>(count);
    return std::max(sums.squares - n * mean * mean, 0.0) / (n - 1.0) / n;
  };
  const double a = squared_error(base, change.base.seconds, base_count);
  const double b = squared_error(next, change.next.seconds, next_count);
  const double error = std::sqrt(a + b);
  const double difference = change.difference();
  // Times are whole nanoseconds: where both sides never vary, half of one is what is not known.
  if (error < 0.5e-9) {
    change.difference_ci95 = Interval{difference, difference};
    change.p = std::abs(difference) < 0.5e-9 ? 1.0 : 0.0;
    return change;
  }
  const double degrees =
      (a + b) * (a + b) / (a * a / static_cast<double>(base_count - 1) + b * b / static_cast<double>(next_count - 1));
  const double half = statistics::student_quantile(0.025, degrees) * error;
  change.difference_ci95 = Interval{difference - half, difference + half};
  change.p = std::min(2.0 * statistics::student_tail(std::abs(difference) / error, degrees), 1.0);
  return change;
}

std::vector<Change> changes(const std::map<std::string, Sums>& base, std::size_t base_count,
                            const std::map<std::string, Sums>& next, std::size_t next_count) {
  std::map<std::string, std::pair<Sums, Sums>> all;
  for (const auto& [name, sums] : base) all[name].first = sums;
  for (const auto& [name, sums] : next) all[name].second = sums;
  std::vector<Change> result;
  result.reserve(all.size());
  for (const auto& [name, both] : all)
    result.push_back(change_of(name, both.first, base_count, both.second, next_count));
  std::vector<double> p;
  p.reserve(result.size());
  for (const Change& change : result) p.push_back(change.p.value_or(1.0));
  const std::vector<double> corrected = statistics::holm(p);
  for (std::size_t i = 0; i < result.size(); ++i)
    if (result[i].p) result[i].p = corrected[i];
  std::ranges::stable_sort(result, std::ranges::greater(),
                           [](const Change& change) { return std::abs(change.difference()); });
  return result;
}

}  // namespace

Difference difference(const Timeline& base_timeline, const Timeline& next_timeline) {
  std::array<Side, 2> sides;
  for_each_in_parallel(sides.size(), 1,
                       [&](std::size_t i) { sides[i] = side_of(i == 0 ? base_timeline : next_timeline); });
  const auto& [base, next] = sides;
  Difference result;
  const std::size_t m = base.iterations, n = next.iterations;
  if (!base.by.empty() && !next.by.empty()) {
    result.by = base.by;
    result.base_iterations = static_cast<std::int64_t>(m);
    result.next_iterations = static_cast<std::int64_t>(n);
  }
  if (base.by.empty() || next.by.empty())
    result.reason = base.by.empty() == next.by.empty()
                        ? "no iterations were found: the whole traces are compared"
                        : "iterations were found in one trace alone: an iteration is compared with a whole trace";
  else if (m < 2 || n < 2)
    result.reason = "one trace has a single iteration";
  result.of_repeats = base.of_repeats || next.of_repeats;
  const std::string one = result.by.empty() ? "from first to last" : result.of_repeats ? "one repeat" : "one iteration";
  result.total = change_of("from first to last", base.total, 1, next.total, 1);
  result.total_gpu = change_of("work on the GPU", base.total_gpu, 1, next.total_gpu, 1);
  result.iteration = change_of(one, base.duration, m, next.duration, n);
  result.gpu = change_of("work on the GPU in " + one, base.gpu, m, next.gpu, n);
  result.kernels = changes(base.kernels, m, next.kernels, n);
  result.operators = changes(base.operators, m, next.operators, n);
  result.host = changes(base.host, m, next.host, n);
  return result;
}

namespace {

ResultTable change_table(std::string name, std::string_view title, const std::vector<Change>& changes) {
  ResultTable table{
      std::move(name),
      columns_of(fmt::format("name:kernel={}; base_seconds=before~2; new_seconds=after; base_count; new_count; "
                             "difference_seconds:difference=difference; difference_low_seconds:difference=95 % from~1; "
                             "difference_high_seconds:difference=to~1; :change=change; p; sure=sure",
                             title))};
  table.shown = 10;
  const Absent no_interval{"one side has fewer than two iterations"};
  for (const Change& one : changes) {
    const double before = one.base.seconds, after = one.next.seconds;
    table.add({one.name, before, after, one.base.count, one.next.count, one.difference(),
               one.difference_ci95 ? Value(one.difference_ci95->low) : no_interval,
               one.difference_ci95 ? Value(one.difference_ci95->high) : no_interval,
               before > 0.0  ? Value(after / before - 1.0)
               : after > 0.0 ? Value("new")
                             : Absent{"no time"},
               or_absent(one.p, no_interval.reason), one.p ? Value(one.sure() ? "yes" : "no") : no_interval});
    table.tones.push_back(!one.sure() ? 0 : one.difference() > 0.0 ? 1 : -1);
  }
  return table;
}

}  // namespace

std::vector<ResultTable> difference_tables(const Difference& difference) {
  std::vector<Change> whole = {difference.total};
  const auto add = [&](const Change& change) {
    if (change.base.seconds > 0.0 || change.next.seconds > 0.0) whole.push_back(change);
  };
  add(difference.total_gpu);
  if (!difference.by.empty()) {
    add(difference.iteration);
    add(difference.gpu);
  }
  std::vector<ResultTable> tables = {
      change_table("whole", "trace", whole), change_table("kernels", "kernel, copy or fill", difference.kernels),
      change_table("operators", "operator, time of its work on the GPU", difference.operators),
      change_table("host", "operator, time of the host in it alone", difference.host)};
  if (!difference.by.empty())
    tables[0].notes.push_back(fmt::format("Times below are those of one {} ({}): the mean of {} and of {}.",
                                          difference.of_repeats ? "repeat" : "iteration", difference.by,
                                          difference.base_iterations, difference.next_iterations));
  if (!difference.reason.empty())
    tables[0].notes.push_back(fmt::format("There are no intervals: {}.", difference.reason));
  else
    tables[3].notes = {
        "sure: unlikely (5 %) without a change, by Welch's t over iterations, Holm's correction over the table"};
  tables.push_back({"", columns_of("iterations_by; base_iterations; new_iterations; reason")});
  tables.back().add({difference.by, difference.base_iterations, difference.next_iterations, difference.reason});
  return tables;
}

}  // namespace gpubench::timeline
