// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/chains.h"

#include <algorithm>

namespace gpubench::bench {

std::optional<Graph> capture(const DeviceBatch& batch, std::int64_t executions, cudaStream_t stream) {
  // Thread-local: only what this thread does on other streams breaks the capture, not what libraries do elsewhere.
  GPUBENCH_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  bool threw = false;
  try {
    batch(stream, executions);
  } catch (const CudaError&) {
    threw = true;  // a call that capture forbids: the operation's own check says so
  } catch (...) {
    cudaGraph_t rest = nullptr;
    (void)cudaStreamEndCapture(stream, &rest);
    if (rest != nullptr) (void)cudaGraphDestroy(rest);
    throw;
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t error = cudaStreamEndCapture(stream, &graph);
  Graph owned(graph);
  (void)cudaGetLastError();  // what capture forbids is not sticky
  if (threw || error != cudaSuccess || graph == nullptr) {
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
    return std::nullopt;
  }
  return owned;
}

ChainTimer::Pair HeldChains::time(std::int64_t short_length, std::int64_t long_length) {
  if (graph_nodes_ > 0) prepare(short_length, long_length);
  Event& second_start = chill_.flush ? second_start_ : middle_;
  blocker_.hold_while([&] {
    if (chill_.flush) chill_.flush();
    sm_clock_.begin();
    start_.record(stream_);
    enqueue(short_length);
    middle_.record(stream_);
    if (chill_.flush) {
      chill_.flush();
      second_start_.record(stream_);
    }
    enqueue(long_length);
    end_.record(stream_);
    sm_clock_.end();
  });
  GPUBENCH_CUDA_CHECK(cudaGetLastError());
  end_.wait();
  blocker_.check();
  return {seconds_between(start_, middle_), seconds_between(second_start, end_)};
}

std::int64_t HeldChains::longest() const {
  constexpr std::int64_t max_nodes = 2000;
  // A stream takes some 1000 launches before the host has to wait, and an execution may be several.
  constexpr std::int64_t max_executions = 100;
  const std::int64_t enqueued = graph_nodes_ > 0 ? std::max<std::int64_t>(max_nodes / graph_nodes_, 2) : max_executions;
  return std::min(enqueued, chill_.longest);
}

void HeldChains::prepare(std::int64_t short_length, std::int64_t long_length) {
  for (const std::int64_t length : {short_length, long_length}) {
    if (length == 0 || graphs_.contains(length)) continue;
    // Lengths are tried out while the sampler looks for the best; only the short one and the last are needed again.
    std::erase_if(graphs_, [&](const auto& entry) { return entry.first != short_length; });
    auto graph = capture(batch_, length, stream_);
    if (!graph) throw CudaError("the operation could be captured once, and not again");
    const auto [place, added] = graphs_.try_emplace(length, *graph);
    (void)added;
    place->second.launch(stream_);  // a graph's first launch sets it up
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
  }
}

void HeldChains::enqueue(std::int64_t length) {
  if (length == 0) return;
  if (graph_nodes_ > 0)
    graphs_.at(length).launch(stream_);
  else
    batch_(stream_, length);
}

}  // namespace gpubench::bench
