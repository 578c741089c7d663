// SPDX-License-Identifier: Apache-2.0
// Gauges in the text format of OpenMetrics.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpubench::reports {

using Labels = std::vector<std::pair<std::string_view, std::string>>;  ///< name and raw value

/// "{name="value"}". Backslash and quote are escaped; printable text has no line feed. Empty without labels.
std::string labels_text(const Labels& labels);

/// In the order in which they are first named. Each series stands there once; a gauge without any not at all.
class Gauges {
 public:
  /// `help` must outlive this.
  void put(std::string_view name, std::string_view help, const Labels& labels, std::optional<double> value);
  [[nodiscard]] std::string text() const;

 private:
  struct Gauge {
    std::string name;
    std::string_view help;
    std::string lines;
    std::set<std::string> seen;
  };
  std::vector<Gauge> gauges_;
};

}  // namespace gpubench::reports
