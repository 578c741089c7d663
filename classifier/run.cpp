// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include "classifier/boundaries.h"
#include "classifier/classifier.h"
#include "classifier/point_verdict.h"
#include "classifier/rules.h"
#include "classifier/sweeps.h"
#include "classifier/votes.h"
#include "core/base/parallel.h"

namespace gpubench::classifier {
namespace {

using Machines = std::map<std::string_view, MachineWithErrors>;  // by device

void judge_points(const Machines& machines, Run& run) {
  for_each_in_parallel(run.points.size(), 16, [&](std::size_t i) {
    auto& point = run.points[i];
    const auto& measurement = point.measurement;
    const auto found = machines.find(measurement.device);
    if (!measurement.seconds() || found == machines.end()) {
      point.verdict.reset();
    } else {
      point.verdict = verdict_of(measurement, found->second.machine, measurement.device);
    }
  });
}

/// What grows with an operation is seen only beside its other sizes.
void add_elasticity_votes(const Sweep& sweep, const Machine& machine,
                          const std::map<const Measurement*, Verdict*>& verdicts) {
  std::vector<double> needed;
  for (const auto& size : sweep.sizes)
    needed.push_back(binding_of(predict(size.work, model_input_of(*size.measurements.front()), machine)).seconds);
  for (std::size_t i = 0; i < sweep.sizes.size(); ++i) {
    const auto slope = elasticity_at(sweep, i, needed);
    if (!slope) continue;
    for (const auto* measurement : sweep.sizes[i].measurements)
      if (const auto found = verdicts.find(measurement); found != verdicts.end())
        found->second->votes.push_back(elasticity_vote({found->second->regime, found->second->limiter}, *slope));
  }
}

}  // namespace

void classify(Run& run) {
  Machines machines;
  for (const auto& calibration : run.calibrations)
    machines.try_emplace(calibration.device.id, with_errors(machine_of(calibration)));
  judge_points(machines, run);
  std::map<const Measurement*, Verdict*> verdicts;
  for (auto& point : run.points)
    if (point.verdict) verdicts.emplace(&point.measurement, &*point.verdict);
  run.boundaries.clear();
  const auto sweeps = sweeps_of(run);
  std::vector<std::vector<Boundary>> boundaries(sweeps.size());
  for_each_in_parallel(sweeps.size(), 1, [&](std::size_t i) {
    const auto found = machines.find(sweeps[i].device);
    if (found == machines.end()) return;
    add_elasticity_votes(sweeps[i], found->second.machine, verdicts);
    const auto fit = fit_of(sweeps[i], found->second);
    boundaries[i] = boundaries_of(sweeps[i], fit ? &*fit : nullptr, found->second);
  });
  for (auto& each : boundaries)
    run.boundaries.insert(run.boundaries.end(), std::make_move_iterator(each.begin()),
                          std::make_move_iterator(each.end()));
}

}  // namespace gpubench::classifier
