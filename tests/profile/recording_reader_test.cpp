// SPDX-License-Identifier: Apache-2.0
#include "profile/recording_reader.h"

#include <unistd.h>

#include <cstdlib>
#include <random>
#include <set>

#include "profile/injection/options.h"
#include "profile/verdicts.h"
#include "tests/matchers.h"
#include "tests/profile/a_recording.h"

namespace gpubench::profile {
namespace {

using timeline::Slice;
using timeline::SliceKind;

/// A stream is captured, in an order that its graph does not keep, and the graph instantiated: its nodes are copies.
TEST_F(Recording, ties_works_of_graphs_to_the_calls_that_made_their_nodes) {
  {
    RecordingWriter writer(file(), header, 1 << 20);
    const std::uint32_t call = writer.name("cudaLaunchKernel_v7000"), launch = writer.name("cudaGraphLaunch_v10000");
    std::vector<std::uint32_t> shapes;
    for (const char* const name : {"gemm", "relu"})
      shapes.push_back(writer.shape(0, writer.name(name), {.grid = {4, 1, 1}, .block = {32, 1, 1}}));
    const auto calls = [&](std::uint32_t correlation, std::uint64_t at, std::uint32_t name, std::uint32_t thread) {
      CallRecord made{.correlation = correlation, .start = halves(start + at), .name = name, .thread = thread};
      set_duration(made, 50);
      writer.add(made);
    };
    const auto node = [&](std::uint64_t number, std::uint64_t copy_of, std::uint64_t at, std::uint32_t thread) {
      writer.add(GraphNodeRecord{
          .node = halves(number), .copy_of = halves(copy_of), .time = halves(start + at), .thread = thread});
    };
    node(1, 0, 120, 7);  // within the first call
    node(2, 0, 220, 7);
    node(3, 0, 120, 8);  // of a thread whose calls are not recorded
    for (const std::uint64_t number : {1, 2, 3}) {
      node((number << 40U) + 1, 0, 400, 7);  // as CUPTI may tell of the copy as well
      node((number << 40U) + 1, number, 400, 7);
    }
    calls(1, 100, call, 7);
    calls(2, 200, call, 7);
    calls(3, 1000, launch, 7);
    const auto runs = [&](std::uint64_t number, std::uint64_t at, std::uint32_t shape) {
      writer.add(OfNodeRecord{.node = halves((number << 40U) + 1)});
      KernelRecord kernel{.in_graph = 1, .correlation = 3, .start = halves(start + at), .shape = shape, .stream = 13};
      set_duration(kernel, 10);
      writer.add(kernel);
    };
    runs(2, 1100, shapes[1]);
    runs(1, 1200, shapes[0]);
    runs(3, 1300, shapes[0]);
    writer.add(EndRecord{});
  }
  const timeline::Timeline timeline = read_recordings(folder_).timeline;
  EXPECT_THAT(timeline.warnings, IsEmpty());
  std::map<std::int64_t, std::int64_t> made;  // by start of the work that of the call
  for (const timeline::Flow& flow : timeline.flows) {
    EXPECT_EQ(timeline.names.text(flow.name), timeline::capture_flow);
    made[timeline.slices[flow.to].start_ns] = timeline.slices[flow.from].start_ns;
  }
  EXPECT_THAT(made, ElementsAre(std::pair(1100, 200), std::pair(1200, 100)));
}

TEST_F(Recording, knows_kernels_of_nccl_by_the_names_that_the_linker_has) {
  {
    RecordingWriter writer(file(), header, 1 << 20);
    std::uint64_t at = 1000;
    for (const char* const name : {"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
                                   "ncclKernel_Sum", "_Z4gemmPf"}) {
      KernelRecord kernel{.correlation = 0,
                          .start = halves(start + (at += 100)),
                          .shape = writer.shape(0, writer.name(name), {.grid = {4, 1, 1}, .block = {32, 1, 1}}),
                          .stream = 7};
      set_duration(kernel, 10);
      writer.add(kernel);
    }
    writer.add(EndRecord{});
  }
  std::map<std::int64_t, SliceKind> kinds;
  for (const Slice& slice : read_recordings(folder_).timeline.slices) kinds[slice.start_ns] = slice.kind;
  EXPECT_THAT(kinds, ElementsAre(std::pair(1100, SliceKind::communication), std::pair(1200, SliceKind::communication),
                                 std::pair(1300, SliceKind::kernel)));
}

TEST_F(Recording, is_read_back_as_it_was_written) {
  write_whole();
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

TEST_F(Recording, keeps_what_is_whole_wherever_it_is_cut_off) {
  write_whole();
  const std::string whole = content(file());
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
  write_whole();
  const std::string whole = content(file());
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

TEST_F(Recording, times_far_from_its_start_are_damage) {
  constexpr std::uint64_t last = start + (std::int64_t{1} << 60U), in_1970 = 1'000'000'000;
  for (const std::uint64_t far : {last + 1, in_1970}) {
    {
      RecordingWriter writer(file(), header, 1 << 20);
      const std::uint32_t call = writer.name("cudaMalloc_v3020");
      for (const std::uint64_t time : {last, far})
        writer.add(CallRecord{.start = halves(time), .name = call, .thread = 7});
    }
    const Recordings recordings = read_recordings(folder_);
    EXPECT_THAT(recordings.timeline.slices, SizeIs(1));
    EXPECT_THAT(recordings.timeline.warnings, Contains(HasSubstr("is cut off or damaged after")));
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
  EXPECT_EQ(recordings.timeline.names.text(recordings.timeline.slices[1].name), "cudaDeviceSynchronize");
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
  ASSERT_EQ(status, 0) << content(folder_ / "out");
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

}  // namespace
}  // namespace gpubench::profile
