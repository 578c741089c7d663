// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <vector>

#include "doctor/facts.h"

namespace gpubench::doctor {
namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// The pieces between any of `separators`, without empty ones.
std::vector<std::string_view> pieces_of(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> pieces;
  for (;;) {
    text.remove_prefix(std::min(text.find_first_not_of(separators), text.size()));
    if (text.empty()) return pieces;
    pieces.push_back(text.substr(0, text.find_first_of(separators)));
    text.remove_prefix(pieces.back().size());
  }
}

std::vector<std::string_view> words_of(std::string_view text) { return pieces_of(text, blanks); }
std::vector<std::string_view> lines_of(std::string_view text) { return pieces_of(text, "\n"); }

/// What stands after "key:" in the first line that begins so.
std::optional<std::string_view> value_of(std::string_view text, std::string_view key) {
  for (const std::string_view line : lines_of(text)) {
    const auto colon = line.find(':');
    if (colon != std::string_view::npos && trimmed(line.substr(0, colon)) == key)
      return trimmed(line.substr(colon + 1));
  }
  return std::nullopt;
}

template <class Number, class... Base>
std::optional<Number> number_of(std::string_view text, Base... base) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string driver_version(std::string_view text) {
  // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build ..."
  const auto line = value_of(text, "NVRM version");
  if (!line) return {};
  for (const std::string_view word : words_of(*line)) {
    const bool digits =
        std::all_of(word.begin(), word.end(), [](char c) { return (c >= '0' && c <= '9') || c == '.'; });
    if (digits && word.find('.') != std::string_view::npos) return std::string(word);
  }
  return {};
}

std::optional<bool> profiling_admin_only(std::string_view text) {
  const auto value = value_of(text, "RmProfilingAdminOnly");
  if (!value || (*value != "0" && *value != "1")) return std::nullopt;
  return *value == "1";
}

bool has_sys_admin(std::string_view status) {
  constexpr unsigned cap_sys_admin = 21;  // linux/capability.h
  const auto mask = number_of<std::uint64_t>(value_of(status, "CapEff").value_or(""), 16);
  return mask && ((*mask >> cap_sys_admin) & 1U) != 0;
}

std::optional<double> cpu_max_cores(std::string_view text) {
  const auto words = words_of(text);
  return words.size() == 2 ? cpu_quota_cores(words[0], words[1]) : std::nullopt;
}

std::optional<double> cpu_quota_cores(std::string_view quota, std::string_view period) {
  const auto microseconds = number_of<std::int64_t>(trimmed(quota));
  const auto of = number_of<std::int64_t>(trimmed(period));
  if (!microseconds || !of || *microseconds <= 0 || *of <= 0) return std::nullopt;
  return static_cast<double>(*microseconds) / static_cast<double>(*of);
}

std::string cgroup_path(std::string_view text, std::string_view controller) {
  for (const std::string_view line : lines_of(text)) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const auto names = line.substr(first + 1, second - first - 1);
    const auto list = pieces_of(names, ",");
    if (controller.empty() ? names.empty() : std::ranges::find(list, controller) != list.end())
      return std::string(line.substr(second + 1));
  }
  return {};
}

std::string chosen_of(std::string_view text) {
  const auto open = text.find('[');
  const auto close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return {};
  return std::string(text.substr(open + 1, close - open - 1));
}

std::optional<double> load_average(std::string_view text) {
  const auto words = words_of(text);
  return words.empty() ? std::nullopt : number_of<double>(words.front());
}

bool has_cpu_flag(std::string_view cpuinfo, std::string_view flag) {
  const auto words = words_of(value_of(cpuinfo, "flags").value_or(""));
  return std::find(words.begin(), words.end(), flag) != words.end();
}

bool takes_counters(std::string_view process_name) {
  // The kernel cuts names off after 15 characters.
  constexpr std::array heads = {std::string_view("nv-hostengine"), std::string_view("dcgm"), std::string_view("nsys"),
                                std::string_view("nsight"), std::string_view("QdstrmImporter")};
  if (process_name == "ncu" || process_name == "ncu-ui" || process_name == "nv-nsight-cu-cl") return true;
  return std::any_of(heads.begin(), heads.end(), [&](std::string_view head) { return process_name.starts_with(head); });
}

std::string cuda_version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

}  // namespace gpubench::doctor
