// SPDX-License-Identifier: Apache-2.0
// Going over timed points again, for passes that count or record.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "bench/counters/post_timing_pass.h"
#include "bench/point_runner.h"
#include "gpu/memory/kept_memory.h"

namespace gpubench::bench {

/// A buffer that State handed out.
struct BufferPlace {
  void* pointer = nullptr;
  std::size_t bytes = 0;
  bool device = false;  ///< in the GPU's memory, else in the host's
};
/// Those that still exist.
std::vector<BufferPlace> places_of(const detail::Buffers& buffers);

/// Restores the contents of buffers, so that an operation that works in place (y += a x, a sort) does the same work in
/// each pass. What an operation allocates by itself is not known here.
class Inputs {
 public:
  /// Memory for a copy, on the device or the host. Throws OutOfMemory.
  using Allocator = std::function<std::shared_ptr<void>(std::size_t bytes, bool device)>;
  static std::shared_ptr<void> allocate(std::size_t bytes, bool device);

  explicit Inputs(std::vector<BufferPlace> buffers, Allocator allocator = allocate)
      : buffers_(std::move(buffers)), allocator_(std::move(allocator)) {}

  /// To be called before the first of several passes of `executions` each. Runs the operation that often twice, and
  /// copies what the second time changed. Returns why contents cannot be restored, if so.
  std::optional<std::string> keep(const std::function<void()>& once, int executions);
  void restore() const;

 private:
  struct Copy {
    BufferPlace original;
    std::shared_ptr<void> contents;
  };

  std::vector<BufferPlace> buffers_;
  Allocator allocator_;
  std::vector<Copy> copies_;
};

class CountingRunner {
 public:
  /// Opens the device as PointRunner does.
  CountingRunner(Device device, bool cold, std::unique_ptr<PostTimingPass> pass);

  /// What it runs points for. Its rounds begin, and all points are run, as often as it says.
  [[nodiscard]] PostTimingPass& pass() { return *pass_; }
  /// Runs the point at `position`, the same in every round, and returns `timed` with what the pass has added. Never
  /// throws for what the operation does: what is missing is absent with its reason.
  const Measurement& run(const PointCall& call, std::size_t position, const Measurement& timed);
  /// To be called after the last round: all points by their positions.
  std::map<std::size_t, Measurement> finish();

 private:
  void count(detail::Declaration& declared, const Batch& batch, Measurement& measurement, std::size_t position,
             double set_up_seconds);

  OpenDevice device_;
  std::optional<KeptMemory> kept_;        ///< of a pass that sets points up several times
  std::unique_ptr<PostTimingPass> pass_;  ///< ends before the GPU is let go
  std::map<std::size_t, Measurement> points_;
};

}  // namespace gpubench::bench
