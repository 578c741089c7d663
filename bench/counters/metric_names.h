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

/// "none", "core", "flops", names, or several of them with commas between: the names that this stands for, each once,
/// in the order given. A name with "__" in it is a profiler's own and is passed through; whether the chip has it is
/// known only there. Throws MetricNameError.
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

/// Each name is looked up by itself, because one name that a chip does not know makes CUPTI refuse all that were asked
/// for with it. `unit_of` tells the unit of a counter of the chip, or nothing when it has no such counter.
Resolution resolve(const std::vector<std::string>& names, std::string_view chip,
                   const std::function<std::optional<std::string>(const std::string&)>& unit_of);

}  // namespace gpubench::bench
