// SPDX-License-Identifier: Apache-2.0
// Programs written for SM Profiler. What its documentation shows stands here as it is, but for the include.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "gpubench/compat/sm_profiler.h"

#define EVT_COMPUTE 0
#define EVT_MEMORY 1
#define EVT_SYNC 2

__global__ void my_kernel(uint64_t* profiler_buffer) {
  bool is_lane_0 = (sm_profiler_get_lane_id() == 0);

  sm_profiler_event_start(profiler_buffer, EVT_COMPUTE, is_lane_0);
  // ... your computation ...
  sm_profiler_event_end(profiler_buffer, EVT_COMPUTE, is_lane_0);

  sm_profiler_event_instant(profiler_buffer, EVT_SYNC, is_lane_0);
}

namespace {

using ::testing::HasSubstr;

class SmProfiler : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no GPU";
    folder_ = std::filesystem::temp_directory_path() / ("gpubench-sm-profiler-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    std::filesystem::current_path(folder_);
  }
  void TearDown() override {
    if (folder_.empty()) return;
    std::filesystem::current_path("/");
    std::filesystem::remove_all(folder_);
  }
  static nlohmann::json written(const char* file) {
    std::ifstream stream(file);
    return nlohmann::json::parse(std::string{std::istreambuf_iterator<char>(stream), {}});
  }
  std::filesystem::path folder_;
};

TEST_F(SmProfiler, quick_start_works) {
  sm_profiler_buffer_t profiler = sm_profiler_create_buffer(
      /*num_blocks=*/4,
      /*num_groups=*/4,              // warps per block
      /*max_events_per_group=*/100,  // per warp
      /*enabled=*/1);

  sm_profiler_register_event(profiler, EVT_COMPUTE, "compute");
  sm_profiler_register_event(profiler, EVT_MEMORY, "memory");
  sm_profiler_register_event(profiler, EVT_SYNC, "sync");

  sm_profiler_init_buffer(profiler);

  uint64_t* device_ptr = sm_profiler_get_device_ptr(profiler);

  my_kernel<<<4, 128>>>(device_ptr);

  sm_profiler_export_to_file(profiler, "trace.json");
  ASSERT_EQ(sm_profiler_export_to_file(profiler, "trace.stats.json"), 0) << sm_profiler_last_error();
  sm_profiler_destroy_buffer(profiler);

  int ranges = 0, moments = 0;
  const auto json = written("trace.json");
  for (const auto& event : json["traceEvents"]) {
    ranges += event["name"] == "compute" && event["ph"] == "X";
    moments += event["name"] == "sync" && event["ph"] == "i";
  }
  EXPECT_EQ(ranges, 16);
  EXPECT_EQ(moments, 16);
  EXPECT_EQ(written("trace.stats.json")["ranges"][0]["count"], 16);
}

__global__ void helpers(uint64_t* buffer, uint32_t* seen) {
  const bool first = sm_profiler_get_lane_id() == 0;
  for (int i = 0; i < 30; ++i) sm_profiler_event_start(buffer, 40, first);
  const uint64_t before = sm_profiler_get_timestamp();
  if (first && sm_profiler_get_smid() < 10000 && before > 0)
    seen[sm_profiler_get_block_idx() * 3 + sm_profiler_get_warp_id()] = 1;
}

TEST_F(SmProfiler, counts_what_is_beyond_the_declared) {
  sm_profiler_buffer_t profiler = sm_profiler_create_buffer(2, 2, 10, 1);
  ASSERT_NE(profiler, nullptr) << sm_profiler_last_error();
  EXPECT_EQ(sm_profiler_register_event(profiler, 40, "more than \"32\""), 0);
  uint32_t* seen = nullptr;
  ASSERT_EQ(cudaMallocManaged(&seen, 18 * sizeof(uint32_t)), cudaSuccess);
  helpers<<<dim3(2, 3), dim3(16, 6)>>>(sm_profiler_get_device_ptr(profiler), seen);
  ASSERT_EQ(sm_profiler_export_to_file(profiler, "t.stats.json"), 0) << sm_profiler_last_error();
  for (int i = 0; i < 18; ++i) EXPECT_EQ(seen[i], 1U) << i;
  const auto json = written("t.stats.json");
  EXPECT_EQ(json["dropped"], 4 * 10) << "room for ten ranges of two events";
  EXPECT_THAT(json["warnings"].dump(), HasSubstr("420 times a warp found no place")) << "14 warps with 30 events each";
  EXPECT_THAT(json["warnings"].dump(), HasSubstr("80 ranges without an end"));
  (void)cudaFree(seen);
  sm_profiler_destroy_buffer(profiler);
}

TEST_F(SmProfiler, says_what_is_wrong) {
  EXPECT_EQ(sm_profiler_create_buffer(0, 1, 1, 1), nullptr);
  EXPECT_THAT(sm_profiler_last_error(), HasSubstr("num_blocks is 0"));
  EXPECT_EQ(sm_profiler_get_device_ptr(nullptr), nullptr);
  EXPECT_EQ(sm_profiler_init_buffer(nullptr), -1);
  EXPECT_THAT(sm_profiler_last_error(), HasSubstr("NULL"));
  sm_profiler_destroy_buffer(nullptr);
  my_kernel<<<1, 32>>>(nullptr);
  uint64_t* foreign = nullptr;
  ASSERT_EQ(cudaMalloc(&foreign, 64), cudaSuccess);
  ASSERT_EQ(cudaMemset(foreign, 0xAB, 64), cudaSuccess);
  my_kernel<<<1, 32>>>(foreign);
  sm_profiler_buffer_t off = sm_profiler_create_buffer(1, 1, 10, 0);
  my_kernel<<<1, 32>>>(sm_profiler_get_device_ptr(off));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(sm_profiler_register_event(off, 5000, "x"), -1);
  EXPECT_EQ(sm_profiler_export_to_file(off, "/nowhere-at-all/x.png"), -1);
  sm_profiler_destroy_buffer(off);
  (void)cudaFree(foreign);
}

}  // namespace
