// SPDX-License-Identifier: Apache-2.0
// A folder in which a test writes recordings.
#pragma once

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "profile/recording_writer.h"
#include "tests/in_folder.h"

namespace gpubench::profile {

class Recording : public InFolder {
 protected:
  [[nodiscard]] std::filesystem::path file(const std::string& name = "1.gprec") const { return folder_ / name; }
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
  void write_whole() const {
    RecordingWriter writer(file(), header, 1 << 20);
    write_all(writer);
  }
};

}  // namespace gpubench::profile
