// SPDX-License-Identifier: Apache-2.0
// Sizes that are added to the registered ones while a run goes on.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/model/run.h"
#include "main/commands/plan.h"
#include "main/worker/job.h"

namespace gpubench {

class AddedSizes {
 public:
  /// At most `most` for each operation; `filter` is the run's.
  AddedSizes(std::string filter, std::size_t max) : filter_(std::move(filter)), most_(max) {}

  /// Registers the sizes of an earlier run that went through this, so that its points are part of the plans; these are
  /// made anew.
  void take_over(const Run& earlier, std::vector<Plan>& plans);
  /// Registers what classifier::next_points asks for after this run, and makes the plans anew. Returns how many points
  /// that adds; none once all boundaries are narrow enough or the operations have all they may.
  std::size_t add(const Run& classified, std::vector<Plan>& plans);

  [[nodiscard]] const std::vector<AddedSize>& all() const { return all_; }
  /// What came of it, from the classified run: how many sizes, how many boundaries are within 5 %, and which are not
  /// and why.
  [[nodiscard]] std::string summary(const Run& classified) const;

 private:
  bool is_known(const AddedSize& size) const;
  void replan(std::vector<Plan>& plans) const;

  std::string filter_;
  std::size_t most_;
  std::vector<AddedSize> all_;
  std::map<std::string, std::size_t> counts_;  ///< by operation
  std::size_t filtered_ = 0;                   ///< sizes that the filter does not choose
};

}  // namespace gpubench
