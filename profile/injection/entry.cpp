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
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <string_view>
#include <thread>

#include "gpu/cuda/cupti/cupti_buffers.h"
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

/// What is done about a call of the driver.
enum class DriverCall : std::uint8_t { launch, launch_ex, begin_capture, end_capture, start_profiler, stop_profiler };
struct ListenedCall {
  CUpti_CallbackId number = 0;
  DriverCall what = DriverCall::launch;
  bool per_thread_stream = false;
};
#define GPUBENCH_BOTH(name, what) \
  {CUPTI_DRIVER_TRACE_CBID_##name, DriverCall::what}, { CUPTI_DRIVER_TRACE_CBID_##name##_ptsz, DriverCall::what, true }
constexpr auto listened_calls = std::to_array<ListenedCall>({
    GPUBENCH_BOTH(cuLaunchKernel, launch),
    GPUBENCH_BOTH(cuLaunchKernelEx, launch_ex),
    GPUBENCH_BOTH(cuLaunchCooperativeKernel, launch),
    GPUBENCH_BOTH(cuStreamBeginCapture, begin_capture),
    GPUBENCH_BOTH(cuStreamBeginCapture_v2, begin_capture),
    GPUBENCH_BOTH(cuStreamBeginCaptureToGraph, begin_capture),
    GPUBENCH_BOTH(cuStreamEndCapture, end_capture),
    {CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, DriverCall::start_profiler},
    {CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, DriverCall::stop_profiler},
});
#undef GPUBENCH_BOTH
/// Those that are of no use without counters.
constexpr bool is_for_counting(DriverCall call) { return call < DriverCall::start_profiler; }

/// A launch, where the call is one that can be counted.
std::optional<Launch> launch_of(const ListenedCall& call, const CUpti_CallbackData& data) {
  Launch launch;
  launch.context = data.context;
  launch.name = data.symbolName;
  launch.correlation = data.correlationId;
  launch.ranges = range_path.number();
  launch.per_thread_stream = call.per_thread_stream;
  const auto take = [&](CUfunction function, const auto& how) {
    launch.function = function;
    launch.stream = how.hStream;
    launch.shape = {how.gridDimX,  how.gridDimY,  how.gridDimZ,      how.blockDimX,
                    how.blockDimY, how.blockDimZ, how.sharedMemBytes};
    return launch;
  };
  if (call.what == DriverCall::launch) {
    const auto& parameters = *static_cast<const LaunchCall*>(data.functionParams);
    return take(parameters.f, parameters);
  }
  const auto& parameters = *static_cast<const LaunchExCall*>(data.functionParams);
  if (call.what != DriverCall::launch_ex || parameters.config == nullptr) return std::nullopt;
  return take(parameters.f, *parameters.config);
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

void on_launch(const ListenedCall& call, const CUpti_CallbackData& data, bool enters) {
  if (enters == counts_now || (enters && !injection->counting.load(std::memory_order_relaxed))) return;
  const auto launch = launch_of(call, data);
  if (!launch) return;
  if (enters) {
    counts_now = true;
    counts_now = injection->counter->before(*launch);
  } else {
    injection->counter->after(*launch);
    counts_now = false;
  }
}

void start_recording() {
  injection->recorder->start();
  injection->counting = injection->counter != nullptr;
}

void stop_recording() {
  injection->counting = false;
  injection->recorder->stop();
}

void CUPTIAPI on_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId number, const void* parameters) noexcept {
  if (injection->ended.load(std::memory_order_relaxed)) return;
  if (domain == CUPTI_CB_DOMAIN_NVTX) return on_range(number, parameters);
  const auto* const call = std::ranges::find(listened_calls, number, &ListenedCall::number);
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || call == listened_calls.end()) return;
  if (is_for_counting(call->what) && injection->counter == nullptr) return;
  const auto& data = *static_cast<const CUpti_CallbackData*>(parameters);
  const bool enters = data.callbackSite == CUPTI_API_ENTER;
  switch (call->what) {
    case DriverCall::launch:
    case DriverCall::launch_ex: return on_launch(*call, data, enters);
    case DriverCall::begin_capture: return enters ? injection->counter->capture_begins() : void();
    case DriverCall::end_capture: return enters ? void() : injection->counter->capture_ends();
    case DriverCall::start_profiler: return !enters && injection->options.capture_range ? start_recording() : void();
    case DriverCall::stop_profiler: return enters && injection->options.capture_range ? stop_recording() : void();
  }
}

void subscribe() {
  const bool counts = !injection->options.counter_sets.empty();
  if (!counts && !injection->options.capture_range) return;
  const bench::CuptiLibrary& library = *injection->library;
  GPUBENCH_CUPTI_CALL(library, cuptiSubscribe, &injection->subscriber, on_call, nullptr);
  for (const ListenedCall& call : listened_calls)
    if (counts || !is_for_counting(call.what))
      GPUBENCH_CUPTI_CALL(library, cuptiEnableCallback, 1, injection->subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
                          call.number);
  if (!counts) return;
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
  if (bench::missing_buffers() > 0)
    note(
        "Another user of CUPTI in the program, such as torch.profiler, took over its records: what came after is not "
        "in "
        "this report, and that profiler's trace may lack work of the GPU. Run the program with one of the two.");
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
  start_recording();
  if (!(injection->options.duration_seconds > 0.0)) return;
  wait(injection->options.duration_seconds);
  if (!injection->ended) stop_recording();
}

void begin(const std::filesystem::path& folder) {
  const RecordingHeader header{.start_ns = utc_nanoseconds(),
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
  start_recording();
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
