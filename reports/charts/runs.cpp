// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/base/text.h"
#include "core/storage/document.h"
#include "reports/charts/charts.h"
#include "reports/charts/rows.h"

namespace gpubench::reports::charts {
namespace {

std::string times_text(double ratio) { return storage::json_text(rounded(ratio)) + "x"; }

/// What a point is called across runs, and the device's id without the run's label.
using RowKey = std::pair<std::string, std::string>;

Json change_rows(const Several& several, const Json& points) {
  const auto own_id = [&](const Json& row) {
    const auto id = row["device"].get<std::string>();
    return id.substr(std::min(id.size(), row["run"].get<std::string>().size() + 3));
  };
  const auto first_label = printable(several.labels.front());
  std::map<RowKey, const Json*> base;
  std::set<std::string> base_devices;
  std::string first_device;
  for (const auto& row : points) {
    if (!row.contains("seconds") || row["run"] != first_label) continue;
    const auto device = own_id(row);
    if (base_devices.empty()) first_device = device;
    base_devices.insert(device);
    base.emplace(RowKey{device, row["name"].get<std::string>()}, &row);
  }
  auto rows = Json::array();
  for (const auto& row : points) {
    if (!row.contains("seconds") || row["run"] == first_label) continue;
    const auto device = own_id(row);
    const auto& partner = base_devices.count(device) > 0 ? device : first_device;
    const auto match = base.find({partner, row["name"].get<std::string>()});
    if (match == base.end()) continue;
    const auto& old = *match->second;
    const double ratio = row["seconds"].get<double>() / old["seconds"].get<double>();
    Json change = {{"id", row["id"]},     {"name", row["name"]},     {"run", row["run"]},
                   {"line", row["line"]}, {"device", row["device"]}, {"base_seconds", old["seconds"]}};
    put(change, "ratio", ratio);
    change["ratio_text"] = "takes " + times_text(ratio) + " the time of " + first_label;
    if (row.contains("low") && old.contains("low") && old["low"].get<double>() > 0) {
      const double low = row["low"].get<double>() / old["high"].get<double>();
      const double high = row["high"].get<double>() / old["low"].get<double>();
      put(change, "ratio_low", low);
      put(change, "ratio_high", high);
      change["bounds"] = "at least " + times_text(low) + ", at most " + times_text(high);
    }
    rows.push_back(std::move(change));
  }
  return rows;
}

/// Roofs of several runs lie close together: each is named once, by the first run that has about its value.
void name_roofs(Json& roofs) {
  std::map<std::string, std::vector<double>> named;  // values, by kind
  for (auto& row : roofs) {
    const bool memory = row["kind"] == "memory";
    if (row["place"] != "label" || !row.contains("run") || !(memory ? row["rank"] == 0 : row["used"] == true)) continue;
    auto& values = named[row["kind"].get<std::string>()];
    const double value = row["rate"].get<double>();
    const auto near = [&](double other) { return std::max(value / other, other / value) < 1.35; };
    if (std::ranges::any_of(values, near)) continue;
    values.push_back(value);
    row["run_label"] = row["label"].get<std::string>() + " (" + row["run"].get<std::string>() + ")";
  }
}

}  // namespace

Json datasets(const Several& several) {
  auto sets = datasets(several.merged);
  std::map<std::string, std::string> labels;
  for (const auto& [device, index] : several.run_of_device)
    labels[printable(device)] = printable(several.labels[index]);
  for (const auto* name : {"points", "roofs"})
    for (auto& row : sets[name])
      if (const auto label = labels.find(row["device"].get<std::string>()); label != labels.end())
        row["run"] = label->second;
  name_roofs(sets["roofs"]);
  sets["changes"] = change_rows(several, sets["points"]);
  return sets;
}

}  // namespace gpubench::reports::charts
