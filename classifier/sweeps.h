// SPDX-License-Identifier: Apache-2.0
// The points of a run put together to sweeps: one operation on one device along one argument.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "classifier/model.h"
#include "core/model/run.h"

namespace gpubench::classifier {

/// One size of a sweep: its work and every time taken of it.
struct SweepSize {
  double argument = 0.0;
  Work work;
  std::vector<const Measurement*> measurements;  ///< at least one
};

struct Sweep {
  std::string operation;
  std::string device;
  std::string
      argument;  ///< name of the varying argument, "size" without one; other varying arguments follow: "n (k = 64)"
  std::vector<SweepSize> sizes;  ///< by growing argument, each once
};

/// The sweeps of all points that have a usable time and sound work, in the order of their first points. The argument is
/// the first whose value differs; where further ones vary on their own, each combination of those makes a sweep. The
/// run must outlive the result.
std::vector<Sweep> sweeps_of(const Run& run);

/// Work at a part of the way between two sizes (0 to 1; beyond, it goes on as between them): each figure on the line
/// through both in logarithms, or on the plain line, and never below zero, where one of them is zero.
Work work_between(const Work& below, const Work& above, double part);

/// The same for the argument or any other figure.
double between(double below, double above, double part);

}  // namespace gpubench::classifier
