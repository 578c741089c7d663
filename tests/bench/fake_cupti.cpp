// SPDX-License-Identifier: Apache-2.0
// A CUPTI without a GPU: it checks the order of calls, counts executions by passes, and fails where a test says.
//   FAKE_CUPTI_FAILS="function=code"  makes that function return the code
//   FAKE_CUPTI_PASSES=n               of any set; FAKE_CUPTI_METRICS_A_PASS=n: what a pass holds
//   FAKE_CUPTI_KEEPS=how              what a second range with one configuration comes to: Start is "refuse"d, the data
//                                     is "empty", "zero" or the one before ("stale"), passes are too few ("short")
//   FAKE_CUPTI_CONFIGURES_ONCE        an enabled profiler takes no second configuration
//   FAKE_CUPTI_VGPU, _OLD_GPU, _DROPS, _EMPTY, _ENDLESS
#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

std::string& log_of_calls() {
  static std::string log;
  return log;
}

bool wanted(const char* variable) { return std::getenv(variable) != nullptr; }
std::size_t number(const char* variable, std::size_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<std::size_t>(std::atoi(text));
}
std::size_t passes_of(std::uint64_t metrics) {
  const std::size_t in_one = number("FAKE_CUPTI_METRICS_A_PASS", 1000);
  return number("FAKE_CUPTI_PASSES", (metrics + in_one - 1) / in_one);
}

/// Metrics add up in it.
struct Host {
  std::uint64_t metrics = 0;
};
Host* host(CUpti_Profiler_Host_Object* object) { return reinterpret_cast<Host*>(object); }

/// The one profiler that a context may have.
struct Profiler {
  bool enabled = false;
  bool started = false;
  std::size_t configurations = 0;  ///< set since it was enabled
  std::size_t passes = 0;          ///< of the configuration
  std::size_t stops = 0;           ///< since the range's first pass
  std::size_t ranges = 0;          ///< decoded since it was configured
  std::uint8_t* image = nullptr;
  std::string range;
};
Profiler& profiler() {
  static Profiler it;
  return it;
}
/// What of FAKE_CUPTI_KEEPS holds now.
bool keeps(const char* how) {
  const char* given = std::getenv("FAKE_CUPTI_KEEPS");
  return given != nullptr && std::strcmp(given, how) == 0 && profiler().ranges > 0;
}

/// Counter data: how many ranges, and each one's name, number of passes, and number among all ever decoded.
struct Range {
  char name[24] = {};
  std::uint64_t passes = 0;
  std::uint64_t serial = 0;
  bool zero = false;
};
struct Image {
  std::uint64_t count = 0;
  Range ranges[4];
};
Image read(const std::uint8_t* data) {
  Image image;
  std::memcpy(static_cast<void*>(&image), data, sizeof(image));
  return image;
}
std::uint64_t decoded = 0;

/// Notes the call, by the letter that stands for it in the log if any, and says how it ends.
CUptiResult called(const char* function, const char* letter = "") {
  log_of_calls() += letter;
  const char* fails = std::getenv("FAKE_CUPTI_FAILS");
  const std::size_t length = std::strlen(function);
  if (fails == nullptr || std::strncmp(fails, function, length) != 0 || fails[length] != '=') return CUPTI_SUCCESS;
  return static_cast<CUptiResult>(std::atoi(fails + length + 1));
}

}  // namespace

extern "C" {

/// I(nitialise) E(nable) r(eset) C(onfigure) S(tart) (push )pop s(top) D(ecode) d(isable) i(end)
const char* fake_cupti_calls() { return log_of_calls().c_str(); }
void fake_cupti_forget() {
  log_of_calls().clear();
  profiler() = {};
  decoded = 0;
}

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult, const char** text) {
  *text = "FAKE_RESULT";
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* parameters) {
  parameters->pChipName = "FK100";
  return called("cuptiDeviceGetChipName");
}
CUptiResult CUPTIAPI cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params*) {
  return called("cuptiProfilerInitialize", "I");
}
CUptiResult CUPTIAPI cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params*) {
  return called("cuptiProfilerDeInitialize", "i");
}
CUptiResult CUPTIAPI cuptiProfilerDeviceSupported(CUpti_Profiler_DeviceSupported_Params* parameters) {
  const bool virtual_gpu = wanted("FAKE_CUPTI_VGPU");
  const bool old_gpu = wanted("FAKE_CUPTI_OLD_GPU");
  parameters->isSupported =
      virtual_gpu || old_gpu ? CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED : CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  parameters->architecture =
      old_gpu ? CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED : CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  parameters->vGpu = virtual_gpu ? CUPTI_PROFILER_CONFIGURATION_DISABLED : CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  return called("cuptiProfilerDeviceSupported");
}
CUptiResult CUPTIAPI cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params* parameters) {
  if (parameters->pCounterAvailabilityImage == nullptr) parameters->counterAvailabilityImageSize = 4;
  return called("cuptiProfilerGetCounterAvailability");
}
CUptiResult CUPTIAPI cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* parameters) {
  parameters->pHostObject = nullptr;
  const CUptiResult result = called("cuptiProfilerHostInitialize");
  if (result == CUPTI_SUCCESS) parameters->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(new Host);
  return result;
}
CUptiResult CUPTIAPI cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* parameters) {
  delete host(parameters->pHostObject);
  return called("cuptiProfilerHostDeinitialize");
}
CUptiResult CUPTIAPI cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params* parameters) {
  if (std::strstr(parameters->pMetricName, "fake__") == nullptr) return CUPTI_ERROR_INVALID_METRIC_NAME;
  parameters->pDimUnit = "byte";
  return called("cuptiProfilerHostGetMetricProperties");
}
CUptiResult CUPTIAPI cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* parameters) {
  host(parameters->pHostObject)->metrics += parameters->numMetrics;
  return called("cuptiProfilerHostConfigAddMetrics");
}
CUptiResult CUPTIAPI cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* parameters) {
  parameters->configImageSize = sizeof(std::uint64_t);
  return called("cuptiProfilerHostGetConfigImageSize");
}
CUptiResult CUPTIAPI cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* parameters) {
  std::memcpy(parameters->pConfigImage, &host(parameters->pHostObject)->metrics, sizeof(std::uint64_t));
  return called("cuptiProfilerHostGetConfigImage");
}
CUptiResult CUPTIAPI cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* parameters) {
  std::uint64_t metrics = 0;
  std::memcpy(&metrics, parameters->pConfigImage, sizeof(metrics));
  parameters->numOfPasses = passes_of(metrics);
  return called("cuptiProfilerHostGetNumOfPasses");
}
/// The value of a metric is the length of its name: a value under a wrong name shows.
CUptiResult CUPTIAPI cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* parameters) {
  const Range range = read(parameters->pCounterDataImage).ranges[parameters->rangeIndex];
  for (std::size_t i = 0; i < parameters->numMetrics; ++i) {
    const std::string name = parameters->ppMetricNames[i];
    double& value = parameters->pMetricValues[i];
    if (name == "fake__lost.sum") return CUPTI_ERROR_INVALID_METRIC_NAME;
    if (name == "fake__nan.sum")
      value = std::nan("");
    else if (range.zero || name == "fake__zero.sum")
      value = 0.0;
    else if (name == "fake__passes.sum")
      value = static_cast<double>(range.passes);
    else if (name == "fake__serial.sum")
      value = static_cast<double>(range.serial);
    else
      value = static_cast<double>(name.size());
  }
  return called("cuptiProfilerHostEvaluateToGpuValues");
}
CUptiResult CUPTIAPI cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* parameters) {
  const CUptiResult result = called("cuptiRangeProfilerEnable", "E");
  if (result != CUPTI_SUCCESS) return result;
  if (profiler().enabled) return CUPTI_ERROR_INVALID_OPERATION;
  profiler() = {};
  profiler().enabled = true;
  parameters->pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(&profiler());
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params*) {
  profiler().enabled = false;
  return called("cuptiRangeProfilerDisable", "d");
}
CUptiResult CUPTIAPI cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* parameters) {
  const CUptiResult result = called("cuptiRangeProfilerSetConfig", "C");
  if (result != CUPTI_SUCCESS) return result;
  Profiler& it = profiler();
  const bool right = parameters->range == CUPTI_UserRange && parameters->replayMode == CUPTI_UserReplay;
  if (!right || !it.enabled || it.started) return CUPTI_ERROR_INVALID_OPERATION;
  if (wanted("FAKE_CUPTI_CONFIGURES_ONCE") && it.configurations > 0) return CUPTI_ERROR_INVALID_OPERATION;
  std::uint64_t metrics = 0;
  std::memcpy(&metrics, parameters->pConfig, sizeof(metrics));
  ++it.configurations;
  it.passes = passes_of(metrics);
  it.stops = 0;
  it.ranges = 0;
  it.image = parameters->pCounterDataImage;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params*) {
  const CUptiResult result = called("cuptiRangeProfilerStart", "S");
  if (result != CUPTI_SUCCESS) return result;
  if (profiler().configurations == 0 || profiler().started || keeps("refuse")) return CUPTI_ERROR_INVALID_OPERATION;
  profiler().started = true;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* parameters) {
  Profiler& it = profiler();
  it.started = false;
  parameters->isAllPassSubmitted = ++it.stops >= it.passes || keeps("short") ? 1 : 0;
  if (wanted("FAKE_CUPTI_ENDLESS")) parameters->isAllPassSubmitted = 0;
  return called("cuptiRangeProfilerStop", "s");
}
CUptiResult CUPTIAPI cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* parameters) {
  profiler().range = parameters->pRangeName;
  return called("cuptiRangeProfilerPushRange", "(");
}
CUptiResult CUPTIAPI cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params*) {
  return called("cuptiRangeProfilerPopRange", ")");
}
CUptiResult CUPTIAPI cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* parameters) {
  Profiler& it = profiler();
  Image image = read(it.image);
  if (!wanted("FAKE_CUPTI_EMPTY") && !keeps("empty")) {
    Range& range = image.ranges[image.count++];
    std::strncpy(range.name, it.range.c_str(), sizeof(range.name) - 1);
    range.passes = it.stops;
    range.serial = ++decoded;
    range.zero = keeps("zero");
    std::memcpy(it.image, &image, sizeof(image));
  }
  it.stops = 0;
  ++it.ranges;
  parameters->numOfRangeDropped = wanted("FAKE_CUPTI_DROPS") ? 1 : 0;
  return called("cuptiRangeProfilerDecodeData", "D");
}
CUptiResult CUPTIAPI cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* parameters) {
  parameters->counterDataSize = sizeof(Image);
  return called("cuptiRangeProfilerGetCounterDataSize");
}
CUptiResult CUPTIAPI
cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params* parameters) {
  if (!keeps("stale")) std::memset(parameters->pCounterData, 0, sizeof(Image));
  return called("cuptiRangeProfilerCounterDataImageInitialize", "r");
}
CUptiResult CUPTIAPI cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* parameters) {
  parameters->numTotalRanges = read(parameters->pCounterDataImage).count;
  return called("cuptiRangeProfilerGetCounterDataInfo");
}
CUptiResult CUPTIAPI
cuptiRangeProfilerCounterDataGetRangeInfo(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* parameters) {
  static std::string name;
  name = read(parameters->pCounterDataImage).ranges[parameters->rangeIndex].name;
  parameters->rangeName = name.c_str();
  return called("cuptiRangeProfilerCounterDataGetRangeInfo");
}

}  // extern "C"
