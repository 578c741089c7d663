// SPDX-License-Identifier: Apache-2.0
// Programs that do what profilers find hard, by the first argument. Each says "done" and ends with a code of its own.
//   fork  exec  dlclose LIBRARY  reset  capture  _exit  graph  serve SECONDS  serve-graph SECONDS
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void check(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check((call), __LINE__)

__global__ void small(float* out) {
  if (out == nullptr) *out = 1.f;
}
__global__ void attention(float* out) {
  float v = static_cast<float>(threadIdx.x);
  for (int i = 0; i < 2000; ++i) v = v * 1.0001f + 0.5f;
  if (v == 12345.f) *out = v;
}
__global__ void feed_forward(float* out) {
  float v = static_cast<float>(threadIdx.x);
  for (int i = 0; i < 4000; ++i) v = v * 1.0001f + 0.5f;
  if (v == 12345.f) *out = v;
}

float* memory() {
  float* data = nullptr;
  CHECK(cudaMalloc(&data, 1 << 20));
  return data;
}

void work(int launches) {
  float* const data = memory();
  for (int i = 0; i < launches; ++i) small<<<4, 64>>>(data);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(data));
}

int end(int code) {
  std::puts("done");
  std::fflush(stdout);
  return code;
}

int forks() {
  const pid_t child = fork();
  if (child == 0) {
    work(10);
    _exit(5);
  }
  int status = 0;
  (void)waitpid(child, &status, 0);
  work(20);
  if (const pid_t idle = fork(); idle == 0) _exit(6);  // it has no CUDA, and leaves
  (void)wait(nullptr);
  return end(WEXITSTATUS(status) == 5 ? 3 : 1);
}

int loads(const char* file) {
  float* const data = memory();
  for (int i = 0; i < 3; ++i) {
    void* const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return std::puts(dlerror()), 1;
    const auto run = reinterpret_cast<int (*)(float*, int)>(dlsym(library, "run_library"));
    if (run == nullptr || run(data, 10) != 0) return 1;
    (void)dlclose(library);
    work(10);
  }
  return end(8);
}

int resets() {
  work(10);
  CHECK(cudaDeviceReset());
  work(20);
  CHECK(cudaDeviceReset());
  return end(9);
}

int captures_forever() {
  float* const data = memory();
  cudaStream_t captured = nullptr, other = nullptr;
  CHECK(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  for (int i = 0; i < 10; ++i) small<<<4, 64, 0, other>>>(data);
  CHECK(cudaStreamBeginCapture(captured, cudaStreamCaptureModeRelaxed));
  for (int i = 0; i < 10; ++i) small<<<8, 64, 0, captured>>>(data);
  for (int i = 0; i < 10; ++i) small<<<4, 64, 0, other>>>(data);
  CHECK(cudaStreamSynchronize(other));
  return end(4);  // the capture never ends
}

/// A graph of two kernels, captured in ranges of their own.
struct Graph {
  cudaStream_t stream = nullptr;
  cudaGraphExec_t executable = nullptr;
  explicit Graph(float* data, bool warm_up) {
    CHECK(cudaStreamCreate(&stream));
    const auto both = [&] {
      nvtxRangePushA("attention");
      attention<<<64, 128, 0, stream>>>(data);
      nvtxRangePop();
      nvtxRangePushA("feed_forward");
      feed_forward<<<64, 128, 0, stream>>>(data);
      nvtxRangePop();
    };
    for (int i = 0; warm_up && i < 3; ++i) both();
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    nvtxRangePushA("layer");
    for (int i = 0; i < 4; ++i) both();
    nvtxRangePop();
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphDestroy(graph));
  }
  void launch() const { CHECK(cudaGraphLaunch(executable, stream)); }
};

int launches_graphs() {
  const Graph graph(memory(), true);
  for (int i = 0; i < 50; ++i) {
    nvtxRangePushA("decode");
    graph.launch();
    CHECK(cudaStreamSynchronize(graph.stream));
    nvtxRangePop();
  }
  return end(0);
}

/// Answers requests for so many seconds, and prints how many it answered in each tenth of a second.
int serves(double seconds, bool by_graph) {
  float* const data = memory();
  const Graph graph(data, true);
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const double start = now();
  double next = start + 0.1;
  int requests = 0;
  while (true) {
    nvtxRangePushA("request");
    if (by_graph) {
      graph.launch();
    } else {
      for (int i = 0; i < 40; ++i) small<<<4, 64, 0, graph.stream>>>(data);
    }
    CHECK(cudaStreamSynchronize(graph.stream));
    nvtxRangePop();
    ++requests;
    const double time = now();
    if (time < next) continue;
    std::printf("%.3f %d\n", time - start, requests);
    std::fflush(stdout);
    requests = 0;
    next += 0.1;
    if (time - start > seconds) return end(0);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const char* const what = argc > 1 ? argv[1] : "";
  const char* const value = argc > 2 ? argv[2] : "";
  const auto is = [&](const char* name) { return std::strcmp(what, name) == 0; };
  if (is("fork")) return forks();
  if (is("exec")) {
    work(10);
    execl(argv[0], argv[0], "plain", static_cast<char*>(nullptr));
    return 1;
  }
  if (is("plain")) return work(20), end(2);
  if (is("dlclose")) return loads(value);
  if (is("reset")) return resets();
  if (is("capture")) return captures_forever();
  if (is("_exit")) {
    work(10);
    (void)end(0);
    _exit(7);
  }
  if (is("graph")) return launches_graphs();
  if (is("serve") || is("serve-graph")) return serves(std::atof(value), is("serve-graph"));
  std::fputs("unruly_program fork|exec|dlclose LIBRARY|reset|capture|_exit|graph|serve SECONDS|serve-graph SECONDS\n",
             stderr);
  return 64;
}
