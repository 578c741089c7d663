// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/cupti_profiler_host.h"

#include <utility>

#include "bench/counters/metric_source.h"
#include "bench/cuda/cupti_library.h"

namespace gpubench::bench {
namespace {

std::vector<const char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  pointers.reserve(texts.size());
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  return pointers;
}

/// CUPTI's words for units, as the rest of gpubench writes them.
std::string unit_text(const char* unit) {
  std::string text = unit == nullptr ? "" : unit;
  if (text == "byte") return "bytes";
  if (text == "percent") return "%";
  return text;
}

}  // namespace

std::shared_ptr<const CuptiLibrary> load_cupti() { return std::make_shared<const CuptiLibrary>(); }

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
