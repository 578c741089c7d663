// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "gpu/cuda/handles.h"
#include "gpu/devices.h"
#include "profile/injection/recorder.h"
#include "profile/range_profiler/sources.h"

namespace gpubench::profile {
namespace {

using bench::MetricsUnavailable;

class CuptiRecords final : public RecordSource {
 public:
  CuptiRecords(RecordingWriter& recording, bool memory)
      : library_(bench::load_cupti()), recorder_(library_, recording) {
    constexpr std::array kinds = {CUPTI_ACTIVITY_KIND_MEMORY2};
    recorder_.attach(std::span(kinds).first(memory ? 1 : 0));
    recorder_.start();
    if (recorder_.refusal().empty()) return;
    recorder_.detach();
    throw MetricsUnavailable(recorder_.refusal());
  }

  /// A GPU that failed has no more records, and its error belongs to the program.
  void flush() override {
    (void)cudaDeviceSynchronize();
    recorder_.flush(true);
  }
  void stop() override {
    flush();
    recorder_.detach();
  }
  void forget_names() override { recorder_.forget_names(); }
  [[nodiscard]] std::uint64_t now() const noexcept override {
    std::uint64_t time = 0;
    (void)library_->cuptiGetTimestamp(&time);
    return time;
  }

 private:
  std::shared_ptr<const bench::CuptiLibrary> library_;
  Recorder recorder_;
};

}  // namespace

std::unique_ptr<RecordSource> open_cupti_records(RecordingWriter& recording, bool memory) {
  return std::make_unique<CuptiRecords>(recording, memory);
}

std::unique_ptr<RecordSource> open_records(RecordingWriter& recording, bool memory) {
  if (const std::string why = bench::why_no_gpu(); !why.empty()) throw MetricsUnavailable(why);
  return open_cupti_records(recording, memory);
}

}  // namespace gpubench::profile
