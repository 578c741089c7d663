// SPDX-License-Identifier: Apache-2.0
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/storage/storage.h"
#include "tests/in_folder.h"
#include "tests/matchers.h"
#include "timeline/names.h"
#include "timeline/program/program.h"
#include "timeline/readers.h"
#include "timeline/structure/correlations.h"

namespace gpubench {
namespace {

using timeline::Timeline;

/// As Nsight Systems 2025 writes its tables, with the columns that are used and some that are not. Process 100 and
/// thread 101 are 100 * 2^24 + 101.
const std::string tables = R"(
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1,'cudaLaunchKernel_v7000'),(2,'saxpy(int, float*)'),(3,'saxpy'),(4,'cudaMemcpyAsync_v3020'),
  (5,'step'),(6,'worker'),(7,'ncclDevKernel_AllReduce');
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
INSERT INTO PROCESSES VALUES (1677721600,100,'/usr/bin/train');
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
INSERT INTO ThreadNames VALUES (6,0,1677721701);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1790857026000000000,'','');
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, id INTEGER, name TEXT, busLocation TEXT, cuDevice INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (1,0,'NVIDIA T4','0000:01:00.0',0),(1,1,'NVIDIA H200','0000:19:00.0',1);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER,
  nameId INTEGER, returnValue INTEGER, callchainId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000,1400,0,1677721701,11,1,0,NULL),(2000,2300,0,1677721701,12,4,0,NULL),
  (3000,3100,0,1677721701,13,1,0,NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER,
  correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER,
  gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER,
  dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, graphNodeId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1500,1700,1,1,7,11,1677721600,2,3,32,4,2,1,128,1,1,16,1024,0,NULL),
  (3200,3500,1,1,7,13,1677721600,7,NULL,96,24,1,1,544,1,1,0,0,0,5);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER, correlationId INTEGER,
  globalPid INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (2400,2500,1,8,12,1677721600,4096,1,1,2);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (3600,3700,14,1677721600,3);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER, globalTid INTEGER, domainId INTEGER);
INSERT INTO NVTX_EVENTS VALUES (900,3800,59,NULL,5,1677721701,0),(950,1450,59,'forward',NULL,1677721701,0),(1460,NULL,34,'now',NULL,1677721701,0),
  (0,NULL,75,'domain',NULL,1677721701,0);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER, globalPid INTEGER, deviceId INTEGER, address INTEGER, bytes INTEGER,
  memKind INTEGER, memoryOperationType INTEGER, localMemoryPoolAddress INTEGER);
INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (960,1677721600,1,4096,512,2,0,NULL),(3790,1677721600,1,4096,512,2,1,NULL);
)";

class Nsight : public InFolder {
 protected:
  void execute(const std::string& statements) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file_.c_str(), &database), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(database, statements.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_close(database);
  }
  Timeline read() { return timeline::read_timeline(file_); }
  std::string refusal() {
    return message_of<storage::ReadError>([&] { (void)read(); });
  }
  const std::filesystem::path file_ = folder_ / "#%?.sqlite";
};

TEST_F(Nsight, gives_kernels_calls_copies_ranges_and_memory) {
  execute(tables);
  const Timeline timeline = read();
  std::vector<std::string> slices;
  for (const auto& slice : timeline.slices)
    slices.push_back(timeline::track_name(timeline.tracks[slice.track]) + ": " + timeline.names.text(slice.name) + " " +
                     std::to_string(slice.start_ns) + "+" + std::to_string(slice.duration_ns) + " " +
                     std::string(timeline::name_of(slice.kind)) + (slice.in_graph ? " in graph" : ""));
  EXPECT_THAT(slices, ElementsAre("ranges of worker: step 0+2900 range", "ranges of worker: forward 50+500 range",
                                  "worker: cudaLaunchKernel_v7000 100+400 launch",
                                  "cuda:1 stream 7: saxpy(int, float*) 600+200 kernel",
                                  "worker: cudaMemcpyAsync_v3020 1100+300 transfer",
                                  "cuda:1 stream 8: Memcpy HtoD (Pinned -> Device) 1500+100 copy",
                                  "worker: cudaLaunchKernel_v7000 2100+100 launch",
                                  "cuda:1 stream 7: ncclDevKernel_AllReduce 2300+300 communication in graph",
                                  "synchronisation: stream synchronization 2700+100 synchronization"));
  EXPECT_EQ(timeline.base_ns, 1'790'857'026'000'000'900);
  EXPECT_THAT(timeline.warnings, IsEmpty());
  EXPECT_EQ(timeline.processes[0].name, "/usr/bin/train");
  ASSERT_THAT(timeline.gpus, SizeIs(1));
  EXPECT_EQ(timeline.gpus[0].name, "NVIDIA H200");
  EXPECT_EQ(timeline.gpus[0].device, 1);
  EXPECT_EQ(timeline.shapes[0].dynamic_shared_bytes, 1024);
  EXPECT_EQ(timeline.slices[5].detail, 4096);
  EXPECT_THAT(timeline.marks, SizeIs(1));
  ASSERT_THAT(timeline.memory, SizeIs(2));
  EXPECT_EQ(timeline.memory[1].bytes, -512);
  const Program program = timeline::analyze(timeline);
  ASSERT_THAT(program.gpus, SizeIs(1));
  EXPECT_EQ(program.gpus[0].launches, 2);
  ASSERT_THAT(program.ranges, SizeIs(2));
  EXPECT_EQ(program.ranges[1].path, "step/forward");
  EXPECT_EQ(program.ranges[1].launches, 1);
}

TEST_F(Nsight, gives_gpus_the_names_that_each_process_has_for_them) {
  execute(tables +
          "CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
          "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0,1,100),(1,0,100),(1,1,200);");
  EXPECT_EQ(read().gpus.at(0).name, "NVIDIA T4");
}

TEST_F(Nsight, leaves_work_out_whose_end_is_not_known) {
  execute(tables +
          "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = NULL; UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET end = NULL;"
          "UPDATE NVTX_EVENTS SET end = NULL WHERE text = 'forward'");
  const Timeline timeline = read();
  EXPECT_THAT(timeline::analyze(timeline).gpus, IsEmpty());
  EXPECT_THAT(timeline.warnings, ElementsAre(HasSubstr("3 events without a usable time or place were left out")));
  EXPECT_TRUE(timeline.slices.at(1).open);
}

TEST_F(Nsight, of_other_versions_takes_what_there_is) {
  execute(
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, shortName INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES "
      "(10,20,7),(30,25,7),(NULL,5,7),('x','y','z'),(9223372036854775807,NULL,1)");
  const Timeline timeline = read();
  EXPECT_THAT(timeline.slices, SizeIs(1));
  EXPECT_THAT(timeline.warnings, ElementsAre(HasSubstr("4 events without a usable time or place were left out")));
}

TEST_F(Nsight, refuses_hostile_and_empty_files) {
  execute("CREATE TABLE a (b)");
  EXPECT_THAT(refusal(), HasSubstr("is an SQLite file without CUDA or NVTX events; record with 'nsys profile"));
  execute(
      "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE r(start, end) AS (SELECT 1, 2 UNION ALL SELECT start, "
      "end FROM r) "
      "SELECT * FROM r");
  EXPECT_THAT(refusal(), HasSubstr("without CUDA or NVTX events")) << "a view is no table";
  execute("CREATE TABLE NVTX_EVENTS (start, end, eventType, text, globalTid)");
  EXPECT_THAT(read().slices, IsEmpty());
}

TEST_F(Nsight, survives_damage_anywhere) {
  execute("PRAGMA page_size=512;" + tables);
  const std::string bytes = content(file_);
  for (std::size_t at = 16; at < bytes.size(); at += 97) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    if (at % 2 == 0) damaged.resize(at);
    std::ofstream(file_, std::ios::binary | std::ios::trunc) << damaged;
    try {
      (void)timeline::analyze(read());
    } catch (const storage::ReadError& error) {
      EXPECT_THAT(error.what(), HasSubstr(file_.filename().string())) << at;
    }
  }
}

}  // namespace
}  // namespace gpubench
