// SPDX-License-Identifier: Apache-2.0
#include "core/base/nearest.h"

#include <algorithm>
#include <utility>

namespace gpubench {

std::size_t edit_distance(std::string_view one, std::string_view other) {
  std::vector<std::size_t> before, last(other.size() + 1), row(other.size() + 1);
  for (std::size_t j = 0; j <= other.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const bool same = one[i - 1] == other[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[other.size()];
}

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& known, std::size_t max) {
  constexpr std::size_t longest = 200;  // the distance takes quadratic time
  if (word.empty() || word.size() > longest) return {};
  std::vector<std::pair<std::size_t, std::string>> found;
  for (const std::string& candidate : known) {
    if (candidate.size() > longest) continue;
    const std::size_t distance = edit_distance(word, candidate);
    const bool begins = word.size() >= 3 && candidate.starts_with(word);
    if (begins || distance <= std::max<std::size_t>(1, word.size() / 3)) found.emplace_back(distance, candidate);
  }
  std::ranges::sort(found);
  const auto same = std::ranges::unique(found);
  found.erase(same.begin(), same.end());
  std::vector<std::string> words;
  for (auto& [distance, candidate] : found)
    if (words.size() < max) words.push_back(std::move(candidate));
  return words;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
  const std::vector<std::string> words = nearest(word, known);
  std::string text;
  for (const std::string& candidate : words)
    text += text.empty() ? " Did you mean " + candidate : (&candidate == &words.back() ? " or " : ", ") + candidate;
  return text.empty() ? text : text + "?";
}

}  // namespace gpubench
