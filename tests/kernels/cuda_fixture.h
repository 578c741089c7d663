// SPDX-License-Identifier: Apache-2.0
// A GPU for a test, or a word that there is none.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gpu/cuda/handles.h"
#include "gpubench/vectors.h"

namespace gpubench {

/// Skips without a GPU. Tests run on a stream of their own, as the harness does.
class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
      (void)cudaGetLastError();
      GTEST_SKIP() << "no GPU to test on: " << (error != cudaSuccess ? cudaGetErrorString(error) : "CUDA shows none");
    }
    GPUBENCH_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  void TearDown() override {
    if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
  }

  static std::vector<float> normal_values(std::int64_t count, unsigned seed) {
    std::mt19937 generator(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<std::size_t>(count));
    for (auto& value : values) value = normal(generator);
    return values;
  }
  static DeviceVector<float> on_device(const std::vector<float>& values) {
    DeviceVector<float> vector(values.size());
    vector.assign(values);
    // A copy from pageable memory may return before its last part has arrived, and stream_ does not wait for it.
    GPUBENCH_CUDA_CHECK(cudaDeviceSynchronize());
    return vector;
  }
  /// Elements that nothing has written, with a guard behind them: all NaN.
  static DeviceVector<float> poisoned(std::int64_t count) {
    return on_device(
        std::vector<float>(static_cast<std::size_t>(count + guard), std::numeric_limits<float>::quiet_NaN()));
  }
  /// The first `count` elements; a guard that was written fails the test.
  std::vector<float> result(const DeviceVector<float>& vector, std::int64_t count) {
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
    std::vector<float> values = vector.to_host();
    for (auto i = static_cast<std::size_t>(count); i < values.size(); ++i)
      EXPECT_TRUE(values[i] != values[i]) << "element " << i << " lies behind the end and was written";
    values.resize(static_cast<std::size_t>(count));
    return values;
  }

  static constexpr std::int64_t guard = 64;
  Stream stream_ = nullptr;
};

/// Sizes with every kind of tail, below and above one block, and one of many blocks.
inline const std::vector<std::int64_t> odd_sizes = {1, 2, 3, 4, 31, 32, 1023, 1024, 1025, 4099, (1 << 20) + 3};

}  // namespace gpubench
