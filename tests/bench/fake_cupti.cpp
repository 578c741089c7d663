// SPDX-License-Identifier: Apache-2.0
// A CUPTI without a GPU: it checks the order of calls, counts executions by passes, and fails where a test says.
// FAKE_CUPTI_FAILS="function=code" makes that function return the code; FAKE_CUPTI_PASSES is the passes of any set.
#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace {

std::string& log_of_calls() {
  static std::string log;
  return log;
}

std::size_t passes() {
  const char* text = std::getenv("FAKE_CUPTI_PASSES");
  return text == nullptr ? 1 : static_cast<std::size_t>(std::atoi(text));
}
std::size_t stops = 0;

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

/// I(nitialise) E(nable) C(onfigure) S(tart) (push )pop s(top) D(ecode) d(isable) i(end)
const char* fake_cupti_calls() { return log_of_calls().c_str(); }
void fake_cupti_forget() {
  log_of_calls().clear();
  stops = 0;
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
  const bool virtual_gpu = std::getenv("FAKE_CUPTI_VGPU") != nullptr;
  parameters->isSupported =
      virtual_gpu ? CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED : CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  parameters->vGpu = virtual_gpu ? CUPTI_PROFILER_CONFIGURATION_DISABLED : CUPTI_PROFILER_CONFIGURATION_SUPPORTED;
  return called("cuptiProfilerDeviceSupported");
}
CUptiResult CUPTIAPI cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params* parameters) {
  if (parameters->pCounterAvailabilityImage == nullptr) parameters->counterAvailabilityImageSize = 4;
  return called("cuptiProfilerGetCounterAvailability");
}
CUptiResult CUPTIAPI cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* parameters) {
  parameters->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(&stops);
  return called("cuptiProfilerHostInitialize");
}
CUptiResult CUPTIAPI cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params*) {
  return called("cuptiProfilerHostDeinitialize");
}
CUptiResult CUPTIAPI cuptiProfilerHostGetMetricProperties(CUpti_Profiler_Host_GetMetricProperties_Params* parameters) {
  if (std::strstr(parameters->pMetricName, "fake__") == nullptr) return CUPTI_ERROR_INVALID_METRIC_NAME;
  parameters->pDimUnit = "byte";
  return called("cuptiProfilerHostGetMetricProperties");
}
CUptiResult CUPTIAPI cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params*) {
  return called("cuptiProfilerHostConfigAddMetrics");
}
CUptiResult CUPTIAPI cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* parameters) {
  parameters->configImageSize = 8;
  return called("cuptiProfilerHostGetConfigImageSize");
}
CUptiResult CUPTIAPI cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params*) {
  return called("cuptiProfilerHostGetConfigImage");
}
CUptiResult CUPTIAPI cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* parameters) {
  parameters->numOfPasses = passes();
  return called("cuptiProfilerHostGetNumOfPasses");
}
/// The value of a metric is the length of its name: a value under a wrong name shows.
CUptiResult CUPTIAPI cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* parameters) {
  for (std::size_t i = 0; i < parameters->numMetrics; ++i) {
    if (std::strcmp(parameters->ppMetricNames[i], "fake__lost.sum") == 0) return CUPTI_ERROR_INVALID_METRIC_NAME;
    parameters->pMetricValues[i] = static_cast<double>(std::strlen(parameters->ppMetricNames[i]));
  }
  return called("cuptiProfilerHostEvaluateToGpuValues");
}
CUptiResult CUPTIAPI cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* parameters) {
  parameters->pRangeProfilerObject = reinterpret_cast<CUpti_RangeProfiler_Object*>(&stops);
  return called("cuptiRangeProfilerEnable", "E");
}
CUptiResult CUPTIAPI cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params*) {
  return called("cuptiRangeProfilerDisable", "d");
}
CUptiResult CUPTIAPI cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* parameters) {
  const bool right = parameters->range == CUPTI_UserRange && parameters->replayMode == CUPTI_UserReplay;
  return right ? called("cuptiRangeProfilerSetConfig", "C") : CUPTI_ERROR_INVALID_OPERATION;
}
CUptiResult CUPTIAPI cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params*) {
  return called("cuptiRangeProfilerStart", "S");
}
CUptiResult CUPTIAPI cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* parameters) {
  parameters->isAllPassSubmitted = ++stops >= passes() ? 1 : 0;
  if (std::getenv("FAKE_CUPTI_ENDLESS") != nullptr) parameters->isAllPassSubmitted = 0;
  return called("cuptiRangeProfilerStop", "s");
}
CUptiResult CUPTIAPI cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params*) {
  return called("cuptiRangeProfilerPushRange", "(");
}
CUptiResult CUPTIAPI cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params*) {
  return called("cuptiRangeProfilerPopRange", ")");
}
CUptiResult CUPTIAPI cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* parameters) {
  parameters->numOfRangeDropped = std::getenv("FAKE_CUPTI_DROPS") == nullptr ? 0 : 1;
  return called("cuptiRangeProfilerDecodeData", "D");
}
CUptiResult CUPTIAPI cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* parameters) {
  parameters->counterDataSize = 16;
  return called("cuptiRangeProfilerGetCounterDataSize");
}
CUptiResult CUPTIAPI
cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params*) {
  return called("cuptiRangeProfilerCounterDataImageInitialize");
}
CUptiResult CUPTIAPI cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* parameters) {
  parameters->numTotalRanges = std::getenv("FAKE_CUPTI_EMPTY") == nullptr ? 1 : 0;
  return called("cuptiRangeProfilerGetCounterDataInfo");
}
CUptiResult CUPTIAPI
cuptiRangeProfilerCounterDataGetRangeInfo(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* parameters) {
  parameters->rangeName = "operation";
  return called("cuptiRangeProfilerCounterDataGetRangeInfo");
}

}  // extern "C"
