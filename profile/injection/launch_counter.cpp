// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/launch_counter.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <thread>

#include "core/model/collective.h"
#include "profile/injection/driver.h"
#include "profile/injection/recorder.h"

namespace gpubench::profile {
namespace {

using bench::MetricsUnavailable;
using bench::sized;

/// A kernel that runs longer is not counted to its end: it may wait for a launch that is held back meanwhile.
constexpr double max_wait_seconds = 5.0;
/// For one that another thread makes, and that is counted, before counting ends.
constexpr std::chrono::seconds wait_for_launch{1};
/// To read a batch out and begin the next one takes 18 ms.
constexpr std::uint32_t launches_of_a_batch = 256;
/// Launches in a row that are not counted before the profilers are switched off: on, they slow each launch by 2 us.
constexpr std::uint32_t launches_before_rest = 500;
/// What a set of counters takes to set up, until one was.
constexpr std::uint64_t set_up_ns = 450'000'000;
/// What the first set may count though setting it up took all that counting may take, as on a host at other work: else
/// that was for nothing. So long, or a quarter of that.
constexpr std::uint64_t least_counting_ns = 500'000'000;
/// After which counters that another process holds are asked for again.
constexpr std::uint64_t nanoseconds_before_next_try = 200'000'000;

bool is_capturing(const Launch& launch) {
  static const auto query = driver<decltype(&cuStreamIsCapturing)>("cuStreamIsCapturing");
  static const auto query_per_thread = driver<decltype(&cuStreamIsCapturing)>("cuStreamIsCapturing_ptsz");
  const auto ask = launch.per_thread_stream ? query_per_thread : query;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return ask == nullptr || ask(launch.stream, &status) != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// A pause before such a kernel could hold up the whole program.
bool waits_for_others(const Launch& launch) { return launch.name != nullptr && waits_for_other_gpus(launch.name); }

}  // namespace

struct DeviceWaiter::State {
  std::mutex mutex;
  std::condition_variable changed;
  CUcontext wanted = nullptr;
  bool done = true;
  bool well = false;
  bool quit = false;
  std::uint32_t number = 0;
};

DeviceWaiter::DeviceWaiter() : state_(std::make_shared<State>()) {
  std::thread([state = state_] {
    const auto set_current = driver<decltype(&cuCtxSetCurrent)>("cuCtxSetCurrent");
    const auto synchronize = driver<decltype(&cuCtxSynchronize)>("cuCtxSynchronize");
    // Waiting breaks no capture of another thread.
    const auto exchange = driver<decltype(&cuThreadExchangeStreamCaptureMode)>("cuThreadExchangeStreamCaptureMode");
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (exchange != nullptr) (void)exchange(&mode);
    std::unique_lock lock(state->mutex);
    state->number = static_cast<std::uint32_t>(gettid());
    state->changed.notify_all();
    while (true) {
      state->changed.wait(lock, [&] { return state->quit || !state->done; });
      if (state->quit) break;
      auto* const context = state->wanted;
      lock.unlock();
      const bool well = set_current != nullptr && synchronize != nullptr && set_current(context) == CUDA_SUCCESS &&
                        synchronize() == CUDA_SUCCESS;
      lock.lock();
      state->well = well;
      state->done = true;
      state->changed.notify_all();
    }
  }).detach();
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->number != 0; });
  thread_number_ = state_->number;
}

DeviceWaiter::~DeviceWaiter() {
  const std::lock_guard lock(state_->mutex);
  state_->quit = true;
  state_->changed.notify_all();
}

bool DeviceWaiter::wait(CUcontext context, double max_seconds) {
  std::unique_lock lock(state_->mutex);
  if (!state_->done) return false;
  state_->wanted = context;
  state_->done = false;
  state_->changed.notify_all();
  const bool in_time =
      state_->changed.wait_for(lock, std::chrono::duration<double>(max_seconds), [&] { return state_->done; });
  return in_time && state_->well;
}

LaunchCounter::LaunchCounter(std::shared_ptr<const bench::CuptiLibrary> library, RecordingWriter& recording,
                             const InjectionOptions& options)
    : library_(std::move(library)),
      recording_(recording),
      options_(options),
      plan_(options.counter_sets.size(),
            std::max(options.counted_launches / static_cast<std::uint32_t>(options.counter_sets.size()), 1U)) {}

/// Adds the time since then, and begins anew.
void LaunchCounter::spend(Part part, std::uint64_t& since) {
  const std::uint64_t now = now_ns();
  ++costs_[part].count;
  costs_[part].nanoseconds += now - since;
  since = now;
}

std::uint64_t LaunchCounter::spent_ns() const {
  std::uint64_t spent = 0;
  for (const Cost& cost : costs_) spent += cost.nanoseconds;
  return spent;
}

std::uint64_t LaunchCounter::mean_ns(Part part, std::uint64_t otherwise) const {
  return costs_[part].count == 0 ? otherwise : costs_[part].nanoseconds / costs_[part].count;
}

/// How long the program has run since its first launch, without what counting took.
double LaunchCounter::program_seconds() const {
  const std::uint64_t spent = spent_ns(), since_first = now_ns() - first_ns_;
  return 1e-9 * static_cast<double>(since_first - std::min(spent, since_first));
}

/// Without setting up.
std::uint64_t LaunchCounter::counting_ns() const { return spent_ns() - costs_[setting_up].nanoseconds; }

bool LaunchCounter::may_spend(std::uint64_t more_ns) const {
  if (options_.counting_seconds <= 0.0 && more_ns == 0 && set_ == 0 &&
      counting_ns() < std::max(least_counting_ns, costs_[setting_up].nanoseconds / 4))
    return true;
  return 1e-9 * static_cast<double>(spent_ns() + more_ns) <=
         counting_allowance(program_seconds(), options_.counting_seconds);
}

/// Launches that are like others are counted as long as that takes less than the next set would to be set up.
bool LaunchCounter::may_repeat() {
  if (turn_ != plan_.turn()) {
    turn_ = plan_.turn();
    before_turn_ns_ = counting_ns();
  }
  return options_.counter_sets.size() == 1 || counting_ns() - before_turn_ns_ < mean_ns(setting_up, set_up_ns);
}

/// Kernels that the set has not counted.
std::uint64_t LaunchCounter::lacking(std::size_t set) const {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(kernels_, [&](const auto& each) { return each.second.counted[set] == 0; }));
}

/// About how long it would take to count each kernel by each set.
double LaunchCounter::seconds_lacking() const {
  std::uint64_t launches = 0, sets = 0;
  for (std::size_t set = 0; set < options_.counter_sets.size(); ++set) {
    launches += lacking(set);
    sets += static_cast<std::uint64_t>(lacking(set) > 0);
  }
  const std::uint64_t each = counting_ns() / std::max(counted_, 1U);
  return 1e-9 * static_cast<double>(launches * each + sets * mean_ns(setting_up, set_up_ns));
}

/// Null for what is never counted.
CountingPlan::Group* LaunchCounter::group_of(const Launch& launch) {
  const Key key{launch.function, launch.shape, launch.ranges};
  if (const auto known = groups_.find(key); known != groups_.end()) return &known->second;
  if (captures_.load() > 0 || launch.context == nullptr || is_capturing(launch)) return nullptr;
  CountingPlan::Kernel& kernel = kernels_[Key{launch.function, launch.shape, 0}];
  if (kernel.ranges >= CountingPlan::max_ranges) return nullptr;
  return &(groups_[key] = plan_.group(kernel, launch.alike));
}

/// The set to count this launch in; none where it is not due.
std::optional<std::size_t> LaunchCounter::wanted_set(CountingPlan::Group& group, bool repeats) {
  again_ = false;
  if (const auto set = plan_.wanted(group, repeats)) return set;
  // Again only as long as that takes less than a hundredth of the program's time.
  const std::uint64_t to_begin = rests_ ? mean_ns(setting_up, 0) : 0;
  again_ = plan_.due_again(group) && 100 * (nanoseconds_again_ + to_begin) < now_ns() - first_ns_;
  return again_ ? std::optional(set_) : std::nullopt;
}

LaunchCounter::Next LaunchCounter::before(const Launch& launch) {
  if (waits_for_others(launch)) return Next::communicates;  // even while another thread's launch is counted
  std::unique_lock lock(mutex_);
  if (ended_) return Next::nothing;
  if (first_ns_ == 0) first_ns_ = now_ns();
  CountingPlan::Group* const group = group_of(launch);
  if (group == nullptr) return Next::nothing;
  const bool repeats = may_repeat();
  const auto set = wanted_set(*group, repeats);
  if (!set && plan_.is_over(repeats)) look_at_rest(0.0);
  if (!set || captures_.load() > 0 || is_capturing(launch) || now_ns() < next_try_ns_) return Next::nothing;
  if (!may_spend(*set != set_ || rests_ || counted_ == 0 ? mean_ns(setting_up, set_up_ns) : 0)) {
    ended_by_limit_ = ended_by_limit_ || !again_;
    look_at_rest(more_after_seconds);  // what may be spent grows then, and to begin anew takes a large part of it
    return Next::nothing;
  }
  if (is_communicating(launch.context)) {
    ++held_back_;
    return Next::nothing;
  }
  not_counted_ = 0;
  rests_ = false;
  std::uint64_t since = started_ = now_ns();
  const std::int64_t begun = utc_nanoseconds();
  try {
    if (!waiter_.wait(launch.context, max_wait_seconds)) {
      end("The GPU did not become idle within 5 s before a launch that was to be counted: a kernel may wait for the "
          "host. Later launches have no counters.");
      held_up(begun);
      return Next::nothing;
    }
    spend(waiting, since);
    Device& device = device_of(launch.context);
    if (*set != set_) {
      for (auto& [context, other] : devices_) write(other);
      set_ = *set;
    }
    const std::size_t enabled = device.profiler->effort().enabled;
    device.profiler->switch_to(set_of(device, set_));
    device.profiler->begin_range(launch.correlation);
    spend(device.profiler->effort().enabled != enabled ? setting_up : counting, since);
    plan_.counted(*group, set_);
    busy_.clear();
    pause_ns_ = 0;
  } catch (const bench::MetricsBusy& error) {  // a process of the same program rests once it has counted all
    if (!again_) busy_ = error.what();
    pause_ns_ = std::max(nanoseconds_before_next_try, 2 * pause_ns_);  // ever longer: a try takes time
    next_try_ns_ = now_ns() + pause_ns_;
    held_up(begun);
    return Next::nothing;
  } catch (const std::exception& error) {
    end(error.what());
    held_up(begun);
    return Next::nothing;
  }
  lock.release();  // until `after`
  return Next::after;
}

/// By an event behind it, which stays valid whatever becomes of the stream.
void LaunchCounter::communicates(const Launch& launch) {
  static const auto create = driver<decltype(&cuEventCreate)>("cuEventCreate");
  static const auto record = driver<decltype(&cuEventRecord)>("cuEventRecord");
  static const auto record_per_thread = driver<decltype(&cuEventRecord)>("cuEventRecord_ptsz");
  const auto note = launch.per_thread_stream ? record_per_thread : record;
  if (create == nullptr || note == nullptr || launch.context == nullptr || is_capturing(launch)) return;
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  CUevent& event = communication_[launch.context][launch.stream];
  if (event == nullptr && create(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) event = nullptr;
  if (event != nullptr) (void)note(event, launch.stream);
}

bool LaunchCounter::is_communicating(CUcontext context) const {
  static const auto query = driver<decltype(&cuEventQuery)>("cuEventQuery");
  const auto here = communication_.find(context);
  return query != nullptr && here != communication_.end() && std::ranges::any_of(here->second, [](const auto& last) {
           return last.second != nullptr && query(last.second) == CUDA_ERROR_NOT_READY;
         });
}

void LaunchCounter::after(const Launch& launch) {
  const std::unique_lock lock(mutex_, std::adopt_lock);
  ++counted_;
  std::uint64_t since = now_ns();
  try {
    if (!waiter_.wait(launch.context, max_wait_seconds)) {
      end("A kernel that was counted did not end within 5 s: it may wait for a later launch. Later launches have no "
          "counters.");
      // The range stays open: to close it would wait for the kernel.
      for (auto& [context, device] : devices_) (void)device.profiler.release();
      return;
    }
    spend(waiting, since);
    Device& device = device_of(launch.context);
    device.profiler->end_range();
    spend(counting, since);
    if (counted_ % launches_of_a_batch == 0) {
      write(device);
      spend(reading_out, since);
    }
  } catch (const std::exception& error) {
    end(error.what());
  }
  if (again_) nanoseconds_again_ += now_ns() - started_;
}

LaunchCounter::Device& LaunchCounter::device_of(CUcontext context) {
  Device& device = devices_[context];
  if (device.profiler) return device;
  if (!initialized_) {
    auto initialize = GPUBENCH_CUPTI_PARAMETERS(Profiler_Initialize);
    GPUBENCH_CUPTI_CALL(*library_, cuptiProfilerInitialize, &initialize);
    initialized_ = true;
  }
  static const auto device_of_context = driver<decltype(&cuCtxGetDevice)>("cuCtxGetDevice");
  CUdevice index = 0;
  if (device_of_context == nullptr || device_of_context(&index) != CUDA_SUCCESS)
    throw MetricsUnavailable("The driver does not tell which GPU a kernel runs on, so it has no counters.");
  std::string chip = bench::chip_name(*library_, index);
  device.host.emplace(library_, std::move(chip), bench::counter_availability(*library_, context));
  device.sets.resize(options_.counter_sets.size());
  device.profiler = std::make_unique<bench::CuptiRangeProfiler>(library_, context, launches_of_a_batch);
  return device;
}

const bench::CuptiProfilerHost::Configuration& LaunchCounter::set_of(Device& device, std::size_t set) {
  auto& place = device.sets[set];
  if (!place)
    place = std::make_unique<bench::CuptiProfilerHost::Configuration>(*device.host, options_.counter_sets[set]);
  return *place;
}

/// After so many launches that are not counted, where the program has run for so long.
void LaunchCounter::look_at_rest(double seconds) {
  if (++not_counted_ >= launches_before_rest && !rests_ && !devices_.empty() && program_seconds() >= seconds) rest();
}

void LaunchCounter::rest() {
  const std::int64_t begun = utc_nanoseconds();
  std::uint64_t since = now_ns();
  try {
    for (auto& [context, device] : devices_) {
      if (!device.profiler) continue;
      write(device);
      spend(reading_out, since);
      device.profiler->rest();
      costs_[setting_up].nanoseconds += now_ns() - since;
      since = now_ns();
      rests_ = true;
    }
  } catch (const std::exception& error) {
    end(error.what());
  }
  held_up(begun);
}

/// A launch that is not counted itself.
void LaunchCounter::held_up(std::int64_t since_ns) {
  const auto lock = recording_.lock();
  recording_.held_up("counters", since_ns);
}

/// Into the recording, what the batch holds; nothing of a GPU whose counters could not be had.
void LaunchCounter::write(Device& device) {
  if (!device.profiler) return;
  const auto& names = options_.counter_sets[set_];
  for (const auto& [correlation, ranges] : device.profiler->read(true)) {
    const auto lock = recording_.lock();
    std::vector<std::pair<std::uint32_t, double>> values;
    for (std::size_t i = 0; i < names.size() && i < ranges.values.size(); ++i)
      if (ranges.values[i] && std::isfinite(*ranges.values[i]))
        values.emplace_back(recording_.name(names[i]), *ranges.values[i]);
    if (!ranges.lost.empty()) recording_.note(ranges.lost, true);
    recording_.counted(static_cast<std::uint32_t>(correlation), values);
  }
}

void LaunchCounter::end(const std::string& reason) {
  ended_ = true;
  const auto lock = recording_.lock();
  recording_.note(reason, true);
}

void LaunchCounter::contexts_end() {
  const std::unique_lock lock(mutex_, wait_for_launch);
  if (!lock.owns_lock()) return;  // a thread hangs in a launch that is counted
  try {
    for (auto& [context, device] : devices_) write(device);
  } catch (const std::exception& error) {
    end(error.what());
  }
  devices_.clear();
  communication_.clear();  // with the contexts
}

void LaunchCounter::finish() {
  const std::unique_lock lock(mutex_, wait_for_launch);
  if (!lock.owns_lock()) return;  // a thread hangs in a launch that is counted
  std::uint64_t start = now_ns();
  try {
    for (auto& [context, device] : devices_) write(device);
  } catch (const std::exception& error) {
    end(error.what());
  }
  if (!ended_ && !busy_.empty()) end(busy_);
  std::uint64_t all_lacking = 0;
  for (std::size_t set = 0; set < options_.counter_sets.size(); ++set) all_lacking += lacking(set);
  if (!ended_ && ended_by_limit_ && all_lacking > 0)
    end(
        fmt::format("Counting reached the limit of what it may add to the program. About {:.0f} s more would count the "
                    "rest: allow it with --metrics-budget=SECONDS.",
                    std::ceil(seconds_lacking())));
  if (!ended_ && !ended_by_limit_ && held_back_ > 0 && all_lacking > 0)
    end(fmt::format(
        "{} launches that were due are not counted: kernels that wait for other GPUs ran beside them, and a "
        "pause would hold those up.",
        held_back_));
  ended_ = true;
  if (counted_ == 0) return;
  spend(reading_out, start);
  const auto recording_lock = recording_.lock();
  const auto put = [&](const char* what, std::uint32_t count, std::uint64_t nanoseconds) {
    const std::uint32_t name = recording_.name(what);
    recording_.add(CostRecord{.name = name, .count = count, .nanoseconds = halves(nanoseconds)});
  };
  const std::uint64_t each =
      costs_[waiting].nanoseconds + costs_[counting].nanoseconds + costs_[reading_out].nanoseconds;
  put("a launch with counters", counted_, each);
  put("of which waiting for the GPU", costs_[waiting].count, costs_[waiting].nanoseconds);
  put("of which reading counters out", costs_[reading_out].count, costs_[reading_out].nanoseconds);
  put("setting the counters up and giving them back", costs_[setting_up].count, costs_[setting_up].nanoseconds);
}

}  // namespace gpubench::profile
