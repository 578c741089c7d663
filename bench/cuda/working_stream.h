// SPDX-License-Identifier: Apache-2.0
// Which stream helpers launch on.
#pragma once

#include <cuda_runtime_api.h>

namespace gpubench::bench {

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
