// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/storage/storage.h"
#include "kernel_trace/recording.h"
#include "tests/in_folder.h"
#include "tests/kernel_trace/a_trace.h"
#include "tests/matchers.h"
#include "timeline/readers.h"

namespace gpubench::kernel_trace {
namespace {

class Files : public InFolder {};

TEST_F(Files, are_read_again) {
  const Trace trace = sample("a \"b\"");
  trace.write(folder_ / "k.json");
  const timeline::Timeline timeline = timeline::read_chrome_json(folder_ / "k.json");
  EXPECT_THAT(timeline.slices, SizeIs(9));
  EXPECT_EQ(timeline.base_ns, trace.recording().base_ns);
  for (const char* name : {"k.perfetto-trace", "k.stats.json", "k.csv", "k.txt"}) {
    trace.write(folder_ / name);
    EXPECT_GT(std::filesystem::file_size(folder_ / name), 100) << name;
  }
  EXPECT_THROW(trace.write(folder_ / "k.png"), std::invalid_argument);
  EXPECT_THROW(trace.write(folder_), std::exception);
  EXPECT_THROW(trace.write("/dev/full/k.json"), storage::WriteError);
}

constexpr const char* formats[] = {"k.json", "k.perfetto-trace", "k.stats.json", "k.csv", "k.txt"};

TEST_F(Files, hold_hostile_names) {
  const std::string bad = std::string("\"\\</script>\x1b[31m\n\xff\xfe \xe2\x80\xae,=1+1\0x", 30);
  const Trace trace = sample(bad);
  for (const char* name : formats) {
    trace.write(folder_ / name);
    const std::string text = content(folder_ / name);
    if (!std::string_view(name).ends_with("perfetto-trace")) {
      EXPECT_EQ(text.find('\x1b'), std::string::npos) << name;
    }
  }
  for (const char* name : {"k.json", "k.stats.json"})
    EXPECT_TRUE(nlohmann::json::accept(content(folder_ / name))) << name;
  EXPECT_THAT(timeline::read_chrome_json(folder_ / "k.json").slices, SizeIs(9));
}

TEST_F(Files, say_where_there_is_no_room) {
  const Trace trace = sample();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  for (const char* name : formats) {
    EXPECT_THAT(message_of<storage::WriteError>([&] { trace.write(folder_ / name); }), HasSubstr(name));
  }
  (void)::setrlimit(RLIMIT_FSIZE, &before);
  (void)std::signal(SIGXFSZ, handler);
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "no half of a file is left";
}

}  // namespace
}  // namespace gpubench::kernel_trace
