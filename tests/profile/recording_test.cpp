// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>

#include "classifier/classifier.h"
#include "core/storage/storage.h"
#include "profile/injection/counting_plan.h"
#include "profile/injection/options.h"
#include "profile/program_run.h"
#include "profile/recording_reader.h"
#include "profile/recording_writer.h"
#include "profile/verdicts.h"

namespace gpubench::profile {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using timeline::Slice;
using timeline::SliceKind;

class Recording : public testing::Test {
 protected:
  Recording() {
    std::string name = testing::TempDir() + "recordingXXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~Recording() override { std::filesystem::remove_all(folder_); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  [[nodiscard]] std::filesystem::path file(const std::string& name = "1.gprec") const { return folder_ / name; }
  static std::string bytes_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void put(const std::filesystem::path& file, std::string_view bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
  }

  static constexpr std::int64_t start = 1'700'000'000'000'000'000;
  static constexpr RecordingHeader header{.start_ns = start, .process = 42, .parent = 1};

  static void property(RecordingWriter& writer, std::uint8_t device, std::string_view key, std::string_view value) {
    const std::uint32_t number = writer.name(key);
    writer.add(PropertyRecord{.device = device, .key = number, .value = writer.name(value)});
  }

  /// Two launches of a kernel in a range, the second one counted; a copy; memory that is never freed.
  static void write_all(RecordingWriter& writer) {
    property(writer, 255, "command", "./program 1");
    property(writer, 255, "rank", "3");
    for (const auto& [key, value] :
         {std::pair("name", "A GPU"), std::pair("uuid", "GPU-1"), std::pair("multiprocessors", "132"),
          std::pair("max warps", "64"), std::pair("max blocks", "32"), std::pair("registers", "65536"),
          std::pair("shared bytes", "233472")})
      property(writer, 0, key, value);
    const std::uint32_t range = writer.name("step");
    writer.add(MarkerRecord{
        .phase = MarkerPhase::begin, .number = 1, .time = halves(start + 100), .thread = 7, .name = range});
    const std::uint32_t call = writer.name("cudaLaunchKernel_v7000");
    const std::uint32_t kernel = writer.name("_Z4axpyPf");
    const std::uint32_t shape = writer.shape(0, kernel, {.grid = {4, 1, 1}, .block = {256, 1, 1}, .registers = 16});
    for (std::uint32_t i = 0; i < 2; ++i) {
      CallRecord launch{.correlation = 10 + i, .start = halves(start + 200 + 5000 * i), .name = call, .thread = 7};
      set_duration(launch, 1000);
      writer.add(launch);
      KernelRecord run{.correlation = 10 + i, .start = halves(start + 2000 + 5000 * i), .shape = shape, .stream = 13};
      set_duration(run, 1500);
      writer.add(run);
    }
    writer.counted(11, {{writer.name("dram__bytes_read.sum"), 4096.0}});
    CommandRecord copy{.correlation = 20,
                       .start = halves(start + 20'000),
                       .name = writer.name("copy, pageable to device"),
                       .stream = 13,
                       .device = 0,
                       .bytes = halves(1ULL << 33U)};
    set_duration(copy, (1ULL << 33U) + 5);
    writer.add(copy);
    writer.add(MarkerRecord{.phase = MarkerPhase::end, .number = 1, .time = halves(start + 30'000), .thread = 7});
    writer.add(MemoryRecord{.device = 0,
                            .source = writer.name("libx.so"),
                            .time = halves(start + 50),
                            .address = halves(0x7f0000000000ULL),
                            .bytes = halves(1ULL << 20U)});
    writer.note("Something was left out.");
    writer.note("No permission.", true);
    writer.add(
        CostRecord{.name = writer.name("a launch with counters"), .count = 2, .nanoseconds = halves(3'000'000'000ULL)});
    writer.add(DroppedRecord{.count = 3});
    writer.add(EndRecord{});
  }

  std::filesystem::path folder_;
};

TEST_F(Recording, is_read_back_as_it_was_written) {
  {
    RecordingWriter writer(file(), header, 1 << 20);
    write_all(writer);
  }
  const Recordings recordings = read_recordings(folder_);
  const timeline::Timeline& timeline = recordings.timeline;
  ASSERT_THAT(timeline.processes, SizeIs(1));
  EXPECT_EQ(timeline.processes[0].name, "./program 1");
  EXPECT_EQ(timeline.processes[0].rank, 3);
  EXPECT_EQ(timeline.base_ns, start);
  ASSERT_THAT(timeline.slices, SizeIs(6));
  const Slice& range = timeline.slices[0];
  EXPECT_EQ(range.kind, SliceKind::range);
  EXPECT_EQ(range.duration_ns, 29'900);
  EXPECT_FALSE(range.open);
  const Slice& launch = timeline.slices[1];
  EXPECT_EQ(launch.kind, SliceKind::launch);
  const Slice& kernel = timeline.slices[2];
  EXPECT_EQ(timeline.names.text(kernel.name), "_Z4axpyPf");
  EXPECT_EQ(kernel.start_ns, 2000);
  EXPECT_EQ(kernel.duration_ns, 1500);
  EXPECT_FALSE(kernel.counted);
  EXPECT_TRUE(timeline.slices[3].counted);  // its launch
  EXPECT_TRUE(timeline.slices[4].counted);
  EXPECT_EQ(timeline.shapes.at(static_cast<std::size_t>(kernel.detail)).block[0], 256U);
  EXPECT_EQ(timeline.slices[5].detail, 1LL << 33U);
  EXPECT_EQ(timeline.slices[5].duration_ns, (1LL << 33U) + 5);  // over 32 bits
  ASSERT_THAT(timeline.memory, SizeIs(1));
  EXPECT_EQ(timeline.memory[0].bytes, 1 << 20);
  EXPECT_EQ(timeline.dropped, 3);
  EXPECT_THAT(timeline.warnings, ElementsAre("Something was left out."));
  EXPECT_THAT(recordings.counter_notes, ElementsAre("No permission."));
  EXPECT_EQ(recordings.kernels, 2);
  ASSERT_THAT(recordings.costs, SizeIs(1));
  EXPECT_DOUBLE_EQ(recordings.costs[0].seconds, 3.0);
}

TEST_F(Recording, says_which_ranks_have_no_counters) {
  for (const char* const rank : {"0", "1", "2"}) {
    RecordingWriter writer(file(std::string(rank) + ".gprec"), header, 1 << 20);
    property(writer, 255, "rank", rank);
    if (*rank != '0') writer.note("Another process has them.", true);
    writer.note("All are slow.", true);
    writer.add(EndRecord{});
  }
  EXPECT_THAT(read_recordings(folder_).counter_notes,
              ElementsAre("All are slow.", "ranks 1, 2: Another process has them."));
}

TEST_F(Recording, a_kernel_and_its_launch_take_at_most_64_bytes) {
  EXPECT_LE(sizeof(KernelRecord) + sizeof(CallRecord), 64U);
}

TEST_F(Recording, keeps_what_is_whole_wherever_it_is_cut_off) {
  {
    RecordingWriter writer(file(), header, 1 << 20);
    write_all(writer);
  }
  const std::string whole = bytes_of(file());
  std::size_t before = 0;
  for (std::size_t length = sizeof(RecordingHeader); length < whole.size(); ++length) {
    put(file(), std::string_view(whole).substr(0, length));
    const Recordings recordings = read_recordings(folder_);
    EXPECT_GE(recordings.timeline.slices.size(), before);
    before = recordings.timeline.slices.size();
    EXPECT_THAT(recordings.timeline.warnings, Contains(HasSubstr("has no end")));
  }
  EXPECT_EQ(before, 6U);
}

TEST_F(Recording, damage_never_gets_through) {
  {
    RecordingWriter writer(file(), header, 1 << 20);
    write_all(writer);
  }
  const std::string whole = bytes_of(file());
  std::mt19937 random(1);
  for (int round = 0; round < 600; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    put(file(), damaged);
    const Recordings recordings = read_recordings(folder_);
    gpubench::Run run;
    run.devices = devices_of(recordings, {});
    if (!run.devices.empty()) add_program(recordings, {}, run);
    for (const Slice& slice : recordings.timeline.slices) {
      EXPECT_GE(slice.duration_ns, 0);
      EXPECT_LT(slice.track, recordings.timeline.tracks.size());
    }
  }
}

TEST_F(Recording, what_is_none_is_said_and_the_others_are_read) {
  {
    RecordingWriter writer(file("2.gprec"), header, 1 << 20);
    write_all(writer);
  }
  put(file("1.gprec"), "hello");
  put(file("3.gprec"), "");
  const Recordings recordings = read_recordings(folder_);
  EXPECT_EQ(recordings.kernels, 2);
  EXPECT_THAT(recordings.timeline.warnings, Contains(HasSubstr("1.gprec is no recording")));
  EXPECT_THROW(read_recordings(folder_ / "none"), RecordingError);
}

TEST_F(Recording, ends_at_its_limit_and_says_so) {
  {
    RecordingWriter writer(file(), header, 600'000);
    for (int i = 0; i < 40'000; ++i) {
      writer.add(CallRecord{.correlation = 1, .start = halves(start), .name = writer.name("a call"), .thread = 1});
      if (i % 1000 == 0) writer.name("name " + std::to_string(i));
    }
    EXPECT_FALSE(writer.open());
  }
  EXPECT_LT(std::filesystem::file_size(file()), 900'000U);
  const Recordings recordings = read_recordings(folder_);
  EXPECT_GT(recordings.timeline.slices.size(), 15'000U);
  EXPECT_THAT(recordings.timeline.warnings, ElementsAre(HasSubstr("reached its limit")));
}

TEST_F(Recording, ranges_that_never_end_last_to_the_end) {
  {
    RecordingWriter writer(file(), header, 1 << 20);
    const std::uint32_t name = writer.name("outer");
    writer.add(
        MarkerRecord{.phase = MarkerPhase::begin, .number = 1, .time = halves(start + 100), .thread = 7, .name = name});
    CallRecord call{.correlation = 1,
                    .start = halves(start + 500),
                    .name = writer.name("cudaDeviceSynchronize_v3020"),
                    .thread = 7};
    set_duration(call, 500);
    writer.add(call);
    writer.add(EndRecord{});
  }
  const Recordings recordings = read_recordings(folder_);
  ASSERT_THAT(recordings.timeline.slices, SizeIs(2));
  EXPECT_TRUE(recordings.timeline.slices[0].open);
  EXPECT_EQ(recordings.timeline.slices[0].end_ns(), 1000);
  EXPECT_EQ(recordings.timeline.slices[1].kind, SliceKind::synchronization);
}

TEST_F(Recording, keeps_waits_beside_the_calls_that_wait) {
  {
    RecordingWriter writer(file(), header, 1 << 20);
    for (const std::uint8_t type : {std::uint8_t{4}, std::uint8_t{2}}) {
      CallRecord wait{.kind = RecordKind::synchronization,
                      .type = type,
                      .correlation = 9,
                      .start = halves(start + 100),
                      .name = writer.name(timeline::synchronization_names[type])};
      set_duration(wait, 500);
      writer.add(wait);
      wait.correlation = 10;  // gpubench's own, in no call
      writer.add(wait);
    }
    writer.add(CallRecord{.correlation = 9, .start = halves(start + 50), .name = writer.name("cudaFree"), .thread = 1});
    writer.add(EndRecord{});
  }
  const timeline::Timeline timeline = read_recordings(folder_).timeline;
  ASSERT_THAT(timeline.slices, SizeIs(3));
  EXPECT_THAT(timeline.warnings, IsEmpty());
  for (const auto& slice : timeline.slices) {
    if (timeline.names.text(slice.name) == "cudaFree") continue;
    EXPECT_EQ(slice.kind, timeline.names.text(slice.name) == "context synchronization" ? SliceKind::synchronization
                                                                                       : SliceKind::other);
    EXPECT_EQ(slice.correlation, 9);
    EXPECT_EQ(slice.duration_ns, 500);
    EXPECT_EQ(timeline.tracks[slice.track].name, "synchronisation");
  }
}

TEST_F(Recording, on_a_full_disk_keeps_what_was_written_and_says_so) {
  constexpr int cannot = 77;
  const pid_t child = fork();
  if (child == 0) {
    // A disk of its own, which this user may mount within namespaces of its own.
    const bool alone = unshare(CLONE_NEWNS) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    if (!alone || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=600k") != 0)
      _exit(cannot);
    {
      RecordingWriter writer(file(), header, 1 << 30);
      for (std::uint32_t i = 0; i < 100'000 && writer.open(); ++i)
        writer.add(CallRecord{.correlation = i, .start = halves(start), .name = writer.name("a call"), .thread = 1});
      if (writer.open()) _exit(1);
    }
    const Recordings recordings = read_recordings(folder_);
    const bool kept = recordings.timeline.slices.size() > 15'000U;
    const bool said = recordings.timeline.warnings.size() == 1 &&
                      recordings.timeline.warnings[0].find("The disk was full") != std::string::npos;
    _exit(!kept ? 2 : !said ? 3 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == cannot) GTEST_SKIP() << "no small disk can be mounted here, not even in namespaces";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

constexpr const char* recordings_of_ranks = "GPUBENCH_TEST_RECORDINGS";

/// Not a test by itself: a process of the next one.
TEST(DISABLED_Rank, writes_its_recording) {
  if (std::getenv(recordings_of_ranks) == nullptr) GTEST_SKIP() << "it is run by Recording.of_mpirun_names_its_ranks";
  const std::filesystem::path folder = std::getenv(recordings_of_ranks);
  RecordingWriter writer(folder / (std::to_string(getpid()) + ".gprec"), {.start_ns = 1, .process = 1, .parent = 1},
                         1 << 20);
  for (const auto& [key, value] :
       {std::pair("rank", rank_of_process()), std::pair("local rank", local_rank_of_process())}) {
    const std::uint32_t number = writer.name(key);
    writer.add(PropertyRecord{.device = 255, .key = number, .value = writer.name(value)});
  }
  writer.add(EndRecord{});
}

TEST_F(Recording, of_mpirun_names_its_ranks) {
  // NOLINTNEXTLINE(cert-env33-c)
  if (std::system("mpirun --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "mpirun is not installed";
  ::setenv(recordings_of_ranks, folder_.c_str(), 1);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "mpirun -np 2 --oversubscribe --allow-run-as-root '" + self +
                              "' --gtest_also_run_disabled_tests --gtest_filter=DISABLED_Rank.* >'" +
                              (folder_ / "out").string() + "' 2>&1";
  const int status = std::system(command.c_str());  // NOLINT(cert-env33-c)
  ::unsetenv(recordings_of_ranks);
  ASSERT_EQ(status, 0) << bytes_of(folder_ / "out");
  const Recordings recordings = read_recordings(folder_);
  std::set<std::pair<std::int64_t, std::int64_t>> ranks;
  for (const timeline::Process& process : recordings.timeline.processes)
    ranks.emplace(process.rank.value_or(-1), process.local_rank.value_or(-1));
  EXPECT_THAT(ranks, ElementsAre(std::pair(0, 0), std::pair(1, 1)));
}

TEST(CallKind, is_told_by_the_name) {
  EXPECT_EQ(timeline::kind_of_call("cudaLaunchKernelExC_v11060"), SliceKind::launch);
  EXPECT_EQ(timeline::kind_of_call("cuLaunchKernelEx"), SliceKind::launch);
  EXPECT_EQ(timeline::kind_of_call("cudaGraphLaunch_v10000"), SliceKind::launch);
  EXPECT_EQ(timeline::kind_of_call("cudaGraphAddMemcpyNode_v10000"), SliceKind::call);
  EXPECT_EQ(timeline::kind_of_call("cudaLaunchHostFunc_v10000"), SliceKind::call);
  EXPECT_EQ(timeline::kind_of_call("cudaMemcpyAsync_v3020"), SliceKind::transfer);
  EXPECT_EQ(timeline::kind_of_call("cudaStreamSynchronize_v3020"), SliceKind::synchronization);
  EXPECT_EQ(timeline::kind_of_call("cudaMalloc_v3020"), SliceKind::call);
}

TEST_F(Recording, becomes_kernel_groups_with_times_of_launches_that_were_not_counted) {
  {
    RecordingWriter writer(file(), header, 1 << 20);
    write_all(writer);
  }
  const Recordings recordings = read_recordings(folder_);
  gpubench::Run run;
  run.devices = devices_of(recordings, {});
  ASSERT_THAT(run.devices, SizeIs(1));
  EXPECT_EQ(run.devices[0].name, "A GPU");
  GroupOptions options;
  options.metrics = {{"dram_read_bytes", "bytes", {{1.0, "dram__bytes_read.sum"}}}};
  add_program(recordings, options, run);
  ASSERT_THAT(run.points, SizeIs(2));
  const Measurement& copy = run.points[0].measurement;
  EXPECT_EQ(copy.name, "copy-host-to-device/bytes:8589934592/host:pageable");
  const Measurement& kernel = run.points[1].measurement;
  EXPECT_EQ(kernel.name, "axpy/grid:4/block:256/in:step");
  EXPECT_EQ(kernel.kernels.at(0).launch.name, "axpy(float*)");
  EXPECT_EQ(kernel.seconds()->count, 1);
  EXPECT_DOUBLE_EQ(kernel.seconds()->median, 1.5e-6);
  EXPECT_EQ(kernel.grid, (Grid{4, 8}));  // 2048 threads of a multiprocessor
  ASSERT_THAT(kernel.counters, SizeIs(1));
  EXPECT_DOUBLE_EQ(kernel.counters[0].value, 4096.0);
  ASSERT_TRUE(run.program);
  EXPECT_EQ(run.program->kernels.at(1).launches, 2);
  EXPECT_EQ(run.program->kernels.at(1).counted, 1);
  EXPECT_EQ(run.program->kernels.at(1).range, "step");
  EXPECT_EQ(run.program->counters_reason, "No permission.");
  EXPECT_EQ(run.program->kernel_launches, 2);

  gpubench::Run chosen;
  chosen.devices = run.devices;
  options.keeps = [](const std::string& name) { return name == "axpy(float*)"; };
  options.range = "step";
  add_program(recordings, options, chosen);
  EXPECT_THAT(chosen.points, SizeIs(1));
  chosen.points.clear();
  options.range = "another";
  add_program(recordings, options, chosen);
  EXPECT_THAT(chosen.points, IsEmpty());
}

TEST_F(Recording, launches_of_another_range_lend_their_counters_where_they_take_as_long) {
  {
    RecordingWriter writer(file(), header, 1 << 20);
    property(writer, 0, "uuid", "GPU-1");
    const std::uint32_t call = writer.name("cuLaunchKernel");
    const std::uint32_t shape = writer.shape(0, writer.name("gemm"), {.grid = {4, 1, 1}, .block = {256, 1, 1}});
    for (std::uint32_t i = 0; i < 3; ++i) {  // of the same length, and longer
      const std::uint32_t range = writer.name("layer " + std::string(1, static_cast<char>('a' + i)));
      const std::uint64_t at = std::uint64_t{start} + 100'000 * (i + 1);
      writer.add(
          MarkerRecord{.phase = MarkerPhase::begin, .number = i, .time = halves(at), .thread = 7, .name = range});
      for (std::uint32_t k = 0; k < 2; ++k) {
        CallRecord launch{
            .correlation = 10 * i + k + 1, .start = halves(at + 100 + 20'000 * k), .name = call, .thread = 7};
        set_duration(launch, 1000);
        writer.add(launch);
        KernelRecord run{
            .correlation = 10 * i + k + 1, .start = halves(at + 3000 + 20'000 * k), .shape = shape, .stream = 1};
        set_duration(run, i == 2 ? 9000 : 5000 + i);
        writer.add(run);
      }
      writer.add(MarkerRecord{.phase = MarkerPhase::end, .number = i, .time = halves(at + 90'000), .thread = 7});
    }
    writer.counted(1, {{writer.name("dram__bytes_read.sum"), 64.0}});
    writer.add(EndRecord{});
  }
  const Recordings recordings = read_recordings(folder_);
  gpubench::Run run;
  run.devices = devices_of(recordings, {});
  GroupOptions options;
  options.metrics = {{"dram_read_bytes", "bytes", {{1.0, "dram__bytes_read.sum"}}}};
  add_program(recordings, options, run);
  std::map<std::string, std::string> sources;
  for (const Point& point : run.points)
    sources[point.measurement.arguments.back().text.value_or("")] =
        point.measurement.counters.empty() ? "" : point.measurement.counters[0].source;
  EXPECT_EQ(sources["layer a"], "cupti range, mean of 1 launches");
  EXPECT_EQ(sources["layer b"], "cupti range, launches in layer a");
  EXPECT_EQ(sources["layer c"], "");
}

TEST_F(Recording, device_time_is_the_record_less_the_calibrated_cost_of_a_kernel) {
  {
    RecordingWriter writer(file(), header, 1 << 20);
    write_all(writer);
  }
  const Recordings recordings = read_recordings(folder_);
  gpubench::Run run;
  run.devices = devices_of(recordings, {});
  Calibration calibration;
  calibration.device = run.devices[0];
  for (const auto& [resource, seconds] : {std::pair("graph-node", 0.5e-6), std::pair("launch", 1.3e-6)}) {
    Ceiling ceiling;
    ceiling.resource = resource;
    ceiling.value = seconds;
    calibration.ceilings.push_back(ceiling);
  }
  run.calibrations.push_back(calibration);
  add_program(recordings, {}, run);
  const Measurement& kernel = run.points[1].measurement;
  EXPECT_NEAR(seconds_by(kernel, TimingMode::device)->median, 1.0e-6, 1e-12);
  EXPECT_NEAR(seconds_by(kernel, TimingMode::stream)->median, 2.3e-6, 1e-12);
  EXPECT_NEAR(kernel_overhead_of(kernel)->value, 0.5e-6, 1e-12);
}

/// plain_program 6 with --metrics=core --metrics-launches=2, on an H200; judged by the H200's kept ceilings.
TEST(KeptRecording, of_an_h200_gives_the_kernels_that_its_program_runs_and_what_limits_them) {
  Recordings recordings;
  read_recording(GPUBENCH_KEPT_RECORDING, recordings);
  timeline::sort(recordings.timeline);
  EXPECT_EQ(recordings.kernels, 6 * 54 + 10 * 20 + 100);  // steps, a graph, another thread
  EXPECT_EQ(recordings.timeline.dropped, 0);
  EXPECT_THAT(recordings.timeline.warnings, IsEmpty());
  gpubench::Run run;
  run.devices = devices_of(recordings, {});
  ASSERT_THAT(run.devices, SizeIs(1));
  Calibration calibration = storage::read_calibration_for(GPUBENCH_KEPT_CALIBRATION, run.devices);
  calibration.device = run.devices[0];
  run.calibrations.push_back(calibration);
  run = verdicts_of(recordings, std::move(run));
  std::map<std::string, Point> points;
  for (const Point& point : run.points) points[point.measurement.name] = point;
  const auto& triad = points.at("triad/grid:65536/block:256/in:step/stream");
  EXPECT_EQ(triad.verdict->regime, Regime::memory);
  EXPECT_EQ(triad.verdict->limiter, "dram");
  const auto& multiply_add = points.at("multiply_add/grid:1056/block:256/in:step/arithmetic");
  EXPECT_EQ(multiply_add.verdict->regime, Regime::compute);
  const auto& chase = points.at("chase/grid:1/block:1/in:step");
  EXPECT_EQ(chase.verdict->regime, Regime::latency);
  const auto& tiny = points.at("tiny/grid:1/block:32/in:step");
  EXPECT_EQ(tiny.verdict->regime, Regime::overhead);
  ASSERT_TRUE(run.program);
  EXPECT_EQ(run.program->kernels.size(), run.points.size());
  const auto graph = std::ranges::find(run.program->kernels, "tiny/grid:2/block:64", &ProgramKernel::point);
  ASSERT_NE(graph, run.program->kernels.end());
  EXPECT_EQ(graph->launches, 200);
  EXPECT_EQ(graph->counted, 0);  // kernels of graphs never are
  ASSERT_THAT(run.program->memory, testing::Not(IsEmpty()));
  EXPECT_EQ(run.program->memory[0].kind, "device");
  EXPECT_GE(run.program->memory[0].peak_bytes, std::int64_t{4} << 28);
}

/// The same recording as one without counters and one that has them.
TEST(KeptRecording, takes_counters_from_a_further_run) {
  Recordings counted;
  read_recording(GPUBENCH_KEPT_RECORDING, counted);
  timeline::sort(counted.timeline);
  Recordings plain = counted;
  plain.counted.clear();
  const auto points_of = [&](const Recordings& recordings, const std::vector<const Recordings*>& others) {
    gpubench::Run run;
    run.devices = devices_of(recordings, {});
    GroupOptions options;
    for (const Recordings* other : others) options.further.push_back(further_counters(*other, options, run));
    options.metrics = counted_metrics(recordings, options.further);
    add_program(recordings, options, run);
    std::map<std::string, std::map<std::string, double>> values;
    for (const Point& point : run.points)
      for (const Counter& counter : point.measurement.counters) {
        values[point.measurement.name][counter.name] = counter.value;
        EXPECT_THAT(counter.source, HasSubstr(others.empty() ? "launches" : "2 runs"));
      }
    return values;
  };
  const auto expected = points_of(counted, {});
  EXPECT_THAT(expected, Not(IsEmpty()));
  EXPECT_EQ(points_of(plain, {&counted}), expected);
  EXPECT_THAT(points_of(plain, {&plain}), IsEmpty());
}

TEST(BlocksOfAMultiprocessor, follow_from_registers_shared_memory_and_threads) {
  const RecordedDevice device{
      .process = 0,
      .index = 0,
      .properties = {{"max warps", "64"}, {"max blocks", "32"}, {"registers", "65536"}, {"shared bytes", "233472"}}};
  const auto fitting = [&](std::uint32_t threads, std::uint32_t registers, std::uint32_t shared) {
    return blocks_per_multiprocessor({.block = {threads, 1, 1}, .registers = registers, .dynamic_shared_bytes = shared},
                                     device);
  };
  EXPECT_EQ(fitting(256, 16, 0), 8);        // threads
  EXPECT_EQ(fitting(32, 16, 0), 32);        // blocks
  EXPECT_EQ(fitting(256, 64, 0), 4);        // registers
  EXPECT_EQ(fitting(128, 32, 100'000), 2);  // shared memory
  EXPECT_EQ(fitting(1024, 255, 0), std::nullopt);
  EXPECT_EQ(blocks_per_multiprocessor({.block = {256, 1, 1}}, {}), std::nullopt);
}

TEST_F(Recording, does_not_break_the_programs_limit_on_files) {
  constexpr rlim_t most = rlim_t{1} << 20;
  const auto write_much = [&] {
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) std::exit(1);
    RecordingWriter writer(folder_ / "limited.gprec", {}, std::uint64_t{1} << 30);
    for (int i = 0; i < 100'000; ++i) (void)writer.name("a name of some length, number " + std::to_string(i));
    std::exit(0);
  };
  EXPECT_EXIT(write_much(), testing::ExitedWithCode(0), "");
  EXPECT_GT(std::filesystem::file_size(folder_ / "limited.gprec"), most / 2);
  EXPECT_THAT(read_recordings(folder_).timeline.warnings, Contains(HasSubstr("reached its limit on disk")));
}

TEST(CountingPlan, takes_the_first_launches_and_then_ever_rarer_ones) {
  const CountingPlan plan{.first = 4};
  CountingPlan::Group group = plan.group(0, 1);
  std::vector<int> counted;
  for (int launch = 1; launch <= 1000; ++launch) {
    ++group.launches;
    if (!plan.due(group, 0) && !plan.due_again(group, 0)) continue;
    ++group.counted[0];
    counted.push_back(launch);
  }
  EXPECT_THAT(counted, ElementsAre(1, 2, 3, 4, 64, 128, 256, 512));
}

TEST(CountingPlan, later_ranges_of_the_same_launch_get_fewer) {
  const CountingPlan plan{.first = 20};
  EXPECT_EQ(plan.group(0, 2).first, 20U);
  EXPECT_EQ(plan.group(1, 2).first, 3U);
  EXPECT_EQ(CountingPlan{.first = 1}.group(1, 2).first, 1U);
  EXPECT_THAT(plan.group(1, 2).counted, ElementsAre(0, 0));
}

TEST(RangePath, equal_paths_have_equal_numbers) {
  RangePath path;
  EXPECT_EQ(path.number(), 0U);
  path.push(0, 11);
  const std::uint64_t outer = path.number();
  path.push(0, 12);
  const std::uint64_t inner = path.number();
  EXPECT_NE(outer, inner);
  path.pop(0);
  EXPECT_EQ(path.number(), outer);
  path.push(0, 12);
  EXPECT_EQ(path.number(), inner);
  path.pop(7);  // a domain without a range
  EXPECT_EQ(path.number(), inner);
  path.push(7, 12);
  EXPECT_NE(path.number(), inner);
  path.pop(7);
  path.pop(0);
  path.pop(0);
  path.pop(0);
  EXPECT_EQ(path.number(), 0U);
  path.push(0, 12);
  EXPECT_NE(path.number(), inner);  // elsewhere in the tree
}

TEST_F(Recording, options_are_read_back) {
  InjectionOptions options;
  options.max_bytes = 12345;
  options.start_after_seconds = 1.5;
  options.duration_seconds = 2.25;
  options.capture_range = true;
  options.counted_launches = 7;
  options.counter_sets = {{"a.sum", "b.avg"}, {"c.ratio"}};
  put(folder_ / recording_options_file, to_text(options));
  const InjectionOptions read = read_injection_options(folder_ / recording_options_file);
  EXPECT_EQ(to_text(read), to_text(options));
  EXPECT_EQ(read.counter_sets, options.counter_sets);
  EXPECT_EQ(to_text(read_injection_options(folder_ / "none")), to_text(InjectionOptions()));
}

}  // namespace
}  // namespace gpubench::profile
