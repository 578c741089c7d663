// SPDX-License-Identifier: Apache-2.0
// Owners of CUDA's handles. Constructors throw CudaError; destructors ignore errors, which later calls meet again.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

#include "bench/cuda/cuda_error.h"

namespace gpubench::bench {

class Stream {
 public:
  Stream() { GPUBENCH_CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { (void)cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  Event() { GPUBENCH_CUDA_CHECK(cudaEventCreate(&event_)); }
  ~Event() { (void)cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

  void record(cudaStream_t stream) { GPUBENCH_CUDA_CHECK(cudaEventRecord(event_, stream)); }
  void wait() { GPUBENCH_CUDA_CHECK(cudaEventSynchronize(event_)); }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Seconds between two recorded events that have passed.
inline double seconds_between(const Event& start, const Event& stop) {
  float milliseconds = 0.0F;
  GPUBENCH_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start.get(), stop.get()));
  return static_cast<double>(milliseconds) * 1e-3;
}

class Graph {
 public:
  Graph() = default;
  explicit Graph(cudaGraph_t graph) : graph_(graph) {}
  ~Graph() {
    if (graph_ != nullptr) (void)cudaGraphDestroy(graph_);
  }
  Graph(Graph&& other) noexcept : graph_(std::exchange(other.graph_, nullptr)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(graph_, other.graph_);
    return *this;
  }
  [[nodiscard]] cudaGraph_t get() const { return graph_; }

 private:
  cudaGraph_t graph_ = nullptr;
};

/// A graph made ready to launch.
class GraphExec {
 public:
  explicit GraphExec(const Graph& graph) { GPUBENCH_CUDA_CHECK(cudaGraphInstantiate(&exec_, graph.get(), 0)); }
  ~GraphExec() {
    if (exec_ != nullptr) (void)cudaGraphExecDestroy(exec_);
  }
  GraphExec(GraphExec&& other) noexcept : exec_(std::exchange(other.exec_, nullptr)) {}
  GraphExec& operator=(GraphExec&& other) noexcept {
    std::swap(exec_, other.exec_);
    return *this;
  }
  void launch(cudaStream_t stream) const { GPUBENCH_CUDA_CHECK(cudaGraphLaunch(exec_, stream)); }

 private:
  cudaGraphExec_t exec_ = nullptr;
};

/// The stream of this thread's Gpu, or the default stream where there is none. Fills and checks launch on it, because a
/// process whose plain launches have gone to another stream than the one before eight times pays for that from then on,
/// whatever the stream: on an H200 (driver 580, CUDA 13.0) 0.18 us more for each kernel, 0.52 us before and 0.70 us
/// after in a graph. Launches of graphs, and copies from and to the host, do not count.
cudaStream_t working_stream();

/// Makes a stream the one, for as long as this lives; then it is the one before again, if that still lives.
class WorkingStream {
 public:
  explicit WorkingStream(cudaStream_t stream);
  ~WorkingStream();
  WorkingStream(const WorkingStream&) = delete;
  WorkingStream& operator=(const WorkingStream&) = delete;

 private:
  cudaStream_t stream_;
};

}  // namespace gpubench::bench
