// SPDX-License-Identifier: Apache-2.0
// The verdict of one point against a machine made ready once.
#pragma once

#include "classifier/case.h"
#include "core/model/measurement.h"
#include "core/model/verdict.h"

namespace gpubench::classifier {

/// As `classify` of a measurement and a calibration; `calibrated_device` is the id of the device that `machine` was
/// made from.
Verdict verdict_of(const Measurement& measurement, const Machine& machine, std::string_view calibrated_device);

/// The time that the launch is part of, as the model has it: by the clock "stream" on a GPU, else the only one there
/// is. Null when the point has none.
const Summary* judged_seconds(const Measurement& measurement);
/// Whether the classifier can use it: at least one sample, and a median within the bounds of a figure.
bool has_time(const Measurement& measurement);

/// That time with its relative standard deviation, and the device's part of it where the clock "device" stands beside
/// it. The measurement must have a time.
Time time_of(const Measurement& measurement);

/// Whether no declared figure is negative, not a number or beyond `max_figure`.
bool is_sound(const Work& work);

/// Shares of the time, exactly adding to 1: the launch; each resource by its part T_r^p of the work time that the model
/// explains, the memory's part split among its levels by their times; "tail" for the uneven last wave of blocks;
/// "block-start" likewise; "unexplained" for the rest.
std::vector<Share> shares_of(const Case& it);

}  // namespace gpubench::classifier
