// SPDX-License-Identifier: Apache-2.0
// The probes do the work they claim: results, bytes and operations, no times.
#include "kernels/probes/cuda/memory.h"

#include <cmath>

#include "gpu/cuda/nvml.h"
#include "gpu/devices.h"
#include "kernels/probes/cuda/clock.h"
#include "tests/kernels/cuda_fixture.h"

namespace gpubench::probes {
namespace {

class CudaProbes : public CudaTest {
 protected:
  static constexpr std::size_t count = 2 * memory_granule;
};

TEST_F(CudaProbes, CopyAndTriadInEveryShape) {
  const auto n = static_cast<std::int64_t>(count);
  const auto b = normal_values(n, 1);
  const auto c = normal_values(n, 2);
  const auto device_b = on_device(b);
  const auto device_c = on_device(c);
  auto sink = poisoned(1);
  for (const MemoryShape shape : memory_shapes(MemoryPattern::copy)) {
    auto a = poisoned(n);
    launch_memory(MemoryPattern::copy, shape, a.data(), device_b.data(), nullptr, count, sink.data(), stream_);
    EXPECT_EQ(result(a, n), b);
  }
  for (const MemoryShape shape : memory_shapes(MemoryPattern::triad)) {
    auto a = poisoned(n);
    launch_memory(MemoryPattern::triad, shape, a.data(), device_b.data(), device_c.data(), count, sink.data(), stream_);
    const auto actual = result(a, n);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(actual[i], std::fmaf(2.0F, c[i], b[i])) << i;
  }
}

TEST_F(CudaProbes, WriteReachesEveryElementInEveryShape) {
  auto sink = poisoned(1);
  for (const MemoryShape shape : memory_shapes(MemoryPattern::write)) {
    const auto n = static_cast<std::int64_t>(count);
    auto a = poisoned(n);
    launch_memory(MemoryPattern::write, shape, a.data(), nullptr, nullptr, count, sink.data(), stream_);
    const auto actual = result(a, n);
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_TRUE(actual[i] >= 1.0F && actual[i] < 2.0F) << i << ": " << actual[i];
  }
}

// The read probe writes its sum when it equals a certain value: one thread's elements are made to add up to that.
TEST_F(CudaProbes, ReadLoadsWhatItClaims) {
  for (const MemoryShape shape : memory_shapes(MemoryPattern::read)) {
    for (const std::size_t place : {std::size_t{0}, count / 2 + 4321, count - 1}) {
      std::vector<float> values(count, 0.0F);
      values[place] = 1.2345678e30F;
      const auto b = on_device(values);
      auto sink = poisoned(1);
      launch_memory(MemoryPattern::read, shape, nullptr, b.data(), nullptr, count, sink.data(), stream_);
      GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
      EXPECT_EQ(sink.to_host()[0], 1.2345678e30F) << "element " << place << " was not read";
    }
  }
}

TEST_F(CudaProbes, RefusesOddCounts) {
  auto a = poisoned(1);
  EXPECT_THROW((void)launch_memory(MemoryPattern::write, {}, a.data(), nullptr, nullptr, 12345, a.data(), stream_),
               GpuError);
  EXPECT_THROW((void)launch_working_set({}, a.data(), 100, 1.0, a.data(), nullptr, stream_), GpuError);
}

TEST_F(CudaProbes, WorkingSetIsReadWhole) {
  const std::size_t smallest = min_working_set();
  for (const WorkingSetShape shape : working_set_shapes()) {
    const std::size_t set = smallest + 4096 - 48;
    for (const std::size_t place : {std::size_t{0}, set / 8, set / 4 - 1}) {
      std::vector<float> values(set / 4, 0.0F);
      values[place] = 1.2345678e30F;
      const auto data = on_device(values);
      auto sink = poisoned(1);
      const Launched launched =
          launch_working_set(shape, data.data(), set, 1.1 * static_cast<double>(set), sink.data(), nullptr, stream_);
      GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
      EXPECT_GE(launched.work, static_cast<double>(set));
      EXPECT_EQ(sink.to_host()[0], 1.2345678e30F) << "float " << place << " of " << set / 4 << " was not read";
    }
  }
}

TEST(ClockReading, MeanWeighsByTime) {
  EXPECT_DOUBLE_EQ(mean_hertz(std::vector<ClockReading>{{3000, 1000}, {1000, 1000}}), 2e9);
  EXPECT_EQ(mean_hertz({}), 0.0);
}

TEST_F(CudaProbes, NvmlKnowsTheGpu) {
  char bus_id[32] = {};
  int device = 0;
  GPUBENCH_CUDA_CHECK(cudaGetDevice(&device));
  GPUBENCH_CUDA_CHECK(cudaDeviceGetPCIBusId(bus_id, sizeof(bus_id), device));
  const bench::Nvml library(bus_id);
  if (!library.reason().empty()) GTEST_SKIP() << library.reason();
  EXPECT_TRUE(library.driver_version().value.has_value());
  EXPECT_EQ(bench::Nvml(bench::gpus().front().properties.at("uuid")).reason(), "");
  EXPECT_GT(library.read(bench::nvml::sm_clock).value.value_or(0.0), 1e8) << library.read(bench::nvml::sm_clock).reason;
  EXPECT_GT(library.read(bench::nvml::power_limit).value.value_or(0.0), 10.0)
      << library.read(bench::nvml::power_limit).reason;
  for (const auto& [key, value] : [&] {
         std::map<std::string, std::string> properties;
         bench::add_nvml_properties(library, properties);
         return properties;
       }())
    RecordProperty(key, value);
}

}  // namespace
}  // namespace gpubench::probes
