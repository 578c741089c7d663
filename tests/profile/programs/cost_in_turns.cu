// SPDX-License-Identifier: Apache-2.0
// What gpubench's recording adds to a launch over CUPTI's records of the same kinds: one process that changes between
// them many times, because processes differ by more than the two do. cost_in_turns [ROUNDS [LAUNCHES]].
#include <cuda_runtime.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "profile/injection/recorder.h"

namespace {

using namespace gpubench;

enum Mode { plain, bare, ours, modes };
constexpr std::array<const char*, modes> mode_names = {"plain", "bare CUPTI", "gpubench"};

std::atomic<Mode> mode = plain;
CUpti_BuffersCallbackRequestFunc give_of_ours = nullptr;
CUpti_BuffersCallbackCompleteFunc take_of_ours = nullptr;
std::mutex mutex;
std::set<std::uint8_t*> bare_buffers;
std::array<std::atomic<std::uint64_t>, modes> bytes_recorded = {};
/// In CUPTI's two callbacks, on the thread that launches and on others.
std::array<std::array<std::atomic<std::uint64_t>, 2>, modes> handler_ns = {};
thread_local bool launches_here = false;

void spend(Mode in, std::uint64_t since) { handler_ns[in][launches_here ? 0 : 1] += profile::now_ns() - since; }

void CUPTIAPI give(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  const std::uint64_t start = profile::now_ns();
  if (mode == ours) {
    give_of_ours(buffer, bytes, records);
  } else {
    *bytes = std::size_t{2} << 20U;
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *bytes));
    *records = 0;
    const std::lock_guard lock(mutex);
    bare_buffers.insert(*buffer);
  }
  spend(mode, start);
}

void CUPTIAPI take(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size, std::size_t valid) {
  const std::uint64_t start = profile::now_ns();
  const bool of_bare = [&] {
    const std::lock_guard lock(mutex);
    return bare_buffers.erase(buffer) > 0;
  }();
  bytes_recorded[of_bare ? bare : ours] += valid;
  if (of_bare)
    std::free(buffer);
  else
    take_of_ours(context, stream, buffer, size, valid);
  spend(of_bare ? bare : ours, start);
}

CUptiResult CUPTIAPI keep_callbacks(CUpti_BuffersCallbackRequestFunc give_buffer,
                                    CUpti_BuffersCallbackCompleteFunc take_buffer) {
  give_of_ours = give_buffer;
  take_of_ours = take_buffer;
  return CUPTI_SUCCESS;
}

__global__ void nothing() {}

double cpu_ns() {
  timespec now{};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Cost {
  double wall_ns = 0.0, cpu_ns = 0.0;  ///< of a launch
};

Cost launch(int launches) {
  for (int i = 0; i < 500; ++i) nothing<<<1, 32>>>();
  const double cpu = cpu_ns();
  const std::uint64_t start = profile::now_ns();
  for (int i = 0; i < launches; ++i) nothing<<<1, 32>>>();
  const std::uint64_t end = profile::now_ns();
  const Cost cost = {static_cast<double>(end - start) / launches, (cpu_ns() - cpu) / launches};
  if (cudaDeviceSynchronize() != cudaSuccess) throw std::runtime_error("a launch failed");
  return cost;
}

double at(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values.empty() ? 0.0 : values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20, launches = argc > 2 ? std::atoi(argv[2]) : 20'000;
  try {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      std::puts("no GPU");
      return 77;
    }
    launches_here = true;
    const auto cupti = bench::load_cupti();
    const auto of_recorder = std::make_shared<bench::CuptiLibrary>(*cupti);
    of_recorder->cuptiActivityRegisterCallbacks = keep_callbacks;
    const auto file = std::filesystem::temp_directory_path() / ("cost_in_turns." + std::to_string(getpid()));
    profile::RecordingWriter recording(file, {}, std::uint64_t{8} << 30U);
    GPUBENCH_CUPTI_CALL(*cupti, cuptiActivityRegisterCallbacks, give, take);
    profile::Recorder recorder(of_recorder, recording);
    recorder.attach();
    (void)cudaFree(nullptr);

    std::atomic<bool> ended = false;
    std::thread flusher([&] {  // as in the injected library
      while (!ended) {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        if (mode == ours) recorder.flush(false);
      }
    });
    constexpr std::array kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                  CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
                                  CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER,
                                  CUPTI_ACTIVITY_KIND_OVERHEAD,          CUPTI_ACTIVITY_KIND_SYNCHRONIZATION};
    const auto run = [&](Mode next) {
      recorder.flush(true);
      mode = next;
      if (next == ours) recorder.start();
      if (next == bare)
        for (const CUpti_ActivityKind kind : kinds) GPUBENCH_CUPTI_CALL(*cupti, cuptiActivityEnable, kind);
      const Cost cost = launch(launches);
      recorder.flush(true);
      if (next == ours) recorder.stop();
      if (next == bare)
        for (const CUpti_ActivityKind kind : kinds) (void)cupti->cuptiActivityDisable(kind);
      return cost;
    };
    for (const Mode one : {plain, bare, ours}) (void)run(one);
    for (auto& bytes : bytes_recorded) bytes = 0;
    for (auto& of_mode : handler_ns)
      for (auto& nanoseconds : of_mode) nanoseconds = 0;

    std::array<std::vector<double>, modes> wall, cpu;
    std::vector<double> wall_more, cpu_more;
    for (int round = 0; round < rounds; ++round) {
      std::array<Cost, modes> sum = {};
      for (const Mode one : {plain, bare, ours, ours, bare, plain}) {  // what drifts evenly cancels
        const Cost cost = run(one);
        sum[one].wall_ns += cost.wall_ns / 2;
        sum[one].cpu_ns += cost.cpu_ns / 2;
      }
      for (std::size_t i = 0; i < modes; ++i) {
        wall[i].push_back(sum[i].wall_ns);
        cpu[i].push_back(sum[i].cpu_ns);
      }
      wall_more.push_back(sum[ours].wall_ns - sum[bare].wall_ns);
      cpu_more.push_back(sum[ours].cpu_ns - sum[bare].cpu_ns);
    }
    ended = true;
    flusher.join();
    std::printf("%d rounds of 2 x %d launches each; ns a launch\n", rounds, launches);
    std::puts(
        "| | median | quartiles | CPU time | bytes of records | in CUPTI's callbacks, launching thread | other threads "
        "|");
    std::puts("|---|---:|---:|---:|---:|---:|---:|");
    const double all = 2.0 * rounds * (launches + 500);
    for (std::size_t i = 0; i < modes; ++i)
      std::printf("| %s | %.0f | %.0f to %.0f | %.0f | %.1f | %.2f | %.1f |\n", mode_names[i], at(wall[i], 0.5),
                  at(wall[i], 0.25), at(wall[i], 0.75), at(cpu[i], 0.5), static_cast<double>(bytes_recorded[i]) / all,
                  static_cast<double>(handler_ns[i][0]) / all, static_cast<double>(handler_ns[i][1]) / all);
    // Of n values in order, so many from either end hold the median between them in 95 of 100 cases.
    const double off = 0.98 / std::sqrt(static_cast<double>(rounds));
    for (const auto& [what, more] : {std::pair("time", &wall_more), std::pair("CPU time", &cpu_more)})
      std::printf("gpubench less bare CUPTI, %s: median %+.0f ns (95 %%: %+.0f to %+.0f)\n", what, at(*more, 0.5),
                  at(*more, std::max(0.5 - off, 0.0)), at(*more, std::min(0.5 + off, 1.0)));
    std::filesystem::remove(file);
    std::fflush(stdout);
    std::_Exit(0);  // CUPTI may still call
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
