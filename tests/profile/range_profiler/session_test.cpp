// SPDX-License-Identifier: Apache-2.0
// The session of a process, with records and counters of a fake device.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "core/base/files.h"
#include "profile/range_profiler/sources.h"
#include "tests/matchers.h"

namespace gpubench::profile {
namespace {

/// Launches kernels, and writes what CUPTI would tell of them into the session's recording.
struct FakeDevice {
  void launch(std::uint64_t nanoseconds) {
    const std::uint32_t correlation = call("cudaLaunchKernel_v7000");
    const auto lock = recording->lock();
    KernelRecord kernel{.correlation = correlation,
                        .start = halves(now()),
                        .shape = recording->shape(0, recording->name("kernel"), {}),
                        .stream = 7};
    set_duration(kernel, nanoseconds);
    recording->add(kernel);
  }
  void allocate(std::uint64_t address, std::uint64_t bytes, bool allocation = true) {
    const std::uint64_t time = now();
    (void)call("cudaMalloc_v3020", time);
    const auto lock = recording->lock();
    recording->add(MemoryRecord{.freed = static_cast<std::uint8_t>(!allocation),
                                .device = 0,
                                .time = halves(time),
                                .address = halves(address),
                                .bytes = halves(bytes)});
  }
  [[nodiscard]] static std::uint64_t now() {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
  }

  RecordingWriter* recording = nullptr;
  bool is_recording = false;
  std::vector<std::string> counted;  ///< what the counters of a fake chip see: "begin 0", "end"

 private:
  std::uint32_t call(const char* name, std::uint64_t time = now()) {
    const auto lock = recording->lock();
    CallRecord record{.correlation = ++calls_,
                      .start = halves(time),
                      .name = recording->name(name),
                      .thread = static_cast<std::uint32_t>(gettid())};
    set_duration(record, 1);
    recording->add(record);
    return record.correlation;
  }
  std::atomic<std::uint32_t> calls_ = 0;
};

class FakeRecords final : public RecordSource {
 public:
  FakeRecords(FakeDevice& device, RecordingWriter& recording) : device_(device) {
    device_.recording = &recording;
    device_.is_recording = true;
  }
  void flush() override {}
  void stop() override { device_.is_recording = false; }
  void forget_names() override {}
  [[nodiscard]] std::uint64_t now() const noexcept override { return FakeDevice::now(); }

 private:
  FakeDevice& device_;
};

/// Each piece has as many bytes as its number, and one.
class FakeCounters final : public bench::MetricSource {
 public:
  explicit FakeCounters(FakeDevice& device) : device_(device) {}
  [[nodiscard]] std::string_view name() const override { return "fake"; }
  [[nodiscard]] std::string chip() const override { return "FK100"; }
  [[nodiscard]] std::optional<std::string> unit(const std::string& metric) override {
    return metric.find("unknown") == std::string::npos ? std::optional<std::string>("bytes") : std::nullopt;
  }
  [[nodiscard]] std::optional<std::size_t> passes(const std::vector<std::string>& metrics) override {
    return metrics.size() > 2 ? 2 : 1;
  }
  void begin(const std::vector<std::string>& metrics) override { metrics_ = metrics; }
  void count(std::size_t, const bench::CountedExecution&) override {}
  void begin_range(std::size_t point) override {
    device_.counted.push_back("begin " + std::to_string(point));
    for (const std::string& metric : metrics_) values_[point].values[metric] = static_cast<double>(point + 1);
  }
  void end_range() override { device_.counted.emplace_back("end"); }
  [[nodiscard]] std::map<std::size_t, bench::MetricValues> read() override { return std::exchange(values_, {}); }

 private:
  FakeDevice& device_;
  std::vector<std::string> metrics_;
  std::map<std::size_t, bench::MetricValues> values_;
};

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    use_sources(
        {[this](RecordingWriter& recording, bool) { return std::make_unique<FakeRecords>(device(), recording); },
         [this] { return std::make_unique<FakeCounters>(device()); }});
    reset();
  }
  ~SessionTest() override {
    disable();
    use_sources({});
  }
  /// Outlives the test: what a session has opened stays to the end of the process.
  FakeDevice& device() {
    static std::deque<FakeDevice> all;
    if (device_ == nullptr) device_ = &all.emplace_back();
    return *device_;
  }
  static std::vector<std::string> paths(const std::vector<RangeResult>& results) {
    std::vector<std::string> paths;
    for (const RangeResult& result : results) paths.push_back(result.path);
    return paths;
  }

 private:
  FakeDevice* device_ = nullptr;
};

TEST_F(SessionTest, NestedRangesAddUp) {
  EXPECT_TRUE(enable().records);
  for (int i = 0; i < 2; ++i) {
    const Range step("step");
    device().launch(10);
    {
      const Range gemm("gemm", "CONCURRENT_KERNEL");
      device().launch(100);
    }
    device().launch(1);
  }
  device().launch(7);
  const auto all = results();
  EXPECT_THAT(paths(all), ElementsAre("step", "step/gemm"));
  EXPECT_EQ(all[0].calls, 2);
  EXPECT_EQ(all[0].kernels, 6);
  EXPECT_EQ(all[0].exclusive_kernels, 4);
  EXPECT_EQ(all[0].metrics[0].inclusive, 222.0);
  EXPECT_EQ(all[0].metrics[0].exclusive, 22.0);
  EXPECT_GT(all[0].host_ms, 0.0);
  EXPECT_EQ(all[1].depth, 1);
  EXPECT_EQ(results(Reduction::max)[0].metrics[0].inclusive, 100.0);
  EXPECT_EQ(results(Reduction::mean)[1].metrics[0].inclusive, 100.0);
  EXPECT_EQ(status().kernels_outside, 1);
  reset();
  EXPECT_TRUE(results().empty());
}

void function_of_mine(FakeDevice& device) {
  GPUBENCH_PROFILE_FUNCTION();
  device.launch(5);
}

TEST_F(SessionTest, AFunctionIsARange) {
  (void)enable();
  function_of_mine(device());
  EXPECT_THAT(paths(results()), ElementsAre("function_of_mine"));
}

TEST_F(SessionTest, NothingIsRecordedBeforeAndAfter) {
  { const Range before("before"); }
  (void)enable();
  disable();
  EXPECT_FALSE(device().is_recording);
  { const Range after("after"); }
  EXPECT_TRUE(results().empty());
  EXPECT_FALSE(status().enabled);
}

TEST_F(SessionTest, ARangeMayOutliveItsSession) {
  (void)enable();
  auto range = std::make_unique<Range>("open");
  disable();
  (void)enable();
  range.reset();
  device().launch(3);
  EXPECT_EQ(results()[0].kernels, 0);
  EXPECT_EQ(status().kernels_outside, 1);
}

TEST_F(SessionTest, AnOpenRangeMayOutliveAReset) {
  (void)enable();
  {
    const Range open("open");
    reset();
    const Range inner("inner");
    device().launch(3);
  }
  const auto all = results();
  EXPECT_THAT(paths(all), ElementsAre("inner"));
  EXPECT_EQ(all[0].kernels, 1);
}

TEST_F(SessionTest, ACopyOfTheProcessLeavesTheRecordingAlone) {
  (void)enable();
  { const Range range("before"); }
  const Range open("open");
  const pid_t copy = fork();
  if (copy == 0) {
    for (int i = 0; i < 10'000; ++i) const Range range("in the copy");
    disable();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(copy, &status, 0), copy);
  EXPECT_EQ(status, 0);
  { const Range range("after"); }
  EXPECT_THAT(paths(results()), ElementsAre("before", "open", "open/after"));
}

TEST_F(SessionTest, ThreadsHaveStacksOfTheirOwn) {
  (void)enable();
  const Range outer("outer");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 250; ++i) {
        const Range work("work");
        device().launch(1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  const auto all = results();
  const auto work = std::ranges::find(all, "work", &RangeResult::path);
  ASSERT_NE(work, all.end());
  EXPECT_EQ(work->calls, 1000);
  EXPECT_EQ(work->kernels, 1000);
}

TEST_F(SessionTest, MemoryRangesHaveAReportOfTheirOwn) {
  (void)enable();
  {
    const Range range("buffers", "MEMORY");
    device().allocate(1, 1 << 20);
    device().allocate(2, 1 << 20);
    device().allocate(1, 1 << 20, false);
  }
  const MemoryActivity activity = memory_activity();
  ASSERT_EQ(activity.ranges.size(), 1U);
  EXPECT_EQ(activity.ranges[0].memory->peak_bytes, 2U << 20);
  EXPECT_EQ(activity.ranges[0].memory->live_bytes, 1U << 20);
  EXPECT_THAT(memory_activity_text(), HasSubstr("Allocations: 2 operations, 2097152 bytes (2.00 MiB)"));
  EXPECT_THAT(ranges_text(), HasSubstr("Number of ranges: 0\n"));
}

TEST_F(SessionTest, CountersAreOfTheStretchesBetweenRanges) {
  const Status at_start =
      enable({.metrics = {"a__bytes.sum", "b__unknown.sum", "c__rate.sum.per_second", "d__bytes.sum", "e__bytes.sum"}});
  EXPECT_TRUE(at_start.counters);
  EXPECT_THAT(at_start.counters_reason, HasSubstr("c__rate.sum.per_second: it relates to time"));
  EXPECT_THAT(at_start.counters_reason, HasSubstr("e__bytes.sum: a range runs once"));
  EXPECT_THAT(at_start.counters_reason, HasSubstr("b__unknown.sum: FK100 has no metric of this name"));
  {
    const Range outer("outer");
    const Range inner("inner");
  }
  EXPECT_THAT(device().counted, ElementsAre("begin 0", "end", "begin 1", "end", "begin 2", "end"));
  const auto all = results();
  ASSERT_EQ(all[0].metrics.size(), 3U);
  EXPECT_EQ(all[0].metrics[1].name, "a__bytes.sum");
  EXPECT_EQ(all[0].metrics[1].inclusive, 6.0);  // pieces 1 + 2 + 3
  EXPECT_EQ(all[0].metrics[1].exclusive, 4.0);
  EXPECT_EQ(all[1].metrics[1].inclusive, 2.0);
}

TEST_F(SessionTest, AWrongMetricIsAReasonAndNoFailure) {
  const Status at_start = enable({.metrics = {"nonsense"}});
  EXPECT_TRUE(at_start.records);
  EXPECT_FALSE(at_start.counters);
  EXPECT_THAT(at_start.text(), HasSubstr("No counters are read: There is no metric 'nonsense'."));
}

TEST_F(SessionTest, WithoutRecordsRangesAreStillCounted) {
  use_sources({[](RecordingWriter&, bool) -> std::unique_ptr<RecordSource> {
                 throw bench::MetricsUnavailable("no driver; install one");
               },
               [this] { return std::make_unique<FakeCounters>(device()); }});
  EXPECT_FALSE(enable().records);
  { const Range range("range"); }
  const auto all = results();
  EXPECT_EQ(all[0].calls, 1);
  EXPECT_EQ(all[0].kernels, std::nullopt) << "absent, not zero";
  EXPECT_EQ(all[0].memory, std::nullopt);
  EXPECT_THAT(ranges_text(), HasSubstr("No kernels and no memory are recorded: no driver; install one.\n"));
  EXPECT_EQ(memory_activity().reason, "no driver; install one");
}

TEST_F(SessionTest, AnotherProfilerKeepsItsRecords) {
  setenv("CUDA_INJECTION64_PATH", "/opt/other.so", 1);
  const Status at_start = enable();
  unsetenv("CUDA_INJECTION64_PATH");
  EXPECT_FALSE(at_start.records);
  EXPECT_FALSE(device().is_recording);
  EXPECT_THAT(at_start.records_reason, HasSubstr("CUDA_INJECTION64_PATH is set"));
}

TEST_F(SessionTest, WritesFilesAndTheirFolders) {
  (void)enable();
  { const Range range("range"); }
  const PrivateFolder folder;
  const auto csv = folder.path() / "out" / "deep" / "result.csv";
  EXPECT_EQ(write_ranges(csv.string()), "");
  EXPECT_EQ(write_ranges((folder.path() / "result.json").string()), "");
  std::stringstream text;
  text << std::ifstream(csv).rdbuf();
  EXPECT_THAT(text.str(), HasSubstr("\"range\",CONCURRENT_KERNEL,0,\"calls\",,,1,,\n"));
  std::ifstream json(folder.path() / "result.json");
  EXPECT_EQ(nlohmann::json::parse(json)["ranges"][0]["name"], "range");
  EXPECT_THAT(write_ranges((folder.path() / "result.xls").string()), HasSubstr("end it with .csv or .json"));
  EXPECT_THAT(write_ranges("/proc/nowhere/result.csv"), HasSubstr("cannot be written"));
}

TEST(RangeTypes, AreKnownByTheirTexts) {
  EXPECT_EQ(range_type("CONCURRENT_KERNEL"), RangeType::kernels);
  EXPECT_EQ(range_type("MEMORY"), RangeType::memory);
  EXPECT_EQ(range_type("memory"), std::nullopt);
}

}  // namespace
}  // namespace gpubench::profile
