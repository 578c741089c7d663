// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/device_waiter.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace gpubench::profile {
namespace {

/// Looks again and again for a while: to sleep and to be woken takes longer than most kernels.
template <class Condition>
void look_for(const Condition& condition) {
  constexpr auto while_looking = std::chrono::microseconds(300);
  for (const auto end = std::chrono::steady_clock::now() + while_looking;
       !condition() && std::chrono::steady_clock::now() < end;)
    std::this_thread::yield();
}

}  // namespace

struct DeviceWaiter::State {
  std::mutex mutex;
  std::condition_variable changed;
  CUcontext wanted = nullptr;
  std::atomic<bool> done = true;  ///< set under the mutex
  bool well = false;
  std::atomic<bool> quit = false;
  std::uint32_t number = 0;
};

DeviceWaiter::DeviceWaiter() : state_(std::make_shared<State>()) {
  std::thread([state = state_] {
    const auto set_current = driver<decltype(&cuCtxSetCurrent)>("cuCtxSetCurrent");
    const auto synchronize = driver<decltype(&cuCtxSynchronize)>("cuCtxSynchronize");
    std::unique_lock lock(state->mutex);
    state->number = static_cast<std::uint32_t>(gettid());
    state->changed.notify_all();
    while (!state->quit) {
      lock.unlock();
      look_for([&] { return state->quit || !state->done; });
      lock.lock();
      state->changed.wait(lock, [&] { return state->quit || !state->done; });
      if (state->quit) break;
      auto* const context = state->wanted;
      lock.unlock();
      const bool well = set_current != nullptr && synchronize != nullptr && set_current(context) == CUDA_SUCCESS &&
                        synchronize() == CUDA_SUCCESS;
      lock.lock();
      state->well = well;
      state->done = true;
      state->changed.notify_all();
    }
  }).detach();
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [&] { return state_->number != 0; });
  thread_number_ = state_->number;
}

DeviceWaiter::~DeviceWaiter() {
  const std::lock_guard lock(state_->mutex);
  state_->quit = true;
  state_->changed.notify_all();
}

bool DeviceWaiter::wait(CUcontext context, double max_seconds) {
  std::unique_lock lock(state_->mutex);
  if (!state_->done) return false;
  state_->wanted = context;
  state_->done = false;
  state_->changed.notify_all();
  lock.unlock();
  look_for([&] { return state_->done.load(); });
  lock.lock();
  const bool in_time =
      state_->changed.wait_for(lock, std::chrono::duration<double>(max_seconds), [&] { return state_->done.load(); });
  return in_time && state_->well;
}

}  // namespace gpubench::profile
