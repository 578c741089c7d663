// SPDX-License-Identifier: Apache-2.0
// Counters of single launches in a program that runs on: a range of the range profiler around a launch, with the GPU
// idle before and after, one pass, nothing saved or restored. The first launches of each kernel group are counted, then
// ever rarer ones.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "gpu/cuda/cupti/cupti_range_profiler.h"
#include "profile/injection/counting_plan.h"
#include "profile/injection/options.h"
#include "profile/recording_writer.h"

namespace gpubench::profile {

/// Waits for the GPU on a thread of its own, so that a kernel that waits for the host does not hold the program up.
class DeviceWaiter {
 public:
  DeviceWaiter();
  ~DeviceWaiter();
  DeviceWaiter& operator=(DeviceWaiter&&) = delete;  ///< not copied, not moved
  /// True once the context's work is done; false after the time-out, or on an error of CUDA.
  bool wait(CUcontext context, double max_seconds);
  /// The system's number of the thread, for records that are to be passed over.
  [[nodiscard]] std::uint32_t thread_number() const { return thread_number_; }

 private:
  struct State;  // outlives this object where the thread hangs in the driver
  std::shared_ptr<State> state_;
  std::uint32_t thread_number_ = 0;
};

/// A launch as the driver is asked for it.
struct Launch {
  CUfunction function = nullptr;
  CUstream stream = nullptr;
  CUcontext context = nullptr;
  const char* name = nullptr;  ///< of the kernel, mangled; may be null
  std::uint32_t correlation = 0;
  std::array<std::uint32_t, 7> shape = {};  ///< grid, block and dynamic shared bytes
  std::uint64_t ranges = 0, alike = 0;      ///< RangePath::number and RangePath::alike
  bool per_thread_stream = false;
};

class LaunchCounter {
 public:
  LaunchCounter(std::shared_ptr<const bench::CuptiLibrary> library, RecordingWriter& recording,
                const InjectionOptions& options);

  /// What is to be called once a launch is made, on the same thread.
  enum class Next { nothing, after, communicates };
  /// Before a launch. `Next::after`: it is counted, and other threads' launches wait until then.
  Next before(const Launch& launch);
  void after(const Launch& launch);
  /// Notes one that waits for other GPUs: until it has ended, the GPU is not waited for.
  void communicates(const Launch& launch);
  void capture_begins() { captures_.fetch_add(1); }
  void capture_ends() { captures_.fetch_sub(1); }
  /// Contexts are about to end, and with them what counts in them.
  void contexts_end();
  /// Reads out what is counted, and counts no more.
  void finish();
  [[nodiscard]] std::uint32_t waiting_thread() const { return waiter_.thread_number(); }

 private:
  /// What counting took, by its parts.
  enum Part : std::size_t { setting_up, waiting, counting, reading_out, parts };
  struct Key {
    CUfunction function = nullptr;
    std::array<std::uint32_t, 7> shape = {};
    std::uint64_t ranges = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Device {
    std::optional<bench::CuptiProfilerHost> host;
    std::vector<std::unique_ptr<bench::CuptiProfilerHost::Configuration>> sets;
    std::unique_ptr<bench::CuptiRangeProfiler> profiler;
  };
  Device& device_of(CUcontext context);
  const bench::CuptiProfilerHost::Configuration& set_of(Device& device, std::size_t set);
  CountingPlan::Group* group_of(const Launch& launch);
  std::optional<std::size_t> wanted_set(CountingPlan::Group& group, bool repeats);
  [[nodiscard]] bool may_repeat();
  [[nodiscard]] double program_seconds() const;
  bool may_spend(std::uint64_t more_ns) const;
  [[nodiscard]] std::uint64_t spent_ns() const;
  [[nodiscard]] std::uint64_t counting_ns() const;
  [[nodiscard]] std::uint64_t lacking(std::size_t set) const;
  [[nodiscard]] std::uint64_t mean_ns(Part part, std::uint64_t otherwise) const;
  [[nodiscard]] double seconds_lacking() const;
  [[nodiscard]] bool is_communicating(CUcontext context) const;
  void look_at_rest(double seconds);
  void rest();
  void held_up(std::int64_t since_ns);
  void write(Device& device);
  void end(const std::string& reason);

  std::shared_ptr<const bench::CuptiLibrary> library_;
  RecordingWriter& recording_;
  InjectionOptions options_;
  CountingPlan plan_;
  std::timed_mutex mutex_;  ///< held from `before` to `after` of a counted launch
  bool ended_ = false;
  bool initialized_ = false;
  std::atomic<int> captures_ = 0;
  std::size_t set_ = 0;               ///< that is counted now
  std::uint64_t turn_ = 0;            ///< of the plan, as far as is known here
  std::uint64_t before_turn_ns_ = 0;  ///< that counting had taken
  std::uint32_t not_counted_ = 0;     ///< launches in a row
  bool ended_by_limit_ = false;       ///< a launch was due, and counting had taken what it may
  bool rests_ = false;                ///< the profilers are off until the next launch that is due
  std::string busy_;                  ///< why the counters could not be had the last time
  std::uint64_t next_try_ns_ = 0, pause_ns_ = 0;
  std::map<Key, CountingPlan::Group> groups_;
  std::map<Key, CountingPlan::Kernel> kernels_;  ///< by function and shape
  std::map<CUcontext, Device> devices_;
  std::map<CUcontext, std::map<CUstream, CUevent>> communication_;  ///< the last of each stream
  std::uint64_t held_back_ = 0;                                     ///< launches that were due beside communication
  DeviceWaiter waiter_;
  std::uint32_t counted_ = 0;
  struct Cost {
    std::uint32_t count = 0;
    std::uint64_t nanoseconds = 0;
  };
  std::array<Cost, parts> costs_ = {};
  void spend(Part part, std::uint64_t& since);
  std::uint64_t started_ = 0;
  std::uint64_t first_ns_ = 0;           ///< when the first launch came
  std::uint64_t nanoseconds_again_ = 0;  ///< spent on launches that were due again
  bool again_ = false;
};

}  // namespace gpubench::profile
