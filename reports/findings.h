// SPDX-License-Identifier: Apache-2.0
// What to fix first, and warnings folded by kind. Raw text, not yet made safe for any format.
#pragma once

#include <string>
#include <vector>

#include "core/model/run.h"

namespace gpubench::reports {

/// A finding as writers show it.
struct FindingLine {
  std::string head;    ///< "softmax_rows, up to 16x faster (14 to 18)"; empty of a program's
  std::string action;  ///< "launch more or smaller blocks: the grid is too small"; empty of a failure
  std::string why;     ///< where, what limits it, by what evidence, how sure, what it saves; empty of a program's
  const Point* point = nullptr;  ///< to begin with; null of a program's
  bool is_failure = false;
};
/// At most five: of a profiled program its own, else the run's. Refers into `run`.
std::vector<FindingLine> finding_lines(const Run& run);
/// Why there is none.
std::string no_findings_text(const Run& run);

/// Where a page shows a point: "#saxpy/n:1024", percent-encoded, with "@cuda:1" where there are several devices.
std::string address_of(const Run& run, const Point& point);

/// One line a kind of warning: those that name a point name up to three, and how many more.
std::vector<std::string> folded_warnings(const Run& run);
/// "3 points do not do the work they declare: a (moves 3.1x the bytes it declares), b (...) and 1 more"; else empty.
std::string work_differences_text(const Run& run);
/// That, and points whose samples change while they are taken: "2 points are not steady, so no interval holds:
/// gemm/n:6144 (579 us at first, 659 us sustained (drift)), ...".
std::vector<std::string> point_notices(const Run& run);

}  // namespace gpubench::reports
