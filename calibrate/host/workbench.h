// SPDX-License-Identifier: Apache-2.0
// What the groups of the host's calibration work with, and the groups.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/host/probe.h"
#include "calibrate/ladder.h"
#include "calibrate/workbench.h"
#include "core/base/units.h"
#include "kernels/probes/host_kernels.h"
#include "kernels/probes/host_memory_probe.h"

namespace gpubench::calibrate {

/// How much is measured in each mode.
struct HostPlan {
  int rounds;            ///< all probes are gone through so often; each round is an independent repeat
  int min_rounds;        ///< these are run whatever time they take
  double round_seconds;  ///< from the start of the calibration: no further round begins that would end later
  double touch_seconds;  ///< most time for touching fresh memory, each time
  int arithmetic_tries;  ///< a repeat is the best of so many short runs
  std::size_t windows;   ///< that the memory is streamed through in
  int stream_windows;    ///< a repeat is the best of so many windows
  double gemm_seconds;   ///< matrices grow until eight products take this long
  double rung_seconds;
  int sparse_rungs;           ///< working sets an octave where a pass takes long
  std::size_t ladder_caches;  ///< the ladder ends at so many times the last-level cache
};

/// Sweeps over the working sets of a team.
struct HostLadder {
  std::vector<std::size_t> sizes;  ///< of one thread
  Ladder ladder;                   ///< of all threads together
  std::vector<double> clocks;      ///< one for each sweep, or none
};

/// The CPU under calibration. Groups add probes, which are then sampled in turn, or write straight to `calibration`.
class HostWorkbench : public WorkbenchBase {
 public:
  HostWorkbench(const Device& device, const Options& options, const HostPlan& plan);

  const HostPlan& plan;
  probes::Isa isa = probes::widest_isa();
  const probes::HostKernels& kernels = probes::host_kernels(isa);
  /// Its chain of additions tells the clock of loads, stores and integers: none lowers it as wide floating point does.
  const probes::HostKernels& plain_kernels = probes::host_kernels(probes::Isa::baseline);
  int threads;
  std::unique_ptr<probes::MemoryProbe> memory;           ///< of all cores; empty until the memory group made it
  std::unique_ptr<probes::MemoryProbe> one_core_memory;  ///< full calibrations alone
  HostLadder ladder;
  HostLadder one_core_ladder;
  std::vector<HostProbe> probes;
  std::vector<std::function<void()>> sweeps;  ///< whatever else takes its turn in every round

  [[nodiscard]] std::string isa_name() const { return std::string(probes::name_of(isa)); }

  void sample_all();
  /// For a probe that is not among `probes`: adds its ceiling.
  void conclude(const HostProbe& probe);
  /// Runs a probe without rest for its sustained_seconds: the ceiling RESOURCE-sustained of what it kept up in the
  /// second half.
  static Ceiling sustained(const HostProbe& probe);
  void sustain_all();

 private:
  OtherLoad load_;
  double start_;
};

/// Takes one sample. Where threads cannot be made or placed, the probe ends: it goes to `failure`.
void sample(HostProbe& probe);

// The groups. Each names what it cannot measure, with the reason; none throws.

void add_host_vector_probes(HostWorkbench& bench);    ///< arithmetic in registers by type and vector extension
void add_host_product_probes(HostWorkbench& bench);   ///< matrix products
void add_host_memory_probes(HostWorkbench& bench);    ///< DRAM, and the memory that others use
void add_host_ladders(HostWorkbench& bench);          ///< a sweep over working sets in every round
void conclude_host_ladders(HostWorkbench& bench);     ///< the levels that the sweeps show
void add_host_atomics_probes(HostWorkbench& bench);   ///< by how threads share lines
void add_host_pair_probes(HostWorkbench& bench);      ///< from core to core
void measure_host_latencies(HostWorkbench& bench);    ///< pointer chases and their curve
void measure_host_intensities(HostWorkbench& bench);  ///< memory and arithmetic together

}  // namespace gpubench::calibrate
