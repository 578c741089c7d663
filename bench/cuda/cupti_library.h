// SPDX-License-Identifier: Apache-2.0
// CUPTI, loaded at run time: a machine without it still runs, and a run without counters does not load it.
#pragma once

#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include <memory>
#include <string>

namespace gpubench::bench {

/// The functions in use, under CUPTI's own names. All are there, or the library is refused.
// clang-format off
#define GPUBENCH_CUPTI_FUNCTIONS(each) \
  each(cuptiGetVersion) each(cuptiGetResultString) each(cuptiDeviceGetChipName) each(cuptiProfilerInitialize) \
  each(cuptiProfilerDeInitialize) each(cuptiProfilerDeviceSupported) each(cuptiProfilerGetCounterAvailability) \
  each(cuptiProfilerHostInitialize) each(cuptiProfilerHostDeinitialize) each(cuptiProfilerHostGetMetricProperties) \
  each(cuptiProfilerHostConfigAddMetrics) each(cuptiProfilerHostGetConfigImageSize) \
  each(cuptiProfilerHostGetConfigImage) each(cuptiProfilerHostGetNumOfPasses) \
  each(cuptiProfilerHostEvaluateToGpuValues) each(cuptiRangeProfilerEnable) each(cuptiRangeProfilerDisable) \
  each(cuptiRangeProfilerSetConfig) each(cuptiRangeProfilerStart) each(cuptiRangeProfilerStop) \
  each(cuptiRangeProfilerPushRange) each(cuptiRangeProfilerPopRange) each(cuptiRangeProfilerDecodeData) \
  each(cuptiRangeProfilerGetCounterDataSize) each(cuptiRangeProfilerCounterDataImageInitialize) \
  each(cuptiRangeProfilerGetCounterDataInfo) each(cuptiRangeProfilerCounterDataGetRangeInfo) \
  each(cuptiActivityRegisterCallbacks) each(cuptiActivityEnable) each(cuptiActivityDisable) \
  each(cuptiActivityFlushAll) each(cuptiActivityGetNextRecord) each(cuptiActivityGetNumDroppedRecords)
// clang-format on

class CuptiLibrary {
 public:
  /// Throws MetricsUnavailable when the library is not to be found or too old.
  CuptiLibrary();

#define GPUBENCH_CUPTI_MEMBER(function) decltype(&::function) function = nullptr;  // NOLINT(bugprone-macro-parentheses)
  GPUBENCH_CUPTI_FUNCTIONS(GPUBENCH_CUPTI_MEMBER)
#undef GPUBENCH_CUPTI_MEMBER

  /// The file that was loaded.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Throws MetricsUnavailable unless the result is CUPTI_SUCCESS.
  void check(CUptiResult result, const char* call) const;
  /// What went wrong in one sentence, with the remedy.
  [[nodiscard]] std::string error_text(CUptiResult result, const char* call) const;

 private:
  std::string path_;
};

/// A parameter structure as CUPTI wants it: empty, with its size as of the headers of the build.
template <class Parameters>
Parameters sized(std::size_t size) {
  Parameters parameters{};
  parameters.structSize = size;
  return parameters;
}
#define GPUBENCH_CUPTI_PARAMETERS(call) sized<CUpti_##call##_Params>(CUpti_##call##_Params_STRUCT_SIZE)
/// Calls a function of the library. Throws MetricsUnavailable, as CuptiLibrary::check does.
#define GPUBENCH_CUPTI_CALL(library, function, ...) (library).check((library).function(__VA_ARGS__), #function)

}  // namespace gpubench::bench
