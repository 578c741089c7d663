// SPDX-License-Identifier: Apache-2.0
// The verdict of one point against a machine made ready once.
#pragma once

#include "classifier/model.h"
#include "gpubench/measurement.h"
#include "gpubench/verdict.h"

namespace gpubench::classifier {

/// As `classify` of a measurement and a calibration; `calibrated_device` is the id of the device that `machine` was
/// made from.
Verdict verdict_of(const Measurement& measurement, const Machine& machine, std::string_view calibrated_device);

/// Whether a summary has a time the classifier can use: at least one sample, and a median within the
/// bounds of a figure.
/// The time that the launch is part of, as the model has it: by the clock "stream" on a GPU, else the only one there is.
/// Null when the point has none.
const Summary* judged_seconds(const Measurement& measurement);
bool has_time(const Measurement& measurement);

/// Whether no declared figure is negative, not a number or beyond `largest_figure`.
bool is_sound(const Work& work);

/// Shares of the time, exactly adding to 1: the launch; each resource by its part T_r^p of the work time that the model
/// explains, the memory's part split among its levels by their times; "unexplained" for the rest.
std::vector<Share> shares_of(double seconds, const Prediction& prediction);

}  // namespace gpubench::classifier
