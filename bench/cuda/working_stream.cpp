// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/working_stream.h"

#include <vector>

namespace gpubench::bench {
namespace {

std::vector<cudaStream_t>& streams_of_this_thread() {
  thread_local std::vector<cudaStream_t> streams;
  return streams;
}

}  // namespace

cudaStream_t working_stream() {
  const auto& streams = streams_of_this_thread();
  return streams.empty() ? nullptr : streams.back();
}

WorkingStream::WorkingStream(cudaStream_t stream) : stream_(stream) { streams_of_this_thread().push_back(stream); }

WorkingStream::~WorkingStream() { std::erase(streams_of_this_thread(), stream_); }

}  // namespace gpubench::bench
