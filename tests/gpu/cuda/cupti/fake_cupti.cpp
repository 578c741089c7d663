// SPDX-License-Identifier: Apache-2.0
// A CUPTI without a GPU: it checks the order of calls, counts executions by passes, and fails where a test says.
//   FAKE_CUPTI_FAILS="function=code"  makes that function return the code
//   FAKE_CUPTI_PASSES=n               of any set; FAKE_CUPTI_METRICS_A_PASS=n: what a pass holds
//   FAKE_CUPTI_KEEPS=how              what a second range with one configuration comes to: Start is "refuse"d, the data
//                                     is "empty", "zero" or the one before ("stale"), passes are too few ("short")
//   FAKE_CUPTI_ENABLES_IN_MS=n        what the range profiler takes to be enabled
//   FAKE_CUPTI_INSTRUCTIONS           the chip counts instructions, too
//   FAKE_CUPTI_VGPU, _OLD_GPU, _DROPS, _EMPTY, _ENDLESS
// Kernels that fake_cupti_launches tells of have a range each, if the profiler is to lay them.
#include <cuda.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <cupti_version.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

std::string& log_of_calls() {
  static std::string log;
  return log;
}

bool& is_subscribed() {
  static bool is = false;
  return is;
}

CUpti_CallbackFunc& callback_of_subscriber() {
  static CUpti_CallbackFunc callback = nullptr;
  return callback;
}

bool wanted(const char* variable) { return std::getenv(variable) != nullptr; }
std::size_t number(const char* variable, std::size_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
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
  std::size_t image_bytes = 0;
  std::size_t max_ranges = 0;      ///< of a pass
  bool of_kernels = false;         ///< it lays the ranges
  std::vector<double> durations;   ///< of the kernels of a pass, ns
  std::vector<std::string> names;  ///< of ranges since the first pass
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
  double duration = 0.0;
  bool zero = false;
};
std::size_t bytes_of(std::size_t ranges) { return sizeof(std::uint64_t) + ranges * sizeof(Range); }
std::vector<Range> read(const std::uint8_t* data) {
  std::vector<Range> ranges(*reinterpret_cast<const std::uint64_t*>(data));
  std::copy_n(reinterpret_cast<const Range*>(data + bytes_of(0)), ranges.size(), ranges.begin());
  return ranges;
}
void write(std::uint8_t* data, const std::vector<Range>& ranges) {
  *reinterpret_cast<std::uint64_t*>(data) = ranges.size();
  std::copy(ranges.begin(), ranges.end(), reinterpret_cast<Range*>(data + bytes_of(0)));
}
std::uint64_t decoded = 0;

/// What the Activity API keeps: a buffer of the caller's that is being filled.
struct Activities {
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
  std::set<int> enabled;
  std::uint8_t* buffer = nullptr;
  std::size_t room = 0;
  std::size_t used = 0;
  std::size_t dropped = 0;
};
Activities& activities() {
  static Activities all;
  return all;
}

std::size_t record_bytes(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_MEMCPY) return sizeof(CUpti_ActivityMemcpy5);
  if (kind == CUPTI_ACTIVITY_KIND_MEMSET) return sizeof(CUpti_ActivityMemset4);
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) return sizeof(CUpti_ActivityAPI);
  if (kind == CUPTI_ACTIVITY_KIND_MEMORY2) return sizeof(CUpti_ActivityMemory3);
  return sizeof(CUpti_ActivityKernel9);
}

void hand_over() {
  Activities& all = activities();
  if (all.buffer == nullptr) return;
  // FAKE_CUPTI_CUT: as if records were shorter than the reader knows them.
  const std::size_t bytes = all.used - number("FAKE_CUPTI_CUT", 0);
  all.complete(nullptr, 0, all.buffer, all.room, bytes);
  all.buffer = nullptr;
}

/// Like the real one: asks for a buffer when the first record comes, and drops the record when there is none.
template <class Record>
void keep(const Record& record) {
  Activities& all = activities();
  if (all.enabled.count(record.kind) == 0) return;
  const std::size_t max = number("FAKE_CUPTI_RECORDS_A_BUFFER", 1000);
  if (all.buffer != nullptr && all.used + sizeof(Record) > std::min(all.room, max * sizeof(Record))) hand_over();
  if (all.buffer == nullptr) {
    std::size_t max_records = 0;
    all.used = 0;
    all.request(&all.buffer, &all.room, &max_records);
  }
  if (all.buffer == nullptr || std::getenv("FAKE_CUPTI_LOSES") != nullptr) {
    ++all.dropped;
    return;
  }
  std::memcpy(all.buffer + all.used, &record, sizeof(Record));
  all.used += sizeof(Record);
}

/// Notes the call, by the letter that stands for it in the log if any, and says how it ends.
CUptiResult called(const char* function, const char* letter = "") {
  log_of_calls() += letter;
  const char* fails = std::getenv("FAKE_CUPTI_FAILS");
  const std::size_t length = std::strlen(function);
  if (fails == nullptr || std::strncmp(fails, function, length) != 0 || fails[length] != '=') return CUPTI_SUCCESS;
  return static_cast<CUptiResult>(std::strtol(fails + length + 1, nullptr, 10));
}

}  // namespace

extern "C" {

/// The GPU has run something, from and to these nanoseconds.
void fake_cupti_runs_kernel(const char* name, std::uint64_t start, std::uint64_t end) {
  CUpti_ActivityKernel9 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.name = name;
  record.start = start;
  record.end = end;
  record.gridX = 132;
  record.gridY = record.gridZ = record.blockY = record.blockZ = 1;
  record.blockX = std::getenv("FAKE_CUPTI_ODD") == nullptr ? 256 : 4096;
  record.registersPerThread = 40;
  record.staticSharedMemory = 1024;
  record.dynamicSharedMemory = 2048;
  record.localMemoryPerThread = 16;
  keep(record);
}
void fake_cupti_runs_copy(std::uint64_t start, std::uint64_t end) {
  CUpti_ActivityMemcpy5 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  record.start = start;
  record.end = end;
  keep(record);
}
void fake_cupti_runs_fill(std::uint64_t start, std::uint64_t end) {
  CUpti_ActivityMemset4 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  record.start = start;
  record.end = end;
  keep(record);
}

CUpti_TimestampCallbackFunc& given_clock() {
  static CUpti_TimestampCallbackFunc clock = nullptr;
  return clock;
}
/// By the clock that the program registered.
std::uint64_t fake_cupti_clock() { return given_clock() == nullptr ? 0 : given_clock()(); }

/// Each look at the clock is later.
std::uint64_t next_time() {
  static std::uint64_t time = 1000;
  return ++time;
}
CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t* time) {
  *time = next_time();
  return CUPTI_SUCCESS;
}
/// A call of CUDA's API by this thread, and the kernel that it launches, if any.
void fake_cupti_calls_api(std::uint32_t correlation, std::uint64_t start, std::uint64_t end) {
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.start = next_time();
  call.end = next_time();
  call.threadId = static_cast<std::uint32_t>(gettid());
  call.correlationId = correlation;
  keep(call);
  if (end == start) return;
  CUpti_ActivityKernel9 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.correlationId = correlation;
  record.start = start;
  record.end = end;
  keep(record);
}
/// That call allocated this memory, or released it.
void fake_cupti_has_memory(std::uint32_t correlation, bool allocation, std::uint64_t address, std::uint64_t bytes,
                           std::uint64_t time) {
  CUpti_ActivityMemory3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  record.memoryOperationType =
      allocation ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.correlationId = correlation;
  record.address = address;
  record.bytes = bytes;
  record.timestamp = time;
  keep(record);
}
/// A call of the program's ends, in a context: its subscriber is told.
void fake_cupti_ends_call() {
  if (!is_subscribed()) return;
  CUpti_CallbackData data{};
  data.callbackSite = CUPTI_API_EXIT;
  data.context = reinterpret_cast<CUcontext>(&data);
  callback_of_subscriber()(nullptr, CUPTI_CB_DOMAIN_RUNTIME_API, 1, &data);
}
/// A call of the driver begins or ends: its subscriber is told.
void fake_cupti_calls_driver(CUpti_CallbackId number, const CUpti_CallbackData* data) {
  if (is_subscribed()) callback_of_subscriber()(nullptr, CUPTI_CB_DOMAIN_DRIVER_API, number, data);
}
/// The operation launches a kernel that takes so many nanoseconds.
void fake_cupti_launches(double duration) {
  if (profiler().started && profiler().of_kernels) profiler().durations.push_back(duration);
}

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete) {
  activities().request = request;
  activities().complete = complete;
  return called("cuptiActivityRegisterCallbacks");
}
CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  if (number("FAKE_CUPTI_REFUSES_KIND", 0) == static_cast<std::size_t>(kind)) return CUPTI_ERROR_INVALID_KIND;
  const CUptiResult result = called("cuptiActivityEnable", "+");
  if (result == CUPTI_SUCCESS) activities().enabled.insert(kind);
  return result;
}
CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  activities().enabled.erase(kind);
  return called("cuptiActivityDisable", "-");
}
CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag) {
  if (flag != CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) return CUPTI_ERROR_INVALID_PARAMETER;
  hand_over();
  return called("cuptiActivityFlushAll", "F");
}
// For whole programs.
CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId, uint8_t) {
  return called("cuptiActivityEnableRuntimeApi");
}
CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId, uint8_t) {
  return called("cuptiActivityEnableDriverApi");
}
CUptiResult CUPTIAPI cuptiActivityEnableAllocationSource(uint8_t) {
  return called("cuptiActivityEnableAllocationSource");
}
CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType) { return called("cuptiSetThreadIdType"); }
CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc callback, void*) {
  const CUptiResult result = called("cuptiSubscribe", "u");
  callback_of_subscriber() = callback;
  *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&is_subscribed());
  if (result == CUPTI_SUCCESS && std::exchange(is_subscribed(), true))
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  return result;
}
CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle) {
  is_subscribed() = false;
  return called("cuptiUnsubscribe", "U");
}
CUptiResult CUPTIAPI cuptiFinalize() { return called("cuptiFinalize", "x"); }
CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  given_clock() = clock;
  return called("cuptiActivityRegisterTimestampCallback");
}
CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, std::uint64_t* number) {
  *number = reinterpret_cast<std::uintptr_t>(node);
  return called("cuptiGetGraphNodeId");
}
CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId) {
  return called("cuptiEnableCallback");
}
CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain) {
  return called("cuptiEnableDomain");
}
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain, uint32_t, const char** name) {
  *name = "cudaLaunchKernel_v7000";
  return called("cuptiGetCallbackName");
}
CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t* buffer, size_t bytes, CUpti_Activity** record) {
  auto* place = reinterpret_cast<std::uint8_t*>(*record);
  place = place == nullptr ? buffer : place + record_bytes((*record)->kind);
  if (static_cast<std::size_t>(place - buffer) + sizeof(CUpti_Activity) > bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(place);
  return called("cuptiActivityGetNextRecord");
}
CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  *dropped = std::exchange(activities().dropped, 0);
  return called("cuptiActivityGetNumDroppedRecords");
}

/// + - kinds of activity, F(lush); I(nitialise) E(nable) r(eset) C(onfigure) S(tart) (push )pop s(top) D(ecode)
/// d(isable) i(end)
const char* fake_cupti_calls() { return log_of_calls().c_str(); }
void fake_cupti_forget() {
  log_of_calls().clear();
  is_subscribed() = false;
  profiler() = {};
  decoded = 0;
  // Callbacks stay registered, as in the real library.
  activities() = {activities().request, activities().complete, {}, nullptr, 0, 0, 0};
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
  const bool counts_instructions =
      wanted("FAKE_CUPTI_INSTRUCTIONS") && std::strcmp(parameters->pMetricName, "smsp__inst_executed.sum") == 0;
  if (!counts_instructions && std::strstr(parameters->pMetricName, "fake__") == nullptr)
    return CUPTI_ERROR_INVALID_METRIC_NAME;
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
  const Range range = read(parameters->pCounterDataImage).at(parameters->rangeIndex);
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
    else if (name == "fake__serial.sum" || name == "fake__serial.sum.per_second")
      value = static_cast<double>(range.serial);
    else if (name == "gpu__time_duration.sum")
      value = range.duration;
    else
      value = static_cast<double>(name.size());
  }
  return called("cuptiProfilerHostEvaluateToGpuValues");
}
CUptiResult CUPTIAPI cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* parameters) {
  const CUptiResult result = called("cuptiRangeProfilerEnable", "E");
  if (result != CUPTI_SUCCESS) return result;
  if (profiler().enabled) return CUPTI_ERROR_INVALID_OPERATION;
  std::this_thread::sleep_for(std::chrono::milliseconds(number("FAKE_CUPTI_ENABLES_IN_MS", 0)));
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
  it.of_kernels = parameters->range == CUPTI_AutoRange;
  if (parameters->replayMode != CUPTI_UserReplay || !it.enabled || it.started) return CUPTI_ERROR_INVALID_OPERATION;
  if (it.configurations > 0) return CUPTI_ERROR_INVALID_OPERATION;  // the real one takes it, and gives no values
  std::uint64_t metrics = 0;
  std::memcpy(&metrics, parameters->pConfig, sizeof(metrics));
  ++it.configurations;
  it.passes = passes_of(metrics);
  it.stops = 0;
  it.ranges = 0;
  it.image = parameters->pCounterDataImage;
  it.image_bytes = parameters->counterDataImageSize;
  it.max_ranges = parameters->maxRangesPerPass;
  it.names.clear();
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params*) {
  const CUptiResult result = called("cuptiRangeProfilerStart", "S");
  if (result != CUPTI_SUCCESS) return result;
  if (profiler().configurations == 0 || profiler().started || keeps("refuse")) return CUPTI_ERROR_INVALID_OPERATION;
  profiler().started = true;
  profiler().durations.clear();
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
  auto& names = profiler().names;
  if (!profiler().started || profiler().of_kernels) return CUPTI_ERROR_INVALID_OPERATION;
  if (std::find(names.begin(), names.end(), parameters->pRangeName) == names.end()) {
    if (names.size() == profiler().max_ranges) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    names.emplace_back(parameters->pRangeName);
  }
  return called("cuptiRangeProfilerPushRange", "(");
}
CUptiResult CUPTIAPI cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params*) {
  return called("cuptiRangeProfilerPopRange", ")");
}
CUptiResult CUPTIAPI cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* parameters) {
  Profiler& it = profiler();
  std::vector<Range> ranges = read(it.image);
  std::size_t dropped = wanted("FAKE_CUPTI_DROPS") ? 1 : 0;
  if (it.of_kernels) {
    for (std::size_t i = 0; i < it.durations.size() && i < it.max_ranges; ++i) it.names.push_back(std::to_string(i));
    dropped += it.durations.size() - it.names.size();
  }
  if (!wanted("FAKE_CUPTI_EMPTY") && !keeps("empty")) {
    for (const std::string& name : it.names) {
      if (bytes_of(ranges.size() + 1) > it.image_bytes) {
        ++dropped;
        continue;
      }
      Range& range = ranges.emplace_back();
      std::strncpy(range.name, name.c_str(), sizeof(range.name) - 1);
      range.passes = it.stops;
      range.serial = ++decoded;
      range.zero = keeps("zero");
      if (it.of_kernels) range.duration = it.durations.at(std::stoul(name));
    }
    write(it.image, ranges);
  }
  it.stops = 0;
  it.names.clear();
  ++it.ranges;
  parameters->numOfRangeDropped = dropped;
  return called("cuptiRangeProfilerDecodeData", "D");
}
CUptiResult CUPTIAPI cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* parameters) {
  parameters->counterDataSize = bytes_of(parameters->maxNumOfRanges + 2);  // more for what a stale one keeps
  return called("cuptiRangeProfilerGetCounterDataSize");
}
CUptiResult CUPTIAPI
cuptiRangeProfilerCounterDataImageInitialize(CUpti_RangeProfiler_CounterDataImage_Initialize_Params* parameters) {
  if (!keeps("stale")) std::memset(parameters->pCounterData, 0, parameters->counterDataSize);
  return called("cuptiRangeProfilerCounterDataImageInitialize", "r");
}
CUptiResult CUPTIAPI cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* parameters) {
  parameters->numTotalRanges = read(parameters->pCounterDataImage).size();
  return called("cuptiRangeProfilerGetCounterDataInfo");
}
CUptiResult CUPTIAPI
cuptiRangeProfilerCounterDataGetRangeInfo(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* parameters) {
  static std::string name;
  name = read(parameters->pCounterDataImage).at(parameters->rangeIndex).name;
  parameters->rangeName = name.c_str();
  return called("cuptiRangeProfilerCounterDataGetRangeInfo");
}

}  // extern "C"
