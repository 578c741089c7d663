// SPDX-License-Identifier: Apache-2.0
// The recording of the process that this library was loaded into, by CUPTI's records, callbacks and counters.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "profile/injection/launch_counter.h"
#include "profile/injection/options.h"
#include "profile/injection/recorder.h"

namespace gpubench::profile {

/// There is one at a time, as there is one CUPTI. Nothing of it ends or changes the program: what fails is noted in the
/// recording.
class ProcessRecording {
 public:
  /// Opens a recording in the folder and takes CUPTI. `is_open` is false where the file cannot be made.
  ProcessRecording(const std::filesystem::path& folder, const InjectionOptions& options);
  ~ProcessRecording();
  ProcessRecording& operator=(ProcessRecording&&) = delete;  ///< not copied, not moved

  [[nodiscard]] bool is_open() const { return recording_->open(); }
  /// Why nothing is recorded; empty where something is.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }
  [[nodiscard]] const std::string& cupti_path() const { return library_->path(); }

  void start();
  void stop();
  /// Hands over what CUPTI holds, and takes records back that another user does not want any more.
  void flush();
  /// Records no more, and says what it took. Once.
  void end();
  /// Ends it, and switches off what CUPTI was asked for. It stays in the process, which makes launches some per
  /// cent slower, unless it is to leave (cuptiFinalize) and safely can. It must not while the GPU works, whose kernels
  /// write to CUPTI's memory: so it leaves at the end of a call of the one thread that uses CUDA, with the GPU idle. It
  /// stays where there are several threads or GPUs, other users or no idle moment, and where graphs were captured, made
  /// or launched under it: their next launch would fail. Notes what kept it.
  void leave();
  [[nodiscard]] bool may_leave() const { return why_it_stays().empty(); }
  /// This process is a copy of the one that is recorded.
  void forget() { ended_ = true; }

 private:
  static void CUPTIAPI on_call(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) noexcept;
  void on_driver_call(CUpti_CallbackId number, const CUpti_CallbackData& data);
  void capture_begins();
  void capture_ends();
  void graph_is_whole();
  void on_graph_node(CUpti_CallbackId number, const CUpti_GraphData& data);
  bool take_all();
  void write_end();
  void note(const std::string& sentence);
  /// Without a device one of the process.
  void property(std::string_view key, std::string_view value, std::uint8_t device = PropertyRecord{}.device);
  void write_gpus();
  void take_cupti();
  void subscribe();
  void unsubscribe();
  [[nodiscard]] std::string why_it_stays() const;
  std::string wait_until_it_left();
  void leave_if_idle(CUcontext context);
  void listen_to_nodes(bool on);
  void give_up_records(const std::string& user);
  void give_up_callbacks(const std::string& user);
  void resume();
  [[nodiscard]] double seconds() const;

  InjectionOptions options_;
  std::unique_ptr<RecordingWriter> recording_;
  std::shared_ptr<const bench::CuptiLibrary> library_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<LaunchCounter> counter_;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::string refusal_;
  std::int64_t start_ns_ = 0;
  std::size_t missing_before_ = 0;  ///< buffers that an earlier recording has not got back
  std::mutex mutex_;                ///< over what starts and stops
  bool wanted_ = false;             ///< started, and not stopped
  std::int64_t given_up_ns_ = 0;    ///< when another user took the records; 0: none has them
  std::uint32_t times_given_up_ = 0;
  std::mutex listening_;  ///< over the next, and CUPTI's switches of callbacks
  int open_captures_ = 0;
  std::atomic<bool> counting_ = false;
  std::atomic<bool> ended_ = false;
  std::atomic<bool> has_gpus_ = false;    ///< the recording says which GPUs the program sees
  std::atomic<int> looks_left_ = 0;       ///< for an idle moment in which CUPTI can leave; negative: never again
  std::optional<CUptiResult> left_with_;  ///< of what it was to leave by; written in a callback
  std::atomic<std::uint32_t> leaving_thread_ = 0;  ///< of the call at whose end it was looked first
  std::unique_ptr<DeviceWaiter> idle_;
};

}  // namespace gpubench::profile
