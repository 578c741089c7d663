// SPDX-License-Identifier: Apache-2.0
// Files as bad disks, bad editors and bad people make them: an error or a valid run, never a crash.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "core/storage/storage.h"
#include "tests/core/storage/random_run.h"

namespace gpubench::storage {
namespace {

/// A short run with something in every list.
std::string sound_text() {
  std::string shortest;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Run run = gpubench::testing::random_run(seed);
    if (run.points.empty() || run.calibrations.empty() || run.boundaries.empty() || run.devices.empty()) continue;
    if (!run.points[0].verdict || !run.points[0].measurement.seconds() || run.calibrations[0].ceilings.empty())
      continue;
    std::string text = to_json(run);
    if (shortest.empty() || text.size() < shortest.size()) shortest = std::move(text);
  }
  return shortest;
}

/// Whether the text was refused; what is accepted must be writable and equal when read again.
bool refused(const std::string& text) {
  Run run;
  try {
    run = run_from_json(text, "damaged.json");
  } catch (const ReadError& error) {
    EXPECT_NE(std::string(error.what()).find("damaged.json: "), std::string::npos);
    return true;
  }
  EXPECT_EQ(run_from_json(to_json(run), "again.json"), run);
  return false;
}

TEST(Damage, EveryTruncationIsRefused) {
  const std::string text = sound_text();
  const std::size_t end = text.rfind('}');
  for (std::size_t length = 0; length <= end; ++length)
    ASSERT_TRUE(refused(text.substr(0, length))) << "cut to " << length << " of " << text.size();
  EXPECT_FALSE(refused(text.substr(0, end + 1)));
}

TEST(Damage, ChangedBytesAreRefusedOrHarmless) {
  const std::string text = sound_text();
  std::mt19937_64 random(1);
  int count = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    for (int changes = 1 + i % 4; changes > 0; --changes)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    count += refused(damaged) ? 1 : 0;
  }
  EXPECT_GT(count, 1500);
}

TEST(Damage, MisplacedPiecesAreRefusedOrHarmless) {
  const std::string text = sound_text();
  constexpr std::string_view pieces[] = {
      "null", "-1", "1e308", "[]", "{}", "\"\"", "true", "-0.0", "18446744073709551616", "1e-400", "\\u0000"};
  std::mt19937_64 random(2);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = text;
    // Whole values are replaced: from after a ": " to the end of its line.
    const std::size_t start = damaged.find(": ", random() % damaged.size());
    if (start == std::string::npos) continue;
    const std::size_t end = damaged.find_first_of(",\n", start);
    damaged.replace(start + 2, end - start - 2, pieces[random() % std::size(pieces)]);
    refused(damaged);
  }
}

TEST(Damage, RandomBytesAreRefused) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string text(random() % 200, ' ');
    for (char& c : text) c = static_cast<char>(random() % 256);
    EXPECT_TRUE(refused(text));
    EXPECT_THROW(calibration_from_json(text, "damaged.json"), ReadError);
  }
}

}  // namespace
}  // namespace gpubench::storage
