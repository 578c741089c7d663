// SPDX-License-Identifier: Apache-2.0
// DRAM: reading, writing and their mixes, each with the fastest of many launches.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "bench/memory/allocation.h"
#include "calibrate/cuda/workbench.h"
#include "kernels/probes/cuda_memory.h"

namespace gpubench::calibrate {
namespace {

using probes::MemoryPattern;

constexpr double max_memory_bytes = 12.0 * gibibyte;  ///< triad then has 4 GiB an array
constexpr double share_of_free_memory = 0.6;
constexpr double sample_seconds = 4e-3;  ///< an event pair's 1 to 6 us are then below 0.15 %

struct MemoryCandidate {
  std::string shape;
  std::function<cudaError_t()> launch;
};

struct Pattern {
  const char* resource;
  MemoryPattern pattern;
  std::size_t arrays;
};
constexpr Pattern patterns[] = {{"dram-read", MemoryPattern::read, 1},
                                {"dram-write", MemoryPattern::write, 1},
                                {"dram-copy", MemoryPattern::copy, 2},
                                {"dram-triad", MemoryPattern::triad, 3}};

std::vector<MemoryCandidate> candidates_of(Workbench& bench, const Pattern& what, std::size_t count) {
  float* const a = bench.pool.data();
  const float* const b = what.arrays > 1 ? a + count : a;
  const float* const c = what.arrays > 2 ? a + 2 * count : a;
  const auto stream = bench.stream;
  std::vector<MemoryCandidate> candidates;
  for (const auto shape : probes::memory_shapes(what.pattern)) {
    std::string text =
        fmt::format("16-byte accesses, {} a thread for each array, {} threads a block, grid covers the arrays once",
                    shape.accesses, shape.threads);
    if (shape.folds > 1) text += fmt::format(" in {} places at a time", shape.folds);
    candidates.push_back({std::move(text), [=, sink = bench.float_sink(), pattern = what.pattern] {
                            return probes::launch_memory(pattern, shape, a, b, c, count, sink, stream);
                          }});
  }
  for (const auto shape : probes::bulk_shapes(what.pattern))
    candidates.push_back({fmt::format("bulk copies (TMA) of {} KiB, {} stages a block, {} on each multiprocessor",
                                      shape.bytes / 1024, shape.stages, plural(shape.blocks, "block")),
                          [=, pattern = what.pattern, multiprocessors = bench.multiprocessors()] {
                            return probes::launch_bulk(pattern, shape, a, b, count, multiprocessors, stream);
                          }});
  return candidates;
}

/// `shape`: the only one to try, where there is such a one; empty for all.
void add_pattern(Workbench& bench, const Pattern& what, const std::string& size, const std::string& caveat,
                 const std::string& shape = "") {
  const std::size_t granule = probes::memory_granule;
  const std::size_t count = bench.pool.size() / what.arrays / granule * granule;
  auto candidates = candidates_of(bench, what, count);
  if (const auto same = std::ranges::find(candidates, shape, &MemoryCandidate::shape); same != candidates.end())
    candidates = {*same};
  const MemoryCandidate* best = nullptr;
  double best_seconds = 0.0;
  std::size_t tried = 0;
  for (const auto& candidate : candidates) {
    if (const cudaError_t error = candidate.launch(); error == cudaErrorNotSupported) {
      (void)cudaGetLastError();
      continue;
    } else {
      check_cuda(error, "launching a memory probe");
    }
    ++tried;
    const double seconds = 0.5 * bench.timer.seconds([&] {
      for (int i = 0; i < 2; ++i) check_cuda(candidate.launch(), "launching a memory probe");
    });
    if (best != nullptr && seconds >= best_seconds) continue;
    best_seconds = seconds;
    best = &candidate;
  }
  if (best == nullptr) throw CudaError("no memory probe runs on this GPU");
  const int launches = static_cast<int>(std::clamp(std::ceil(sample_seconds / best_seconds), 1.0, 1000.0));
  Probe probe;
  probe.ceiling = new_ceiling(
      what.resource, "B/s", CeilingGroup::memory,
      fmt::format("{} in {}, the best of {} launch shapes; samples of {} launch{}", size,
                  plural(static_cast<long long>(what.arrays), "array"), tried, launches, launches == 1 ? "" : "es"));
  probe.ceiling.shape = best->shape;
  probe.ceiling.conditions = what.pattern == MemoryPattern::write ? "values in [1, 2)" : "normal random data";
  probe.ceiling.work_per_run = launches * probes::memory_bytes(what.pattern, count);
  if (!caveat.empty()) probe.ceiling.caveats.push_back(caveat);
  probe.enqueue = [launch = best->launch, launches] {
    for (int i = 0; i < launches; ++i) check_cuda(launch(), "launching a memory probe");
  };
  probe.limit = bench.device.memory_bandwidth_limit;
  probe.counted = {{"dram_read_bytes", "dram_write_bytes"}};
  probe.sustained_seconds = 0.3;
  bench.probes.push_back(std::move(probe));
}

void make_pool(Workbench& bench, std::string& size, std::string& caveat) {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  GPUBENCH_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  constexpr std::size_t granule = 6 * probes::memory_granule;  // whole granules for two and for three arrays
  const double wanted = std::min(max_memory_bytes, share_of_free_memory * static_cast<double>(free_bytes));
  const std::size_t count = static_cast<std::size_t>(wanted / 4.0) / granule * granule;
  if (count == 0)
    throw OutOfMemory(
        fmt::format("only {} of the GPU's memory are free", format_bytes(static_cast<double>(free_bytes))));
  bench.pool = DeviceVector<float>(count);
  detail::draw_device(bench.pool.data(), detail::ElementKind::float32, detail::Filling::normal, 4, count, 3);
  size = fmt::format("{} GiB", format_number(4.0 * static_cast<double>(count) / gibibyte));
  if (wanted < max_memory_bytes)
    caveat = "only 60 % of the free memory was taken; with less than 4 GiB an array the figure may be low";
}

}  // namespace

void add_memory_probes(Workbench& bench) {
  std::string size;
  std::string caveat;
  std::vector<std::string> resources;
  for (const auto& pattern : patterns) resources.emplace_back(pattern.resource);
  bench.attempt(resources, [&] {
    make_pool(bench, size, caveat);
    for (const auto& pattern : patterns)
      bench.attempt({pattern.resource}, [&] { add_pattern(bench, pattern, size, caveat); });
  });
}

void add_memory_probe_like(Workbench& bench, const Ceiling& stored) {
  std::string size;
  std::string caveat;
  make_pool(bench, size, caveat);
  for (const auto& pattern : patterns)
    if (pattern.resource == stored.resource) add_pattern(bench, pattern, size, caveat, stored.shape);
}

}  // namespace gpubench::calibrate
