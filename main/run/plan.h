// SPDX-License-Identifier: Apache-2.0
// The points of a run before they are measured: planned, listed, in the order of their sizes, added to, and run once.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "bench/google/google_runner.h"
#include "core/model/device.h"
#include "core/model/measurement.h"
#include "core/model/run.h"

namespace gpubench {

struct RunOptions;

struct PointKey {
  std::string device;
  std::string name;  ///< Google Benchmark's full name, printable: it holds the operation and its arguments
  int repetition = 0;
  int occurrence = 0;  ///< counts points of the same name, which a program may register twice
  friend auto operator<=>(const PointKey&, const PointKey&) = default;
};

/// Gives keys to points in their order.
class Keys {
 public:
  PointKey next(const std::string& device, const std::string& name, int repetition);

 private:
  std::map<PointKey, int> seen_;
};

/// The points of one device.
struct Plan {
  Device device;
  std::vector<bench::PointName> points;  ///< in the order of bench::discover
  std::vector<PointKey> keys;            ///< one a point
};
Plan plan_of(const Device& device, const std::string& filter);

/// The measurement as the reporter will name it.
Measurement named(Measurement measurement, const bench::PointName& name);

/// A size of an operation that its author did not register.
struct AddedSize {
  std::string operation;
  std::vector<Argument> arguments;
  friend bool operator==(const AddedSize&, const AddedSize&) = default;
};

class AddedSizes {
 public:
  /// At most `max` for each operation; `filter` is the run's.
  AddedSizes(std::string filter, std::size_t max) : filter_(std::move(filter)), max_(max) {}

  /// Registers the sizes that an earlier run had added, and makes the plans anew.
  void take_over(const Run& earlier, std::vector<Plan>& plans);
  /// Registers what classifier::next_points asks for, and makes the plans anew. Returns how many points that adds.
  std::size_t add(const Run& classified, std::vector<Plan>& plans);

  [[nodiscard]] const std::vector<AddedSize>& all() const { return all_; }
  /// How many sizes were added, how many boundaries are within 5 %, and why the others are not.
  [[nodiscard]] std::string summary(const Run& classified) const;

 private:
  bool is_known(const AddedSize& size) const;
  void replan(std::vector<Plan>& plans) const;

  std::string filter_;
  std::size_t max_;
  std::vector<AddedSize> all_;
  std::map<std::string, std::size_t> counts_;  ///< by operation
  std::size_t filtered_ = 0;                   ///< sizes that the filter does not choose
};

/// Runs each point once and names it on standard output. Returns the exit code.
int run_points_once(const std::vector<Plan>& plans, const RunOptions& options);

/// Why a filter leaves nothing to measure on these devices, and what to do.
std::string nothing_to_measure(const std::vector<Device>& devices, const std::string& filter);

/// Puts the sizes of each operation, added ones too, in the order of their arguments. `point_of` gives an item's point.
template <typename Item, typename PointOf>
void sort_sizes(std::vector<Item>& items, PointOf point_of) {
  const auto family = [&](const Item& item) {
    const auto& point = point_of(item);
    if constexpr (requires { point.device; })
      return std::tie(point.operation, point.device);
    else
      return std::tie(point.operation);
  };
  const auto values = [&](const Item& item) {
    std::vector<std::int64_t> result;
    for (const Argument& argument : point_of(item).arguments) result.push_back(argument.value);
    return result;
  };
  for (auto first = items.begin(); first != items.end();) {
    const auto last =
        std::find_if(first, items.end(), [&](const Item& item) { return family(item) != family(*first); });
    std::ranges::stable_sort(first, last, {}, values);
    first = last;
  }
}

/// Prints the names of all that would run. `sorted`: by their sizes. Throws UsageError where there is nothing.
void list_points(const std::vector<Device>& devices, const std::string& filter, bool sorted);

}  // namespace gpubench
