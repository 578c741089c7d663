// SPDX-License-Identifier: Apache-2.0
// Times of collectives between GPUs, by NCCL, as nccl-tests takes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/model/collective.h"
#include "core/model/device.h"
#include "gpu/cuda/nccl.h"

namespace gpubench::calibrate {

struct CollectiveSamples {
  /// Of one among many back to back, by the host's clock, the mean of the ranks: what nccl-tests tells, also with -G.
  /// The median of a few rows.
  double in_a_row_seconds = 0.0;
  std::vector<double> each_seconds;  ///< of each iteration of another row, by events, of the slowest rank
};

/// Seconds until the work of each had ended on the slowest rank: alone, and begun together.
struct OverlapSeconds {
  int products = 0, collectives = 0;
  double products_alone = 0.0, collectives_alone = 0.0;
  double products_together = 0.0, collectives_together = 0.0;
};

/// This rank's part. All ranks call the same members in the same order. They throw GpuError, also where a result was
/// wrong, and wait for ever where a rank is lost; the constructor throws std::runtime_error in a build without CUDA.
class DeviceCollectives {
 public:
  /// Makes room for messages of at most `max_bytes`; of fewer where a rank has less memory.
  DeviceCollectives(const Device& device, const bench::Nccl& nccl, const std::string& id, int rank, int ranks,
                    std::int64_t max_bytes);
  ~DeviceCollectives();
  DeviceCollectives& operator=(DeviceCollectives&&) = delete;  ///< not copied, not moved

  /// Of the longest message.
  [[nodiscard]] std::int64_t max_bytes() const;
  /// Of a message of at most `max_bytes`, a multiple of 4 bytes for each rank. Between 5 and `max_iterations` in a
  /// row, about as many as fit in `max_seconds`. With `in_graph` rows are replays of a CUDA graph, so that the host
  /// launches none of their collectives.
  CollectiveSamples time(Collective collective, std::int64_t bytes, int max_iterations, double max_seconds,
                         bool in_graph = false);
  /// Seconds of each message to one other rank, which calls this at the same time with `sends` the other way; none
  /// where this one receives. Only these two take part.
  std::vector<double> time_link(int peer, bool sends, std::int64_t bytes, int iterations);
  /// An empty kernel among many in a row, of the slowest rank.
  double launch_seconds();
  /// Products of BF16 matrices of 8192 x 8192 beside collectives of one size, both of about `seconds` alone.
  OverlapSeconds overlap(Collective collective, std::int64_t bytes, double seconds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpubench::calibrate
