// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/process_recording.h"

#include <cupti_runtime_cbid.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>

#include "gpu/cuda/cupti/cupti_buffers.h"
#include "gpu/libraries.h"
#include "profile/injection/listened_calls.h"
#include "profile/injection/other_users.h"
#include "profile/injection/visible_gpus.h"

namespace gpubench::profile {
namespace {

/// Whose callbacks are answered; callbacks may still run when it ends.
std::atomic<ProcessRecording*> answering = nullptr;
std::atomic<int> running_callbacks = 0;
/// Graphs were made or launched while CUPTI was there: launched after it has left they would fail.
std::atomic<bool> has_graphs = false;
/// Of each recording of a process a number, so that a thread begins the path of its ranges anew.
std::atomic<std::uint32_t> recordings = 0;

thread_local RangePath range_path;
thread_local std::uint32_t path_of_recording = 0;
/// What follows this thread's launch. Set while it is being counted, so that what CUPTI itself launches is not.
thread_local LaunchCounter::Next next_call = LaunchCounter::Next::nothing;

RangePath& path_here() {
  if (const std::uint32_t now = recordings; std::exchange(path_of_recording, now) != now) range_path = {};
  return range_path;
}

/// How often an idle moment of the GPU is looked for, each time for up to 20 ms, and how often it is seen whether it
/// came.
constexpr int max_looks = 20;
constexpr int waits_for_leave = 500;

/// Sentences of one kind that are written; a program may ask again and again.
constexpr std::uint32_t max_notes_of_others = 4;

std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  while (!text.empty() && text.back() == '\0') text.pop_back();
  std::ranges::replace(text, '\0', ' ');
  return text.substr(0, max_name_bytes);
}

}  // namespace

ProcessRecording::ProcessRecording(const std::filesystem::path& folder, const InjectionOptions& options)
    : options_(options), start_ns_(utc_nanoseconds()), missing_before_(bench::missing_buffers()) {
  const RecordingHeader header{.start_ns = start_ns_,
                               .process = static_cast<std::uint32_t>(getpid()),
                               .parent = static_cast<std::uint32_t>(getppid())};
  const auto file = folder / fmt::format("{}-{}{}", header.start_ns, header.process, recording_extension);
  recording_ = std::make_unique<RecordingWriter>(file, header, options.max_bytes);
  if (!is_open()) return;
  property("command", command_line());
  property("rank", rank_of_process());
  property("local rank", local_rank_of_process());
  ++recordings;
  try {
    take_cupti();
  } catch (const std::exception& error) {
    refusal_ = fmt::format("Nothing of this process is recorded: {}.", error.what());
    note(refusal_);
    recorder_.reset();
    return;
  }
  try {
    subscribe();
  } catch (const std::exception& error) {
    const auto lock = recording_->lock();
    recording_->note(error.what(), true);
  }
}

/// Throws MetricsUnavailable.
void ProcessRecording::take_cupti() {
  static const bool may_have_user = bench::loaded_library("libcupti.so").has_value();  // before it was loaded here
  library_ = bench::load_cupti();
  if (may_have_user) {  // whose records would be lost
    CUpti_SubscriberHandle probe = nullptr;
    GPUBENCH_CUPTI_CALL(*library_, cuptiSubscribe, &probe, on_call, nullptr);
    (void)library_->cuptiUnsubscribe(probe);
  }
  watch_other_users(library_, {.records = [this](const std::string& user) { give_up_records(user); },
                               .callbacks = [this](const std::string& user) { give_up_callbacks(user); }});
  recorder_ = std::make_unique<Recorder>(library_, *recording_);
  recorder_->attach();
}

ProcessRecording::~ProcessRecording() {
  if (library_) watch_other_users(library_, {});
  answering = nullptr;
  while (running_callbacks != 0) std::this_thread::yield();
}

double ProcessRecording::seconds() const { return 1e-9 * static_cast<double>(utc_nanoseconds() - start_ns_); }

void ProcessRecording::note(const std::string& sentence) {
  const auto lock = recording_->lock();
  recording_->note(sentence);
  recording_->flush();
}

void ProcessRecording::property(std::string_view key, std::string_view value, std::uint8_t device) {
  if (value.empty()) return;
  const auto lock = recording_->lock();
  const std::uint32_t key_number = recording_->name(key);
  recording_->add(PropertyRecord{.device = device, .key = key_number, .value = recording_->name(value)});
}

/// Asked of the driver, once it is initialised: CUPTI has records of GPUs, but none where it is attached later than
/// that.
void ProcessRecording::write_gpus() {
  if (has_gpus_) return;
  const std::vector<GpuProperties> gpus = visible_gpus();
  if (gpus.empty() || has_gpus_.exchange(true)) return;
  for (std::uint8_t number = 0; const GpuProperties& gpu : gpus) {
    for (const auto& [key, value] : gpu) property(key, value, number);
    ++number;
  }
}

void ProcessRecording::subscribe() {
  const bool counts = !options_.counter_sets.empty();
  GPUBENCH_CUPTI_CALL(*library_, cuptiSubscribe, &subscriber_, on_call, nullptr);
  answering = this;
  const auto listen = [&](CUpti_CallbackDomain domain, CUpti_CallbackId call) {
    GPUBENCH_CUPTI_CALL(*library_, cuptiEnableCallback, 1, subscriber_, domain, call);
  };
  for (const ListenedCall& call : listened_calls())
    if ((counts || !is_for_counting(call.what)) && (options_.leave || call.what != DriverCall::launch_graph) &&
        (options_.capture_range || call.what < DriverCall::start_profiler))
      listen(CUPTI_CB_DOMAIN_DRIVER_API, call.number);
  if (!counts) return;
  listen(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020);
  for (const CUpti_CallbackId call : listened_ranges()) listen(CUPTI_CB_DOMAIN_NVTX, call);
  counter_ = std::make_unique<LaunchCounter>(library_, *recording_, options_);
  recorder_->pass_over(counter_->waiting_thread());
}

/// To nodes of graphs that are made: from the begin of a capture until its graph is instantiated. Not all the time:
/// CUPTI must not call back while the process is torn down.
void ProcessRecording::listen_to_nodes(bool on) {
  if (subscriber_ == nullptr) return;
  for (const CUpti_CallbackId call : {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED})
    (void)library_->cuptiEnableCallback(on ? 1 : 0, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, call);
}

void ProcessRecording::start() {
  const std::lock_guard lock(mutex_);
  wanted_ = true;
  if (recorder_ == nullptr || given_up_ns_ != 0) return;
  recorder_->start();
  counting_ = counter_ != nullptr && subscriber_ != nullptr;
}

void ProcessRecording::stop() {
  const std::lock_guard lock(mutex_);
  wanted_ = counting_ = false;
  if (recorder_ != nullptr && given_up_ns_ == 0) recorder_->stop();
}

void ProcessRecording::give_up_records(const std::string& user) {
  const std::lock_guard lock(mutex_);
  if (recorder_ == nullptr || given_up_ns_ != 0 || ended_) return;
  recorder_->detach();
  given_up_ns_ = utc_nanoseconds();
  if (++times_given_up_ > max_notes_of_others) return;
  note(fmt::format(
      "Another user of CUPTI in the program ({}; torch.profiler is one) took the records {:.2f} s after the recording "
      "began. What runs while it has them is in its trace, and not in this report.",
      user, seconds()));
}

void ProcessRecording::give_up_callbacks(const std::string& user) {
  const std::lock_guard lock(mutex_);
  if (subscriber_ == nullptr || ended_) return;
  counting_ = false;
  if (counter_) {
    counter_->finish();
    const auto recording_lock = recording_->lock();
    recording_->note(fmt::format("Another user of CUPTI in the program ({}) asked for its callbacks {:.2f} s after the "
                                 "recording began: later launches have no counters.",
                                 user, seconds()),
                     true);
  }
  unsubscribe();
}

/// Its time is not the program's: the records of it are elsewhere.
void ProcessRecording::resume() {
  const std::lock_guard lock(mutex_);
  if (given_up_ns_ == 0 || ended_) return;
  const std::int64_t since = std::exchange(given_up_ns_, 0);
  {
    const auto recording_lock = recording_->lock();
    recording_->held_up("another user of CUPTI had the records", since);
    if (times_given_up_ <= max_notes_of_others)
      recording_->note(
          fmt::format("It wanted no more of them, and this recording goes on {:.2f} s after it began.", seconds()));
  }
  try {
    recorder_->attach();
  } catch (const std::exception& error) {
    note(fmt::format("The recording does not go on: {}.", error.what()));
    recorder_.reset();
    return;
  }
  if (wanted_) recorder_->start();
}

void ProcessRecording::flush() {
  if (ended_ || recorder_ == nullptr) return;
  watch_new_objects();
  write_gpus();
  if (given_up_ns_ == 0)
    recorder_->flush(false);
  else if (take_records_back())
    resume();
}

void ProcessRecording::end() {
  if (take_all()) write_end();
}

/// False where another call of it was first.
bool ProcessRecording::take_all() {
  if (ended_.exchange(true)) return false;
  const std::lock_guard lock(mutex_);
  counting_ = false;
  {
    const std::lock_guard listening(listening_);
    if (open_captures_ > 0) listen_to_nodes(false);  // the program captures to its end
  }
  if (counter_) counter_->finish();
  if (recorder_ != nullptr) write_gpus();
  if (recorder_ != nullptr && given_up_ns_ == 0) {
    recorder_->flush(true);
    recorder_->stop();
    recorder_->flush(true);
    recorder_->write_cost();
    // A program that runs on has records, and a buffer for them, at any time.
    if ((!options_.on_demand || others_use_cupti()) && bench::missing_buffers() > missing_before_)
      note(
          "Another user of CUPTI in the program, such as torch.profiler, took over its records: what came after is not "
          "in this report, and that profiler's trace may lack work of the GPU. Run the program with one of the two.");
  }
  return true;
}

void ProcessRecording::write_end() {
  const auto lock_of_file = recording_->lock();
  recording_->add(EndRecord{});
  recording_->flush();
}

void ProcessRecording::unsubscribe() {
  if (subscriber_ != nullptr) (void)library_->cuptiUnsubscribe(std::exchange(subscriber_, nullptr));
}

void ProcessRecording::leave() {
  const bool ends = take_all();
  const std::lock_guard lock(mutex_);
  if (library_ != nullptr) {
    if (recorder_ != nullptr && given_up_ns_ == 0) recorder_->detach();
    if (recorder_ != nullptr && recorder_->saw_graphs()) has_graphs = true;
    std::string why_not = why_it_stays();
    while (counter_ && running_callbacks != 0) std::this_thread::yield();  // one may be at a launch
    counter_.reset();
    if (why_not.empty()) why_not = wait_until_it_left();
    if (!why_not.empty()) unsubscribe();
    if (options_.leave && refusal_.empty() && !why_not.empty())
      note(fmt::format("CUPTI stays in the process, idle, and launches some per cent slower: {}.", why_not));
    bench::release_buffers(why_not.empty());
  }
  if (ends) write_end();
}

std::string ProcessRecording::why_it_stays() const {
  if (!options_.leave) return "it was not asked to leave";
  if (counter_ != nullptr) return "it counted";
  if (subscriber_ == nullptr || recorder_ == nullptr || given_up_ns_ != 0 || others_use_cupti())
    return "another user in the program has it";
  if (open_captures_ > 0 || has_graphs) return "CUDA graphs were made or launched under it, and would fail without it";
  if (!recorder_->saw_one_thread_and_gpu()) return "not one thread alone called CUDA for one GPU";
  return "";
}

/// Empty where it has left, else what kept it.
std::string ProcessRecording::wait_until_it_left() {
  const CUptiResult listens = library_->cuptiEnableDomain(1, subscriber_, CUPTI_CB_DOMAIN_RUNTIME_API);
  if (listens != CUPTI_SUCCESS) return library_->error_text(listens, "cuptiEnableDomain");
  idle_ = std::make_unique<DeviceWaiter>();
  looks_left_ = max_looks;
  for (int i = 0; i < waits_for_leave && looks_left_ > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  for (int left = looks_left_; left > 0 && !looks_left_.compare_exchange_weak(left, 0);) {
  }
  while (running_callbacks != 0) std::this_thread::yield();  // one may be leaving now
  if (!left_with_) return "no call of CUDA ended with the GPU idle";
  if (*left_with_ == CUPTI_SUCCESS) return "";
  return library_->error_text(*left_with_, subscriber_ == nullptr ? "cuptiFinalize" : "cuptiUnsubscribe");
}

/// At the end of a call of CUDA, by the thread that made it. A call of another thread meanwhile ends the looks: it may
/// be within CUPTI.
void ProcessRecording::leave_if_idle(CUcontext context) {
  constexpr double max_seconds = 0.02;
  if (looks_left_.fetch_sub(1) <= 0) return;
  const auto thread = static_cast<std::uint32_t>(gettid());
  std::uint32_t leaving = 0;
  if (!leaving_thread_.compare_exchange_strong(leaving, thread) && leaving != thread) looks_left_ = -1;
  if (looks_left_ < 0 || context == nullptr || !idle_->wait(context, max_seconds)) return;
  if (looks_left_.exchange(0) < 0 || has_graphs) return;
  left_with_ = library_->cuptiUnsubscribe(subscriber_);
  if (left_with_ != CUPTI_SUCCESS) return;
  subscriber_ = nullptr;
  left_with_ = library_->cuptiFinalize();
}

void ProcessRecording::capture_begins() {
  if (counter_) counter_->capture_begins();
  const std::lock_guard lock(listening_);
  if (open_captures_++ == 0) listen_to_nodes(true);
}

void ProcessRecording::capture_ends() {
  if (counter_) counter_->capture_ends();
  const std::lock_guard lock(listening_);
  if (open_captures_ > 0) --open_captures_;
}

void ProcessRecording::graph_is_whole() {
  const std::lock_guard lock(listening_);
  if (open_captures_ == 0) listen_to_nodes(false);
}

void ProcessRecording::on_driver_call(CUpti_CallbackId number, const CUpti_CallbackData& data) {
  const auto call = std::ranges::find(listened_calls(), number, &ListenedCall::number);
  if (call == listened_calls().end() || (is_for_counting(call->what) && counter_ == nullptr)) return;
  const bool enters = data.callbackSite == CUPTI_API_ENTER;
  switch (call->what) {
    case DriverCall::begin_capture: return enters ? capture_begins() : void();
    case DriverCall::end_capture: return enters ? void() : capture_ends();
    case DriverCall::instantiate: has_graphs = true; return enters ? void() : graph_is_whole();
    case DriverCall::launch_graph: has_graphs = true; return;
    case DriverCall::end_context: return enters ? counter_->contexts_end() : void();
    case DriverCall::start_profiler: return !enters && options_.capture_range ? start() : void();
    case DriverCall::stop_profiler: return enters && options_.capture_range ? stop() : void();
    case DriverCall::launch:
    case DriverCall::launch_ex: break;
  }
  using enum LaunchCounter::Next;
  if (enters == (next_call != nothing) || (enters && !counting_.load(std::memory_order_relaxed))) return;
  const auto launch = launch_of(*call, data, path_here());
  if (!launch) return;
  if (enters) {
    next_call = after;
    next_call = counter_->before(*launch);
    return;
  }
  if (next_call == after)
    counter_->after(*launch);
  else
    counter_->communicates(*launch);
  next_call = nothing;
}

void ProcessRecording::on_graph_node(CUpti_CallbackId number, const CUpti_GraphData& data) {
  const bool is_copy = number == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
  std::uint64_t node = 0, copy_of = 0;
  if (recorder_ == nullptr || library_->cuptiGetGraphNodeId(data.node, &node) != CUPTI_SUCCESS) return;
  if (is_copy && library_->cuptiGetGraphNodeId(data.originalNode, &copy_of) != CUPTI_SUCCESS) return;
  recorder_->graph_node(node, copy_of);
}

void CUPTIAPI ProcessRecording::on_call(void*, CUpti_CallbackDomain domain, CUpti_CallbackId number,
                                        const void* parameters) noexcept {
  ++running_callbacks;
  ProcessRecording* const recording = answering;
  const auto& data = *static_cast<const CUpti_CallbackData*>(parameters);
  if (recording == nullptr) {
  } else if (recording->ended_.load(std::memory_order_relaxed) && next_call == LaunchCounter::Next::nothing) {
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && data.callbackSite == CUPTI_API_EXIT)
      recording->leave_if_idle(data.context);
    else if (domain == CUPTI_CB_DOMAIN_DRIVER_API && recording->options_.counter_sets.empty())
      has_graphs = true;  // one is captured, made or launched
  } else if (domain == CUPTI_CB_DOMAIN_NVTX) {
    follow(path_here(), number, parameters);
  } else if (domain == CUPTI_CB_DOMAIN_DRIVER_API) {
    recording->on_driver_call(number, data);
  } else if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
    recording->on_graph_node(number, *static_cast<const CUpti_GraphData*>(
                                         static_cast<const CUpti_ResourceData*>(parameters)->resourceDescriptor));
  }
  --running_callbacks;
}

}  // namespace gpubench::profile
