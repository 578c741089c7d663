// SPDX-License-Identifier: Apache-2.0
// Which call made each node of a CUDA graph, of one process's recording. Knows no CUDA.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/recording_format.h"
#include "timeline/timeline.h"

namespace gpubench::profile {

class GraphNodes {
 public:
  /// `time_ns`: on the timeline. A node comes before its copies.
  void add(const GraphNodeRecord& node, std::int64_t time_ns);
  /// A slice of the timeline is work that a node launched.
  void add_work(std::uint64_t node, std::uint32_t slice);
  /// A flow from each call to the works of the nodes that it made, where the timeline has the call.
  void tie(timeline::Timeline& timeline, std::uint32_t process) const;

 private:
  struct Made {
    std::uint32_t thread = 0;
    std::int64_t time_ns = 0;
  };
  struct Work {
    std::uint32_t made = 0;  ///< in `made_`
    std::uint32_t slice = 0;
  };
  std::vector<Made> made_;
  std::unordered_map<std::uint64_t, std::uint32_t> of_node_;  ///< place in `made_`
  std::vector<Work> works_;
};

}  // namespace gpubench::profile
