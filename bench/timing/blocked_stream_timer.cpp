// SPDX-License-Identifier: Apache-2.0
#include "bench/timing/blocked_stream_timer.h"

#include <algorithm>
#include <utility>

namespace gpubench::bench {

ChainTimer::Pair BlockedStreamTimer::time(std::int64_t short_length, std::int64_t long_length) {
  if (graph_nodes_ > 0) prepare(short_length, long_length);
  Event& second_start = cold_.flush ? *second_start_ : *middle_;
  gpu_.block_while([&] {
    if (cold_.flush) cold_.flush();
    clock_notes_.begin();
    start_->record(gpu_.stream());
    enqueue(short_length);
    middle_->record(gpu_.stream());
    if (cold_.flush) {
      cold_.flush();
      second_start_->record(gpu_.stream());
    }
    enqueue(long_length);
    end_->record(gpu_.stream());
    clock_notes_.end();
  });
  gpu_.check_launches();
  end_->wait();
  gpu_.check_blocked();
  return {middle_->seconds_since(*start_), end_->seconds_since(second_start)};
}

std::int64_t BlockedStreamTimer::longest() const {
  constexpr std::int64_t max_nodes = 2000;
  // A stream takes some 1000 launches before the host has to wait, and an execution may be several.
  constexpr std::int64_t max_executions = 100;
  const std::int64_t enqueued = graph_nodes_ > 0 ? std::max<std::int64_t>(max_nodes / graph_nodes_, 2) : max_executions;
  return std::min(enqueued, cold_.longest);
}

void BlockedStreamTimer::prepare(std::int64_t short_length, std::int64_t long_length) {
  for (const std::int64_t length : {short_length, long_length}) {
    if (length == 0 || graphs_.contains(length)) continue;
    // Lengths are tried out while the sampler looks for the best; only the short one and the last are needed again.
    std::erase_if(graphs_, [&](const auto& entry) { return entry.first != short_length; });
    auto graph = gpu_.capture(batch_, length);
    if (!graph) throw GpuError("the operation could be captured once, and not again");
    graph->launch();  // a graph's first launch sets it up
    graphs_[length] = std::move(graph);
    gpu_.wait();
  }
}

void BlockedStreamTimer::enqueue(std::int64_t length) {
  if (length == 0) return;
  if (graph_nodes_ > 0)
    graphs_.at(length)->launch();
  else
    batch_(gpu_.stream(), length);
}

}  // namespace gpubench::bench
