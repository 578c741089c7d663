// SPDX-License-Identifier: Apache-2.0
// The driver that the program has loaded, and a wait for its GPU.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <cstdint>
#include <memory>

namespace gpubench::profile {

/// A function of the driver that the program uses.
template <class Function>
Function driver(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  return reinterpret_cast<Function>(library == nullptr ? nullptr : dlsym(library, name));
}

/// Waits for the GPU on a thread of its own, so that a kernel that waits for the host does not hold the program up.
class DeviceWaiter {
 public:
  DeviceWaiter();
  ~DeviceWaiter();
  DeviceWaiter& operator=(DeviceWaiter&&) = delete;  ///< not copied, not moved
  /// True once the context's work is done; false after the time-out, or on an error of CUDA.
  bool wait(CUcontext context, double max_seconds);
  /// The system's number of the thread, for records that are to be passed over.
  [[nodiscard]] std::uint32_t thread_number() const { return thread_number_; }

 private:
  void work();

  struct State;  // outlives this object where the thread hangs in the driver
  std::shared_ptr<State> state_;
  std::uint32_t thread_number_ = 0;
};

}  // namespace gpubench::profile
