// SPDX-License-Identifier: Apache-2.0
#include "core/base/mapped_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/base/files.h"

namespace gpubench {
namespace {

TEST(MappedFile, HasTheBytesOrSaysWhyNot) {
  const PrivateFolder folder;
  const auto file = folder.path() / "file";
  EXPECT_EQ(MappedFile(file).error(), file.string() + " cannot be read: No such file or directory.");
  std::ofstream(file) << "";
  EXPECT_TRUE(MappedFile(file).error().empty());
  EXPECT_TRUE(MappedFile(file).bytes().empty());
  std::ofstream(file) << "hello";
  MappedFile mapped(file);
  EXPECT_EQ(mapped.bytes(), "hello");
  mapped.pass(5);
  EXPECT_EQ(mapped.bytes(), "hello");
  EXPECT_EQ(MappedFile(folder.path()).error(), folder.path().string() + " is no file.");
}

}  // namespace
}  // namespace gpubench
