// SPDX-License-Identifier: Apache-2.0
// Names, units and passes of a chip's metrics. CUPTI's Host API needs neither a GPU nor a driver for these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct CUpti_Profiler_Host_Object;

namespace gpubench::bench {

class CuptiLibrary;

/// Loads CUPTI from $GPUBENCH_CUPTI if set, else from the loader's path and the usual toolkits. Throws
/// MetricsUnavailable.
std::shared_ptr<const CuptiLibrary> load_cupti();

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
