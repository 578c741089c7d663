// SPDX-License-Identifier: Apache-2.0
// What a launch costs before CUPTI is asked for something, while, and after: in a program that launches on.
// after_cupti none|subscriber|kernels|runtime|driver|memory|ranges|all stay|leave [TIMES]. `stay` switches off what was
// asked for; `leave` also has CUPTI leave the process (cuptiFinalize), with the GPU idle and no call under way.
#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "gpu/cuda/cupti/cupti_library.h"

namespace {

constexpr int kernels_of_graph = 20, graphs = 20, launches = kernels_of_graph * graphs;

struct Kind {
  std::string_view name;
  CUpti_ActivityKind kind;
};
constexpr Kind kinds[] = {{"kernels", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL},
                          {"runtime", CUPTI_ACTIVITY_KIND_RUNTIME},
                          {"driver", CUPTI_ACTIVITY_KIND_DRIVER},
                          {"memory", CUPTI_ACTIVITY_KIND_MEMORY2},
                          {"ranges", CUPTI_ACTIVITY_KIND_MARKER}};

std::atomic<long> bytes_recorded = 0;
std::atomic<bool> quit = false, wants_pause = false, pauses = false;
std::mutex mutex;
std::vector<double> launch_ns, graph_ns;

__global__ void nothing() {}

void check(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::printf("line %d: %s\n", line, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check((call), __LINE__)

void CUPTIAPI give(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  *bytes = std::size_t{2} << 20U;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *bytes));
  *records = 0;
}
void CUPTIAPI take(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t bytes) {
  bytes_recorded += static_cast<long>(bytes);
  std::free(buffer);
}
void CUPTIAPI on_call(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

template <class Work>
double seconds_of(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Launches until it is told to end: the program.
void launch() {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  nothing<<<1, 32, 0, stream>>>();
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < kernels_of_graph; ++i) nothing<<<1, 32, 0, stream>>>();
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  while (!quit) {
    if (wants_pause) {
      CHECK(cudaDeviceSynchronize());
      for (pauses = true; wants_pause;) std::this_thread::yield();
      pauses = false;
    }
    const double plain = seconds_of([&] {
      for (int i = 0; i < launches; ++i) nothing<<<1, 32, 0, stream>>>();
      CHECK(cudaStreamSynchronize(stream));
    });
    const double of_graphs = seconds_of([&] {
      for (int i = 0; i < graphs; ++i) CHECK(cudaGraphLaunch(executable, stream));
      CHECK(cudaStreamSynchronize(stream));
    });
    const std::lock_guard lock(mutex);
    launch_ns.push_back(1e9 * plain / launches);
    graph_ns.push_back(1e9 * of_graphs / launches);
  }
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const double middle = values.empty() ? 0.0 : values[values.size() / 2];
  values.clear();
  return middle;
}

void show(const char* when, double seconds) {
  {
    const std::lock_guard lock(mutex);
    launch_ns.clear();
    graph_ns.clear();
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  const std::lock_guard lock(mutex);
  const double plain = median(launch_ns), of_graphs = median(graph_ns);
  std::printf("%-8s %6.0f ns a launch, %6.0f ns a kernel of a graph", when, plain, of_graphs);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::puts("after_cupti none|subscriber|kernels|...|all stay|leave [TIMES]"), 64;
  const std::string_view wanted = argv[1];
  const bool leaves = std::strcmp(argv[2], "leave") == 0, subscribes = wanted == "all" || wanted == "subscriber";
  const int times = argc > 3 ? std::atoi(argv[3]) : 3;
  const auto library = gpubench::bench::load_cupti();
  std::thread program(launch);
  show("before", 0.5);
  std::puts("");
  for (int i = 0; i < times; ++i) {
    CUpti_SubscriberHandle subscriber = nullptr;
    GPUBENCH_CUPTI_CALL(*library, cuptiActivityRegisterCallbacks, give, take);
    if (subscribes) GPUBENCH_CUPTI_CALL(*library, cuptiSubscribe, &subscriber, on_call, nullptr);
    for (const Kind& each : kinds)
      if (wanted == "all" || wanted == each.name) GPUBENCH_CUPTI_CALL(*library, cuptiActivityEnable, each.kind);
    show("asked", 0.25);
    GPUBENCH_CUPTI_CALL(*library, cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    std::printf(", %ld KB of records\n", bytes_recorded.exchange(0) / 1000);
    for (const Kind& each : kinds)
      if (wanted == "all" || wanted == each.name) GPUBENCH_CUPTI_CALL(*library, cuptiActivityDisable, each.kind);
    GPUBENCH_CUPTI_CALL(*library, cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    for (wants_pause = leaves; wants_pause && !pauses;) std::this_thread::yield();
    if (subscribes) GPUBENCH_CUPTI_CALL(*library, cuptiUnsubscribe, subscriber);
    if (leaves) library->check(library->cuptiFinalize(), "cuptiFinalize");
    wants_pause = false;
    show("after", 0.4);
    std::puts("");
  }
  quit = true;
  program.join();
  return 0;
}
