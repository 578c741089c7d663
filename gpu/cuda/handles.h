// SPDX-License-Identifier: Apache-2.0
// CUDA errors as exceptions, and owners of CUDA's handles: constructors throw GpuError; destructors ignore errors,
// which later calls meet again.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gpu/cuda/cuda_errors.h"
#include "gpu/device.h"
#include "gpu/event.h"
#include "gpu/memory/memory.h"
#include "gpubench/error.h"

/// GPUBENCH_CUDA_CHECK(cudaMemcpy(...)) throws gpubench::GpuError with the call's text unless it returns cudaSuccess.
#define GPUBENCH_CUDA_CHECK(call) ::gpubench::check_cuda((call), #call)

namespace gpubench {

/// Throws GpuError naming the call, the error's name, its description and what to do; does nothing on success.
inline void check_cuda(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  throw GpuError(std::string(call) + " failed: " + cuda_error_text(cudaGetErrorName(error), cudaGetErrorString(error)));
}

/// After a kernel launch: throws GpuError when the launch itself was refused, and clears the error.
inline void check_launch(const char* kernel) {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    check_cuda(error, ("launching " + std::string(kernel)).c_str());
}

/// An attribute of a device. Throws GpuError.
inline int device_attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, device), "cudaDeviceGetAttribute");
  return value;
}
/// The same of the current device.
inline int device_attribute(cudaDeviceAttr which) {
  int device = 0;
  check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  return device_attribute(which, device);
}

namespace bench {

/// Takes away the error that a refused call has left, so that no later check tells it again.
inline void clear_error() { (void)cudaGetLastError(); }
/// Waits for a stream. Throws GpuError.
inline void wait_for(Stream stream) { GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream)); }

/// Owns one handle, or none. Movable, not copyable.
template <class T, cudaError_t (*destroy)(T)>
class Handle {
 public:
  Handle() = default;
  explicit Handle(T handle) : handle_(handle) {}
  ~Handle() {
    if (handle_ != nullptr) (void)destroy(handle_);
  }
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  [[nodiscard]] T get() const { return handle_; }

 private:
  T handle_ = nullptr;
};

/// Calls `make` with a place for the handle, and gives what is then there.
template <class T, class Make>
T made(Make&& make, const char* call) {
  T handle = nullptr;
  check_cuda(make(&handle), call);
  return handle;
}

/// The driver's own functions, without linking libcuda: libraries load kernels that the runtime does not know.
template <class Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  GPUBENCH_CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result));
  if (result != cudaDriverEntryPointSuccess || function == nullptr)
    throw GpuError(std::string("the driver has no ") + name);
  return reinterpret_cast<Function>(function);
}

/// A stream that the default stream does not wait for.
struct OwnedStream : Handle<cudaStream_t, cudaStreamDestroy> {
  OwnedStream()
      : Handle(made<cudaStream_t>([](auto* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking); },
                                  "cudaStreamCreateWithFlags")) {}
};

struct CudaEvent final : Event {
  void record(Stream stream) override { GPUBENCH_CUDA_CHECK(cudaEventRecord(handle_.get(), stream)); }
  void wait() override { GPUBENCH_CUDA_CHECK(cudaEventSynchronize(handle_.get())); }
  [[nodiscard]] double seconds_since(const Event& start) const override {
    float milliseconds = 0.0F;
    GPUBENCH_CUDA_CHECK(
        cudaEventElapsedTime(&milliseconds, static_cast<const CudaEvent&>(start).handle_.get(), handle_.get()));
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  Handle<cudaEvent_t, cudaEventDestroy> handle_{
      made<cudaEvent_t>([](auto* event) { return cudaEventCreate(event); }, "cudaEventCreate")};
};

/// Around work on a stream of the current device.
struct CudaEventTimer : EventTimer {
  explicit CudaEventTimer(Stream stream)
      : EventTimer(stream, std::make_unique<CudaEvent>(), std::make_unique<CudaEvent>()) {}
};

/// Memory of the current device for the harness itself.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count)
      : data_(static_cast<T*>(detail::allocate_device(count * sizeof(T))), {count * sizeof(T)}) {}
  [[nodiscard]] T* data() { return data_.get(); }
  [[nodiscard]] const T* data() const { return data_.get(); }
  [[nodiscard]] std::size_t bytes() const { return data_.get_deleter().bytes; }
  [[nodiscard]] std::vector<T> to_host() const {
    std::vector<T> host(bytes() / sizeof(T));
    detail::copy_from_device(host.data(), data(), bytes());
    return host;
  }

 private:
  struct Free {
    std::size_t bytes = 0;
    void operator()(T* pointer) const { detail::free_device(pointer, bytes); }
  };
  std::unique_ptr<T, Free> data_;
};

using CapturedGraph = Handle<cudaGraph_t, cudaGraphDestroy>;

/// A graph made ready to launch.
struct GraphExec : Handle<cudaGraphExec_t, cudaGraphExecDestroy> {
  explicit GraphExec(const CapturedGraph& graph)
      : Handle(made<cudaGraphExec_t>([&](auto* exec) { return cudaGraphInstantiate(exec, graph.get(), 0); },
                                     "cudaGraphInstantiate")) {}
  void launch(cudaStream_t stream) const { GPUBENCH_CUDA_CHECK(cudaGraphLaunch(get(), stream)); }
};

/// Captures `executions` executions; absent when the operation cannot be captured (it synchronises, allocates, or works
/// on other streams). Throws GpuError.
std::optional<CapturedGraph> capture(const Batch& batch, std::int64_t executions, Stream stream);

/// The stream of this thread's Gpu, or the default stream where there is none. Fills and checks launch on it: a process
/// whose plain launches change streams eight times pays for that with every later kernel
/// (docs/results/h200/README.md). Launches of graphs, and copies from and to the host, do not count.
cudaStream_t working_stream();

/// Makes that stream's device the current one again, where there is such a stream: an operation may have chosen
/// another.
void select_working_device();

/// Makes a stream of the device the working stream while this lives.
class WorkingStream {
 public:
  WorkingStream(cudaStream_t stream, int device);
  ~WorkingStream();
  WorkingStream& operator=(WorkingStream&&) = delete;  ///< not copied, not moved

 private:
  cudaStream_t stream_;
};

}  // namespace bench
}  // namespace gpubench
