// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/cupti/cupti_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include "core/base/environment.h"
#include "gpu/cuda/handles.h"
#include "gpu/libraries.h"

namespace gpubench::bench {
namespace {

/// The newest version first: this build's structures carry their sizes, so an older library sees what it knows of them.
std::vector<std::string> candidates() {
  // For a library elsewhere, and for tests: then no other is tried.
  if (std::string given = environment("GPUBENCH_CUPTI"); !given.empty()) return {std::move(given)};
  // A second copy beside one that a framework has brought would be a second, quarrelling profiler.
  if (auto loaded = loaded_library("libcupti.so")) return {*std::move(loaded)};
  return library_files({"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, {"extras/CUPTI/lib64", "lib64"});
}

/// CUPTI's words for units, as the rest of gpubench writes them.
std::string unit_text(const char* unit) {
  std::string text = unit == nullptr ? "" : unit;
  if (text == "byte") return "bytes";
  if (text == "percent") return "%";
  return text;
}

/// The error that has left the GPU unusable; empty where it works, and where there is none.
std::string error_of_gpu() {
  const cudaError_t error = cudaDeviceSynchronize();
  (void)cudaGetLastError();
  if (error == cudaSuccess || error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ||
      error == cudaErrorStubLibrary)
    return "";
  return cuda_error_text(cudaGetErrorName(error), cudaGetErrorString(error));
}

}  // namespace

CuptiLibrary::CuptiLibrary() {
  std::string reason;
  void* const handle = open_library(candidates(), reason);
  if (handle == nullptr)
    throw MetricsUnavailable(
        fmt::format("CUPTI cannot be loaded ({}); install the toolkit's cuda-cupti package, or set "
                    "GPUBENCH_CUPTI=/path/to/libcupti.so",
                    reason));
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 && map != nullptr) path_ = map->l_name;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
    if (function == nullptr)
      throw MetricsUnavailable(
          fmt::format("{} has no {}; gpubench needs the CUPTI of CUDA 12.6 or newer", path_, name));
  };
#define GPUBENCH_CUPTI_LOAD(function) load(function, #function);
  GPUBENCH_CUPTI_FUNCTIONS(GPUBENCH_CUPTI_LOAD)
#undef GPUBENCH_CUPTI_LOAD
}

void CuptiLibrary::check(CUptiResult result, const char* call) const {
  if (result == CUPTI_ERROR_HARDWARE_BUSY) throw MetricsBusy(error_text(result, call));
  if (result != CUPTI_SUCCESS) throw MetricsUnavailable(error_text(result, call));
}

std::string CuptiLibrary::error_text(CUptiResult result, const char* call) const {
  const char* name = nullptr;
  if (cuptiGetResultString(result, &name) != CUPTI_SUCCESS || name == nullptr) name = "unknown error";
  const auto with = [&](std::string_view sentence) {
    return fmt::format("{} ({}: {}, error {})", sentence, call, name, static_cast<int>(result));
  };
  switch (result) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
      return with(
          "the driver keeps the GPU's counters for administrators (ERR_NVGPUCTRPERM); run as root, start the container "
          "with --cap-add=SYS_ADMIN, or load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0");
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return with(
          "the counters of this virtual GPU are kept from this user; run as root, and have profiling enabled for it by "
          "the host");
    case CUPTI_ERROR_HARDWARE_BUSY:
      return with(
          "another profiler holds the GPU's counters, or another process of the same program does; end Nsight Compute "
          "or Nsight Systems, count one process alone, or pause DCGM with 'dcgmi profile --pause'");
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    case CUPTI_ERROR_NOT_COMPATIBLE: return with("another user of CUPTI is in this process; run without that profiler");
    case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
      return with("an older profiling interface is in use in this process; run without nvprof or that library");
    case CUPTI_ERROR_DISABLED:
      return with("CUPTI is switched off because a profiler or debugger runs this program; run it by itself");
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
      return with("this MIG instance has no counters of its own; measure on the whole GPU");
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
      return with("confidential computing shuts the counters; measure with it off");
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
      return with("this virtual GPU has no counters; have profiling enabled for it by the host, or use a whole GPU");
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      return with("this GPU, or the system that it is in, offers no counters; measure elsewhere");
    case CUPTI_ERROR_OUT_OF_MEMORY:
      return with("there is no memory left for CUPTI's buffers; free some on the GPU, or count smaller sizes");
    case CUPTI_ERROR_INVALID_CHIP_NAME:
      return with(fmt::format("{} does not know this chip; use the CUPTI of a newer toolkit", path_));
    case CUPTI_ERROR_UNKNOWN: return with(unknown_cupti_error_text(path_, error_of_gpu()));
    case CUPTI_ERROR_NOT_INITIALIZED:
      return with(fmt::format("{} and the driver do not work together; use a driver as new as that toolkit", path_));
    default: return with(fmt::format("{} refused", path_));
  }
}

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

std::shared_ptr<const CuptiLibrary> load_cupti() { return std::make_shared<const CuptiLibrary>(); }

std::string chip_name(const CuptiLibrary& library, int device_index) {
  auto chip = GPUBENCH_CUPTI_PARAMETERS(Device_GetChipName);
  chip.deviceIndex = static_cast<std::size_t>(device_index);
  GPUBENCH_CUPTI_CALL(library, cuptiDeviceGetChipName, &chip);
  return chip.pChipName == nullptr ? "" : chip.pChipName;
}

std::vector<std::uint8_t> counter_availability(const CuptiLibrary& library, CUcontext context) {
  auto available = GPUBENCH_CUPTI_PARAMETERS(Profiler_GetCounterAvailability);
  available.ctx = context;
  GPUBENCH_CUPTI_CALL(library, cuptiProfilerGetCounterAvailability, &available);
  std::vector<std::uint8_t> image(available.counterAvailabilityImageSize);
  available.pCounterAvailabilityImage = image.data();
  GPUBENCH_CUPTI_CALL(library, cuptiProfilerGetCounterAvailability, &available);
  return image;
}

CuptiProfilerHost::CuptiProfilerHost(std::shared_ptr<const CuptiLibrary> library, std::string chip,
                                     std::vector<std::uint8_t> availability)
    : library_(std::move(library)),
      chip_(std::move(chip)),
      availability_(std::move(availability)),
      names_(new_object()) {}

std::shared_ptr<CUpti_Profiler_Host_Object> CuptiProfilerHost::new_object() const {
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(Profiler_Host_Initialize);
  parameters.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  parameters.pChipName = chip_.c_str();
  parameters.pCounterAvailabilityImage = availability_.empty() ? nullptr : availability_.data();
  GPUBENCH_CUPTI_CALL(*library_, cuptiProfilerHostInitialize, &parameters);
  return {parameters.pHostObject, [library = library_](CUpti_Profiler_Host_Object* object) {
            auto end = GPUBENCH_CUPTI_PARAMETERS(Profiler_Host_Deinitialize);
            end.pHostObject = object;
            library->cuptiProfilerHostDeinitialize(&end);
          }};
}

std::optional<std::string> CuptiProfilerHost::unit(const std::string& metric) const {
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(Profiler_Host_GetMetricProperties);
  parameters.pHostObject = names_.get();
  parameters.pMetricName = metric.c_str();
  if (library_->cuptiProfilerHostGetMetricProperties(&parameters) != CUPTI_SUCCESS) return std::nullopt;
  return unit_text(parameters.pDimUnit);
}

std::optional<std::size_t> CuptiProfilerHost::passes(const std::vector<std::string>& metrics) const {
  try {
    return Configuration(*this, metrics).passes();
  } catch (const MetricsUnavailable&) {
    return std::nullopt;
  }
}

CuptiProfilerHost::Configuration::Configuration(const CuptiProfilerHost& host, const std::vector<std::string>& metrics)
    : library_(host.library_), metrics_(metrics), object_(host.new_object()) {
  std::vector<const char*> names = pointers_to(metrics_);
  auto add = GPUBENCH_CUPTI_PARAMETERS(Profiler_Host_ConfigAddMetrics);
  add.pHostObject = object_.get();
  add.ppMetricNames = names.data();
  add.numMetrics = names.size();
  GPUBENCH_CUPTI_CALL(*library_, cuptiProfilerHostConfigAddMetrics, &add);

  auto size = GPUBENCH_CUPTI_PARAMETERS(Profiler_Host_GetConfigImageSize);
  size.pHostObject = object_.get();
  GPUBENCH_CUPTI_CALL(*library_, cuptiProfilerHostGetConfigImageSize, &size);
  image_.resize(size.configImageSize);
  auto get = GPUBENCH_CUPTI_PARAMETERS(Profiler_Host_GetConfigImage);
  get.pHostObject = object_.get();
  get.configImageSize = image_.size();
  get.pConfigImage = image_.data();
  GPUBENCH_CUPTI_CALL(*library_, cuptiProfilerHostGetConfigImage, &get);

  auto count = GPUBENCH_CUPTI_PARAMETERS(Profiler_Host_GetNumOfPasses);
  count.configImageSize = image_.size();
  count.pConfigImage = image_.data();
  GPUBENCH_CUPTI_CALL(*library_, cuptiProfilerHostGetNumOfPasses, &count);
  passes_ = count.numOfPasses;
}

std::optional<std::vector<double>> CuptiProfilerHost::Configuration::evaluate(
    std::vector<const char*> names, const std::vector<std::uint8_t>& counter_data, std::size_t range) const {
  std::vector<double> values(names.size());
  auto parameters = GPUBENCH_CUPTI_PARAMETERS(Profiler_Host_EvaluateToGpuValues);
  parameters.pHostObject = object_.get();
  parameters.pCounterDataImage = counter_data.data();
  parameters.counterDataImageSize = counter_data.size();
  parameters.rangeIndex = range;
  parameters.ppMetricNames = names.data();
  parameters.numMetrics = names.size();
  parameters.pMetricValues = values.data();
  if (library_->cuptiProfilerHostEvaluateToGpuValues(&parameters) != CUPTI_SUCCESS) return std::nullopt;
  return values;
}

std::vector<std::optional<double>> CuptiProfilerHost::Configuration::values(
    const std::vector<std::uint8_t>& counter_data, std::size_t range) const {
  const auto names = pointers_to(metrics_);
  if (const auto all = evaluate(names, counter_data, range)) return {all->begin(), all->end()};
  std::vector<std::optional<double>> values;
  for (const char* name : names) {
    const auto one = evaluate({name}, counter_data, range);
    values.push_back(one ? std::optional(one->front()) : std::nullopt);
  }
  return values;
}

}  // namespace gpubench::bench
