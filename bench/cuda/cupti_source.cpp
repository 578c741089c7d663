// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/cupti_source.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/cuda/check.h"
#include "bench/cuda/cupti_host.h"
#include "bench/cuda/cupti_library.h"

namespace gpubench::bench {
namespace {

constexpr const char* range_name = "operation";
/// Room in the counter data. One range is used; CUPTI keeps a tree of them, whose other nodes need room too.
constexpr std::size_t most_ranges = 16;

/// CUPTI's profiling, on for as long as this lives. Starting takes about 90 ms, so there is one for all points.
class Profiling {
 public:
  explicit Profiling(const CuptiLibrary& library) : library_(library) {
    auto parameters = sized<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
    library_.check(library_.cuptiProfilerInitialize(&parameters), "cuptiProfilerInitialize");
  }
  ~Profiling() {
    auto parameters = sized<CUpti_Profiler_DeInitialize_Params>(CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE);
    library_.cuptiProfilerDeInitialize(&parameters);
  }
  Profiling(const Profiling&) = delete;
  Profiling& operator=(const Profiling&) = delete;

 private:
  const CuptiLibrary& library_;
};

/// The counters of a context, held from construction to destruction: short, for others need them too and timing runs
/// without. Undoes whatever is still open when a pass throws.
class RangeProfiler {
 public:
  RangeProfiler(const CuptiLibrary& library, CUcontext context) : library_(library) {
    auto parameters = sized<CUpti_RangeProfiler_Enable_Params>(CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
    parameters.ctx = context;
    library_.check(library_.cuptiRangeProfilerEnable(&parameters), "cuptiRangeProfilerEnable");
    object_ = parameters.pRangeProfilerObject;
  }
  ~RangeProfiler() {
    if (in_range_) pop();
    if (started_) stop();
    auto parameters = sized<CUpti_RangeProfiler_Disable_Params>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
    parameters.pRangeProfilerObject = object_;
    library_.cuptiRangeProfilerDisable(&parameters);
  }
  RangeProfiler(const RangeProfiler&) = delete;
  RangeProfiler& operator=(const RangeProfiler&) = delete;

  /// Both images must outlive this object. The counter data starts empty: what is in it from before would be added to.
  void configure(const std::vector<std::uint8_t>& image, const std::vector<std::string>& metrics) {
    std::vector<const char*> names;
    names.reserve(metrics.size());
    for (const std::string& metric : metrics) names.push_back(metric.c_str());
    using Size = CUpti_RangeProfiler_GetCounterDataSize_Params;
    auto size = sized<Size>(CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
    size.pRangeProfilerObject = object_;
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = most_ranges;
    size.maxNumRangeTreeNodes = most_ranges;
    library_.check(library_.cuptiRangeProfilerGetCounterDataSize(&size), "cuptiRangeProfilerGetCounterDataSize");
    data_.assign(size.counterDataSize, 0);
    using Empty = CUpti_RangeProfiler_CounterDataImage_Initialize_Params;
    auto empty = sized<Empty>(CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
    empty.pRangeProfilerObject = object_;
    empty.counterDataSize = data_.size();
    empty.pCounterData = data_.data();
    library_.check(library_.cuptiRangeProfilerCounterDataImageInitialize(&empty),
                   "cuptiRangeProfilerCounterDataImageInitialize");

    auto set = sized<CUpti_RangeProfiler_SetConfig_Params>(CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
    set.pRangeProfilerObject = object_;
    set.configSize = image.size();
    set.pConfig = image.data();
    set.counterDataImageSize = data_.size();
    set.pCounterDataImage = data_.data();
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
    library_.check(library_.cuptiRangeProfilerSetConfig(&set), "cuptiRangeProfilerSetConfig");
  }

  /// Counts one execution; true when no further pass is needed.
  template <class Execute>
  bool pass(Execute&& execute) {
    auto start = sized<CUpti_RangeProfiler_Start_Params>(CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
    start.pRangeProfilerObject = object_;
    library_.check(library_.cuptiRangeProfilerStart(&start), "cuptiRangeProfilerStart");
    started_ = true;
    auto push = sized<CUpti_RangeProfiler_PushRange_Params>(CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE);
    push.pRangeProfilerObject = object_;
    push.pRangeName = range_name;
    library_.check(library_.cuptiRangeProfilerPushRange(&push), "cuptiRangeProfilerPushRange");
    in_range_ = true;
    execute();
    library_.check(pop(), "cuptiRangeProfilerPopRange");
    const auto [result, complete] = stop();
    library_.check(result, "cuptiRangeProfilerStop");
    return complete;
  }

  /// The counter data of the range, after the last pass.
  const std::vector<std::uint8_t>& decode() {
    auto decode = sized<CUpti_RangeProfiler_DecodeData_Params>(CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
    decode.pRangeProfilerObject = object_;
    library_.check(library_.cuptiRangeProfilerDecodeData(&decode), "cuptiRangeProfilerDecodeData");
    if (decode.numOfRangeDropped > 0)
      throw MetricsUnavailable("CUPTI dropped the range that was to be counted; run the point again");
    return data_;
  }

 private:
  CUptiResult pop() {
    in_range_ = false;
    auto parameters = sized<CUpti_RangeProfiler_PopRange_Params>(CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE);
    parameters.pRangeProfilerObject = object_;
    return library_.cuptiRangeProfilerPopRange(&parameters);
  }
  std::pair<CUptiResult, bool> stop() {
    started_ = false;
    auto parameters = sized<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
    parameters.pRangeProfilerObject = object_;
    const CUptiResult result = library_.cuptiRangeProfilerStop(&parameters);
    return {result, parameters.isAllPassSubmitted != 0};
  }

  const CuptiLibrary& library_;
  CUpti_RangeProfiler_Object* object_ = nullptr;
  std::vector<std::uint8_t> data_;
  bool started_ = false;
  bool in_range_ = false;
};

std::size_t find_range(const CuptiLibrary& library, const std::vector<std::uint8_t>& data) {
  using Info = CUpti_RangeProfiler_GetCounterDataInfo_Params;
  auto info = sized<Info>(CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
  info.pCounterDataImage = data.data();
  info.counterDataImageSize = data.size();
  library.check(library.cuptiRangeProfilerGetCounterDataInfo(&info), "cuptiRangeProfilerGetCounterDataInfo");
  for (std::size_t i = 0; i < info.numTotalRanges; ++i) {
    using Range = CUpti_RangeProfiler_CounterData_GetRangeInfo_Params;
    auto range = sized<Range>(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE);
    range.pCounterDataImage = data.data();
    range.counterDataImageSize = data.size();
    range.rangeIndex = i;
    range.rangeDelimiter = "/";
    library.check(library.cuptiRangeProfilerCounterDataGetRangeInfo(&range),
                  "cuptiRangeProfilerCounterDataGetRangeInfo");
    if (range.rangeName != nullptr && std::string_view(range.rangeName) == range_name) return i;
  }
  throw MetricsUnavailable("CUPTI counted nothing: no work of the operation reached this GPU inside the range");
}

CUcontext current_context() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  GPUBENCH_CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &function, 12000, cudaEnableDefault, &found));
  CUcontext context = nullptr;
  if (found != cudaDriverEntryPointSuccess || function == nullptr ||
      reinterpret_cast<decltype(&cuCtxGetCurrent)>(function)(&context) != CUDA_SUCCESS || context == nullptr)
    throw MetricsUnavailable("there is no CUDA context to count in; the driver gave none");
  return context;
}

/// "", or what keeps this GPU from being profiled.
std::string why_not_supported(const CUpti_Profiler_DeviceSupported_Params& support) {
  if (support.isSupported == CUPTI_PROFILER_CONFIGURATION_SUPPORTED) return "";
  const std::pair<CUpti_Profiler_Support_Level, const char*> parts[] = {
      {support.architecture, "its architecture is too old"},
      {support.vGpu, "profiling is not enabled for this virtual GPU"},
      {support.confidentialCompute, "confidential computing is on"},
      {support.sli, "SLI is on"},
      {support.cmp, "it is a mining processor"},
      {support.wsl, "WSL does not allow it"}};
  for (const auto& [level, reason] : parts)
    if (level == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED || level == CUPTI_PROFILER_CONFIGURATION_DISABLED)
      return reason;
  return "it does not say why";
}

class CuptiSource final : public MetricSource {
 public:
  CuptiSource(std::shared_ptr<const CuptiLibrary> library, int device_index, CUcontext context)
      : library_(std::move(library)), profiling_(*library_), context_(context), host_(open_host(device_index)) {}

  [[nodiscard]] std::string_view name() const override { return "cupti range"; }
  [[nodiscard]] std::string chip() const override { return host_.chip(); }
  [[nodiscard]] std::optional<std::string> unit(const std::string& metric) override { return host_.unit(metric); }
  [[nodiscard]] std::optional<std::size_t> passes(const std::vector<std::string>& metrics) override {
    return host_.passes(metrics);
  }

  MetricValues count(const std::vector<std::string>& metrics, const Replay& replay) override {
    const CuptiHost::Configuration& configuration = configuration_of(metrics);
    RangeProfiler profiler(*library_, context_);
    profiler.configure(configuration.image(), metrics);
    bool complete = false;
    for (std::size_t pass = 0; !complete; ++pass) {
      if (pass >= configuration.passes())
        throw MetricsUnavailable(fmt::format("CUPTI wants more than the {} passes that it planned; count fewer metrics",
                                             configuration.passes()));
      replay.prepare();
      complete = profiler.pass(replay.execute);
    }
    const std::vector<std::uint8_t>& data = profiler.decode();
    const std::size_t range = find_range(*library_, data);
    MetricValues result;
    for (const std::string& metric : metrics) {
      const auto value = configuration.value(metric, data, range);
      if (value && std::isfinite(*value))
        result.values[metric] = *value;
      else
        result.absent[metric] = "CUPTI counted it but gives no value";
    }
    return result;
  }

 private:
  void check_supported(int device_index) const {
    using Supported = CUpti_Profiler_DeviceSupported_Params;
    auto support = sized<Supported>(CUpti_Profiler_DeviceSupported_Params_STRUCT_SIZE);
    support.cuDevice = device_index;
    support.api = CUPTI_PROFILER_RANGE_PROFILING;
    library_->check(library_->cuptiProfilerDeviceSupported(&support), "cuptiProfilerDeviceSupported");
    if (const std::string why = why_not_supported(support); !why.empty())
      throw MetricsUnavailable(fmt::format("CUPTI cannot profile this GPU ({}); measure on another", why));
  }

  [[nodiscard]] CuptiHost open_host(int device_index) const {
    check_supported(device_index);
    auto chip = sized<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
    chip.deviceIndex = static_cast<std::size_t>(device_index);
    library_->check(library_->cuptiDeviceGetChipName(&chip), "cuptiDeviceGetChipName");
    // What this very GPU offers: missing permission shows here first.
    using Availability = CUpti_Profiler_GetCounterAvailability_Params;
    auto available = sized<Availability>(CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE);
    available.ctx = context_;
    library_->check(library_->cuptiProfilerGetCounterAvailability(&available), "cuptiProfilerGetCounterAvailability");
    std::vector<std::uint8_t> image(available.counterAvailabilityImageSize);
    available.pCounterAvailabilityImage = image.data();
    library_->check(library_->cuptiProfilerGetCounterAvailability(&available), "cuptiProfilerGetCounterAvailability");
    return {library_, chip.pChipName == nullptr ? "" : chip.pChipName, std::move(image)};
  }

  const CuptiHost::Configuration& configuration_of(const std::vector<std::string>& metrics) {
    auto place = configurations_.find(metrics);
    if (place == configurations_.end())
      place = configurations_.try_emplace(metrics, CuptiHost::Configuration(host_, metrics)).first;
    return place->second;
  }

  std::shared_ptr<const CuptiLibrary> library_;
  Profiling profiling_;
  CUcontext context_;
  CuptiHost host_;
  std::map<std::vector<std::string>, CuptiHost::Configuration> configurations_;
};

}  // namespace

std::unique_ptr<MetricSource> open_cupti_source(int device_index, CUctx_st* context) {
  return std::make_unique<CuptiSource>(load_cupti(), device_index, context);
}

std::unique_ptr<MetricSource> open_cupti_source(const Device&) {
  try {
    int index = 0;
    GPUBENCH_CUDA_CHECK(cudaGetDevice(&index));
    return open_cupti_source(index, current_context());
  } catch (const CudaError& error) {
    throw MetricsUnavailable(error.what());
  }
}

}  // namespace gpubench::bench
