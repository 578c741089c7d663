// SPDX-License-Identifier: Apache-2.0
// Comparison with a stored text; GPUBENCH_UPDATE_GOLDEN=1 in the environment writes it anew instead (look at the diff).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace gpubench {

inline void expect_golden(const std::string& text, const std::filesystem::path& file) {
  if (std::getenv("GPUBENCH_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(file, std::ios::binary) << text;
    return;
  }
  std::ifstream stream(file, std::ios::binary);
  ASSERT_TRUE(stream) << file << " is missing; run the test once with GPUBENCH_UPDATE_GOLDEN=1";
  const std::string expected{std::istreambuf_iterator<char>(stream), {}};
  EXPECT_EQ(text, expected) << "differs from " << file;
}

}  // namespace gpubench
