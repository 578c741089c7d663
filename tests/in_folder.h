// SPDX-License-Identifier: Apache-2.0
// Tests that write files.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "core/base/files.h"

namespace gpubench {

/// Each test has a folder of its own, which goes with it. `Fixture`: what it has besides.
template <class Fixture>
class InFolderBeside : public Fixture {
 private:
  const PrivateFolder private_;

 protected:
  /// A file of this text.
  std::filesystem::path file(std::string_view name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  [[nodiscard]] static std::string content(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  const std::filesystem::path folder_ = private_.path();
};
using InFolder = InFolderBeside<::testing::Test>;

}  // namespace gpubench
