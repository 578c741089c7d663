// SPDX-License-Identifier: Apache-2.0
#include "bench/counting_runner.h"

#include <fmt/format.h>

#include <cstring>

#include "bench/memory/host_memory.h"
#include "core/base/time.h"
#include "gpu/memory/memory.h"
#include "gpubench/vectors.h"

namespace gpubench::bench {
namespace {

std::vector<std::uint64_t> fingerprints(const std::vector<BufferPlace>& buffers) {
  std::vector<std::uint64_t> result;
  result.reserve(buffers.size());
  for (const auto& [pointer, bytes, device] : buffers)
    result.push_back(device ? device_fingerprint(pointer, bytes) : host_fingerprint(pointer, bytes));
  return result;
}

void copy(void* to, const void* from, std::size_t bytes, bool device) {
  if (device)
    copy_within_device(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

/// Leaves clean lines in L2. A range begins by writing back what set-ups have left there, and one of a short kernel
/// would count it, however long after (docs/results/h200/library-python.md).
void clean_cache(Gpu& gpu) {
  try {
    gpu.flush_cache();
    gpu.synchronize();
  } catch (const OutOfMemory&) {  // of what it reads: the operation takes nearly all
  }
}

}  // namespace

std::vector<BufferPlace> places_of(const detail::Buffers& buffers) {
  std::vector<BufferPlace> places;
  for (const auto& buffer : buffers.all())
    places.push_back({buffer->place(), buffer->bytes(), buffer->memory() == detail::Memory::device});
  return places;
}

std::shared_ptr<void> Inputs::allocate(std::size_t bytes, bool device) {
  if (device) return {detail::allocate_device(bytes), [bytes](void* pointer) { detail::free_device(pointer, bytes); }};
  return {detail::allocate_host(bytes), [bytes](void* pointer) { detail::free_host(pointer, bytes); }};
}

std::optional<std::string> Inputs::keep(const std::function<void()>& once, int executions) {
  const auto round = [&] {
    for (int i = 0; i < executions; ++i) once();
  };
  round();
  const auto before = fingerprints(buffers_);
  round();
  const auto after = fingerprints(buffers_);
  try {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (before[i] == after[i]) continue;
      copies_.push_back({buffers_[i], allocator_(buffers_[i].bytes, buffers_[i].device)});
    }
  } catch (const OutOfMemory& error) {
    copies_.clear();  // part of the inputs would be a state that never was
    return fmt::format("no memory for copies of what each execution changes: {}", error.what());
  }
  for (const auto& [original, contents] : copies_)
    copy(contents.get(), original.pointer, original.bytes, original.device);
  return std::nullopt;
}

void Inputs::restore() const {
  for (const auto& [original, contents] : copies_)
    copy(original.pointer, contents.get(), original.bytes, original.device);
}

using detail::Declaration;

CountingRunner::CountingRunner(Device device, bool cold, std::unique_ptr<PostTimingPass> pass)
    : device_(std::move(device), cold), pass_(std::move(pass)) {
  constexpr double kept_share = 0.25;  // of what is free: operations allocate by themselves, too
  if (device_.gpu() != nullptr && pass_->counts())
    kept_.emplace(static_cast<std::size_t>(kept_share * static_cast<double>(detail::free_device_bytes())));
}

const Measurement& CountingRunner::run(const PointCall& call, std::size_t position, const Measurement& timed) {
  Measurement& measurement = points_.try_emplace(position, timed).first->second;
  if (!measurement.seconds() || !pass_->wants(position, timed)) return measurement;
  try {
    if (device_.is_lost()) {
      pass_->give_up(measurement,
                     "an earlier error made the GPU unusable in this process; --isolate keeps such errors apart");
    } else if (const std::string* const reason = pass_->unavailable()) {
      pass_->give_up(measurement, *reason);  // the operation need not even set itself up
    } else {
      const double start = steady_seconds();
      Declaration declared{&call.google, call.arguments, [&](Declaration& all, const Batch& batch) {
                             count(all, batch, measurement, position, steady_seconds() - start);
                           }};
      State state(declared);
      call.operation(state);
    }
  } catch (...) {
    pass_->give_up(measurement, current_exception_text());
  }
  return measurement;
}

void CountingRunner::count(Declaration& declared, const Batch& batch, Measurement& measurement, std::size_t position,
                           double set_up_seconds) {
  device_.begin(declared);
  const auto behind_reset = [&] { device_.execute(declared, batch); };
  // Records have no bytes, and where a working set lies in L2 afterwards is not where timing found it.
  if (Gpu* const gpu = device_.gpu(); pass_->counts() && gpu != nullptr && !device_.is_cold()) clean_cache(*gpu);
  Replay replay;
  replay.point = position;
  replay.set_up_seconds = set_up_seconds;
  replay.execute = [&] { device_.execute(batch); };
  replay.resets = declared.reset != nullptr;
  const bool is_cold = device_.is_cold();
  if (is_cold) {
    behind_reset();
    declared.buffers.mark_kept();
  }
  // With cold caches a pass starts from what comes before a sample: its buffers' turn has come, and they are not in the
  // caches. With warm ones, timing runs executions back to back, each on what the one before left in memory and caches:
  // so a pass is two executions, one that leaves the caches as timing finds them, and one that is counted. Every pass
  // begins with the same contents, put back before the first of the two, so that the second follows an execution, and
  // not a copy. Where the operation resets its inputs, the second follows its reset, as in timing.
  const auto cold = device_.make_cold(declared, batch);
  const bool rotates = cold && cold->rotation().copies > 0;
  Inputs inputs(rotates ? std::vector<BufferPlace>() : places_of(declared.buffers));
  replay.prepare = [&] {
    inputs.restore();
    if (!is_cold) behind_reset();
    device_.reset(declared);
    if (is_cold) cold->prepare();
  };
  replay.keep_inputs = [&]() -> std::optional<std::string> {
    if (rotates) return "with cold caches they have copies of its buffers in turns, which are not put back";
    return inputs.keep(behind_reset, is_cold ? 1 : 2);
  };
  if (GpuTiming* const timing = device_.timing()) {
    if (!is_cold && !replay.resets)
      replay.chain = [timing, &batch](std::int64_t executions) { return timing->chain(batch, executions); };
    const bool only_as_called =
        seconds_by(measurement, TimingMode::call) != nullptr && seconds_by(measurement, TimingMode::device) == nullptr;
    timing->forbid_capture(only_as_called ? "captured it is another operation" : "");
    replay.grids = [timing, &batch] { return timing->launched_by(batch).grids; };
    replay.known_kernel = [timing] { return timing->known_kernel(); };
    replay.clock_notes = [gpu = device_.gpu()] { return gpu->clock_notes(); };
  }
  pass_->fill(measurement, replay);
}

std::map<std::size_t, Measurement> CountingRunner::finish() {
  for (auto& [position, measurement] : points_) pass_->finish(position, measurement);
  return std::move(points_);
}

}  // namespace gpubench::bench
