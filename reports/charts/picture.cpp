// SPDX-License-Identifier: Apache-2.0
#include "reports/charts/picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "core/base/nearest.h"
#include "core/base/text.h"
#include "reports/charts/drawing.h"
#include "reports/charts/runs.h"

namespace gpubench::reports {
namespace {

constexpr std::array names = {std::string_view("overview"), std::string_view("roofline"), std::string_view("map"),
                              std::string_view("strip"),    std::string_view("time"),     std::string_view("rate"),
                              std::string_view("shares"),   std::string_view("samples"),  std::string_view("ladder"),
                              std::string_view("latency"),  std::string_view("intensity")};
constexpr std::array names_of_several = {std::string_view("rooflines"), std::string_view("times"),
                                         std::string_view("changes")};

std::vector<std::string> all_names() {
  std::vector<std::string> all(names.begin(), names.end());
  all.insert(all.end(), names_of_several.begin(), names_of_several.end());
  return all;
}

bool is_name(const std::string& text) {
  const auto all = all_names();
  return std::find(all.begin(), all.end(), text) != all.end();
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string file_name(const std::filesystem::path& file) { return lower(file.filename().string()); }

/// Words of letters: "h200-roofline.svg" has "h", "roofline" and "svg".
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words(1);
  for (const char c : text)
    if (c >= 'a' && c <= 'z')
      words.back() += c;
    else
      words.emplace_back();
  return words;
}

/// Paper shows none, and an SVG would spell each out as a description of its mark.
void drop_tooltips(charts::Json& value) {
  if (value.is_object()) {
    value.erase("tooltip");
    for (auto& [key, element] : value.items())
      if (key != "datasets") drop_tooltips(element);
  } else if (value.is_array()) {
    for (auto& element : value) drop_tooltips(element);
  }
}

template <typename Runs>
std::string picture_of(const std::vector<charts::Chart>& list, const Runs& runs, const std::filesystem::path& file,
                       const PictureChoice& choice) {
  const auto chart =
      std::find_if(list.begin(), list.end(), [&](const auto& known) { return known.id == choice.chart; });
  if (chart == list.end()) {
    const bool of_several =
        std::find(names_of_several.begin(), names_of_several.end(), choice.chart) != names_of_several.end();
    throw NoSuchChart(fmt::format(
        "{}: {}", file.string(),
        of_several
            ? fmt::format("the chart '{}' shows several runs. Give gpubench report two or more", choice.chart)
            : fmt::format("the run has no data for the chart '{}'. It needs a full calibration: --calibrate full",
                          choice.chart)));
  }
  std::string specification;
  try {
    auto spec = charts::standalone(*chart, runs, choice.of);
    if (needs_renderer(file)) drop_tooltips(spec);
    specification = spec.dump(needs_renderer(file) ? -1 : 1, ' ', false, charts::Json::error_handler_t::replace) + "\n";
  } catch (const std::invalid_argument& error) {
    throw NoSuchChart(fmt::format("{}: {}", file.string(), error.what()));
  }
  if (!needs_renderer(file)) return specification;
  const auto name = file_name(file);
  return draw(specification, name.ends_with(".png")   ? PictureFormat::png
                             : name.ends_with(".svg") ? PictureFormat::svg
                                                      : PictureFormat::pdf);
}

}  // namespace

bool needs_renderer(const std::filesystem::path& file) {
  const auto name = file_name(file);
  return name.ends_with(".png") || name.ends_with(".svg") || name.ends_with(".pdf");
}

bool is_picture(const std::filesystem::path& file) {
  return needs_renderer(file) || file_name(file).ends_with(".vl.json");
}

std::string known_charts() {
  std::string text;
  for (const std::string& name : all_names()) text += (text.empty() ? "" : " ") + name;
  return text;
}

PictureChoice parse_chart(std::string_view text) {
  PictureChoice choice;
  const auto colon = text.find(':');
  // A device stands behind the last @, unless that is part of a name before any colon.
  const auto at = text.rfind('@');
  auto end = text.size();
  if (at != std::string_view::npos) {
    choice.of.device = text.substr(at + 1);
    end = at;
  }
  if (colon != std::string_view::npos && colon < end) {
    choice.of.line = text.substr(colon + 1, end - colon - 1);
    end = colon;
  }
  choice.chart = lower(std::string(text.substr(0, end)));
  if (!is_name(choice.chart))
    throw NoSuchChart(fmt::format("There is no chart '{}'.{} The charts are {}", printable(choice.chart),
                                  did_you_mean(choice.chart, all_names()), known_charts()));
  return choice;
}

PictureChoice choice_of(const std::filesystem::path& file, std::string_view text) {
  if (!text.empty()) return parse_chart(text);
  std::vector<std::string> found;
  for (const auto& word : words_of(file_name(file)))
    if (is_name(word)) found.push_back(word);
  if (found.size() != 1)
    throw NoSuchChart(fmt::format(
        "{}: the file's name holds {} name of a chart. Give --chart=NAME, or name the file after one, as in "
        "h200-roofline.svg. The charts are {}",
        file.string(), found.empty() ? "no" : "more than one", known_charts()));
  return {found.front(), {}};
}

std::string picture(const Run& run, const std::filesystem::path& file, const PictureChoice& choice) {
  auto list = charts::all(run);
  list.push_back(charts::samples_chart());
  return picture_of(list, run, file, choice);
}

std::string picture(const Several& several, const std::filesystem::path& file, const PictureChoice& choice) {
  auto list = charts::all(several.merged);
  list.push_back(charts::samples_chart());
  for (auto& chart : charts::overlays(several)) list.push_back(std::move(chart));
  return picture_of(list, several, file, choice);
}

}  // namespace gpubench::reports
