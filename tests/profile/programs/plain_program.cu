// SPDX-License-Identifier: Apache-2.0
// A program as users have them: it knows nothing of gpubench. Kernels of known limits, ranges, copies, a graph, pools.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

void check(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check((call), __LINE__)

__global__ void triad(std::size_t n, const float4* a, const float4* b, float4* c) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i >= n) return;
  const float4 x = a[i], y = b[i];
  c[i] = {x.x + 2.f * y.x, x.y + 2.f * y.y, x.z + 2.f * y.z, x.w + 2.f * y.w};
}

__global__ void multiply_add(float* out, int rounds) {
  float v[8];
  for (int i = 0; i < 8; ++i) v[i] = static_cast<float>(threadIdx.x + i);
  for (int r = 0; r < rounds; ++r)
#pragma unroll
    for (int i = 0; i < 8; ++i) v[i] = v[i] * 1.0001f + 0.5f;
  float sum = 0.f;
  for (const float x : v) sum += x;
  if (sum == 12345.f) *out = sum;
}

__global__ void tiny(float* out) {
  if (out == nullptr) *out = 1.f;
}

__global__ void gather(std::size_t n, const unsigned* from, const float* values, float* out) {
  const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  if (i < n) out[i] = values[from[i]];
}

__global__ void chase(const unsigned* next, unsigned steps, unsigned* out) {
  unsigned at = 0;
  for (unsigned i = 0; i < steps; ++i) at = next[at];
  *out = at;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 40;
  const char* const end = argc > 2 ? argv[2] : "";
  constexpr std::size_t n = std::size_t{1} << 26U;  // floats: 256 MiB an array
  float *a = nullptr, *b = nullptr, *c = nullptr;
  unsigned *from = nullptr, *next = nullptr;
  CHECK(cudaMalloc(&a, n * sizeof(float)));
  CHECK(cudaMalloc(&b, n * sizeof(float)));
  CHECK(cudaMalloc(&c, n * sizeof(float)));
  CHECK(cudaMalloc(&from, n * sizeof(unsigned)));
  CHECK(cudaMalloc(&next, 4096 * sizeof(unsigned)));
  CHECK(cudaMemset(a, 0, n * sizeof(float)));
  CHECK(cudaMemset(b, 0, n * sizeof(float)));
  std::vector<unsigned> places(n);
  unsigned state = 1;
  for (unsigned& place : places) {
    state = state * 1664525U + 1013904223U;
    place = state >> 6U;
  }
  CHECK(cudaMemcpy(from, places.data(), n * sizeof(unsigned), cudaMemcpyHostToDevice));
  for (unsigned i = 0; i < 4096; ++i) places[i] = (i + 1537) & 4095U;
  CHECK(cudaMemcpy(next, places.data(), 4096 * sizeof(unsigned), cudaMemcpyHostToDevice));
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  for (int round = 0; round < rounds; ++round) {
    nvtxRangePushA("step");
    nvtxRangePushA("stream");
    triad<<<n / 4 / 256, 256, 0, stream>>>(n / 4, reinterpret_cast<float4*>(a), reinterpret_cast<float4*>(b),
                                           reinterpret_cast<float4*>(c));
    nvtxRangePop();
    nvtxRangePushA("arithmetic");
    multiply_add<<<132 * 8, 256, 0, stream>>>(c, 4096);
    nvtxRangePop();
    gather<<<n / 256, 256, 0, stream>>>(n, from, a, c);
    chase<<<1, 1, 0, stream>>>(next, 2000, from);
    for (int i = 0; i < 50; ++i) tiny<<<1, 32, 0, stream>>>(a);
    CHECK(cudaStreamSynchronize(stream));
    nvtxRangePop();
  }
  // A graph, a pool, a second thread, a copy back.
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 20; ++i) tiny<<<2, 64, 0, stream>>>(a);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 10; ++i) CHECK(cudaGraphLaunch(executable, stream));
  void* pooled = nullptr;
  CHECK(cudaMallocAsync(&pooled, std::size_t{32} << 20U, stream));
  CHECK(cudaFreeAsync(pooled, stream));
  std::thread other([&] {
    cudaStream_t own = nullptr;
    CHECK(cudaStreamCreate(&own));
    for (int i = 0; i < 100; ++i) tiny<<<3, 32, 0, own>>>(a);
    CHECK(cudaStreamSynchronize(own));
    CHECK(cudaStreamDestroy(own));
  });
  other.join();
  CHECK(cudaMemcpy(places.data(), c, n * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaFree(b));
  CHECK(cudaFree(c));
  std::puts("done");
  std::fflush(stdout);
  if (std::strcmp(end, "abort") == 0) std::abort();
  if (std::strcmp(end, "_exit") == 0) _Exit(7);
  if (std::strcmp(end, "kill") == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    raise(SIGKILL);
  }
  return std::strcmp(end, "fail") == 0 ? 5 : 0;
}
