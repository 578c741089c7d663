// SPDX-License-Identifier: Apache-2.0
// Links between the GPUs of this machine by the method of nvbandwidth (0.8, memcpy.cpp), beside those of a campaign:
//   link_truth DIR      DIR: of `gpubench fleet calibrate --links`, whose rank N measured the GPU cuda:N
// 512 MiB, 4 copies to warm up and 16 between two events, all enqueued while a kernel holds the streams; the median of
// 3. By copy engines, and by kernels of 512 threads with 12 words of 16 bytes in flight. Writes and reads are asked for
// by the GPU that the rank has; both ways at once are a write by each GPU. Exit code 1: some link differs by over 2 %.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <vector>

#include "core/statistics/statistics.h"
#include "fleet/rank_file.h"
#include "gpu/cuda/handles.h"
#include "tests/truth/gpu_main.h"

namespace gpubench {
namespace {

constexpr std::size_t bytes = std::size_t{512} << 20;
constexpr int warm_up = 4, copies = 16, samples = 3;
constexpr double most = 0.02;

__global__ void hold(const volatile int* open) {
  while (*open == 0) {
  }
}

__global__ void copy_words(int count, uint4* to, const uint4* from, std::size_t words) {
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int copy = 0; copy < count; ++copy) {
    std::size_t i = first;
    for (; i + 11 * threads < words; i += 12 * threads) {
      uint4 in_flight[12];
      for (int j = 0; j < 12; ++j) in_flight[j] = from[i + j * threads];
      for (int j = 0; j < 12; ++j) to[i + j * threads] = in_flight[j];
    }
    for (; i < words; i += threads) to[i] = from[i];
  }
}

/// What one GPU is asked to copy.
struct Flow {
  int gpu = 0;
  void *source = nullptr, *target = nullptr;
  cudaStream_t stream = nullptr;
  cudaEvent_t start = nullptr, end = nullptr;
};

Flow flow_of(int gpu, int from, int to) {
  Flow flow;
  flow.gpu = gpu;
  GPUBENCH_CUDA_CHECK(cudaSetDevice(from));
  GPUBENCH_CUDA_CHECK(cudaMalloc(&flow.source, bytes));
  GPUBENCH_CUDA_CHECK(cudaSetDevice(to));
  GPUBENCH_CUDA_CHECK(cudaMalloc(&flow.target, bytes));
  GPUBENCH_CUDA_CHECK(cudaSetDevice(gpu));
  GPUBENCH_CUDA_CHECK(cudaStreamCreateWithFlags(&flow.stream, cudaStreamNonBlocking));
  GPUBENCH_CUDA_CHECK(cudaEventCreate(&flow.start));
  GPUBENCH_CUDA_CHECK(cudaEventCreate(&flow.end));
  return flow;
}

void release(const Flow& flow) {
  GPUBENCH_CUDA_CHECK(cudaSetDevice(flow.gpu));
  GPUBENCH_CUDA_CHECK(cudaStreamDestroy(flow.stream));
  for (cudaEvent_t event : {flow.start, flow.end}) GPUBENCH_CUDA_CHECK(cudaEventDestroy(event));
  for (void* memory : {flow.source, flow.target}) GPUBENCH_CUDA_CHECK(cudaFree(memory));
}

void enqueue(const Flow& flow, bool by_kernel, int count) {
  if (by_kernel) {
    int blocks = 0;
    GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&blocks, cudaDevAttrMultiProcessorCount, flow.gpu));
    copy_words<<<static_cast<unsigned>(blocks), 512, 0, flow.stream>>>(
        count, static_cast<uint4*>(flow.target), static_cast<const uint4*>(flow.source), bytes / sizeof(uint4));
    GPUBENCH_CUDA_CHECK(cudaGetLastError());
    return;
  }
  for (int copy = 0; copy < count; ++copy)
    GPUBENCH_CUDA_CHECK(cudaMemcpyAsync(flow.target, flow.source, bytes, cudaMemcpyDefault, flow.stream));
}

double rate_of(const std::vector<Flow>& flows, bool by_kernel) {
  int* open = nullptr;
  GPUBENCH_CUDA_CHECK(cudaHostAlloc(&open, sizeof(int), cudaHostAllocPortable | cudaHostAllocMapped));
  std::vector<double> rates;
  for (int sample = 0; sample < samples; ++sample) {
    *static_cast<volatile int*>(open) = 0;
    for (const Flow& flow : flows) {
      GPUBENCH_CUDA_CHECK(cudaSetDevice(flow.gpu));
      hold<<<1, 1, 0, flow.stream>>>(open);
      enqueue(flow, by_kernel, warm_up);
    }
    for (const Flow& flow : flows) {
      GPUBENCH_CUDA_CHECK(cudaSetDevice(flow.gpu));
      if (&flow != &flows.front()) GPUBENCH_CUDA_CHECK(cudaStreamWaitEvent(flow.stream, flows.front().start, 0));
      GPUBENCH_CUDA_CHECK(cudaEventRecord(flow.start, flow.stream));
    }
    for (const Flow& flow : flows) {
      GPUBENCH_CUDA_CHECK(cudaSetDevice(flow.gpu));
      enqueue(flow, by_kernel, copies);
      GPUBENCH_CUDA_CHECK(cudaEventRecord(flow.end, flow.stream));
    }
    *static_cast<volatile int*>(open) = 1;
    double rate = 0.0;
    for (const Flow& flow : flows) {
      float milliseconds = 0.0F;
      GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(flow.stream));
      GPUBENCH_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, flow.start, flow.end));
      rate += 1e3 * static_cast<double>(bytes) * copies / static_cast<double>(milliseconds);
    }
    rates.push_back(rate);
  }
  GPUBENCH_CUDA_CHECK(cudaFreeHost(open));
  return statistics::median(rates);
}

/// The median over a campaign's runs, by GPU, its peer and resource.
std::map<std::tuple<int, int, std::string>, double> links_in(const std::filesystem::path& folder) {
  std::map<std::tuple<int, int, std::string>, std::vector<double>> values;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!fleet::is_rank_file_name(entry.path().filename().string())) continue;
    const fleet::RankResult rank = fleet::read_rank(entry.path());
    for (const fleet::Reading& reading : rank.readings)
      if (const fleet::Test& test = rank.tests[reading.test]; test.peer && test.resource.starts_with("peer-"))
        values[{rank.rank, *test.peer, test.resource}].push_back(reading.value.value);
  }
  std::map<std::tuple<int, int, std::string>, double> links;
  for (const auto& [link, all] : values) links[link] = statistics::median(all);
  return links;
}

int compare(const std::filesystem::path& folder) {
  int count = 0;
  GPUBENCH_CUDA_CHECK(cudaGetDeviceCount(&count));
  for (int gpu = 0; gpu < count; ++gpu)
    for (int peer = 0; peer < count; ++peer) {
      GPUBENCH_CUDA_CHECK(cudaSetDevice(gpu));
      if (peer != gpu) GPUBENCH_CUDA_CHECK(cudaDeviceEnablePeerAccess(peer, 0));
    }
  double worst = 0.0;
  (void)std::puts("| link | GPUs | campaign | nvbandwidth's method | difference |\n|---|---|---|---|---|");
  for (const auto& [link, value] : links_in(folder)) {
    const auto& [gpu, peer, resource] = link;
    std::vector<Flow> flows;
    flows.push_back(resource.starts_with("peer-read") ? flow_of(gpu, peer, gpu) : flow_of(gpu, gpu, peer));
    if (resource.starts_with("peer-both-ways")) flows.push_back(flow_of(peer, peer, gpu));
    const double truth = rate_of(flows, resource.ends_with("-kernel"));
    for (const Flow& flow : flows) release(flow);
    const double difference = value / truth - 1.0;
    worst = std::max(worst, std::abs(difference));
    (void)std::printf("| %s | %d to %d | %.1f GB/s | %.1f GB/s | %+.2f %% |\n", resource.c_str(), gpu, peer,
                      1e-9 * value, 1e-9 * truth, 100.0 * difference);
  }
  (void)std::printf("the largest difference: %.2f %%\n", 100.0 * worst);
  return worst > most ? 1 : 0;
}

}  // namespace
}  // namespace gpubench

int main(int argc, char** argv) {
  return gpubench::truth::gpu_main("link_truth", [&] {
    if (argc == 2) return gpubench::compare(argv[1]);
    (void)std::fprintf(stderr, "link_truth DIR, of a campaign with --links\n");
    return 64;
  });
}
