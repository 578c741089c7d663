// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>

#include "core/storage/storage.h"
#include "reports/reports.h"
#include "tests/in_folder.h"
#include "tests/matchers.h"
#include "tests/reports/sample_run.h"

namespace gpubench::reports {
namespace {

namespace fs = std::filesystem;

class WriteFiles : public InFolder {};

TEST_F(WriteFiles, KnowsItsExtensions) {
  EXPECT_EQ(
      known_extensions(),
      ".json .json.gz .csv .kernels.csv .md .html .gbench.json .nvbench.json .prom .junit.xml .png .svg .pdf .vl.json");
  const auto refusal = [&](const char* name) {
    return message_of<std::exception>([&] { write(gpubench::Run{}, folder_ / name); });
  };
  const std::string unknown = "the extension is unknown";
  for (const char* name :
       {"run.json", "run.json.gz", "a/b.CSV", "x.Md", "report.HTML", "run.gbench.json", "a.b.NvBench.JSON", "x.prom",
        "x.junit.xml", "roofline.svg", "time.PNG", "map.pdf", "map.vl.json"})
    EXPECT_THAT(refusal(name), Not(HasSubstr(unknown))) << name;
  for (const char* name : {"run", "run.txt", ".json", ".json.gz", "run.csv.gz", ".gbench.json", ".nvbench.json",
                           "run.gbench.csv", "run.junit.json", "run.xml", ".vl.json", "a.vl.csv", "dir.json/"})
    EXPECT_THAT(refusal(name), HasSubstr(unknown)) << name;
}

TEST(Write, RunsAreToldFromOtherToolsFormats) {
  for (const char* name : {"run.json", "a.b.JSON"}) {
    EXPECT_TRUE(writes_run(name)) << name;
    EXPECT_FALSE(is_for_another_tool(name)) << name;
  }
  for (const char* name :
       {"run.gbench.json", "run.NVBENCH.json", "run.prom", "run.junit.xml", "roofline.vl.json", "roofline.png"}) {
    EXPECT_FALSE(writes_run(name)) << name;
    EXPECT_TRUE(is_for_another_tool(name)) << name;
  }
  EXPECT_FALSE(writes_run("run.html"));
  EXPECT_FALSE(is_for_another_tool("run.html"));
}

TEST_F(WriteFiles, EachExtensionHasItsFormat) {
  const gpubench::Run run = sample_run();
  for (const char* name : {"run.JSON", "run.csv", "run.md", "run.html", "run.gbench.json", "run.nvbench.json",
                           "run.prom", "run.junit.xml"})
    write(run, folder_ / name);
  EXPECT_EQ(storage::read_run(folder_ / "run.JSON"), run);
  EXPECT_EQ(content(folder_ / "run.csv"), csv(run));
  EXPECT_EQ(content(folder_ / "run.md"), markdown(run));
  EXPECT_EQ(content(folder_ / "run.html"), html(run));
  EXPECT_EQ(content(folder_ / "run.gbench.json"), google_benchmark_json(run));
  EXPECT_EQ(content(folder_ / "run.nvbench.json"), nvbench_json(run));
  EXPECT_EQ(content(folder_ / "run.prom"), open_metrics(run));
  EXPECT_EQ(content(folder_ / "run.junit.xml"), junit_xml(run));
}

TEST(Write, RefusesAnUnknownExtension) {
  EXPECT_THAT(message_of<storage::WriteError>([&] { write(gpubench::Run{}, "run.txt"); }),
              HasSubstr("use one of .json .json.gz .csv .kernels.csv .md .html"));
}

}  // namespace
}  // namespace gpubench::reports
