// SPDX-License-Identifier: Apache-2.0
// What users may ask for, and what that is called on each chip.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/measurement.h"

namespace gpubench::bench {

/// A --metrics that cannot be meant; what() is one sentence.
struct MetricNameError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The names that "none", "core", "flops" or a list of names stands for, each once. A name with "__" in it is CUPTI's
/// own and stays as it is. Throws MetricNameError.
std::vector<std::string> parse_metrics(std::string_view text);

/// Portable names: those of `core`, then those of `flops`.
std::vector<std::string> core_metrics();
std::vector<std::string> flops_metrics();

/// A metric as this chip counts it: the sum of factor x counter.
struct ResolvedMetric {
  struct Term {
    double factor = 1.0;
    std::string counter;
  };
  std::string name;  ///< as asked for
  std::string unit;
  std::vector<Term> terms;
};

struct Resolution {
  std::vector<ResolvedMetric> metrics;
  std::vector<AbsentCounter> absent;
};

/// Looks up each name by itself, because CUPTI refuses a whole list for one unknown name. `unit_of` gives the unit of a
/// counter, or nothing when the chip has no such counter.
Resolution resolve(const std::vector<std::string>& names, std::string_view chip,
                   const std::function<std::optional<std::string>(const std::string&)>& unit_of);

}  // namespace gpubench::bench
