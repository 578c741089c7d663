// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/cupti_range_profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

namespace gpubench::bench {
namespace {

/// Of an operation that is counted kernel by kernel.
constexpr std::uint32_t max_kernels = 128;

constexpr const char* counted_nothing =
    "CUPTI counted nothing: no work of the operation reached this GPU inside the range";

}  // namespace

CuptiRangeProfiler::CuptiRangeProfiler(std::shared_ptr<const CuptiLibrary> library, CUcontext context,
                                       std::uint32_t ranges_of_a_batch)
    : library_(std::move(library)), context_(context), ranges_of_a_batch_(ranges_of_a_batch) {}

CuptiRangeProfiler::~CuptiRangeProfiler() { close(); }

void CuptiRangeProfiler::begin(const CuptiProfilerHost::Configuration& configuration, bool one_kernel) {
  if (configuration_ == &configuration) return;
  rest();  // enabled with one configuration, CUPTI gives no values of another
  configuration_ = &configuration;
  by_kernel_ = !one_kernel && std::ranges::any_of(configuration.metrics(), is_over_elapsed_time);
}

CuptiRangeProfiler::RangeValues CuptiRangeProfiler::count(const CountedExecution& replay) {
  end_batch();
  RangeValues counted = count_passes(replay);
  if (!replay.each_kernel || by_kernel_) return counted;
  by_kernel_ = true;
  try {
    counted.kernels = count_passes(replay).kernels;
  } catch (const std::exception& error) {
    counted.kernels_lost = error.what();
  }
  by_kernel_ = false;
  return counted;
}

std::map<std::size_t, CuptiRangeProfiler::RangeValues> CuptiRangeProfiler::read(bool keep) {
  end_batch(keep);
  return std::exchange(counted_, {});
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
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_PushRange);
  parameters.pRangeProfilerObject = object_;
  parameters.pRangeName = name.c_str();
  GPUBENCH_CUPTI_CALL(*library_, cuptiRangeProfilerPushRange, &parameters);
  in_range_ = true;
}

void CuptiRangeProfiler::rest() {
  end_batch();
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

void CuptiRangeProfiler::end_batch(bool keep) {
  if (!started_) return;
  try {
    const auto [result, complete] = stop();
    library_->check(result, "cuptiRangeProfilerStop");
    if (!complete) throw MetricsUnavailable("CUPTI needs more than the one pass that it planned; count fewer metrics");
    decode();
    const auto places = ranges();
    for (const auto& [name, point] : batch_) {
      const auto place = places.find(name);
      counted_[point] = place == places.end() ? RangeValues{{}, counted_nothing, {}, {}}
                                              : RangeValues{configuration_->values(image_, place->second), {}, {}, {}};
    }
    batch_.clear();
    if (!keep) close();
  } catch (const MetricsUnavailable& error) {
    lose_batch(error.what());
  }
}

void CuptiRangeProfiler::lose_batch(const std::string& reason) {
  for (const auto& [name, point] : batch_) counted_[point] = {{}, reason, {}, {}};
  batch_.clear();
  close();
}

/// As a range or, where that is wanted, each kernel in one of its own.
CuptiRangeProfiler::RangeValues CuptiRangeProfiler::count_passes(const CountedExecution& replay) {
  const std::shared_ptr<void> in_the_end(nullptr, [this](void*) { close(); });
  open();
  configure(by_kernel_ ? max_kernels : 1);
  const std::string name = next_name();
  bool complete = false;
  for (std::size_t pass = 0; !complete; ++pass) {
    if (pass >= configuration_->passes())
      throw MetricsUnavailable(fmt::format("CUPTI needs more than the {} passes that it planned; count fewer metrics",
                                           configuration_->passes()));
    replay.prepare();
    start();
    if (!by_kernel_) push(name);
    replay.execute();
    if (!by_kernel_) library_->check(pop(), "cuptiRangeProfilerPopRange");
    CUptiResult result = CUPTI_SUCCESS;
    std::tie(result, complete) = stop();
    if (by_kernel_ && result == CUPTI_ERROR_UNKNOWN)
      throw MetricsUnavailable(
          "CUPTI cannot count kernel by kernel, as where an operation launches a CUDA graph; ask for "
          "counters that are not over elapsed time, or launch the kernels one by one");
    library_->check(result, "cuptiRangeProfilerStop");
  }
  decode();
  if (by_kernel_) return values_of_kernels();
  const auto places = ranges();
  const auto place = places.find(name);
  if (place == places.end()) throw MetricsUnavailable(counted_nothing);
  return {configuration_->values(image_, place->second), {}, {}, {}};
}

CuptiRangeProfiler::RangeValues CuptiRangeProfiler::values_of_kernels() const {
  const auto& metrics = configuration_->metrics();
  std::vector<std::vector<double>> by_metric(metrics.size());
  RangeValues result;
  const std::size_t kernels = ranges_decoded();
  if (kernels == 0) throw MetricsUnavailable(counted_nothing);
  for (std::size_t kernel = 0; kernel < kernels; ++kernel) {
    result.kernels.push_back(configuration_->values(image_, kernel));
    for (std::size_t i = 0; i < metrics.size(); ++i)
      by_metric[i].push_back(result.kernels.back()[i].value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  const auto duration = std::ranges::find(metrics, kernel_duration);
  if (duration == metrics.end()) return result;  // counted beside the operation, whose figures are known
  const auto& durations = by_metric[static_cast<std::size_t>(duration - metrics.begin())];
  for (std::size_t i = 0; i < metrics.size(); ++i)
    result.values.emplace_back(over_kernels(metrics[i], by_metric[i], durations));
  return result;
}

/// A name of its own for each range: those of one name add up, and counter data may keep what was read out before.
std::string CuptiRangeProfiler::next_name() { return fmt::format("range {}", ranges_named_++); }

void CuptiRangeProfiler::open() {
  close();
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_Enable);
  parameters.ctx = context_;
  GPUBENCH_CUPTI_CALL(*library_, cuptiRangeProfilerEnable, &parameters);
  object_ = parameters.pRangeProfilerObject;
  ++times_enabled_;
}

void CuptiRangeProfiler::configure(std::uint32_t max_ranges) {
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
}

/// Empties the counter data: what is in it from before would be added to.
void CuptiRangeProfiler::reset() {
  auto empty = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_CounterDataImage_Initialize);
  empty.pRangeProfilerObject = object_;
  empty.counterDataSize = image_.size();
  empty.pCounterData = image_.data();
  GPUBENCH_CUPTI_CALL(*library_, cuptiRangeProfilerCounterDataImageInitialize, &empty);
}

void CuptiRangeProfiler::start() {
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_Start);
  parameters.pRangeProfilerObject = object_;
  GPUBENCH_CUPTI_CALL(*library_, cuptiRangeProfilerStart, &parameters);
  started_ = true;
}

/// Brings the counters of all passes into the counter data.
void CuptiRangeProfiler::decode() {
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
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_PopRange);
  parameters.pRangeProfilerObject = object_;
  return library_->cuptiRangeProfilerPopRange(&parameters);
}

std::pair<CUptiResult, bool> CuptiRangeProfiler::stop() {
  started_ = false;
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
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(RangeProfiler_Disable);
  parameters.pRangeProfilerObject = object_;
  library_->cuptiRangeProfilerDisable(&parameters);
  object_ = nullptr;
  configured_ = false;
}

}  // namespace gpubench::bench
