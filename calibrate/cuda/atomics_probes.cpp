// SPDX-License-Identifier: Apache-2.0
// Atomic additions by contention.
#include <fmt/format.h>

#include <string>
#include <utility>

#include "bench/cuda/cuda_error.h"
#include "calibrate/cuda/workbench.h"
#include "kernels/probes/cuda_atomics.h"

namespace gpubench::calibrate {
namespace {

using probes::Contention;

constexpr std::pair<Contention, const char*> contentions[] = {{Contention::one_address, "all threads at one address"},
                                                              {Contention::one_per_warp, "one address for each warp"},
                                                              {Contention::spread, "one address for each thread"}};

Probe atomics_probe(const std::string& resource, const char* where) {
  Probe probe;
  probe.ceiling.resource = resource;
  probe.ceiling.unit = "op/s";
  probe.ceiling.group = CeilingGroup::atomics;
  probe.ceiling.work_unit = "op";
  probe.ceiling.method = fmt::format("32-bit additions without a result, {}", where);
  return probe;
}

}  // namespace

void add_atomics_probes(Workbench& bench) {
  bench.attempt({"atomic-global-one", "atomic-global-warp", "atomic-global-spread"}, [&] {
    const std::size_t bytes = probes::atomics_bytes(bench.multiprocessors());
    std::byte* const counters = bench.keep(bytes);
    GPUBENCH_CUDA_CHECK(cudaMemsetAsync(counters, 0, bytes, bench.stream));
    for (const auto& [contention, where] : contentions) {
      const std::string resource = fmt::format("atomic-global-{}", name_of(contention));
      Probe probe = atomics_probe(resource, where);
      probe.ceiling.shape = "8 blocks of 256 threads on each multiprocessor";
      bench.attempt({resource}, [&, contention = contention] {
        bench.add_loops(std::move(probe), [=](const probes::LoopLaunch& launch, probes::Launched& launched) {
          return probes::launch_global_atomics(contention, counters, launch, launched);
        });
      });
    }
  });
  for (const auto& [contention, where] : contentions) {
    const std::string resource = fmt::format("atomic-shared-{}", name_of(contention));
    Probe probe = atomics_probe(resource, where);
    probe.ceiling.shape = "one block of 1024 threads on each multiprocessor";
    bench.attempt({resource}, [&, contention = contention] {
      bench.add_loops(std::move(probe), [contention](const probes::LoopLaunch& launch, probes::Launched& launched) {
        return probes::launch_shared_atomics(contention, nullptr, launch, launched);
      });
    });
  }
}

}  // namespace gpubench::calibrate
