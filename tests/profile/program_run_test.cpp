// SPDX-License-Identifier: Apache-2.0

#include <map>

#include "core/model/points.h"
#include "profile/verdicts.h"
#include "tests/matchers.h"
#include "tests/profile/a_recording.h"

namespace gpubench::profile {
namespace {

TEST_F(Recording, becomes_kernel_groups_with_times_of_launches_that_were_not_counted) {
  write_whole();
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

/// Of what began in the windows are times, counters of all launches; what did nothing there is left out.
TEST_F(Recording, of_a_steady_state_has_its_times_and_the_counters_of_all) {
  write_whole();
  const Recordings recordings = read_recordings(folder_);
  gpubench::Run run;
  run.devices = devices_of(recordings, {});
  GroupOptions options;
  options.metrics = {{"dram_read_bytes", "bytes", {{1.0, "dram__bytes_read.sum"}}}};
  options.windows.resize(1);
  options.windows[0].add(1000, 6000);  // the first launch alone; the second is the counted one
  add_program(recordings, options, run);
  ASSERT_THAT(run.points, SizeIs(1));
  ASSERT_THAT(run.points[0].measurement.counters, SizeIs(1));
  EXPECT_DOUBLE_EQ(run.points[0].measurement.counters[0].value, 4096.0);
  EXPECT_EQ(run.program->kernels.at(0).launches, 1);
  EXPECT_EQ(run.program->kernels.at(0).counted, 0);
  timeline::StringPool paths;
  std::vector<std::uint32_t> of_slice;
  const auto groups = kernel_groups(recordings, options, run, paths, &of_slice);
  ASSERT_THAT(groups, SizeIs(1));
  ASSERT_EQ(of_slice.size(), recordings.timeline.slices.size());
  for (std::size_t i = 0; i < of_slice.size(); ++i)
    EXPECT_EQ(of_slice[i] == 0, recordings.timeline.slices[i].kind == timeline::SliceKind::kernel) << i;
}

/// Two launches of one kernel with one shape in a range, the first of them with these counters.
struct Layer {
  std::string range;
  std::uint64_t ns = 0;
  std::vector<std::string> counted;
};

/// Of each metric of each range the source.
std::map<std::string, std::map<std::string, std::string>> sources_of(const std::filesystem::path& folder,
                                                                     const std::vector<Layer>& layers,
                                                                     RecordingWriter& writer,
                                                                     const std::uint64_t start) {
  const std::uint32_t key = writer.name("uuid");
  writer.add(PropertyRecord{.device = 0, .key = key, .value = writer.name("GPU-1")});
  const std::uint32_t call = writer.name("cuLaunchKernel");
  const std::uint32_t shape = writer.shape(0, writer.name("gemm"), {.grid = {4, 1, 1}, .block = {256, 1, 1}});
  std::uint32_t number = 0;
  for (const Layer& layer : layers) {
    const std::uint64_t at = start + 100'000 * ++number;
    writer.add(MarkerRecord{.phase = MarkerPhase::begin,
                            .number = number,
                            .time = halves(at),
                            .thread = 7,
                            .name = writer.name(layer.range)});
    for (std::uint32_t k = 0; k < 2; ++k) {
      const std::uint32_t correlation = 10 * number + k;
      CallRecord launch{.correlation = correlation, .start = halves(at + 100 + 20'000 * k), .name = call, .thread = 7};
      set_duration(launch, 1000);
      writer.add(launch);
      KernelRecord run{
          .correlation = correlation, .start = halves(at + 3000 + 20'000 * k), .shape = shape, .stream = 1};
      set_duration(run, layer.ns);
      writer.add(run);
    }
    writer.add(MarkerRecord{.phase = MarkerPhase::end, .number = number, .time = halves(at + 90'000), .thread = 7});
    std::vector<std::pair<std::uint32_t, double>> values;
    for (const std::string& counter : layer.counted) values.emplace_back(writer.name(counter), 64.0);
    if (!values.empty()) writer.counted(10 * number, values);
  }
  writer.add(EndRecord{});
  writer.flush();
  const Recordings recordings = read_recordings(folder);
  gpubench::Run run;
  run.devices = devices_of(recordings, {});
  GroupOptions options;
  options.metrics = {{"dram_read_bytes", "bytes", {{1.0, "dram__bytes_read.sum"}}},
                     {"l2_bytes", "bytes", {{1.0, "lts__t_bytes.sum"}}}};
  add_program(recordings, options, run);
  std::map<std::string, std::map<std::string, std::string>> sources;
  for (const Point& point : run.points)
    for (const Counter& counter : point.measurement.counters)
      sources[point.measurement.arguments.back().text.value_or("")][counter.name] = counter.source;
  return sources;
}

TEST_F(Recording, launches_of_another_range_lend_their_counters_where_they_take_as_long) {
  RecordingWriter writer(file(), header, 1 << 20);
  auto sources =
      sources_of(folder_, {{"layer a", 5000, {"dram__bytes_read.sum"}}, {"layer b", 5001, {}}, {"layer c", 9000, {}}},
                 writer, start);
  EXPECT_EQ(sources["layer a"]["dram_read_bytes"], "cupti range, of 1 launch");
  EXPECT_EQ(sources["layer b"]["dram_read_bytes"], "cupti range, launches in layer a");
  EXPECT_THAT(sources["layer c"], IsEmpty());
}

/// As in a model whose layers have numbers, where few launches could be counted, each by one set.
TEST_F(Recording, places_that_differ_in_numbers_lend_what_the_other_was_not_counted_for) {
  RecordingWriter writer(file(), header, 1 << 20);
  auto sources = sources_of(folder_,
                            {{"layer 1", 5000, {"dram__bytes_read.sum"}},
                             {"layer 12", 6000, {}},
                             {"head", 6000, {"lts__t_bytes.sum"}},
                             {"tail", 5600, {}}},
                            writer, start);
  EXPECT_EQ(sources["layer 12"]["dram_read_bytes"], "cupti range, launches in layer 1");
  EXPECT_EQ(sources["layer 12"]["l2_bytes"], "cupti range, launches in head");
  EXPECT_EQ(sources["layer 1"]["dram_read_bytes"], "cupti range, of 1 launch");
  EXPECT_FALSE(sources["layer 1"].contains("l2_bytes"));
  EXPECT_FALSE(sources["head"].contains("dram_read_bytes"));
  EXPECT_THAT(sources["tail"], IsEmpty());
}

/// As torch.compile with CUDA graphs has it: a kernel runs twice by itself, before the steady state, then in a graph.
TEST_F(Recording, launches_before_a_capture_lend_their_counters_to_the_graph) {
  {
    RecordingWriter writer(file(), header, 1 << 20);
    property(writer, 0, "uuid", "GPU-1");
    const std::uint32_t shape = writer.shape(0, writer.name("gemm"), {.grid = {4, 1, 1}, .block = {256, 1, 1}});
    const std::uint32_t step = writer.name("step");
    const auto runs = [&](std::uint32_t correlation, std::uint64_t at, bool in_graph) {
      CallRecord launch{.correlation = correlation,
                        .start = halves(start + at),
                        .name = writer.name(in_graph ? "cudaGraphLaunch" : "cudaLaunchKernel"),
                        .thread = 7};
      set_duration(launch, 100);
      writer.add(launch);
      KernelRecord kernel{.in_graph = in_graph ? std::uint8_t{1} : std::uint8_t{0},
                          .correlation = correlation,
                          .start = halves(start + at + 500),
                          .shape = shape,
                          .stream = 1};
      set_duration(kernel, in_graph ? 5000 : 5100);
      writer.add(kernel);
    };
    runs(1, 0, false);
    runs(2, 10'000, false);
    writer.add(MarkerRecord{
        .phase = MarkerPhase::begin, .number = 1, .time = halves(start + 90'000), .thread = 7, .name = step});
    for (std::uint32_t i = 0; i < 4; ++i) runs(10 + i, 100'000 + 10'000 * i, true);
    writer.add(MarkerRecord{.phase = MarkerPhase::end, .number = 1, .time = halves(start + 190'000), .thread = 7});
    writer.counted(1, {{writer.name("dram__bytes_read.sum"), 64.0}});
    writer.add(EndRecord{});
  }
  const Recordings recordings = read_recordings(folder_);
  gpubench::Run run;
  run.devices = devices_of(recordings, {});
  GroupOptions options;
  options.metrics = {{"dram_read_bytes", "bytes", {{1.0, "dram__bytes_read.sum"}}}};
  options.windows.resize(1);
  options.windows[0].add(95'000, 190'000);
  add_program(recordings, options, run);
  ASSERT_THAT(run.points, SizeIs(1));
  EXPECT_EQ(run.program->kernels[0].launches, 4);
  ASSERT_THAT(run.points[0].measurement.counters, SizeIs(1));
  EXPECT_DOUBLE_EQ(run.points[0].measurement.counters[0].value, 64.0);
  EXPECT_EQ(run.points[0].measurement.counters[0].source,
            "cupti range, like launches outside of its graph in no range");
}

TEST_F(Recording, device_time_is_the_record_less_the_calibrated_cost_of_a_kernel) {
  write_whole();
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

}  // namespace
}  // namespace gpubench::profile
