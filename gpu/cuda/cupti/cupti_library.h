// SPDX-License-Identifier: Apache-2.0
// CUPTI, loaded at run time: a machine without it still runs, and a run without counters does not load it.
#pragma once

#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <cupti_version.h>

#include <memory>
#include <optional>

#include "gpu/profiling/metric_source.h"

struct CUpti_Profiler_Host_Object;

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
  each(cuptiActivityFlushAll) each(cuptiActivityGetNextRecord) each(cuptiActivityGetNumDroppedRecords) \
  each(cuptiGetTimestamp) each(cuptiActivityEnableRuntimeApi) each(cuptiActivityEnableDriverApi) \
  each(cuptiActivityEnableAllocationSource) each(cuptiSetThreadIdType) each(cuptiSubscribe) \
  each(cuptiUnsubscribe) each(cuptiEnableCallback) each(cuptiEnableDomain) each(cuptiGetCallbackName) \
  each(cuptiGetGraphNodeId) \
  each(cuptiActivityRegisterTimestampCallback) each(cuptiFinalize)
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

/// As CUPTI takes lists of names.
std::vector<const char*> pointers_to(const std::vector<std::string>& texts);

/// Loads CUPTI from $GPUBENCH_CUPTI if set, else from the loader's path and the usual toolkits. Throws
/// MetricsUnavailable.
std::shared_ptr<const CuptiLibrary> load_cupti();

/// The chip of a GPU by its maker's name: "GH100". Known once profiling is initialised. Throws MetricsUnavailable.
std::string chip_name(const CuptiLibrary& library, int device_index);
/// What the very GPU of a context offers: missing permission shows here first. Throws MetricsUnavailable.
std::vector<std::uint8_t> counter_availability(const CuptiLibrary& library, CUcontext context);

class CuptiProfilerHost {
 public:
  /// `availability`: of the counters, by the GPU's context; empty without a GPU. Throws MetricsUnavailable for an
  /// unknown chip.
  CuptiProfilerHost(std::shared_ptr<const CuptiLibrary> library, std::string chip,
                    std::vector<std::uint8_t> availability = {});

  /// A set of metrics that are counted together.
  class Configuration {
   public:
    Configuration(const CuptiProfilerHost& host,
                  const std::vector<std::string>& metrics);  ///< throws MetricsUnavailable
    [[nodiscard]] const std::vector<std::uint8_t>& image() const { return image_; }
    [[nodiscard]] std::size_t passes() const { return passes_; }
    [[nodiscard]] const std::vector<std::string>& metrics() const { return metrics_; }
    /// The values of the metrics, in their order, from decoded counter data; absent where CUPTI has none.
    [[nodiscard]] std::vector<std::optional<double>> values(const std::vector<std::uint8_t>& counter_data,
                                                            std::size_t range) const;

   private:
    /// All of `names` or, where one of them makes CUPTI refuse, none.
    [[nodiscard]] std::optional<std::vector<double>> evaluate(std::vector<const char*> names,
                                                              const std::vector<std::uint8_t>& counter_data,
                                                              std::size_t range) const;

    std::shared_ptr<const CuptiLibrary> library_;
    std::vector<std::string> metrics_;
    std::shared_ptr<CUpti_Profiler_Host_Object> object_;
    std::vector<std::uint8_t> image_;
    std::size_t passes_ = 0;
  };

  [[nodiscard]] const std::string& chip() const { return chip_; }
  [[nodiscard]] std::optional<std::string> unit(const std::string& metric) const;
  [[nodiscard]] std::optional<std::size_t> passes(const std::vector<std::string>& metrics) const;

 private:
  /// Metrics add up in a host object, so each set of them needs a new one.
  [[nodiscard]] std::shared_ptr<CUpti_Profiler_Host_Object> new_object() const;

  std::shared_ptr<const CuptiLibrary> library_;
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  std::shared_ptr<CUpti_Profiler_Host_Object> names_;
};

}  // namespace gpubench::bench
