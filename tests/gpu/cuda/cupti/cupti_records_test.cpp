// SPDX-License-Identifier: Apache-2.0
#include "gpu/cuda/cupti/cupti_records.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>
#include <vector>

namespace gpubench::bench {
namespace {

using gpu::RecordedActivity;

/// The first `bytes` of a record, in memory that ends behind them.
template <class Record>
std::vector<std::uint8_t> cut(const Record& record, std::size_t bytes = sizeof(Record)) {
  std::vector<std::uint8_t> result(bytes);
  std::memcpy(result.data(), &record, bytes);
  return result;
}

template <class Activity, class Record>
Activity decoded(const Record& record) {
  return std::get<Activity>(decode_record(cut(record)));
}

TEST(CuptiRecords, KernelsHaveTheirShapeAndTimes) {
  CUpti_ActivityKernel9 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.start = 100;
  record.end = 350;
  record.correlationId = 7;
  record.deviceId = 2;
  record.streamId = 13;
  record.graphNodeId = 5;
  record.gridX = 132;
  record.gridY = record.gridZ = record.blockY = record.blockZ = 1;
  record.blockX = 256;
  record.registersPerThread = 40;
  record.dynamicSharedMemory = 2048;
  record.name = "kernel";
  const auto kernel = decoded<gpu::RecordedKernel>(record);
  EXPECT_TRUE(kernel.is_timed());
  EXPECT_TRUE(kernel.is_possible());
  EXPECT_EQ(kernel.graph_node, 5U);
  EXPECT_EQ(kernel.end_ns - kernel.start_ns, 250U);
  EXPECT_EQ(kernel.correlation, 7U);
  EXPECT_EQ(kernel.device, 2U);
  EXPECT_EQ(kernel.stream, 13U);
  EXPECT_EQ(kernel.grid[0], 132);
  EXPECT_EQ(kernel.block[0], 256);
  EXPECT_EQ(kernel.registers, 40U);
  EXPECT_EQ(kernel.dynamic_shared_bytes, 2048);
  EXPECT_STREQ(kernel.name, "kernel");
  record.blockX = 4096;
  EXPECT_FALSE(decoded<gpu::RecordedKernel>(record).is_possible());
  record.end = 0;
  EXPECT_FALSE(decoded<gpu::RecordedKernel>(record).is_timed());
}

TEST(CuptiRecords, MemoryHasOneNameWhereverItComesUp) {
  CUpti_ActivityMemcpy5 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.bytes = 4096;
  const auto of_copy = decoded<gpu::RecordedCopy>(copy);
  EXPECT_EQ(of_copy.name, "copy, host to device");
  EXPECT_EQ(of_copy.bytes, 4096U);
  EXPECT_FALSE(of_copy.is_to_peer);
  EXPECT_EQ(names_of(of_copy.from).in_copies, "host");

  CUpti_ActivityMemory4 memory{};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  memory.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  memory.bytes = 64;
  const auto of_memory = decoded<gpu::RecordedAllocation>(memory);
  EXPECT_TRUE(of_memory.is_release);
  EXPECT_EQ(of_memory.kind, of_copy.from);
  EXPECT_EQ(names_of(of_memory.kind).name, "pinned");
  memory.memoryKind = static_cast<CUpti_ActivityMemoryKind>(200);
  EXPECT_EQ(names_of(decoded<gpu::RecordedAllocation>(memory).kind).name, "unknown");
  for (const gpu::MemoryKindNames& names : gpu::memory_kinds) EXPECT_EQ(&names_of(names.kind), &names);
}

TEST(CuptiRecords, OtherKindsAreToldApart) {
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  call.cbid = 11;
  call.threadId = 3;
  EXPECT_TRUE(decoded<gpu::RecordedCall>(call).is_driver);
  EXPECT_EQ(decoded<gpu::RecordedCall>(call).function, 11U);
  CUpti_ActivityMarker2 marker{};
  marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
  marker.name = "step";
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_START;
  EXPECT_STREQ(decoded<gpu::RecordedMarker>(marker).name, "step");
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_END;
  EXPECT_EQ(decoded<gpu::RecordedMarker>(marker).phase, gpu::RecordedMarker::Phase::end);
  EXPECT_EQ(decoded<gpu::RecordedMarker>(marker).name, nullptr);
  CUpti_ActivityOverhead3 overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
  EXPECT_EQ(decoded<gpu::RecordedOverhead>(overhead).what, "flushing records");
  CUpti_Activity unknown{};
  unknown.kind = CUPTI_ACTIVITY_KIND_PCIE;
  EXPECT_TRUE(std::holds_alternative<std::monostate>(decode_record(cut(unknown))));
}

TEST(CuptiRecords, CutAndHostileBytesAreRefusedOrReadWithinTheirEnds) {
  EXPECT_THROW((void)decode_record({}), MetricsUnavailable);
  CUpti_ActivityKernel9 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_KERNEL;
  const std::size_t needed = offsetof(CUpti_ActivityKernel9, graphNodeId) + sizeof kernel.graphNodeId;
  EXPECT_NO_THROW((void)decode_record(cut(kernel, needed)));
  for (std::size_t bytes = 0; bytes < needed; ++bytes)
    EXPECT_THROW((void)decode_record(cut(kernel, bytes)), MetricsUnavailable) << bytes;
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::uint8_t> bytes(random() % 300);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
    if (bytes.size() >= 4) bytes[1] = bytes[2] = bytes[3] = 0, bytes[0] %= 64;
    try {
      (void)decode_record(bytes);
    } catch (const MetricsUnavailable&) {  // the only thing that may be thrown
    }
  }
}

}  // namespace
}  // namespace gpubench::bench
