// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "reports/reports.h"
#include "storage/storage.h"
#include "tests/reports/sample_run.h"

namespace gpubench::reports {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(Write, KnowsItsExtensions) {
  EXPECT_EQ(known_extensions(), ".json .csv .md .html");
  for (const char* name : {"run.json", "a/b.CSV", "x.Md", "report.HTML"}) EXPECT_TRUE(can_write(name)) << name;
  for (const char* name :
       {"run", "run.txt", ".json", "run.json.gz", "run.gbench.json", "run.nvbench.json", "dir.json/"})
    EXPECT_FALSE(can_write(name)) << name;
}

TEST(Write, EachExtensionHasItsFormat) {
  std::string pattern = (fs::temp_directory_path() / "gpubench-write-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const fs::path folder = pattern;
  const gpubench::Run run = testing::sample_run();
  for (const char* name : {"run.JSON", "run.csv", "run.md", "run.html"}) write(run, folder / name);
  EXPECT_EQ(storage::read_run(folder / "run.JSON"), run);
  EXPECT_EQ(contents(folder / "run.csv"), csv(run));
  EXPECT_EQ(contents(folder / "run.md"), markdown(run));
  EXPECT_EQ(contents(folder / "run.html"), html(run));
  fs::remove_all(folder);
}

TEST(Write, RefusesAnUnknownExtension) {
  try {
    write(gpubench::Run{}, "run.txt");
    FAIL();
  } catch (const storage::WriteError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("use one of .json .csv .md .html"));
  }
}

}  // namespace
}  // namespace gpubench::reports
