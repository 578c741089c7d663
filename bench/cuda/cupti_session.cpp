// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/cupti_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

namespace gpubench::bench {
namespace {

/// In turns, so that a range which counter data kept from the collection before does not pass for the new one, nor adds
/// up with it, as ranges of one name do.
constexpr std::array range_names = {"operation", "operation in turn"};
/// Room in the counter data. One range is used; CUPTI keeps a tree of them, whose other nodes need room too.
constexpr std::size_t most_ranges = 16;

bool counted_something(const CuptiSession::Values& values) {
  return std::any_of(values.begin(), values.end(),
                     [](const auto& value) { return value && std::isfinite(*value) && *value != 0.0; });
}

bool all_have_values(const CuptiSession::Values& values) {
  return std::all_of(values.begin(), values.end(), [](const auto& value) { return value && std::isfinite(*value); });
}

}  // namespace

CuptiSession::CuptiSession(std::shared_ptr<const CuptiLibrary> library, CUcontext context)
    : library_(std::move(library)), context_(context) {}

CuptiSession::~CuptiSession() { close(); }

CuptiSession::Way CuptiSession::cheapest_way(const CuptiHost::Configuration& configuration) const {
  if (object_ == nullptr) return Way::open;
  if (configured_ == &configuration && keep_works_) return Way::keep;
  return configure_works_ ? Way::configure : Way::open;
}

CuptiSession::Values CuptiSession::collect(const CuptiHost::Configuration& configuration, const Replay& replay) {
  bool keep_failed = false;
  bool keep_gave_zeros = false;
  bool configure_failed = false;
  const auto dearer = [&](Way way) { return way == Way::keep && configure_works_ ? Way::configure : Way::open; };
  for (Way way = cheapest_way(configuration);; way = dearer(way)) {
    try {
      Values values = attempt(way, configuration, replay);
      const bool something = counted_something(values);
      if (way == Way::keep && !something && !keep_proven_) {
        keep_gave_zeros = true;
        continue;
      }
      // Only now is it clear that the ways before were at fault, and not the operation.
      keep_works_ = keep_works_ && !keep_failed && !(keep_gave_zeros && something);
      configure_works_ = configure_works_ && !configure_failed;
      keep_proven_ = keep_proven_ || (way == Way::keep && something);
      return values;
    } catch (const MetricsUnavailable&) {
      if (way == Way::open) {
        close();
        throw;
      }
      abandon();
      (way == Way::keep ? keep_failed : configure_failed) = true;
    } catch (...) {
      close();
      throw;
    }
  }
}

CuptiSession::Values CuptiSession::attempt(Way way, const CuptiHost::Configuration& configuration,
                                           const Replay& replay) {
  if (way == Way::open) {
    close();
    enable();
  }
  std::vector<std::uint8_t>& image = images_[&configuration];
  if (way == Way::keep)
    reset(image);
  else
    configure(configuration);

  const char* const name = range_names[effort_.ranges++ % range_names.size()];
  const std::size_t most = way == Way::keep ? passes_ : configuration.passes();
  std::size_t passes = 0;
  for (bool complete = false; !complete; ++passes) {
    if (passes >= most)
      throw MetricsUnavailable(
          fmt::format("CUPTI wants more than the {} passes that it planned; count fewer metrics", most));
    replay.prepare();
    complete = pass(name, replay);
  }
  if (way == Way::keep && passes != passes_)
    throw MetricsUnavailable(fmt::format("CUPTI ended after {} of {} passes; run the point again", passes, passes_));
  passes_ = passes;
  decode();
  Values values = configuration.values(image, find_range(name));
  // On an H200 an enabled profiler takes another configuration, runs all passes of it, and gives no value.
  if (way == Way::configure && !all_have_values(values))
    throw MetricsUnavailable("CUPTI gave no value for some of the metrics; run the point again");
  return values;
}

void CuptiSession::enable() {
  auto parameters = sized<CUpti_RangeProfiler_Enable_Params>(CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
  parameters.ctx = context_;
  library_->check(library_->cuptiRangeProfilerEnable(&parameters), "cuptiRangeProfilerEnable");
  object_ = parameters.pRangeProfilerObject;
  ++effort_.enabled;
}

void CuptiSession::configure(const CuptiHost::Configuration& configuration) {
  configured_ = nullptr;
  std::vector<const char*> names;
  names.reserve(configuration.metrics().size());
  for (const std::string& metric : configuration.metrics()) names.push_back(metric.c_str());
  using Size = CUpti_RangeProfiler_GetCounterDataSize_Params;
  auto size = sized<Size>(CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
  size.pRangeProfilerObject = object_;
  size.pMetricNames = names.data();
  size.numMetrics = names.size();
  size.maxNumOfRanges = most_ranges;
  size.maxNumRangeTreeNodes = most_ranges;
  library_->check(library_->cuptiRangeProfilerGetCounterDataSize(&size), "cuptiRangeProfilerGetCounterDataSize");
  std::vector<std::uint8_t>& image = images_[&configuration];
  image.assign(size.counterDataSize, 0);
  reset(image);

  auto set = sized<CUpti_RangeProfiler_SetConfig_Params>(CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
  set.pRangeProfilerObject = object_;
  set.configSize = configuration.image().size();
  set.pConfig = configuration.image().data();
  set.counterDataImageSize = image.size();
  set.pCounterDataImage = image.data();
  // One range around the whole operation, however many kernels it has, and the operation run again for each pass. The
  // other way round, a range for each kernel and replay by CUPTI, saves and restores all memory that the kernels
  // write, runs kernels one by one that may wait for each other, and leaves their counters to be matched up.
  set.range = CUPTI_UserRange;
  set.replayMode = CUPTI_UserReplay;
  set.maxRangesPerPass = most_ranges;
  set.numNestingLevels = 1;
  set.minNestingLevel = 1;
  set.passIndex = 0;
  set.targetNestingLevel = 1;
  library_->check(library_->cuptiRangeProfilerSetConfig(&set), "cuptiRangeProfilerSetConfig");
  configured_ = &configuration;
  ++effort_.configured;
}

/// Empties counter data: what is in it from before would be added to.
void CuptiSession::reset(std::vector<std::uint8_t>& image) {
  using Empty = CUpti_RangeProfiler_CounterDataImage_Initialize_Params;
  auto empty = sized<Empty>(CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
  empty.pRangeProfilerObject = object_;
  empty.counterDataSize = image.size();
  empty.pCounterData = image.data();
  library_->check(library_->cuptiRangeProfilerCounterDataImageInitialize(&empty),
                  "cuptiRangeProfilerCounterDataImageInitialize");
}

/// Counts one execution; true when no further pass is needed.
bool CuptiSession::pass(const char* name, const Replay& replay) {
  auto start = sized<CUpti_RangeProfiler_Start_Params>(CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
  start.pRangeProfilerObject = object_;
  library_->check(library_->cuptiRangeProfilerStart(&start), "cuptiRangeProfilerStart");
  started_ = true;
  auto push = sized<CUpti_RangeProfiler_PushRange_Params>(CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE);
  push.pRangeProfilerObject = object_;
  push.pRangeName = name;
  library_->check(library_->cuptiRangeProfilerPushRange(&push), "cuptiRangeProfilerPushRange");
  in_range_ = true;
  replay.execute();
  library_->check(pop(), "cuptiRangeProfilerPopRange");
  const auto [result, complete] = stop();
  library_->check(result, "cuptiRangeProfilerStop");
  return complete;
}

/// Brings the counters of all passes into the counter data.
void CuptiSession::decode() {
  auto parameters = sized<CUpti_RangeProfiler_DecodeData_Params>(CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
  parameters.pRangeProfilerObject = object_;
  library_->check(library_->cuptiRangeProfilerDecodeData(&parameters), "cuptiRangeProfilerDecodeData");
  if (parameters.numOfRangeDropped > 0)
    throw MetricsUnavailable("CUPTI dropped the range that was to be counted; run the point again");
}

std::size_t CuptiSession::find_range(const char* name) const {
  const std::vector<std::uint8_t>& data = images_.at(configured_);
  using Info = CUpti_RangeProfiler_GetCounterDataInfo_Params;
  auto info = sized<Info>(CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
  info.pCounterDataImage = data.data();
  info.counterDataImageSize = data.size();
  library_->check(library_->cuptiRangeProfilerGetCounterDataInfo(&info), "cuptiRangeProfilerGetCounterDataInfo");
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < info.numTotalRanges; ++i) {
    using Range = CUpti_RangeProfiler_CounterData_GetRangeInfo_Params;
    auto range = sized<Range>(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE);
    range.pCounterDataImage = data.data();
    range.counterDataImageSize = data.size();
    range.rangeIndex = i;
    range.rangeDelimiter = "/";
    library_->check(library_->cuptiRangeProfilerCounterDataGetRangeInfo(&range),
                    "cuptiRangeProfilerCounterDataGetRangeInfo");
    const std::string_view text = range.rangeName == nullptr ? "" : range.rangeName;
    if (text == name)
      found = i;
    else if (std::find(range_names.begin(), range_names.end(), text) != range_names.end())
      throw MetricsUnavailable("CUPTI's counter data still holds another point; run the point again");
  }
  if (!found)
    throw MetricsUnavailable("CUPTI counted nothing: no work of the operation reached this GPU inside the range");
  return *found;
}

CUptiResult CuptiSession::pop() {
  in_range_ = false;
  auto parameters = sized<CUpti_RangeProfiler_PopRange_Params>(CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE);
  parameters.pRangeProfilerObject = object_;
  return library_->cuptiRangeProfilerPopRange(&parameters);
}

std::pair<CUptiResult, bool> CuptiSession::stop() {
  started_ = false;
  auto parameters = sized<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
  parameters.pRangeProfilerObject = object_;
  const CUptiResult result = library_->cuptiRangeProfilerStop(&parameters);
  return {result, parameters.isAllPassSubmitted != 0};
}

/// Ends whatever a failed attempt left open.
void CuptiSession::abandon() {
  if (in_range_) pop();
  if (started_) stop();
}

void CuptiSession::close() {
  if (object_ == nullptr) return;
  abandon();
  auto parameters = sized<CUpti_RangeProfiler_Disable_Params>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
  parameters.pRangeProfilerObject = object_;
  library_->cuptiRangeProfilerDisable(&parameters);
  object_ = nullptr;
  configured_ = nullptr;
}

}  // namespace gpubench::bench
