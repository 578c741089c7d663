// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string_view>

#include "classifier/boundaries.h"
#include "classifier/classifier.h"
#include "classifier/sweeps.h"
#include "classifier/verdict.h"

namespace gpubench::classifier {

void classify(Run& run) {
  std::map<std::string_view, MachineWithErrors> machines;  // by device
  for (const auto& calibration : run.calibrations) {
    const auto machine = machine_of(calibration);
    machines.try_emplace(calibration.device.id, MachineWithErrors{machine, perturbed(machine)});
  }
  for (auto& point : run.points) {
    const auto& measurement = point.measurement;
    const auto found = machines.find(measurement.device);
    if (!measurement.seconds || found == machines.end()) {
      point.verdict.reset();
    } else {
      point.verdict = verdict_of(measurement, found->second.machine, measurement.device);
    }
  }
  run.boundaries.clear();
  for (const auto& sweep : sweeps_of(run)) {
    const auto found = machines.find(sweep.device);
    if (found == machines.end()) continue;
    auto boundaries = boundaries_of(sweep, found->second);
    run.boundaries.insert(run.boundaries.end(), std::make_move_iterator(boundaries.begin()),
                          std::make_move_iterator(boundaries.end()));
  }
}

}  // namespace gpubench::classifier
