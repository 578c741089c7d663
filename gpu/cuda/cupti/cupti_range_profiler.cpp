// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/cupti/cupti_range_profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/time.h"

namespace gpubench::bench {
namespace {

/// Of an operation that is counted kernel by kernel.
constexpr std::uint32_t max_kernels = 128;

constexpr const char* counted_nothing =
    "CUPTI counted nothing: no work of the operation reached this GPU inside the range";

bool counted_something(const CuptiRangeProfiler::CounterValues& values) {
  return std::any_of(values.begin(), values.end(),
                     [](const auto& value) { return value && std::isfinite(*value) && *value != 0.0; });
}

}  // namespace

CuptiRangeProfiler::CuptiRangeProfiler(std::shared_ptr<const CuptiLibrary> library, CUcontext context,
                                       std::uint32_t ranges_of_a_batch)
    : library_(std::move(library)), context_(context), ranges_of_a_batch_(ranges_of_a_batch) {}

CuptiRangeProfiler::~CuptiRangeProfiler() { close(); }

std::shared_ptr<void> CuptiRangeProfiler::timed(std::string_view what) {
  auto& [times, seconds] = effort_.calls.try_emplace(std::string(what)).first->second;
  ++times;
  return {nullptr, [&sum = seconds, start = steady_seconds()](void*) { sum += steady_seconds() - start; }};
}

void CuptiRangeProfiler::begin(const CuptiProfilerHost::Configuration& configuration) {
  end_passes();
  points_of_passes_ = 0;
  if (configuration_ == &configuration) return;
  end_batch();
  close();
  counted_.clear();
  configuration_ = &configuration;
  by_kernel_ = std::ranges::any_of(configuration.metrics(), is_over_elapsed_time);
}

void CuptiRangeProfiler::begin_passes(const CuptiProfilerHost::Configuration& configuration, std::size_t max_points) {
  begin(configuration);
  end_batch();
  close();  // another number of ranges is another way to set the profiler up
  points_of_passes_ = max_points;
}

void CuptiRangeProfiler::count_one_pass(std::size_t point, const CountedExecution& replay) {
  if (!passes_lost_.empty()) throw MetricsUnavailable(passes_lost_);
  const std::string name = fmt::format("point {}", point);
  try {
    replay.prepare();
    if (object_ == nullptr) {
      open();
      configure(static_cast<std::uint32_t>(points_of_passes_));
    }
    if (!started_) start();
    if (batch_.try_emplace(name, point).second) ++effort_.ranges;
    run_range(name, replay);
  } catch (const MetricsUnavailable& error) {
    passes_lost_ = error.what();
    throw;
  } catch (...) {
    failed_.insert(point);
    throw;
  }
}

void CuptiRangeProfiler::next_pass() {
  if (!started_) return;
  const auto [result, complete] = stop();
  passes_complete_ = complete;
  if (result != CUPTI_SUCCESS) passes_lost_ = library_->error_text(result, "cuptiRangeProfilerStop");
}

/// The values of all points, now that they have been gone over for the last time.
void CuptiRangeProfiler::end_passes() {
  if (points_of_passes_ == 0) return;
  next_pass();
  try {
    if (!passes_lost_.empty()) throw MetricsUnavailable(passes_lost_);
    if (!batch_.empty() && !passes_complete_)
      throw MetricsUnavailable(
          fmt::format("the run ended before CUPTI had all of the {} passes that it takes; run it to its end",
                      configuration_->passes()));
    if (!batch_.empty()) take_batch();
  } catch (const MetricsUnavailable& error) {
    lose_batch(error.what());
  }
  close();
  for (const std::size_t point : failed_) counted_.erase(point);
  failed_.clear();
  passes_lost_.clear();
  passes_complete_ = false;
}

void CuptiRangeProfiler::count(std::size_t point, const CountedExecution& replay) {
  if (points_of_passes_ > 0) return count_one_pass(point, replay);
  if (configuration_->passes() > 1 || by_kernel_)
    counted_[point] = count_by_itself(replay);
  else
    count_in_batch(point, replay);
  if (!replay.each_kernel || by_kernel_) return;
  end_batch();  // counting kernel by kernel is another way to set the profiler up
  count_each_kernel(replay, counted_[point]);
}

/// Beside the figures of the operation as a whole.
void CuptiRangeProfiler::count_each_kernel(const CountedExecution& replay, RangeValues& counted) {
  close();
  by_kernel_ = true;
  try {
    counted.kernels = count_by_itself(replay).kernels;
  } catch (const std::exception& error) {
    counted.kernels_lost = error.what();
  }
  by_kernel_ = false;
  close();
}

std::map<std::size_t, CuptiRangeProfiler::RangeValues> CuptiRangeProfiler::read(bool keep) {
  end_passes();
  end_batch(keep);
  return std::exchange(counted_, {});
}

void CuptiRangeProfiler::count_in_batch(std::size_t point, const CountedExecution& replay) {
  if (ranges_begun_ >= ranges_of_a_batch_) end_batch();
  try {
    begin_in_batch();
    replay.prepare();
    const std::string name = next_name();
    ++ranges_begun_;
    run_range(name, replay);
    batch_[name] = point;
  } catch (const MetricsUnavailable& error) {
    lose_batch(error.what());
    throw;
  }
}

/// The profiler is started, and has room for one more range.
void CuptiRangeProfiler::begin_in_batch() {
  if (ranges_begun_ >= ranges_of_a_batch_) end_batch(true);
  if (started_) return;
  if (object_ == nullptr) open();
  if (configured_)
    reset();
  else
    configure(ranges_of_a_batch_);
  start();
  ranges_begun_ = 0;
}

void CuptiRangeProfiler::push(const std::string& name) {
  const auto timing = timed("push");
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_PushRange);
  parameters.pRangeProfilerObject = object_;
  parameters.pRangeName = name.c_str();
  GPUBENCH_CUPTI_CALL(*library_, cuptiRangeProfilerPushRange, &parameters);
  in_range_ = true;
}

void CuptiRangeProfiler::switch_to(const CuptiProfilerHost::Configuration& configuration) {
  if (configuration_ == &configuration) return;
  end_batch(false);  // enabled with one configuration, CUPTI gives no values of another
  close();
  configuration_ = &configuration;
  by_kernel_ = false;
}

void CuptiRangeProfiler::rest() {
  end_batch(false);
  close();
}

void CuptiRangeProfiler::begin_range(std::size_t point) {
  if (configuration_->passes() > 1 || by_kernel_)
    throw MetricsUnavailable("a range runs once, and these counters need more; count fewer, none over elapsed time");
  try {
    begin_in_batch();
    const std::string name = next_name();
    ++ranges_begun_;
    push(name);
    batch_[name] = point;
  } catch (const MetricsUnavailable& error) {
    lose_batch(error.what());
    throw;
  }
}

void CuptiRangeProfiler::end_range() {
  if (!in_range_) return;
  const CUptiResult result = pop();
  if (result == CUPTI_SUCCESS) return;
  const std::string why = library_->error_text(result, "cuptiRangeProfilerPopRange");
  lose_batch(why);
  throw MetricsUnavailable(why);
}

/// Counts one execution.
void CuptiRangeProfiler::run_range(const std::string& name, const CountedExecution& replay) {
  if (by_kernel_) return replay.execute();
  push(name);
  try {
    replay.execute();
  } catch (...) {
    // What was counted before stays, if CUPTI agrees.
    if (pop() != CUPTI_SUCCESS) lose_batch("an operation failed while it was counted, and CUPTI with it");
    throw;
  }
  library_->check(pop(), "cuptiRangeProfilerPopRange");
}

void CuptiRangeProfiler::end_batch(bool keep) {
  if (!started_) return;
  try {
    const auto [result, complete] = stop();
    library_->check(result, "cuptiRangeProfilerStop");
    if (!complete) throw MetricsUnavailable("CUPTI needs more than the one pass that it planned; count fewer metrics");
    take_batch();
    if (!keep) close();
  } catch (const MetricsUnavailable& error) {
    lose_batch(error.what());
  }
}

/// Values by point, once the profiler has stopped.
void CuptiRangeProfiler::take_batch() {
  decode();
  const auto places = ranges();
  const auto timing = timed("evaluate");
  for (const auto& [name, point] : batch_) {
    const auto place = places.find(name);
    counted_[point] = place == places.end() ? RangeValues{{}, counted_nothing, {}, {}}
                                            : RangeValues{configuration_->values(image_, place->second), {}, {}, {}};
  }
  batch_.clear();
}

void CuptiRangeProfiler::lose_batch(const std::string& reason) {
  for (const auto& [name, point] : batch_) counted_[point] = {{}, reason, {}, {}};
  batch_.clear();
  close();
}

CuptiRangeProfiler::RangeValues CuptiRangeProfiler::count_by_itself(const CountedExecution& replay) {
  bool keep_gave_zeros = false;
  try {
    // CUPTI gives the ranges of kernels the same names each time, under which an earlier point's may still be there.
    if (object_ != nullptr && keep_works_ && !by_kernel_) {
      try {
        RangeValues counted = attempt(true, replay);
        const bool something = counted_something(counted.values);
        keep_proven_ = keep_proven_ || something;
        if (keep_proven_) return counted;
        keep_gave_zeros = true;
      } catch (const MetricsUnavailable&) {
        keep_works_ = false;
      }
    }
    const bool keep_failed = !std::exchange(keep_works_, true);
    RangeValues counted = attempt(false, replay);
    // Only now is it clear that keeping was at fault, and not the operation.
    keep_works_ = !keep_failed && !(keep_gave_zeros && counted_something(counted.values));
    return counted;
  } catch (...) {
    close();
    throw;
  }
}

CuptiRangeProfiler::RangeValues CuptiRangeProfiler::attempt(bool keep, const CountedExecution& replay) {
  if (keep) {
    reset();
  } else {
    open();
    configure(by_kernel_ ? max_kernels : 1);
  }
  const std::string name = next_name();
  const std::size_t max = keep ? passes_ : configuration_->passes();
  std::size_t passes = 0;
  for (bool complete = false; !complete; ++passes) {
    if (passes >= max)
      throw MetricsUnavailable(
          fmt::format("CUPTI needs more than the {} passes that it planned; count fewer metrics", max));
    replay.prepare();
    start();
    run_range(name, replay);
    const auto [result, done] = stop();
    if (by_kernel_ && result == CUPTI_ERROR_UNKNOWN)
      throw MetricsUnavailable(
          "CUPTI cannot count kernel by kernel, as where an operation launches a CUDA graph; ask for "
          "counters that are not over elapsed time, or launch the kernels one by one");
    library_->check(result, "cuptiRangeProfilerStop");
    complete = done;
  }
  if (keep && passes != passes_)
    throw MetricsUnavailable(fmt::format("CUPTI ended after {} of {} passes; run the point again", passes, passes_));
  passes_ = passes;
  decode();
  if (by_kernel_) return values_of_kernels();
  return {values_of(name), {}, {}, {}};
}

CuptiRangeProfiler::CounterValues CuptiRangeProfiler::values_of(const std::string& name) {
  const auto places = ranges();
  const auto place = places.find(name);
  if (place == places.end()) throw MetricsUnavailable(counted_nothing);
  const auto timing = timed("evaluate");
  return configuration_->values(image_, place->second);
}

CuptiRangeProfiler::RangeValues CuptiRangeProfiler::values_of_kernels() const {
  const auto& metrics = configuration_->metrics();
  std::vector<CounterValues> by_metric(metrics.size());
  RangeValues result;
  const std::size_t kernels = ranges_decoded();
  if (kernels == 0) throw MetricsUnavailable(counted_nothing);
  for (std::size_t kernel = 0; kernel < kernels; ++kernel) {
    result.kernels.push_back(configuration_->values(image_, kernel));
    for (std::size_t i = 0; i < metrics.size(); ++i) by_metric[i].push_back(result.kernels.back()[i]);
  }
  const auto duration = std::ranges::find(metrics, kernel_duration);
  if (duration == metrics.end()) return result;  // counted beside the operation, whose figures are known
  const CounterValues& durations = by_metric[static_cast<std::size_t>(duration - metrics.begin())];
  for (std::size_t i = 0; i < metrics.size(); ++i)
    result.values.push_back(over_all_kernels(metrics[i], by_metric[i], durations));
  return result;
}

/// A name of its own for each range: those of one name add up, and counter data may keep what was read out before.
std::string CuptiRangeProfiler::next_name() { return fmt::format("range {}", effort_.ranges++); }

void CuptiRangeProfiler::open() {
  close();
  const auto timing = timed("enable");
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_Enable);
  parameters.ctx = context_;
  GPUBENCH_CUPTI_CALL(*library_, cuptiRangeProfilerEnable, &parameters);
  object_ = parameters.pRangeProfilerObject;
  ++effort_.enabled;
}

void CuptiRangeProfiler::configure(std::uint32_t max_ranges) {
  const auto timing = timed("configure");
  std::vector<const char*> names = pointers_to(configuration_->metrics());
  auto size = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_GetCounterDataSize);
  size.pRangeProfilerObject = object_;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = max_ranges;
  size.maxNumRangeTreeNodes = max_ranges + 1;
  GPUBENCH_CUPTI_CALL(*library_, cuptiRangeProfilerGetCounterDataSize, &size);
  image_.assign(size.counterDataSize, 0);
  reset();

  auto set = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_SetConfig);
  set.pRangeProfilerObject = object_;
  set.configSize = configuration_->image().size();
  set.pConfig = configuration_->image().data();
  set.counterDataImageSize = image_.size();
  set.pCounterDataImage = image_.data();
  // The operation is run again for each pass. Replay by CUPTI would save and restore all memory that kernels write.
  set.range = by_kernel_ ? CUPTI_AutoRange : CUPTI_UserRange;
  set.replayMode = CUPTI_UserReplay;
  set.maxRangesPerPass = max_ranges;
  set.numNestingLevels = 1;
  set.minNestingLevel = 1;
  set.passIndex = 0;
  set.targetNestingLevel = 1;
  GPUBENCH_CUPTI_CALL(*library_, cuptiRangeProfilerSetConfig, &set);
  configured_ = true;
  ++effort_.configured;
}

/// Empties the counter data: what is in it from before would be added to.
void CuptiRangeProfiler::reset() {
  const auto timing = timed("empty counter data");
  auto empty = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_CounterDataImage_Initialize);
  empty.pRangeProfilerObject = object_;
  empty.counterDataSize = image_.size();
  empty.pCounterData = image_.data();
  GPUBENCH_CUPTI_CALL(*library_, cuptiRangeProfilerCounterDataImageInitialize, &empty);
}

void CuptiRangeProfiler::start() {
  const auto timing = timed("start");
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_Start);
  parameters.pRangeProfilerObject = object_;
  GPUBENCH_CUPTI_CALL(*library_, cuptiRangeProfilerStart, &parameters);
  started_ = true;
}

/// Brings the counters of all passes into the counter data.
void CuptiRangeProfiler::decode() {
  const auto timing = timed("decode");
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_DecodeData);
  parameters.pRangeProfilerObject = object_;
  GPUBENCH_CUPTI_CALL(*library_, cuptiRangeProfilerDecodeData, &parameters);
  if (parameters.numOfRangeDropped == 0) return;
  throw MetricsUnavailable(
      by_kernel_ ? fmt::format("the operation launches more than {} kernels, and CUPTI has no room to count more one "
                               "by one",
                               max_kernels)
                 : "CUPTI dropped a range that was to be counted; run the point again");
}

std::size_t CuptiRangeProfiler::ranges_decoded() const {
  auto info = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_GetCounterDataInfo);
  info.pCounterDataImage = image_.data();
  info.counterDataImageSize = image_.size();
  GPUBENCH_CUPTI_CALL(*library_, cuptiRangeProfilerGetCounterDataInfo, &info);
  return info.numTotalRanges;
}

/// Where each range lies in the counter data, by name.
std::map<std::string, std::size_t> CuptiRangeProfiler::ranges() const {
  std::map<std::string, std::size_t> places;
  const std::size_t count = ranges_decoded();
  for (std::size_t i = 0; i < count; ++i) {
    auto range = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_CounterData_GetRangeInfo);
    range.pCounterDataImage = image_.data();
    range.counterDataImageSize = image_.size();
    range.rangeIndex = i;
    range.rangeDelimiter = "/";
    GPUBENCH_CUPTI_CALL(*library_, cuptiRangeProfilerCounterDataGetRangeInfo, &range);
    if (range.rangeName != nullptr) places[range.rangeName] = i;
  }
  return places;
}

CUptiResult CuptiRangeProfiler::pop() {
  in_range_ = false;
  const auto timing = timed("pop");
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_PopRange);
  parameters.pRangeProfilerObject = object_;
  return library_->cuptiRangeProfilerPopRange(&parameters);
}

std::pair<CUptiResult, bool> CuptiRangeProfiler::stop() {
  started_ = false;
  const auto timing = timed("stop");
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_Stop);
  parameters.pRangeProfilerObject = object_;
  const CUptiResult result = library_->cuptiRangeProfilerStop(&parameters);
  return {result, parameters.isAllPassSubmitted != 0};
}

/// Ends whatever is open, and lets go of the counters.
void CuptiRangeProfiler::close() {
  if (object_ == nullptr) return;
  if (in_range_) pop();
  if (started_) stop();
  const auto timing = timed("disable");
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_Disable);
  parameters.pRangeProfilerObject = object_;
  library_->cuptiRangeProfilerDisable(&parameters);
  object_ = nullptr;
  configured_ = false;
}

}  // namespace gpubench::bench
