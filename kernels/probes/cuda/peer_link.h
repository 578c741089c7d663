// SPDX-License-Identifier: Apache-2.0
// Bytes between two GPUs of one host.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/probes/cuda/clock.h"

namespace gpubench::probes {

/// Seen from the current GPU. Both ways: each GPU writes to the other, for copies that one GPU asks for follow one
/// another even in two streams.
enum class LinkWay { write, read, both_ways };
/// What moves the bytes.
enum class LinkEngine { copy, kernel };

/// Another GPU's memory, which the current GPU may reach while this lives. Throws GpuError where it cannot.
class PeerLink {
 public:
  /// `peer`: a CUDA device; the current one itself stands for a copy within it.
  PeerLink(int peer, std::size_t bytes);
  ~PeerLink();
  PeerLink& operator=(PeerLink&&) = delete;  ///< not copied, not moved
  /// `bytes` of the other's.
  [[nodiscard]] void* there() const;
  /// Bytes a second that arrive, of so many copies of all bytes in a row, after two to warm up; of both ways the sum.
  /// Times are those of events on the GPUs' streams, as in nvbandwidth (its README, "Bandwidth measurements").
  double bytes_per_second(LinkWay way, LinkEngine engine, int copies, Stream stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gpubench::probes
