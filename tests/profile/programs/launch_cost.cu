// SPDX-License-Identifier: Apache-2.0
// What a launch costs the host: launch_cost [LAUNCHES]. Prints nanoseconds a launch, the median of ten stretches.
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>

__global__ void nothing() {}

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 200'000;
  for (int i = 0; i < 2000; ++i) nothing<<<1, 32>>>();
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  std::array<double, 10> each{};
  for (double& nanoseconds : each) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < launches / 10; ++i) nothing<<<1, 32>>>();
    const auto end = std::chrono::steady_clock::now();
    nanoseconds = std::chrono::duration<double, std::nano>(end - start).count() / (launches / 10);
    if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  }
  std::sort(each.begin(), each.end());
  std::printf("%.1f ns a launch\n", 0.5 * (each[4] + each[5]));
}
