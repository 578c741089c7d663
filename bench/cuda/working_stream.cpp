// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/working_stream.h"

namespace gpubench::bench {
namespace {

cudaStream_t& stream_of_this_thread() {
  thread_local cudaStream_t stream = nullptr;
  return stream;
}

}  // namespace

cudaStream_t working_stream() { return stream_of_this_thread(); }

WorkingStream::WorkingStream(cudaStream_t stream) : stream_(stream) { stream_of_this_thread() = stream; }

WorkingStream::~WorkingStream() {
  if (stream_of_this_thread() == stream_) stream_of_this_thread() = nullptr;
}

}  // namespace gpubench::bench
