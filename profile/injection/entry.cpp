// SPDX-License-Identifier: Apache-2.0
// The library that CUDA loads into the profiled program (CUDA_INJECTION64_PATH), and NVTX (NVTX_INJECTION64_PATH).
// Nothing in here may end or change the program: what fails is noted in the recording, and the program runs on.
#include <cupti_driver_cbid.h>
#include <cupti_nvtx_cbid.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <iterator>
#include <string_view>
#include <thread>

#include "profile/injection/launch_counter.h"
#include "profile/injection/recorder.h"

namespace gpubench::profile {
namespace {

/// What CUDA_INJECTION64_PATH's process holds. Never destroyed: CUDA may call until the very end.
struct Injection {
  std::unique_ptr<RecordingWriter> recording;
  std::shared_ptr<const bench::CuptiLibrary> library;
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<LaunchCounter> counter;
  InjectionOptions options;
  CUpti_SubscriberHandle subscriber = nullptr;
  std::atomic<bool> counting = false;
  std::atomic<bool> ended = false;
};
Injection* injection = nullptr;

void note(const std::string& sentence) {
  const auto lock = injection->recording->lock();
  injection->recording->note(sentence);
  injection->recording->flush();
}

void property(std::string_view key, std::string_view value) {
  if (value.empty()) return;
  const auto lock = injection->recording->lock();
  const std::uint32_t key_number = injection->recording->name(key);
  injection->recording->add(PropertyRecord{.key = key_number, .value = injection->recording->name(value)});
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return text.substr(0, max_name_bytes);
}

/// What the driver is called with, as CUPTI's generated_cuda_meta.h has it; that header does not compile by itself.
struct LaunchCall {  ///< cuLaunchKernel, cuLaunchCooperativeKernel
  CUfunction f;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
};
struct LaunchExCall {  ///< cuLaunchKernelEx
  const CUlaunchConfig* config;
  CUfunction f;
};

thread_local RangePath range_path;

/// A launch, where the call is one that can be counted.
std::optional<Launch> launch_of(CUpti_CallbackId call, const CUpti_CallbackData& data) {
  Launch launch;
  launch.context = data.context;
  launch.name = data.symbolName;
  launch.correlation = data.correlationId;
  launch.ranges = range_path.number();
  const auto take = [&](const auto& call_parameters) {
    launch.function = call_parameters.f;
    launch.stream = call_parameters.hStream;
    launch.shape = {call_parameters.gridDimX,      call_parameters.gridDimY,  call_parameters.gridDimZ,
                    call_parameters.blockDimX,     call_parameters.blockDimY, call_parameters.blockDimZ,
                    call_parameters.sharedMemBytes};
  };
  switch (call) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz: launch.per_thread_stream = true; [[fallthrough]];
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
      take(*static_cast<const LaunchCall*>(data.functionParams));
      return launch;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz: launch.per_thread_stream = true; [[fallthrough]];
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
      take(*static_cast<const LaunchCall*>(data.functionParams));
      return launch;
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: launch.per_thread_stream = true; [[fallthrough]];
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx: {
      const auto& call_parameters = *static_cast<const LaunchExCall*>(data.functionParams);
      if (call_parameters.config == nullptr) return std::nullopt;
      const CUlaunchConfig& config = *call_parameters.config;
      launch.function = call_parameters.f;
      launch.stream = config.hStream;
      launch.shape = {config.gridDimX,  config.gridDimY,  config.gridDimZ,      config.blockDimX,
                      config.blockDimY, config.blockDimZ, config.sharedMemBytes};
      return launch;
    }
    default: return std::nullopt;
  }
}

bool begins_capture(CUpti_CallbackId call) {
  return call == CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture ||
         call == CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz ||
         call == CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2 ||
         call == CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz ||
         call == CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph ||
         call == CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz;
}

/// Set while this thread's launch is being counted, so that what CUPTI itself launches is not.
thread_local bool counts_now = false;

/// What NVTX is called with, as CUPTI's generated_nvtx_meta.h has it.
struct NvtxPushExCall {
  const nvtxEventAttributes_t* attributes;
};
struct NvtxDomainPushExCall {
  nvtxDomainHandle_t domain;
  NvtxPushExCall core;
};

template <class Character>
std::uint64_t hash_of(const Character* text) {
  return text == nullptr ? 0 : std::hash<std::basic_string_view<Character>>()(text);
}

std::uint64_t number_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

std::uint64_t name_of(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr) return 0;
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII: return hash_of<char>(attributes->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE: return hash_of<wchar_t>(attributes->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED: return number_of(attributes->message.registered);
    default: return 0;
  }
}

void on_range(CUpti_CallbackId call, const void* parameters) {
  const void* const what = static_cast<const CUpti_NvtxData*>(parameters)->functionParams;
  switch (call) {
    case CUPTI_CBID_NVTX_nvtxRangePushA: return range_path.push(0, hash_of(*static_cast<const char* const*>(what)));
    case CUPTI_CBID_NVTX_nvtxRangePushW: return range_path.push(0, hash_of(*static_cast<const wchar_t* const*>(what)));
    case CUPTI_CBID_NVTX_nvtxRangePushEx:
      return range_path.push(0, name_of(static_cast<const NvtxPushExCall*>(what)->attributes));
    case CUPTI_CBID_NVTX_nvtxRangePop: return range_path.pop(0);
    case CUPTI_CBID_NVTX_nvtxDomainRangePushEx: {
      const auto& push = *static_cast<const NvtxDomainPushExCall*>(what);
      return range_path.push(number_of(push.domain), name_of(push.core.attributes));
    }
    case CUPTI_CBID_NVTX_nvtxDomainRangePop:
      return range_path.pop(number_of(*static_cast<const nvtxDomainHandle_t*>(what)));
    default: return;
  }
}

void CUPTIAPI on_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId call, const void* parameters) noexcept {
  if (domain == CUPTI_CB_DOMAIN_NVTX && !injection->ended.load(std::memory_order_relaxed))
    return on_range(call, parameters);
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || injection->ended.load(std::memory_order_relaxed)) return;
  const auto& data = *static_cast<const CUpti_CallbackData*>(parameters);
  const bool enters = data.callbackSite == CUPTI_API_ENTER;
  if (call == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart) {
    if (!enters && injection->options.capture_range) {
      injection->recorder->start();
      injection->counting = injection->counter != nullptr;
    }
    return;
  }
  if (call == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop) {
    if (enters && injection->options.capture_range) {
      injection->counting = false;
      injection->recorder->stop();
    }
    return;
  }
  if (injection->counter == nullptr) return;
  if (begins_capture(call)) {
    if (enters) injection->counter->capture_begins();
    return;
  }
  if (call == CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture || call == CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz) {
    if (!enters) injection->counter->capture_ends();
    return;
  }
  if (enters) {
    if (counts_now || !injection->counting.load(std::memory_order_relaxed)) return;
    const auto launch = launch_of(call, data);
    if (launch) {
      counts_now = true;
      counts_now = injection->counter->before(*launch);
    }
  } else if (counts_now) {
    if (const auto launch = launch_of(call, data)) {
      injection->counter->after(*launch);
      counts_now = false;
    }
  }
}

void subscribe() {
  const bool counts = !injection->options.counter_sets.empty();
  if (!counts && !injection->options.capture_range) return;
  const bench::CuptiLibrary& library = *injection->library;
  GPUBENCH_CUPTI_CALL(library, cuptiSubscribe, &injection->subscriber, on_call, nullptr);
  const auto listen = [&](CUpti_CallbackId call) {
    GPUBENCH_CUPTI_CALL(library, cuptiEnableCallback, 1, injection->subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call);
  };
  listen(CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
  listen(CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
  if (!counts) return;
  for (const CUpti_CallbackId call :
       {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph, CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz})
    listen(call);
  for (const CUpti_CallbackId call :
       {CUPTI_CBID_NVTX_nvtxRangePushA, CUPTI_CBID_NVTX_nvtxRangePushW, CUPTI_CBID_NVTX_nvtxRangePushEx,
        CUPTI_CBID_NVTX_nvtxRangePop, CUPTI_CBID_NVTX_nvtxDomainRangePushEx, CUPTI_CBID_NVTX_nvtxDomainRangePop})
    GPUBENCH_CUPTI_CALL(library, cuptiEnableCallback, 1, injection->subscriber, CUPTI_CB_DOMAIN_NVTX, call);
  injection->counter = std::make_unique<LaunchCounter>(injection->library, *injection->recording, injection->options);
  injection->recorder->pass_over(injection->counter->waiting_thread());
}

void end_recording() {
  if (injection == nullptr || injection->ended.exchange(true)) return;
  injection->counting = false;
  if (injection->counter) injection->counter->finish();
  injection->recorder->flush(true);
  injection->recorder->stop();
  injection->recorder->flush(true);
  injection->recorder->write_cost();
  const auto lock = injection->recording->lock();
  injection->recording->add(EndRecord{});
  injection->recording->flush();
}

/// What a program loses that is killed: CUPTI's own periodic flush hands over only full buffers.
constexpr auto flush_period = std::chrono::milliseconds(100);

void flush_now_and_then() {
  while (!injection->ended) {
    std::this_thread::sleep_for(flush_period);
    if (!injection->ended) injection->recorder->flush(false);
  }
}

/// Records a stretch of the program's time: from `start_after` on for `duration`, each in seconds.
void record_stretch() {
  const auto wait = [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); };
  wait(injection->options.start_after_seconds);
  if (injection->ended) return;
  injection->recorder->start();
  injection->counting = injection->counter != nullptr;
  if (!(injection->options.duration_seconds > 0.0)) return;
  wait(injection->options.duration_seconds);
  if (injection->ended) return;
  injection->counting = false;
  injection->recorder->stop();
}

void begin(const std::filesystem::path& folder) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const RecordingHeader header{.start_ns = static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec,
                           .process = static_cast<std::uint32_t>(getpid()),
                           .parent = static_cast<std::uint32_t>(getppid())};
  injection = new Injection;
  injection->options = read_injection_options(folder / recording_options_file);
  const auto file = folder / fmt::format("{}-{}{}", header.start_ns, header.process, recording_extension);
  injection->recording = std::make_unique<RecordingWriter>(file, header, injection->options.max_bytes);
  if (!injection->recording->open()) return;
  property("command", command_line());
  property("rank", rank_of_process());
  property("local rank", local_rank_of_process());
  try {
    injection->library = bench::load_cupti();
    injection->recorder = std::make_unique<Recorder>(injection->library, *injection->recording);
    injection->recorder->attach();
  } catch (const std::exception& error) {
    injection->recorder.reset();
    note(fmt::format("Nothing of this process is recorded: {}.", error.what()));
    return;
  }
  try {
    subscribe();
  } catch (const std::exception& error) {
    const auto lock = injection->recording->lock();
    injection->recording->note(error.what(), true);
  }
  (void)std::atexit(end_recording);  // fails without memory alone: then what is still buffered is missing
  std::thread(flush_now_and_then).detach();
  // A copy of this process has no CUDA; it must not write to its parent's recording either.
  pthread_atfork(nullptr, nullptr, [] { injection->ended = true; });
  if (injection->options.capture_range) return;
  if (injection->options.start_after_seconds > 0.0 || injection->options.duration_seconds > 0.0) {
    std::thread(record_stretch).detach();
    return;
  }
  injection->recorder->start();
  injection->counting = injection->counter != nullptr;
}

void begin_once() noexcept {
  static std::once_flag once;
  try {
    std::call_once(once, [] {
      const char* const folder = std::getenv(recording_folder_variable);
      if (folder != nullptr && *folder != '\0') begin(folder);
    });
  } catch (...) {  // the program must run on
  }
}

}  // namespace
}  // namespace gpubench::profile

/// CUDA calls this while it is initialised.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  gpubench::profile::begin_once();
  return 1;
}

/// NVTX calls this at its first use. CUPTI records the ranges.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* get_export_table) {
  using namespace gpubench::profile;
  begin_once();
  if (injection == nullptr || injection->library == nullptr) return 0;
  void* const cupti = dlopen(injection->library->path().c_str(), RTLD_NOW | RTLD_NOLOAD);
  const auto initialize =
      cupti == nullptr ? nullptr : reinterpret_cast<int (*)(void*)>(dlsym(cupti, "InitializeInjectionNvtx2"));
  return initialize == nullptr ? 0 : initialize(get_export_table);
}
