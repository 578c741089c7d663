// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/cupti_range_profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>

#include "bench/counters/pass_plan.h"

namespace gpubench::bench {
namespace {

/// Of a batch. The counter data takes 80 KiB for each with gpubench's core metrics.
constexpr std::uint32_t ranges_of_a_batch = 128;
/// Of an operation that is counted kernel by kernel.
constexpr std::uint32_t max_kernels = 128;

constexpr const char* counted_nothing =
    "CUPTI counted nothing: no work of the operation reached this GPU inside the range";

bool counted_something(const CuptiRangeProfiler::Values& values) {
  return std::any_of(values.begin(), values.end(),
                     [](const auto& value) { return value && std::isfinite(*value) && *value != 0.0; });
}

}  // namespace

CuptiRangeProfiler::CuptiRangeProfiler(std::shared_ptr<const CuptiLibrary> library, CUcontext context)
    : library_(std::move(library)), context_(context) {}

CuptiRangeProfiler::~CuptiRangeProfiler() { close(); }

void CuptiRangeProfiler::begin(const CuptiProfilerHost::Configuration& configuration) {
  if (configuration_ == &configuration) return;
  end_batch();
  close();
  counted_.clear();
  configuration_ = &configuration;
  by_kernel_ = std::ranges::any_of(configuration.metrics(), is_over_elapsed_time);
}

void CuptiRangeProfiler::count(std::size_t point, const Replay& replay) {
  if (configuration_->passes() > 1 || by_kernel_)
    counted_[point] = {count_by_itself(replay), ""};
  else
    count_in_batch(point, replay);
}

std::map<std::size_t, CuptiRangeProfiler::Counted> CuptiRangeProfiler::read() {
  end_batch();
  return std::exchange(counted_, {});
}

void CuptiRangeProfiler::count_in_batch(std::size_t point, const Replay& replay) {
  if (ranges_begun_ >= ranges_of_a_batch) end_batch();
  try {
    if (!started_) {
      open();
      configure(ranges_of_a_batch);
      start();
      ranges_begun_ = 0;
    }
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

/// Counts one execution.
void CuptiRangeProfiler::run_range(const std::string& name, const Replay& replay) {
  if (by_kernel_) return replay.execute();
  auto push = sized<CUpti_RangeProfiler_PushRange_Params>(CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE);
  push.pRangeProfilerObject = object_;
  push.pRangeName = name.c_str();
  library_->check(library_->cuptiRangeProfilerPushRange(&push), "cuptiRangeProfilerPushRange");
  in_range_ = true;
  try {
    replay.execute();
  } catch (...) {
    // What was counted before stays, if CUPTI agrees.
    if (pop() != CUPTI_SUCCESS) lose_batch("an operation failed while it was counted, and CUPTI with it");
    throw;
  }
  library_->check(pop(), "cuptiRangeProfilerPopRange");
}

void CuptiRangeProfiler::end_batch() {
  if (!started_) return;
  try {
    const auto [result, complete] = stop();
    library_->check(result, "cuptiRangeProfilerStop");
    if (!complete) throw MetricsUnavailable("CUPTI wants more than the 1 passes that it planned; count fewer metrics");
    decode();
    const auto places = ranges();
    for (const auto& [name, point] : batch_) {
      const auto place = places.find(name);
      counted_[point] = place == places.end() ? Counted{{}, counted_nothing}
                                              : Counted{configuration_->values(image_, place->second), ""};
    }
    batch_.clear();
    close();
  } catch (const MetricsUnavailable& error) {
    lose_batch(error.what());
  }
}

void CuptiRangeProfiler::lose_batch(const std::string& reason) {
  for (const auto& [name, point] : batch_) counted_[point] = {{}, reason};
  batch_.clear();
  close();
}

CuptiRangeProfiler::Values CuptiRangeProfiler::count_by_itself(const Replay& replay) {
  bool keep_gave_zeros = false;
  try {
    // CUPTI gives the ranges of kernels the same names each time, under which an earlier point's may still be there.
    if (object_ != nullptr && keep_works_ && !by_kernel_) {
      try {
        Values values = attempt(true, replay);
        const bool something = counted_something(values);
        keep_proven_ = keep_proven_ || something;
        if (keep_proven_) return values;
        keep_gave_zeros = true;
      } catch (const MetricsUnavailable&) {
        keep_works_ = false;
      }
    }
    const bool keep_failed = !std::exchange(keep_works_, true);
    Values values = attempt(false, replay);
    // Only now is it clear that keeping was at fault, and not the operation.
    keep_works_ = !keep_failed && !(keep_gave_zeros && counted_something(values));
    return values;
  } catch (...) {
    close();
    throw;
  }
}

CuptiRangeProfiler::Values CuptiRangeProfiler::attempt(bool keep, const Replay& replay) {
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
          fmt::format("CUPTI wants more than the {} passes that it planned; count fewer metrics", max));
    replay.prepare();
    start();
    run_range(name, replay);
    const auto [result, done] = stop();
    if (by_kernel_ && result == CUPTI_ERROR_UNKNOWN)
      throw MetricsUnavailable(
          "CUPTI gave up counting kernel by kernel, as it does where an operation launches a CUDA graph; ask for "
          "counters that are not set against elapsed time, or launch the kernels one by one");
    library_->check(result, "cuptiRangeProfilerStop");
    complete = done;
  }
  if (keep && passes != passes_)
    throw MetricsUnavailable(fmt::format("CUPTI ended after {} of {} passes; run the point again", passes, passes_));
  passes_ = passes;
  decode();
  return by_kernel_ ? values_of_kernels() : values_of(name);
}

CuptiRangeProfiler::Values CuptiRangeProfiler::values_of(const std::string& name) const {
  const auto places = ranges();
  const auto place = places.find(name);
  if (place == places.end()) throw MetricsUnavailable(counted_nothing);
  return configuration_->values(image_, place->second);
}

CuptiRangeProfiler::Values CuptiRangeProfiler::values_of_kernels() const {
  const auto& metrics = configuration_->metrics();
  std::vector<Values> by_metric(metrics.size());
  const std::size_t kernels = ranges_decoded();
  if (kernels == 0) throw MetricsUnavailable(counted_nothing);
  for (std::size_t kernel = 0; kernel < kernels; ++kernel) {
    const Values values = configuration_->values(image_, kernel);
    for (std::size_t i = 0; i < metrics.size(); ++i) by_metric[i].push_back(values[i]);
  }
  const auto duration = std::ranges::find(metrics, kernel_duration);
  if (duration == metrics.end()) throw std::logic_error("ranges of kernels are counted without their duration");
  const Values& durations = by_metric[static_cast<std::size_t>(duration - metrics.begin())];
  Values result;
  for (std::size_t i = 0; i < metrics.size(); ++i)
    result.push_back(over_all_kernels(metrics[i], by_metric[i], durations));
  return result;
}

/// A name of its own for each range: those of one name add up, and counter data may keep what was read out before.
std::string CuptiRangeProfiler::next_name() { return fmt::format("range {}", effort_.ranges++); }

void CuptiRangeProfiler::open() {
  close();
  enable();
}

void CuptiRangeProfiler::enable() {
  auto parameters = sized<CUpti_RangeProfiler_Enable_Params>(CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
  parameters.ctx = context_;
  library_->check(library_->cuptiRangeProfilerEnable(&parameters), "cuptiRangeProfilerEnable");
  object_ = parameters.pRangeProfilerObject;
  ++effort_.enabled;
}

void CuptiRangeProfiler::configure(std::uint32_t max_ranges) {
  std::vector<const char*> names;
  names.reserve(configuration_->metrics().size());
  for (const std::string& metric : configuration_->metrics()) names.push_back(metric.c_str());
  using Size = CUpti_RangeProfiler_GetCounterDataSize_Params;
  auto size = sized<Size>(CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
  size.pRangeProfilerObject = object_;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = max_ranges;
  size.maxNumRangeTreeNodes = max_ranges + 1;
  library_->check(library_->cuptiRangeProfilerGetCounterDataSize(&size), "cuptiRangeProfilerGetCounterDataSize");
  image_.assign(size.counterDataSize, 0);
  reset();

  auto set = sized<CUpti_RangeProfiler_SetConfig_Params>(CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
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
  library_->check(library_->cuptiRangeProfilerSetConfig(&set), "cuptiRangeProfilerSetConfig");
  ++effort_.configured;
}

/// Empties the counter data: what is in it from before would be added to.
void CuptiRangeProfiler::reset() {
  using Empty = CUpti_RangeProfiler_CounterDataImage_Initialize_Params;
  auto empty = sized<Empty>(CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  empty.pRangeProfilerObject = object_;
  empty.counterDataSize = image_.size();
  empty.pCounterData = image_.data();
  library_->check(library_->cuptiRangeProfilerCounterDataImageInitialize(&empty),
                  "cuptiRangeProfilerCounterDataImageInitialize");
}

void CuptiRangeProfiler::start() {
  auto parameters = sized<CUpti_RangeProfiler_Start_Params>(CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
  parameters.pRangeProfilerObject = object_;
  library_->check(library_->cuptiRangeProfilerStart(&parameters), "cuptiRangeProfilerStart");
  started_ = true;
}

/// Brings the counters of all passes into the counter data.
void CuptiRangeProfiler::decode() {
  auto parameters = sized<CUpti_RangeProfiler_DecodeData_Params>(CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
  parameters.pRangeProfilerObject = object_;
  library_->check(library_->cuptiRangeProfilerDecodeData(&parameters), "cuptiRangeProfilerDecodeData");
  if (parameters.numOfRangeDropped == 0) return;
  throw MetricsUnavailable(
      by_kernel_ ? fmt::format("the operation launches more than {} kernels, and CUPTI has no room to count more one "
                               "by one",
                               max_kernels)
                 : "CUPTI dropped a range that was to be counted; run the point again");
}

std::size_t CuptiRangeProfiler::ranges_decoded() const {
  using Info = CUpti_RangeProfiler_GetCounterDataInfo_Params;
  auto info = sized<Info>(CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
  info.pCounterDataImage = image_.data();
  info.counterDataImageSize = image_.size();
  library_->check(library_->cuptiRangeProfilerGetCounterDataInfo(&info), "cuptiRangeProfilerGetCounterDataInfo");
  return info.numTotalRanges;
}

/// Where each range lies in the counter data, by name.
std::map<std::string, std::size_t> CuptiRangeProfiler::ranges() const {
  std::map<std::string, std::size_t> places;
  const std::size_t count = ranges_decoded();
  for (std::size_t i = 0; i < count; ++i) {
    using Range = CUpti_RangeProfiler_CounterData_GetRangeInfo_Params;
    auto range = sized<Range>(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE);
    range.pCounterDataImage = image_.data();
    range.counterDataImageSize = image_.size();
    range.rangeIndex = i;
    range.rangeDelimiter = "/";
    library_->check(library_->cuptiRangeProfilerCounterDataGetRangeInfo(&range),
                    "cuptiRangeProfilerCounterDataGetRangeInfo");
    if (range.rangeName != nullptr) places[range.rangeName] = i;
  }
  return places;
}

CUptiResult CuptiRangeProfiler::pop() {
  in_range_ = false;
  auto parameters = sized<CUpti_RangeProfiler_PopRange_Params>(CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE);
  parameters.pRangeProfilerObject = object_;
  return library_->cuptiRangeProfilerPopRange(&parameters);
}

std::pair<CUptiResult, bool> CuptiRangeProfiler::stop() {
  started_ = false;
  auto parameters = sized<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
  parameters.pRangeProfilerObject = object_;
  const CUptiResult result = library_->cuptiRangeProfilerStop(&parameters);
  return {result, parameters.isAllPassSubmitted != 0};
}

/// Ends whatever is open, and lets go of the counters.
void CuptiRangeProfiler::close() {
  if (object_ == nullptr) return;
  if (in_range_) pop();
  if (started_) stop();
  auto parameters = sized<CUpti_RangeProfiler_Disable_Params>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
  parameters.pRangeProfilerObject = object_;
  library_->cuptiRangeProfilerDisable(&parameters);
  object_ = nullptr;
}

}  // namespace gpubench::bench
