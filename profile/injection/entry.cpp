// SPDX-License-Identifier: Apache-2.0
// The library that CUDA loads into the profiled program (CUDA_INJECTION64_PATH), and NVTX (NVTX_INJECTION64_PATH).
// Nothing in here may end or change the program: what fails is noted in the recording, and the program runs on.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "core/base/environment.h"
#include "profile/injection/nvtx_clients.h"
#include "profile/injection/process_recording.h"
#include "profile/injection/trigger_listener.h"

namespace gpubench::profile {
namespace {

/// What this process holds. Never destroyed: CUDA may call until the very end.
struct Injection {
  InjectionOptions options;
  std::mutex mutex;                             ///< over `recording`
  std::unique_ptr<ProcessRecording> recording;  ///< null while none goes on
  NvtxClients nvtx;
  TriggerListener* listener = nullptr;
  std::atomic<bool> ended = false;
};
Injection* injection = nullptr;

/// What a program loses that is killed: CUPTI's own periodic flush hands over only full buffers.
constexpr auto flush_period = std::chrono::milliseconds(100);

/// A thread that gets none of the program's signals, but those of its own faults.
template <class Work>
void start_thread(const Work& work) {
  sigset_t all, before;
  sigfillset(&all);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&all, own);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(work).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void end_recording() {
  if (injection == nullptr || injection->ended.exchange(true)) return;
  const std::lock_guard lock(injection->mutex);
  if (injection->recording) injection->recording->end();
}

/// Called once CUPTI is loaded: what is registered later runs sooner, and CUPTI ends by such functions of its own.
/// Fails without memory alone: then what is still buffered is missing.
void end_at_exit() {
  static const int failed = std::atexit(end_recording);
  (void)failed;
}

/// A copy of this process has no CUDA; it must not write to its parent's recording either, nor answer for it.
void in_copy() {
  injection->ended = true;
  if (injection->recording) injection->recording->forget();
  if (injection->listener != nullptr) injection->listener->close();
}

void flush_now_and_then() {
  while (!injection->ended) {
    std::this_thread::sleep_for(flush_period);
    if (!injection->ended) injection->recording->flush();
  }
}

/// Records a stretch of the program's time: from `start_after` on for `duration`, each in seconds.
void record_stretch() {
  const auto wait = [](double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); };
  wait(injection->options.start_after_seconds);
  if (injection->ended) return;
  injection->recording->start();
  if (!(injection->options.duration_seconds > 0.0)) return;
  wait(injection->options.duration_seconds);
  if (!injection->ended) injection->recording->stop();
}

void record_at_once(const std::filesystem::path& folder) {
  injection->recording = std::make_unique<ProcessRecording>(folder, injection->options);
  end_at_exit();
  if (!injection->recording->is_open() || !injection->recording->refusal().empty()) return;
  injection->nvtx.connect(injection->recording->cupti_path());
  start_thread(flush_now_and_then);
  const InjectionOptions& options = injection->options;
  if (options.capture_range) return;
  if (options.start_after_seconds > 0.0 || options.duration_seconds > 0.0) return start_thread(record_stretch);
  injection->recording->start();
}

/// A TriggerListener::Record. Leaves the process as it was.
void record_once(const std::filesystem::path& folder, const InjectionOptions& options,
                 const TriggerListener::Client& client) {
  {
    const std::lock_guard lock(injection->mutex);
    if (injection->ended) return;
    InjectionOptions asked = options;
    asked.on_demand = true;
    injection->recording = std::make_unique<ProcessRecording>(folder, asked);
    end_at_exit();
  }
  ProcessRecording& recording = *injection->recording;
  const std::string why_not =
      recording.is_open() ? recording.refusal() : "The process cannot write to " + folder.string() + ".";
  if (why_not.empty()) {
    injection->nvtx.connect(recording.cupti_path());
    recording.start();
    client.begun();
    while (!injection->ended && client.asks_on()) recording.flush();
  }
  const std::lock_guard lock(injection->mutex);
  if (injection->ended) return;
  recording.stop();
  if (recording.may_leave()) injection->nvtx.disconnect();
  recording.leave();
  client.ended(why_not);
  injection->recording.reset();
}

void wait_for_triggers() {
  injection->listener = new TriggerListener;
  if (injection->listener->is_open()) start_thread([] { injection->listener->serve(record_once); });
}

void begin(const std::filesystem::path& folder) {
  injection = new Injection;
  injection->options = read_injection_options(folder / recording_options_file);
  pthread_atfork(nullptr, nullptr, in_copy);
  if (injection->options.on_demand)
    wait_for_triggers();
  else
    record_at_once(folder);
}

void begin_once() noexcept {
  static std::once_flag once;
  try {
    std::call_once(once, [] {
      if (const std::string folder = environment(recording_folder_variable); !folder.empty()) profile::begin(folder);
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

/// NVTX calls this at its first use. CUPTI records the ranges. Where there is no driver nothing is recorded, and CUPTI
/// is not asked: that of CUDA 13.2 then calls itself without end.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(void* get_export_table) {
  using namespace gpubench::profile;
  if (dlopen("libcuda.so.1", RTLD_NOW) == nullptr) return 0;
  begin_once();
  if (injection == nullptr) return 0;
  injection->nvtx.add(get_export_table);
  return 1;
}
