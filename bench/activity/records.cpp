// SPDX-License-Identifier: Apache-2.0
#include "bench/activity/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "core/base/units.h"
#include "core/statistics/statistics.h"

namespace gpubench::bench {
namespace {

/// Executions whose records overlap those before are left out, unless they are more than this share.
constexpr double max_entangled = 0.1;

using Records = std::span<const ActivityRecord>;

/// For each record, the number of what it is of: kernels alike in function and shape, copies alike in kind and bytes.
std::vector<std::size_t> numbers_of(Records records) {
  std::map<std::tuple<CommandKind, KernelLaunch, std::int64_t>, std::size_t> known;
  std::vector<std::size_t> numbers;
  numbers.reserve(records.size());
  for (const ActivityRecord& record : records) {
    KernelLaunch launch = record.kernel.value_or(KernelLaunch{});
    if (!record.kernel) launch.name = record.name;
    const CommandKind kind = record.kernel ? CommandKind::kernel : record.kind;
    const std::int64_t bytes = record.kernel ? 0 : record.bytes;
    numbers.push_back(known.try_emplace({kind, std::move(launch), bytes}, known.size()).first->second);
  }
  return numbers;
}

/// What it runs, in any order: kernels on several streams may start in another order each time.
std::vector<std::size_t> content_of(std::span<const std::size_t> numbers) {
  std::vector<std::size_t> content(numbers.begin(), numbers.end());
  std::sort(content.begin(), content.end());
  return content;
}

/// The groups of an execution in the order they start, and by the numbers of its records which is whose.
struct Groups {
  std::vector<KernelGroup> groups;
  std::map<std::size_t, std::size_t> of_number;

  Groups(Records execution, std::span<const std::size_t> numbers) {
    for (std::size_t i = 0; i < execution.size(); ++i) {
      const auto [place, added] = of_number.try_emplace(numbers[i], std::min(groups.size(), max_kernel_groups));
      if (added && groups.size() <= max_kernel_groups) groups.push_back(group_of(execution[i]));
      ++groups[place->second].launch.launches;
    }
    if (groups.size() <= max_kernel_groups) return;
    const std::size_t others = of_number.size() - max_kernel_groups;
    KernelGroup& rest = groups.back();
    rest = {CommandKind::others, {}, {}, {}, {}, {}};
    rest.launch.name = plural(others, "other kernel") + ", copies or fills";
    rest.launch.launches = 0;
    for (const std::size_t number : numbers)
      if (of_number.at(number) == max_kernel_groups) ++rest.launch.launches;
  }

 private:
  static KernelGroup group_of(const ActivityRecord& record) {
    KernelGroup group;
    if (record.kernel) {
      group.launch = *record.kernel;
    } else {
      group.kind = record.kind;
      group.launch.name = record.name;
      group.bytes = record.bytes;
    }
    group.launch.launches = 0;
    return group;
  }
};

/// Why the order in which kernels start is not known to be that of their launches; empty where it is.
std::string why_unordered(Records execution, bool same_each_time) {
  const auto kernels =
      std::count_if(execution.begin(), execution.end(), [](const ActivityRecord& each) { return !!each.kernel; });
  if (std::cmp_greater(kernels, max_ordered_launches))
    return fmt::format("one execution launches {} kernels, and counting one by one ends at {}", kernels,
                       max_ordered_launches);
  const bool overlap = std::adjacent_find(execution.begin(), execution.end(), [](const auto& before, const auto& next) {
                         return next.start_nanoseconds < before.end_nanoseconds;
                       }) != execution.end();
  if (overlap || !same_each_time)
    return "some of its kernels run side by side, so it is not known which was launched first";
  return {};
}

std::uint64_t last_end(Records execution) {
  std::uint64_t end = 0;
  for (const ActivityRecord& record : execution) end = std::max(end, record.end_nanoseconds);
  return end;
}

double summed_seconds(Records execution) {
  std::uint64_t nanoseconds = 0;
  for (const ActivityRecord& record : execution) nanoseconds += record.end_nanoseconds - record.start_nanoseconds;
  return static_cast<double>(nanoseconds) * 1e-9;
}

/// Why records cannot be summed up; empty when they can.
std::string why_unusable(const ActivityRecords& activity, std::int64_t executions) {
  if (activity.dropped > 0)
    return fmt::format("{} records of its executions were lost, because the buffer was full", activity.dropped);
  if (activity.records.empty())
    return "its executions left no record: they run nothing on the GPU, or another profiler takes the records";
  for (const ActivityRecord& record : activity.records) {
    if (record.start_nanoseconds == 0 && record.end_nanoseconds == 0) return "some of its records have no time";
    if (record.end_nanoseconds < record.start_nanoseconds) return "one of its records ends before it starts";
  }
  if (activity.records.size() % static_cast<std::size_t>(executions) != 0)
    return fmt::format(
        "its {} executions left {} records: they do not all run the same kernels, so their records cannot be told "
        "apart",
        executions, activity.records.size());
  return {};
}

}  // namespace

Estimate centre_of(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return {statistics::interquartile_mean(seconds), statistics::interquartile_mean_ci95(seconds)};
}

RecordedExecution summarize(const ActivityRecords& activity, std::int64_t warm_up, std::int64_t executions) {
  RecordedExecution result;
  ActivityCheck& check = result.check;
  const std::int64_t all = warm_up + executions;
  check.reason = why_unusable(activity, all);
  if (!check.reason.empty()) return result;
  std::vector<ActivityRecord> records = activity.records;
  std::stable_sort(records.begin(), records.end(), [](const ActivityRecord& a, const ActivityRecord& b) {
    return std::tie(a.start_nanoseconds, a.end_nanoseconds) < std::tie(b.start_nanoseconds, b.end_nanoseconds);
  });
  const std::vector<std::size_t> numbers = numbers_of(records);
  const std::size_t each = records.size() / static_cast<std::size_t>(all);
  const auto numbers_in = [&](std::int64_t execution) {
    return std::span(&numbers[static_cast<std::size_t>(execution) * each], each);
  };
  const Records last(&records[records.size() - each], each);
  const auto content = content_of(numbers_in(all - 1));
  Groups found(last, numbers_in(all - 1));
  std::vector<std::vector<double>> of_groups(found.groups.size());
  std::vector<double> seconds;
  std::vector<double> spans;
  std::vector<double> gaps;
  std::int64_t entangled = 0;
  bool same_each_time = true;
  std::uint64_t before = 0;
  for (std::int64_t i = 0; i < all; ++i) {
    const Records execution(&records[static_cast<std::size_t>(i) * each], each);
    const std::uint64_t start = execution.front().start_nanoseconds;
    const std::uint64_t end = last_end(execution);
    if (content_of(numbers_in(i)) != content) {
      check.reason = "its executions do not all run the same kernels, so their records cannot be told apart";
      return result;
    }
    same_each_time = same_each_time && std::ranges::equal(numbers_in(i), numbers_in(all - 1));
    const bool apart = start >= before;
    if (i > warm_up && apart) gaps.push_back(static_cast<double>(end - before) * 1e-9 - summed_seconds(execution));
    before = end;
    if (i < warm_up) continue;
    if (!apart) {
      ++entangled;
      continue;
    }
    seconds.push_back(summed_seconds(execution));
    spans.push_back(static_cast<double>(end - start) * 1e-9);
    std::vector<double> sums(found.groups.size());
    for (std::size_t k = 0; k < each; ++k)
      sums[found.of_number.at(numbers_in(i)[k])] += summed_seconds(execution.subspan(k, 1));
    for (std::size_t k = 0; k < sums.size(); ++k) of_groups[k].push_back(sums[k]);
  }
  if (static_cast<double>(entangled) > max_entangled * static_cast<double>(executions)) {
    check.reason = fmt::format(
        "{} of its {} executions began before the one before had ended, by their records, so they cannot be told apart",
        entangled, executions);
    return result;
  }
  result.kernels = std::move(found.groups);
  for (std::size_t k = 0; k < result.kernels.size(); ++k) {
    result.kernels[k].seconds = centre_of(std::move(of_groups[k]));
    if (result.kernels[k].kind == CommandKind::kernel) check.kernels.push_back(result.kernels[k].launch);
  }
  result.kernel_order_reason = why_unordered(last, same_each_time);
  if (result.kernel_order_reason.empty())
    for (std::size_t k = 0; k < each; ++k)
      if (last[k].kernel)
        result.kernel_order.push_back(static_cast<std::int64_t>(found.of_number.at(numbers_in(all - 1)[k])));
  check.copies = std::count_if(last.begin(), last.end(), [](const ActivityRecord& record) { return !record.kernel; });
  check.executions = executions - entangled;
  check.seconds = centre_of(std::move(seconds));
  if (each > 1) check.span_seconds = centre_of(std::move(spans));
  // Of kernels side by side the sum is longer than they take.
  if (result.kernel_order_reason.empty() && !gaps.empty()) check.gap_seconds = centre_of(std::move(gaps));
  return result;
}

}  // namespace gpubench::bench
