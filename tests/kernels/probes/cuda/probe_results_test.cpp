// SPDX-License-Identifier: Apache-2.0
// The probes of a full calibration do the work they claim, and no faster than the hardware can.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>

#include "gpu/memory/memory.h"
#include "kernels/probes/access_order.h"
#include "kernels/probes/cuda/compute.h"
#include "kernels/probes/cuda/memory.h"
#include "tests/kernels/cuda_fixture.h"

namespace gpubench::probes {
namespace {

constexpr NumberFormat all_types[] = {NumberFormat::fp64, NumberFormat::tf32, NumberFormat::fp16,
                                      NumberFormat::bf16, NumberFormat::fp8,  NumberFormat::int8};

class ProbeResults : public CudaTest {
 protected:
  using Kernel = std::function<Launched(const LoopLaunch&)>;

  void SetUp() override {
    CudaTest::SetUp();
    if (IsSkipped()) return;
    int device = 0;
    GPUBENCH_CUDA_CHECK(cudaGetDevice(&device));
    GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, device));
    GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&major_, cudaDevAttrComputeCapabilityMajor, device));
    GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&minor_, cudaDevAttrComputeCapabilityMinor, device));
    clock_ = DeviceVector<ClockReading>(static_cast<std::size_t>(multiprocessors_ * max_blocks));
    sink_ = DeviceVector<double>(2);
    detail::fill_bytes_device(clock_.data(), 0, clock_.bytes());  // all is read back, what no block has left too
  }

  [[nodiscard]] LoopLaunch loops(std::int64_t count) {
    return {count, multiprocessors_, clock_.data(), sink_.data(), stream_};
  }

  /// Work grows with the loops, every block leaves a reading, and no clock sees more than `limit` (0: not known).
  void check_loops(const Kernel& kernel, int limit, std::int64_t many) {
    const Launched once = kernel(loops(1));
    const Launched often = kernel(loops(many));
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_GT(once.work, 0.0);
    EXPECT_DOUBLE_EQ(often.work, static_cast<double>(many) * once.work);
    ASSERT_GT(often.clock_readings, 0);
    ASSERT_LE(often.clock_readings, multiprocessors_ * max_blocks);
    std::uint64_t max_cycles = 0;
    const auto readings = clock_.to_host();
    for (int i = 0; i < often.clock_readings; ++i) {
      EXPECT_GT(readings[static_cast<std::size_t>(i)].cycles, 0U) << "block " << i;
      max_cycles = std::max(max_cycles, readings[static_cast<std::size_t>(i)].cycles);
    }
    // Of one block, which cannot be faster than its multiprocessor: two may not fit on one at once, or start apart.
    const double rate = often.work / often.clock_readings / static_cast<double>(max_cycles);
    if (limit > 0) {
      EXPECT_LE(rate, 1.03 * limit);
    }
    RecordProperty("per_clock", std::to_string(rate));
  }

  int multiprocessors_ = 0;
  int major_ = 0;
  int minor_ = 0;
  DeviceVector<ClockReading> clock_;
  DeviceVector<double> sink_;
};

TEST_F(ProbeResults, VectorOperations) {
  for (std::size_t i = 0; i < vector_operation_names.size(); ++i) {
    const auto operation = static_cast<VectorOperation>(i);
    if (operation == VectorOperation::bf16 && major_ < 8) continue;
    SCOPED_TRACE(std::string(name_of(operation)));
    for (const BlockShape shape : vector_shapes(operation))
      check_loops([&](const LoopLaunch& launch) { return launch_vector(operation, shape, launch); },
                  vector_limit(operation, major_, minor_), 200);
  }
  EXPECT_THROW((void)launch_vector(VectorOperation::fp32, {4096, 1}, loops(1)), GpuError);
}

TEST_F(ProbeResults, CachesAndSharedMemory) {
  constexpr std::size_t set = 65536;
  DeviceVector<float> data(set / 4 * static_cast<std::size_t>(multiprocessors_));
  GPUBENCH_CUDA_CHECK(cudaMemset(data.data(), 0, data.bytes()));
  GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
  for (const CacheShape shape : cache_shapes())
    check_loops([&](const LoopLaunch& launch) { return launch_cache(shape, data.data(), set, launch); },
                local_bytes_limit(major_, minor_), 100);
  check_loops(launch_shared<false>, local_bytes_limit(major_, minor_), 100);
  check_loops(launch_shared<true>, local_bytes_limit(major_, minor_) / 4, 100);
  EXPECT_THROW((void)launch_cache({1024}, data.data(), 8192, loops(1)), GpuError);
}

// A word that all loads combine to the sentinel only if it was loaded an odd number of times by one thread.
TEST_F(ProbeResults, CacheReadsWhatItClaims) {
  constexpr std::size_t set = 24576;
  for (const CacheShape shape : {CacheShape{512}, CacheShape{256}}) {
    for (const std::size_t place : {std::size_t{0}, set / 4 - 1}) {
      std::vector<float> values(set / 4 * static_cast<std::size_t>(multiprocessors_), 0.0F);
      const std::uint32_t sentinel = 0x9E3779B9U;
      std::memcpy(&values[place], &sentinel, sizeof(sentinel));
      const auto data = on_device(values);
      GPUBENCH_CUDA_CHECK(cudaMemset(sink_.data(), 0, sink_.bytes()));
      // The pass that fills the cache is one load, the loop none.
      (void)launch_cache(shape, data.data(), set, loops(0));
      ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
      std::uint32_t found = 0;
      const auto sink = sink_.to_host();
      std::memcpy(&found, sink.data(), sizeof(found));
      EXPECT_EQ(found, sentinel) << "word " << place << ", " << shape.threads << " threads";
    }
  }
}

TEST_F(ProbeResults, ChainIsOneCycleThroughAllLines) {
  for (const std::uint32_t lines : {2U, 3U, 64U, 1000U, 4097U}) {
    DeviceVector<std::uint64_t> memory(lines * line_bytes / 8);
    launch_chain(memory.data(), lines, 99 + lines, stream_);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    const auto host = memory.to_host();
    const auto base = reinterpret_cast<std::uint64_t>(memory.data());
    std::set<std::uint64_t> seen;
    std::uint64_t place = base;
    for (std::uint32_t i = 0; i < lines; ++i) {
      ASSERT_TRUE(seen.insert(place).second) << "line " << (place - base) / line_bytes << " came twice, of " << lines;
      place = host[(place - base) / 8];
      ASSERT_LT(place - base, lines * line_bytes);
    }
    EXPECT_EQ(place, base);
    for (const ChaseCache cache : {ChaseCache::all, ChaseCache::past_l1}) {
      launch_chase(cache, memory.data(), 1, lines * line_bytes, 4 * chase_unroll, sink_.data(), clock_.data(), stream_);
      ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
      // No load takes less than a few cycles, so that loads that do not wait for each other would show.
      EXPECT_GT(clock_.to_host()[0].cycles, 4U * chase_unroll * 10U);
    }
  }
  launch_shared_chase(4 * chase_unroll, sink_.data(), clock_.data(), stream_);
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_GT(clock_.to_host()[0].cycles, 4U * chase_unroll * 10U);
  EXPECT_THROW((void)launch_chase(ChaseCache::all, sink_.data(), 0, 0, 33, sink_.data(), clock_.data(), stream_),
               GpuError);
}

/// The values of memory of a type.
template <class T>
std::vector<double> values_as(const std::vector<std::byte>& bytes) {
  std::vector<double> values;
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T value;
    std::memcpy(&value, &bytes[i], sizeof(T));
    if constexpr (std::is_same_v<T, double>)
      values.push_back(value);
    else
      values.push_back(static_cast<double>(static_cast<float>(value)));
  }
  return values;
}
std::vector<double> values_of(NumberFormat type, const DeviceVector<std::byte>& memory) {
  const auto bytes = memory.to_host();
  switch (type) {
    case NumberFormat::fp64: return values_as<double>(bytes);
    case NumberFormat::tf32: return values_as<float>(bytes);
    case NumberFormat::fp16: return values_as<__half>(bytes);
    case NumberFormat::bf16: return values_as<__nv_bfloat16>(bytes);
    case NumberFormat::fp8: return values_as<__nv_fp8_e4m3>(bytes);
    case NumberFormat::int8: return values_as<std::int8_t>(bytes);
    default: break;
  }
  return {};
}
template <class T>
std::vector<std::byte> ones_as(std::size_t bytes) {
  std::vector<std::byte> result(bytes);
  const T one(1.0F);
  for (std::size_t i = 0; i < bytes; i += sizeof(T)) std::memcpy(&result[i], &one, sizeof(T));
  return result;
}
std::vector<std::byte> ones(NumberFormat type, std::size_t bytes) {
  switch (type) {
    case NumberFormat::fp64: return ones_as<double>(bytes);
    case NumberFormat::tf32: return ones_as<float>(bytes);
    case NumberFormat::fp16: return ones_as<__half>(bytes);
    case NumberFormat::bf16: return ones_as<__nv_bfloat16>(bytes);
    case NumberFormat::fp8: return ones_as<__nv_fp8_e4m3>(bytes);
    case NumberFormat::int8: return ones_as<std::int8_t>(bytes);
    default: break;
  }
  return {};
}
std::vector<double> sums_of(NumberFormat type, const DeviceVector<std::byte>& memory) {
  if (type == NumberFormat::fp64) return values_as<double>(memory.to_host());
  return type == NumberFormat::int8 ? values_as<std::int32_t>(memory.to_host()) : values_as<float>(memory.to_host());
}
/// Of the type's rounding of a factor.
double rounding_of(NumberFormat type) {
  return type == NumberFormat::tf32 ? 0x1p-10 : type == NumberFormat::fp8 ? 0x1p-10 : 1e-5;
}

TEST_F(ProbeResults, FillIsStandardNormal) {
  constexpr std::size_t count = 1 << 16;
  for (const NumberFormat type : all_types) {
    DeviceVector<std::byte> memory(count * bytes_of(type));
    detail::draw_normal_device(memory.data(), type, count, 7);
    const double scale = type == NumberFormat::int8 ? 32.0 : 1.0;
    double sum = 0.0;
    double squares = 0.0;
    for (const double value : values_of(type, memory)) {
      sum += value / scale;
      squares += value * value / scale / scale;
    }
    EXPECT_NEAR(sum / count, 0.0, 0.02) << name_of(type);
    EXPECT_NEAR(squares / count, 1.0, 0.03) << name_of(type);
  }
}

// With ones for one factor the sums add up to the other factor's, wherever lanes hold what.
TEST_F(ProbeResults, MmaMultipliesAndAdds) {
  constexpr int count = 3;
  for (const NumberFormat type : all_types) {
    DeviceVector<std::byte> a(mma_a_bytes(type));
    DeviceVector<std::byte> b(mma_b_bytes(type));
    DeviceVector<std::byte> sums(mma_sums * (type == NumberFormat::fp64 ? 8 : 4));
    for (const bool a_is_random : {true, false}) {
      auto& random = a_is_random ? a : b;
      auto& other = a_is_random ? b : a;
      other.assign(ones(type, other.bytes()));
      detail::draw_normal_device(random.data(), type, random.bytes() / bytes_of(type), 21);
      try {
        (void)launch_mma(type, mma_shapes()[0], a.data(), b.data(), sums.data(), loops(count));
      } catch (const NotOnThisGpu&) {
        break;
      }
      ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess) << name_of(type);
      double factor = 0.0;
      double size = 0.0;
      for (const double value : values_of(type, random)) {
        factor += value;
        size += std::abs(value);
      }
      // Each of A's two tiles meets 4 tiles of 8 columns; each of B's four meets 2 tiles of 16 rows.
      const double expected = factor * count * mma_repeats * 32;
      double sum = 0.0;
      for (const double value : sums_of(type, sums)) sum += value;
      EXPECT_NEAR(sum, expected, rounding_of(type) * size * count * mma_repeats * 32) << name_of(type);
    }
  }
}

TEST_F(ProbeResults, WgmmaMultipliesAndAdds) {
  constexpr int count = 2;
  for (const NumberFormat type : all_types) {
    if (type == NumberFormat::fp64) continue;
    DeviceVector<std::byte> a(wgmma_rows * wgmma_row_bytes);
    DeviceVector<std::byte> b(wgmma_columns * wgmma_row_bytes);
    DeviceVector<std::byte> sums(std::size_t{wgmma_rows} * wgmma_columns * 4);
    detail::draw_normal_device(a.data(), type, a.bytes() / bytes_of(type), 31);
    detail::draw_normal_device(b.data(), type, b.bytes() / bytes_of(type), 32);
    const auto host_a = values_of(type, a);
    const auto host_b = values_of(type, b);
    if (wgmma_shapes().empty()) GTEST_SKIP() << "built without code for Hopper";
    for (const BlockShape shape : wgmma_shapes()) {
      try {
        (void)launch_wgmma(type, shape, a.data(), b.data(), sums.data(), loops(count));
      } catch (const NotOnThisGpu& reason) {
        GTEST_SKIP() << reason.what();
      }
      ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess) << name_of(type);
      const auto actual = sums_of(type, sums);
      const auto bytes = static_cast<int>(bytes_of(type));
      for (int i = 0; i < wgmma_rows; ++i) {
        for (int j = 0; j < wgmma_columns; ++j) {
          double expected = 0.0;
          double size = 0.0;
          for (int byte = 0; byte < wgmma_row_bytes; byte += bytes) {
            const double product = host_a[static_cast<std::size_t>(wgmma_place(i, byte, wgmma_rows) / bytes)] *
                                   host_b[static_cast<std::size_t>(wgmma_place(j, byte, wgmma_columns) / bytes)];
            expected += product;
            size += std::abs(product);
          }
          expected *= count * wgmma_repeats;
          ASSERT_NEAR(actual[static_cast<std::size_t>(i * wgmma_columns + j)], expected,
                      4.0 * rounding_of(type) * size * count * wgmma_repeats)
              << name_of(type) << ", row " << i << ", column " << j;
        }
      }
    }
  }
}

TEST_F(ProbeResults, MatrixInstructionsStayBelowTheirLimits) {
  for (const NumberFormat type : all_types) {
    SCOPED_TRACE(std::string(name_of(type)));
    DeviceVector<std::byte> a(std::size_t{1} << 16);
    GPUBENCH_CUDA_CHECK(cudaMemset(a.data(), 0, a.bytes()));
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
    const auto check_all = [&](std::span<const BlockShape> shapes, const auto& launch_it, std::int64_t many) {
      try {
        for (const BlockShape shape : shapes)
          check_loops(
              [&](const LoopLaunch& launch) { return launch_it(type, shape, a.data(), a.data(), nullptr, launch); },
              tensor_limit(type, major_, minor_), many);
      } catch (const NotOnThisGpu&) {  // nothing to check
      }
    };
    check_all(mma_shapes(), launch_mma, 2000);
    check_all(wgmma_shapes(), launch_wgmma, 500);
  }
}

TEST_F(ProbeResults, AtomicsAddUp) {
  const std::size_t bytes = atomics_bytes(multiprocessors_);
  DeviceVector<std::int32_t> counters(bytes / 4);
  for (const auto& [contention, addresses] :
       {std::pair{Contention::one_address, std::size_t{1}}, std::pair{Contention::one_per_warp, counters.size() / 32},
        std::pair{Contention::spread, counters.size()}}) {
    GPUBENCH_CUDA_CHECK(cudaMemset(counters.data(), 0, counters.bytes()));
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
    Launched launched;
    launched = launch_atomics<unsigned>(contention, counters.data(), loops(3));
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    double sum = 0.0;
    std::size_t touched = 0;
    for (const std::int32_t value : counters.to_host()) {
      sum += value;
      touched += value != 0 ? 1 : 0;
    }
    EXPECT_EQ(sum, launched.work) << name_of(contention);
    EXPECT_EQ(touched, addresses) << name_of(contention);
    GPUBENCH_CUDA_CHECK(cudaMemset(counters.data(), 0, counters.bytes()));
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
    launched = launch_atomics<float>(contention, counters.data(), loops(1));
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    double additions = 0.0;
    for (const std::int32_t bits : counters.to_host()) additions += std::bit_cast<float>(bits);
    EXPECT_EQ(additions, launched.work) << name_of(contention);
  }
}

// As launch_memory's read: one sector holds the sentinel, that of the last access of all.
TEST_F(ProbeResults, RandomReadsWhatItClaims) {
  constexpr std::size_t set = 48 << 20;
  constexpr std::uint32_t sentinel = 0x9E3779B9U;
  for (const RandomShape shape : random_shapes(RandomAccess::read)) {
    SCOPED_TRACE(std::to_string(shape.in_flight) + " in flight, " + std::to_string(shape.threads) + " threads");
    DeviceVector<std::uint32_t> data(set / 4);
    GPUBENCH_CUDA_CHECK(cudaMemset(data.data(), 0, data.bytes()));
    const auto run = [&] {
      GPUBENCH_CUDA_CHECK(cudaMemset(sink_.data(), 0, sink_.bytes()));
      GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
      const Launched launched = launch_random(RandomAccess::read, shape, data.data(), set, loops(2));
      GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
      return launched;
    };
    const auto found = [&] {
      std::uint32_t word = 0;
      const auto sink = sink_.to_host();
      std::memcpy(&word, sink.data(), sizeof(word));
      return word;
    };
    const Launched launched = run();
    EXPECT_EQ(found(), 0U);
    const auto last = static_cast<std::uint32_t>(launched.work) - 1;
    std::vector<std::uint32_t> values(set / 4);
    values[random_sector(last, set / sector_bytes) * (sector_bytes / 4)] = sentinel;
    data.assign(values);
    run();
    EXPECT_EQ(found(), sentinel);
    check_loops(
        [&](const LoopLaunch& launch) { return launch_random(RandomAccess::read, shape, data.data(), set, launch); }, 0,
        20);
  }
  EXPECT_THROW((void)launch_random(RandomAccess::read, {256, 7}, nullptr, set, loops(1)), GpuError);
  EXPECT_THROW((void)launch_random(RandomAccess::read, {256, 8}, nullptr, 31, loops(1)), GpuError);
}

TEST_F(ProbeResults, RandomUpdatesGoWhereTheHostSays) {
  constexpr std::uint32_t sectors = 4099;
  for (const RandomShape shape : random_shapes(RandomAccess::update)) {
    DeviceVector<std::uint64_t> data(sectors * sector_bytes / 8);
    GPUBENCH_CUDA_CHECK(cudaMemset(data.data(), 0, data.bytes()));
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
    const Launched launched = launch_random(RandomAccess::update, shape, data.data(), data.bytes(), loops(3));
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    std::vector<std::uint64_t> expected(data.size());
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(launched.work); ++i)
      ++expected[random_sector(i, sectors) * (sector_bytes / 8)];
    EXPECT_EQ(data.to_host(), expected);
  }
}

// As launch_memory's read: one value comes out as the sentinel, which multiply-adds of a tiny factor leave as it is.
TEST_F(ProbeResults, IntensityReadsWhatItClaims) {
  constexpr std::size_t count = memory_granule;
  for (const int step : intensity_steps()) {
    std::vector<float> values(count, 0.0F);
    values[count - 3] = 1.2345678e30F;
    const auto data = on_device(values);
    auto sink = poisoned(1);
    launch_intensity(step, data.data(), count, sink.data(), stream_);
    ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    EXPECT_EQ(sink.to_host()[0], 1.2345678e30F) << step << " multiply-adds";
  }
  EXPECT_THROW((void)launch_intensity(3, nullptr, count, nullptr, stream_), GpuError);
}

TEST(ProbeLimits, Hopper) {
  EXPECT_EQ(vector_limit(VectorOperation::fp32, 9, 0), 256);
  EXPECT_EQ(vector_limit(VectorOperation::fp64, 9, 0), 128);
  EXPECT_EQ(vector_limit(VectorOperation::fp16, 9, 0), 512);
  EXPECT_EQ(vector_limit(VectorOperation::int32, 9, 0), 128);
  EXPECT_EQ(vector_limit(VectorOperation::exp2, 9, 0), 16);
  EXPECT_EQ(vector_limit(VectorOperation::alu, 9, 0), 64);
  EXPECT_EQ(vector_limit(VectorOperation::fp32, 42, 0), 0);
  EXPECT_EQ(tensor_limit(NumberFormat::bf16, 9, 0), 4096);
  EXPECT_EQ(tensor_limit(NumberFormat::fp8, 9, 0), 8192);
  EXPECT_EQ(tensor_limit(NumberFormat::bf16, 7, 5), 0);
}

TEST(Wgmma, PlacesAreAllDifferent) {
  std::set<int> places;
  for (int row = 0; row < wgmma_rows; ++row)
    for (int byte = 0; byte < wgmma_row_bytes; ++byte) places.insert(wgmma_place(row, byte, wgmma_rows));
  EXPECT_EQ(places.size(), static_cast<std::size_t>(wgmma_rows * wgmma_row_bytes));
  EXPECT_EQ(*places.rbegin(), wgmma_rows * wgmma_row_bytes - 1);
}

}  // namespace
}  // namespace gpubench::probes
