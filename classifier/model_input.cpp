// SPDX-License-Identifier: Apache-2.0
#include "classifier/model_input.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "classifier/machine.h"
#include "core/model/resources.h"

namespace gpubench::classifier {
namespace {

std::optional<double> counter(const Measurement& measurement, std::string_view name) {
  for (const Counter& each : measurement.counters)
    if (each.name == name && each.value >= 0.0 && each.value <= max_figure) return each.value;
  return std::nullopt;
}

void count_pipes(const Measurement& measurement, CountedWork& counted) {
  const auto& declared = measurement.work.flops;
  for (const PipeCounter& each : pipe_counters()) {
    const auto count = counter(measurement, each.name);
    // A count of none where work is declared means that the chip counts it elsewhere.
    if (!count || *count <= 0.0) continue;
    if (each.pipes.size() == 1) {
      counted.flops[each.pipes.front()] = *count;
      continue;
    }
    std::vector<Pipe> used;
    for (const Pipe pipe : each.pipes)
      if (declared.contains(pipe)) used.push_back(pipe);
    if (used.size() > 1) continue;  // nobody knows what part is whose
    const Pipe pipe = used.empty() ? each.pipes.front() : used.front();
    const double said = used.empty() ? 0.0 : declared.at(pipe);
    if (said < each.min_share * *count || said > *count) counted.flops[pipe] = *count;
  }
}

}  // namespace

double CountedWork::bytes_of(std::string_view resource) const {
  if (resource == resource::dram) return dram_bytes();
  if (resource == resource::l2) return bytes_through_l2();
  if (resource == resource::l1) return l1_bytes.value_or(0.0);
  return resource == resource::shared ? shared_bytes.value_or(0.0) : 0.0;
}

CountedWork counted_in(const Measurement& measurement) {
  CountedWork counted;
  counted.dram_read_bytes = counter(measurement, "dram_read_bytes");
  counted.dram_write_bytes = counter(measurement, "dram_write_bytes");
  // lts__t_bytes also counts traffic between the halves of the L2 and fills; l1tex__t_bytes also counts what L1 serves.
  // What the multiprocessors ask of the L2, which is what its ceiling is of, is no more than either.
  const auto l2 = counter(measurement, "l2_bytes");
  const auto l1 = counter(measurement, "l1_bytes");
  // Loads by the tensor memory accelerator pass L1's counter by, which then shows less than must have moved.
  const bool l1_sees_all = l1 && *l1 > 0.0 && *l1 >= 0.9 * measurement.work.bytes();
  if (l2) counted.l2_bytes = l1_sees_all ? std::min(*l2, *l1) : *l2;
  // More written to DRAM than the multiprocessors moved at all are dirty lines that another operation left in L2.
  if (l1_sees_all && counted.dram_write_bytes) counted.dram_write_bytes = std::min(*counted.dram_write_bytes, *l1);
  counted.l1_bytes = l1;
  // What the calibration confirms its ceiling of shared memory with; 128 bytes each, on every chip so far.
  constexpr double bytes_in_wavefront = 128.0;
  if (const auto wavefronts = counter(measurement, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum"))
    counted.shared_bytes = *wavefronts * bytes_in_wavefront;
  const auto issue = counter(measurement, "issue_active");
  const auto cycles = counter(measurement, "sm_active_cycles");
  const auto clock = counter(measurement, "sm_clock");
  if (issue && cycles && clock && *clock >= 1.0 && *issue <= 100.0)
    counted.issue_seconds = *issue / 100.0 * *cycles / *clock;
  count_pipes(measurement, counted);
  return counted;
}

ModelInput model_input_of(const Measurement& measurement) {
  ModelInput conditions{measurement.clock_hz,
                        measurement.cache_state == "cold",
                        counted_in(measurement),
                        measurement.grid,
                        std::nullopt,
                        0.0,
                        std::nullopt};
  if (measurement.launches) conditions.later_blocks = static_cast<double>(measurement.launches->later_blocks);
  if (const Estimate* const fixed = kernel_overhead_of(measurement); fixed != nullptr && fixed->value <= max_figure)
    conditions.kernel_overhead_seconds = std::max(fixed->value, 0.0);
  return conditions;
}

}  // namespace gpubench::classifier
