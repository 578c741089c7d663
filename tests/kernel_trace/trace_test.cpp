// SPDX-License-Identifier: Apache-2.0
#include "kernel_trace/trace.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/storage/storage.h"
#include "tests/kernel_trace/a_trace.h"
#include "tests/matchers.h"
#include "timeline/readers.h"

namespace gpubench::kernel_trace {
namespace {

TEST(Files, are_read_again) {
  const auto folder = std::filesystem::temp_directory_path() / ("gpubench-kernel-trace-" + std::to_string(::getpid()));
  const Trace trace = sample("a \"b\"");
  trace.write(folder / "k.json");
  const timeline::Timeline timeline = timeline::read_chrome_json(folder / "k.json");
  EXPECT_THAT(timeline.slices, SizeIs(9));
  EXPECT_EQ(timeline.base_ns, trace.recording().base_ns);
  for (const char* name : {"k.perfetto-trace", "k.stats.json", "k.csv", "k.txt"}) {
    trace.write(folder / name);
    EXPECT_GT(std::filesystem::file_size(folder / name), 100) << name;
  }
  EXPECT_THROW(trace.write(folder / "k.png"), std::invalid_argument);
  EXPECT_THROW(trace.write(folder), std::exception);
  EXPECT_THROW(trace.write("/dev/full/k.json"), storage::WriteError);
  std::filesystem::remove_all(folder);
}

std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}
constexpr const char* formats[] = {"k.json", "k.perfetto-trace", "k.stats.json", "k.csv", "k.txt"};

TEST(Files, hold_hostile_names) {
  const auto folder = std::filesystem::temp_directory_path() / ("gpubench-hostile-trace-" + std::to_string(::getpid()));
  const std::string bad = std::string("\"\\</script>\x1b[31m\n\xff\xfe \xe2\x80\xae,=1+1\0x", 30);
  const Trace trace = sample(bad);
  for (const char* name : formats) {
    trace.write(folder / name);
    const std::string text = contents(folder / name);
    if (!std::string_view(name).ends_with("perfetto-trace")) {
      EXPECT_EQ(text.find('\x1b'), std::string::npos) << name;
    }
  }
  for (const char* name : {"k.json", "k.stats.json"})
    EXPECT_TRUE(nlohmann::json::accept(contents(folder / name))) << name;
  EXPECT_THAT(timeline::read_chrome_json(folder / "k.json").slices, SizeIs(9));
  std::filesystem::remove_all(folder);
}

TEST(Files, say_where_there_is_no_room) {
  const auto folder = std::filesystem::temp_directory_path() / ("gpubench-full-trace-" + std::to_string(::getpid()));
  const Trace trace = sample();
  std::filesystem::create_directories(folder);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  for (const char* name : formats) {
    try {
      trace.write(folder / name);
      ADD_FAILURE() << name << " was written";
    } catch (const storage::WriteError& error) {
      EXPECT_THAT(error.what(), HasSubstr(name));
    }
  }
  (void)::setrlimit(RLIMIT_FSIZE, &before);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(std::filesystem::is_empty(folder)) << "no half of a file is left";
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gpubench::kernel_trace
