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

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "gpu/metric_source.h"

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
  each(cuptiEnableCallback) each(cuptiGetCallbackName)
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

/// CUPTI's Range Profiler, enabled at the first count and disabled at the end or when anything fails. Starting and
/// enabling are slow (docs/results/h200/counting.md), so points of one pass, a batch at a time, share a start and a
/// stop, as points do that are gone over once for each pass. Else a point of several passes is counted by itself, with
/// the profiler as it is or else enabled anew. A range is an operation, or for counters over elapsed time a kernel,
/// which CUPTI cannot tell apart in a CUDA graph.
class CuptiRangeProfiler {
 public:
  /// The counter data takes 80 KiB for each range of a batch with gpubench's core metrics.
  CuptiRangeProfiler(std::shared_ptr<const CuptiLibrary> library, CUcontext context,
                     std::uint32_t ranges_of_a_batch = 128);
  ~CuptiRangeProfiler();
  CuptiRangeProfiler& operator=(CuptiRangeProfiler&&) = delete;  ///< not copied, not moved

  using CounterValues = std::vector<std::optional<double>>;
  struct RangeValues {
    CounterValues values;                ///< of the configuration's metrics, in their order
    std::string lost;                    ///< why there are none
    std::vector<CounterValues> kernels;  ///< the same of each kernel in the order of launches; empty if not by kernel
    std::string kernels_lost;            ///< why there are none though they were wanted
  };

  /// Counts with this configuration from here on, which must outlive this. With a counter over elapsed time it needs
  /// kernel_duration, too.
  void begin(const CuptiProfilerHost::Configuration& configuration);
  /// Counts one pass of each point at a time from here on, of at most so many points; `next_pass` follows when all had
  /// theirs. They have values once all passes are done.
  void begin_passes(const CuptiProfilerHost::Configuration& configuration, std::size_t max_points);
  void next_pass();
  /// Counts one point. Throws MetricsUnavailable, and what the replay throws; ranges counted before stay.
  void count(std::size_t point, const CountedExecution& replay);
  /// Counts what runs between the two as a point: metrics of one pass that are not over elapsed time. Throw
  /// MetricsUnavailable.
  void begin_range(std::size_t point);
  void end_range();
  /// Counts by this configuration, of one pass, from here on. Unlike with `begin`, what was counted before stays.
  void switch_to(const CuptiProfilerHost::Configuration& configuration);
  /// Lets the GPU run as if nothing counted, until the next range. What was counted stays.
  void rest();
  /// What was counted since the last call, by point.
  [[nodiscard]] std::map<std::size_t, RangeValues> read(bool keep = false);

  [[nodiscard]] const CountingEffort& effort() const { return effort_; }

 private:
  /// Notes how long what follows takes, until the end of the scope.
  [[nodiscard]] std::shared_ptr<void> timed(std::string_view what);
  void count_in_batch(std::size_t point, const CountedExecution& replay);
  void count_one_pass(std::size_t point, const CountedExecution& replay);
  void end_passes();
  void take_batch();
  void count_each_kernel(const CountedExecution& replay, RangeValues& counted);
  RangeValues count_by_itself(const CountedExecution& replay);
  RangeValues attempt(bool keep, const CountedExecution& replay);
  [[nodiscard]] CounterValues values_of(const std::string& name);
  [[nodiscard]] RangeValues values_of_kernels() const;
  void open();
  void configure(std::uint32_t max_ranges);
  void reset();
  void start();
  std::string next_name();
  void run_range(const std::string& name, const CountedExecution& replay);
  void begin_in_batch();
  void push(const std::string& name);
  void end_batch(bool keep = false);
  void lose_batch(const std::string& reason);
  void decode();
  [[nodiscard]] std::map<std::string, std::size_t> ranges() const;
  [[nodiscard]] std::size_t ranges_decoded() const;
  CUptiResult pop();
  std::pair<CUptiResult, bool> stop();
  void close();

  std::shared_ptr<const CuptiLibrary> library_;
  CUcontext context_;
  std::uint32_t ranges_of_a_batch_;
  const CuptiProfilerHost::Configuration* configuration_ = nullptr;
  bool by_kernel_ = false;  ///< each kernel has a range of its own
  CUpti_RangeProfiler_Object* object_ = nullptr;
  bool configured_ = false;
  bool started_ = false;
  bool in_range_ = false;
  std::vector<std::uint8_t> image_;           ///< counter data; stays where it is while CUPTI may know of it
  std::map<std::string, std::size_t> batch_;  ///< point by the name of its range, not read out yet
  std::uint32_t ranges_begun_ = 0;            ///< since the start; one that threw takes up room as well
  std::map<std::size_t, RangeValues> counted_;
  std::size_t points_of_passes_ = 0;  ///< at most so many share each pass; 0: all passes of a point are together
  bool passes_complete_ = false;      ///< CUPTI needs no more
  std::set<std::size_t> failed_;      ///< points that threw in one of the passes
  std::string passes_lost_;           ///< why these points have no values, empty while they may have some
  std::size_t passes_ = 0;            ///< that the first range by itself took
  bool keep_works_ = true;            ///< as far as is known: a profiler counts again after it was read out
  bool keep_proven_ = false;          ///< it has counted something
  CountingEffort effort_;
};

}  // namespace gpubench::bench
