// SPDX-License-Identifier: Apache-2.0
#include "calibrate/launch_step.h"

#include <cmath>
#include <cstddef>

namespace gpubench::calibrate {

double step_height(std::span<const double> figures) {
  if (figures.size() < 3) return 0.0;
  const auto count = static_cast<double>(figures.size());
  const double middle = 0.5 * (count - 1.0);
  double mean = 0.0;
  for (const double figure : figures) mean += figure / count;
  double xx = 0.0;
  double xy = 0.0;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    xx += x * x;
    xy += x * (figures[i] - mean);
  }
  double squares = 0.0;
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const double on_line = mean + xy / xx * (static_cast<double>(i) - middle);
    squares += (figures[i] - on_line) * (figures[i] - on_line);
  }
  return std::sqrt(12.0 * squares / count);
}

}  // namespace gpubench::calibrate
