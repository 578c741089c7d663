// SPDX-License-Identifier: Apache-2.0
// What ties the host's calls to the GPUs' work: what all analyses begin with.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "timeline/timeline.h"

namespace gpubench::timeline {

inline constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
/// Two numbers as one, to look things up by.
constexpr std::uint64_t joined_key(std::uint32_t high, std::uint32_t low) { return std::uint64_t{high} << 32 | low; }
inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();

inline constexpr std::int64_t short_gap_ns = 1000;  ///< between work that is queued: the GPU's own

/// A call that starts work on a GPU.
struct Call {
  static constexpr std::uint32_t no_gpu = none >> 1U;
  std::uint32_t slice = none;
  std::uint32_t wait = none;        ///< the last slice before it on its thread in which the host waited for the GPU
  std::uint32_t gpu : 31 = no_gpu;  ///< in Correlations::gpus, of the first work that it started
  std::uint32_t waits : 1 = 0;      ///< 1: a copy that returned after it was done
};

/// Of each slice of work its call, in a bit for each slice and a number for each that has one.
class CallOf {
 public:
  explicit CallOf(std::size_t slices = 0) : bits_((slices + 63) / 64), before_(bits_.size()) {}
  /// By rising slices.
  void add(std::size_t slice, std::uint32_t call) {
    if (bits_[slice / 64] == 0) before_[slice / 64] = static_cast<std::uint32_t>(calls_.size());
    bits_[slice / 64] |= std::uint64_t{1} << (slice % 64);
    calls_.push_back(call);
  }
  std::uint32_t operator[](std::size_t slice) const {
    const std::uint64_t bits = bits_[slice / 64], bit = std::uint64_t{1} << (slice % 64);
    return (bits & bit) == 0 ? none
                             : calls_[before_[slice / 64] + static_cast<std::size_t>(std::popcount(bits & (bit - 1)))];
  }

 private:
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> before_;  // of each 64 slices the place in `calls_` of the first that has one
  std::vector<std::uint32_t> calls_;
};

/// What ties the host's calls to the GPU's work.
struct Correlations {
  std::vector<std::pair<std::uint32_t, std::int64_t>> gpus;     ///< process and device
  std::vector<std::pair<std::uint32_t, std::int64_t>> threads;  ///< process and thread
  std::vector<std::uint32_t> gpu_of_track;
  std::vector<std::uint32_t> thread_of_track;
  std::vector<Call> calls;       ///< by time
  CallOf call_of;                ///< of each slice of work its call
  std::vector<bool> host_waits;  ///< of each slice, whether it is a call in which the host waited for the GPU
};
/// Throws std::invalid_argument for a timeline that is not sorted, or whose slices name tracks that it does not have.
Correlations link(const Timeline& timeline);

/// What collectives were given.
class Messages {
 public:
  explicit Messages(const Timeline& timeline);
  /// Null where it is not known.
  [[nodiscard]] const Message* of(const Slice& slice) const;

 private:
  const Timeline& timeline_;
  std::unordered_map<std::uint64_t, const Message*> messages_;  // by process and correlation
};

/// Groups of work whose fastest time on this GPU is known. A share of 0.4: at its roof the group takes 0.4 of its time.
struct Roofs {
  struct Group {
    std::string name;
    std::optional<double> share;  ///< absent: it has no verdict
  };
  std::vector<Group> groups;
  std::vector<std::uint32_t> of_slice;  ///< of each of Timeline::slices its group; `none`
};

/// A timeline and its links. Whatever takes one takes a plain timeline too, and links it.
struct Linked {
  Linked(const Timeline& of);  // NOLINT(google-explicit-constructor)
  const Timeline& timeline;
  Correlations links;
  const Roofs* roofs = nullptr;  ///< of its kernels, where somebody judged them

  /// The GPU that this slice keeps busy, in Correlations::gpus; `none` for what occupies none that is known.
  [[nodiscard]] std::uint32_t gpu_of(const Slice& slice) const {
    return occupies_gpu(slice.kind) ? links.gpu_of_track[slice.track] : none;
  }
  [[nodiscard]] bool works(const Slice& slice) const { return gpu_of(slice) != none; }
  /// The call that started this work; null where it is not known.
  [[nodiscard]] const Slice* call_of(std::size_t work) const {
    const std::uint32_t call = links.call_of[work];
    return call == none ? nullptr : &timeline.slices[links.calls[call].slice];
  }
};

}  // namespace gpubench::timeline
