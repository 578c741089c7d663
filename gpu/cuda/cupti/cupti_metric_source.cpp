// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/text.h"
#include "gpu/cuda/cupti/cupti_range_profiler.h"
#include "gpu/cuda/cupti/cupti_sources.h"
#include "gpu/cuda/handles.h"

namespace gpubench::bench {
namespace {

/// CUPTI's profiling, on for as long as this lives. Starting takes about 90 ms, so there is one for all points.
class Profiling {
 public:
  explicit Profiling(const CuptiLibrary& library) : library_(library) {
    auto parameters = GPUBENCH_CUPTI_PARAMETERS(Profiler_Initialize);
    GPUBENCH_CUPTI_CALL(library_, cuptiProfilerInitialize, &parameters);
  }
  ~Profiling() {
    auto parameters = GPUBENCH_CUPTI_PARAMETERS(Profiler_DeInitialize);
    library_.cuptiProfilerDeInitialize(&parameters);
  }
  Profiling& operator=(Profiling&&) = delete;  ///< not copied, not moved

 private:
  const CuptiLibrary& library_;
};

CUcontext current_context() {
  CUcontext context = nullptr;
  if (driver_function<decltype(&cuCtxGetCurrent)>("cuCtxGetCurrent")(&context) != CUDA_SUCCESS || context == nullptr)
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
      : library_(std::move(library)),
        profiling_(*library_),
        context_(context),
        host_(open_host(device_index)),
        session_(library_, context) {}

  [[nodiscard]] std::string_view name() const override { return "cupti range"; }
  [[nodiscard]] std::string chip() const override { return host_.chip(); }
  [[nodiscard]] std::optional<std::string> unit(const std::string& metric) override { return host_.unit(metric); }
  [[nodiscard]] std::optional<std::size_t> passes(const std::vector<std::string>& metrics) override {
    return host_.passes(metrics);
  }

  void begin(const std::vector<std::string>& metrics) override {
    metrics_ = &metrics_of(metrics);
    session_.begin(metrics_->second);
  }
  [[nodiscard]] bool counts_by_passes() const override { return true; }
  void begin_passes(const std::vector<std::string>& metrics, std::size_t max_points) override {
    metrics_ = &metrics_of(metrics);
    session_.begin_passes(metrics_->second, max_points);
  }
  void next_pass() override { session_.next_pass(); }
  void count(std::size_t point, const CountedExecution& execution) override { session_.count(point, execution); }
  void begin_range(std::size_t point) override {
    wait();
    session_.begin_range(point);
  }
  void end_range() override {
    wait();
    session_.end_range();
  }
  [[nodiscard]] std::map<std::size_t, MetricValues> read() override {
    std::map<std::size_t, MetricValues> all;
    for (const auto& [point, counted] : session_.read()) all[point] = by_name(counted);
    return all;
  }
  [[nodiscard]] CountingEffort effort() const override { return session_.effort(); }

 private:
  /// Work from before a range must not count in it, and its own must not come later.
  static void wait() {
    if (const cudaError_t error = cudaDeviceSynchronize(); error != cudaSuccess)
      throw MetricsUnavailable(cuda_error_text(cudaGetErrorName(error), cudaGetErrorString(error)));
  }

  void check_supported(int device_index) const {
    auto support = GPUBENCH_CUPTI_PARAMETERS(Profiler_DeviceSupported);
    support.cuDevice = device_index;
    support.api = CUPTI_PROFILER_RANGE_PROFILING;
    GPUBENCH_CUPTI_CALL(*library_, cuptiProfilerDeviceSupported, &support);
    if (const std::string why = why_not_supported(support); !why.empty())
      throw MetricsUnavailable(fmt::format("CUPTI cannot profile this GPU ({}); measure on another", why));
  }

  [[nodiscard]] CuptiProfilerHost open_host(int device_index) const {
    check_supported(device_index);
    std::string chip = chip_name(*library_, device_index);
    return {library_, std::move(chip), counter_availability(*library_, context_)};
  }

  using Metrics = std::pair<const std::vector<std::string>, CuptiProfilerHost::Configuration>;
  Metrics& metrics_of(const std::vector<std::string>& metrics) {
    auto place = configurations_.find(metrics);
    if (place == configurations_.end())
      place =
          configurations_.try_emplace(metrics, CuptiProfilerHost::Configuration(host_, with_companion(metrics))).first;
    return *place;
  }

  /// With what weighs kernels, where each has a range of its own. Else with a counter that is zero for no kernel, if it
  /// costs no pass: without, a point that does none of what is counted looks like one that was not counted.
  [[nodiscard]] std::vector<std::string> with_companion(const std::vector<std::string>& metrics) const {
    const bool of_kernels = std::ranges::any_of(metrics, is_over_elapsed_time);
    const std::string_view companion = of_kernels ? kernel_duration : "smsp__inst_executed.sum";
    if (contains(metrics, companion)) return metrics;
    std::vector<std::string> more = metrics;
    more.emplace_back(companion);
    if (of_kernels) return more;
    const auto one_more = host_.unit(more.back()) ? host_.passes(more) : std::nullopt;
    return one_more && one_more == host_.passes(metrics) ? more : metrics;
  }

  [[nodiscard]] MetricValues by_name(const CuptiRangeProfiler::RangeValues& counted) const {
    MetricValues result;
    result.lost = counted.lost;
    result.kernels_lost = counted.kernels_lost;
    const auto& all = metrics_->second.metrics();  // with the companion
    for (const auto& kernel : counted.kernels)
      for (std::size_t i = 0; i < all.size(); ++i)
        if (i < metrics_->first.size() || all[i] == kernel_duration)
          result.of_kernels[all[i]].push_back(kernel[i].value_or(std::numeric_limits<double>::quiet_NaN()));
    for (std::size_t i = 0; i < metrics_->first.size(); ++i) {
      const std::string& metric = metrics_->first[i];
      if (!counted.lost.empty())
        result.absent[metric] = counted.lost;
      else if (const auto& value = counted.values[i]; value && std::isfinite(*value))
        result.values[metric] = *value;
      else
        result.absent[metric] = "CUPTI counted it but gives no value";
    }
    return result;
  }

  std::shared_ptr<const CuptiLibrary> library_;
  Profiling profiling_;
  CUcontext context_;
  CuptiProfilerHost host_;
  std::map<std::vector<std::string>, CuptiProfilerHost::Configuration> configurations_;
  const Metrics* metrics_ = nullptr;  // that are counted now
  CuptiRangeProfiler session_;        // ends before what it uses
};

}  // namespace

std::unique_ptr<MetricSource> open_cupti_metric_source(int device_index, CUctx_st* context) {
  return std::make_unique<CuptiSource>(load_cupti(), device_index, context);
}

std::unique_ptr<MetricSource> open_cupti_metric_source() {
  try {
    int index = 0;
    GPUBENCH_CUDA_CHECK(cudaGetDevice(&index));
    return open_cupti_metric_source(index, current_context());
  } catch (const GpuError& error) {
    throw MetricsUnavailable(error.what());
  }
}

ChipMetrics open_chip_metrics(int device_index) {
  const auto library = load_cupti();
  const Profiling profiling(*library);  // the chip's name is known only then
  const auto host = std::make_shared<CuptiProfilerHost>(library, chip_name(*library, device_index));
  return {host->chip(), [host](const std::string& metric) { return host->unit(metric); },
          [host](const std::vector<std::string>& metrics) { return host->passes(metrics); }};
}

}  // namespace gpubench::bench
