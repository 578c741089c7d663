// SPDX-License-Identifier: Apache-2.0
// CUDA errors as exceptions, and owners of CUDA's handles: constructors throw CudaError; destructors ignore errors,
// which later calls meet again.
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <utility>

#include "gpu/cuda/cuda_errors.h"
#include "gpubench/stream.h"
#include "gpubench/vectors.h"

/// GPUBENCH_CUDA_CHECK(cudaMemcpy(...)) throws gpubench::CudaError with the call's text unless it returns cudaSuccess.
#define GPUBENCH_CUDA_CHECK(call) ::gpubench::check_cuda((call), #call)

namespace gpubench {

/// Throws CudaError naming the call, the error's name, its description and what to do; does nothing on success.
inline void check_cuda(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  throw CudaError(std::string(call) +
                  " failed: " + cuda_error_text(cudaGetErrorName(error), cudaGetErrorString(error)));
}

/// After a kernel launch: throws CudaError when the launch itself was refused, and clears the error.
inline void check_launch(const char* kernel) {
  if (const cudaError_t error = cudaGetLastError(); error != cudaSuccess)
    check_cuda(error, ("launching " + std::string(kernel)).c_str());
}

/// An attribute of a device. Throws CudaError.
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
    throw CudaError(std::string("the driver has no ") + name);
  return reinterpret_cast<Function>(function);
}

/// A stream that the default stream does not wait for.
struct OwnedStream : Handle<cudaStream_t, cudaStreamDestroy> {
  OwnedStream()
      : Handle(made<cudaStream_t>([](auto* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking); },
                                  "cudaStreamCreateWithFlags")) {}
};

struct Event : Handle<cudaEvent_t, cudaEventDestroy> {
  Event() : Handle(made<cudaEvent_t>([](auto* event) { return cudaEventCreate(event); }, "cudaEventCreate")) {}
  void record(cudaStream_t stream) { GPUBENCH_CUDA_CHECK(cudaEventRecord(get(), stream)); }
  void wait() { GPUBENCH_CUDA_CHECK(cudaEventSynchronize(get())); }
};

/// Seconds between two recorded events that have passed.
inline double seconds_between(const Event& start, const Event& stop) {
  float milliseconds = 0.0F;
  GPUBENCH_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
  return static_cast<double>(milliseconds) * 1e-3;
}

/// Seconds between two CUDA events around work on a stream.
class EventTimer {
 public:
  explicit EventTimer(cudaStream_t stream) : stream_(stream) {}

  template <class Enqueue>
  double seconds(Enqueue&& enqueue) {
    start_.record(stream_);
    enqueue();
    stop_.record(stream_);
    stop_.wait();
    return seconds_between(start_, stop_);
  }

 private:
  cudaStream_t stream_;
  Event start_;
  Event stop_;
};

using Graph = Handle<cudaGraph_t, cudaGraphDestroy>;

/// A graph made ready to launch.
struct GraphExec : Handle<cudaGraphExec_t, cudaGraphExecDestroy> {
  explicit GraphExec(const Graph& graph)
      : Handle(made<cudaGraphExec_t>([&](auto* exec) { return cudaGraphInstantiate(exec, graph.get(), 0); },
                                     "cudaGraphInstantiate")) {}
  void launch(cudaStream_t stream) const { GPUBENCH_CUDA_CHECK(cudaGraphLaunch(get(), stream)); }
};

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
