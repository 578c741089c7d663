// SPDX-License-Identifier: Apache-2.0
// CUPTI's records of a program, into a recording.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/time.h"
#include "gpu/cuda/cupti/cupti_records.h"
#include "profile/recording_writer.h"

namespace gpubench::profile {

inline std::uint64_t now_ns() { return static_cast<std::uint64_t>(steady_nanoseconds()); }

/// One in a process, as there is one CUPTI. Records from `start` to `stop`, which may alternate.
class Recorder {
 public:
  Recorder(std::shared_ptr<const bench::CuptiLibrary> library, RecordingWriter& recording);
  Recorder& operator=(Recorder&&) = delete;  ///< not copied, not moved

  /// On from the beginning: what lives across the edges of a recording, and costs little.
  static constexpr std::array lasting_kinds = {CUPTI_ACTIVITY_KIND_MARKER, CUPTI_ACTIVITY_KIND_MEMORY2,
                                               CUPTI_ACTIVITY_KIND_MEMORY_POOL};

  /// Takes CUPTI's buffers, and records names and ranges from here on. Throws MetricsUnavailable.
  void attach(std::span<const CUpti_ActivityKind> kinds = lasting_kinds);
  void start();
  void stop();
  /// Records nothing any more.
  void detach();
  /// Why something is not recorded; empty where all is.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  /// The recording was begun anew: names are to be written again. With the recording's lock held.
  void forget_names();
  /// Hands over what CUPTI holds. `forced`: also what is not complete.
  void flush(bool forced) noexcept;
  /// Calls of this thread are not the program's.
  void pass_over(std::uint32_t thread) { passed_over_ = thread; }
  void write_cost();
  /// Whether work of CUDA graphs was among it.
  [[nodiscard]] bool saw_graphs() const { return saw_graphs_; }
  /// Whether one thread made all calls of CUDA, for one GPU.
  [[nodiscard]] bool saw_one_thread_and_gpu() const { return threads_.size() == 1 && gpus_.size() <= 1; }
  /// A node of a CUDA graph, made by the call that this thread is in, or as a copy of another node.
  void graph_node(std::uint64_t node, std::uint64_t copy_of);

 private:
  void read(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes);
  void enable(CUpti_ActivityKind kind);
  void record(const gpu::RecordedKernel& kernel);
  void record(const gpu::RecordedCopy& copy);
  void record(const gpu::RecordedMemset& memset);
  void record(const gpu::RecordedCall& call);
  void record(const gpu::RecordedSynchronization& wait);
  void record(const gpu::RecordedMarker& marker);
  void record(const gpu::RecordedAllocation& allocation);
  void record(const gpu::RecordedPool& pool);
  void record(const gpu::RecordedOverhead& overhead);
  template <class Record>
  void add_work(Record kept, const gpu::RecordedWork& work);
  void add_call(CallRecord kept, const gpu::RecordedSpan& span);

  std::shared_ptr<const bench::CuptiLibrary> library_;
  RecordingWriter& recording_;
  std::atomic<std::uint32_t> passed_over_ = 0;
  std::vector<CUpti_ActivityKind> attached_;
  std::string refusal_;
  bool active_ = false;
  bool refused_ = false;                                         ///< records of another layout came, and it was said
  std::unordered_map<std::uint64_t, std::uint32_t> call_names_;  ///< by domain and number
  bool saw_graphs_ = false;
  std::set<std::uint32_t> threads_, gpus_;  ///< that made calls of CUDA, or worked; two of them where there are more
  std::uint32_t records_read_ = 0;
  std::uint64_t nanoseconds_ = 0;
};

}  // namespace gpubench::profile
