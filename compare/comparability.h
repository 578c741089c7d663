// SPDX-License-Identifier: Apache-2.0
// In what two runs differ besides their times. What changes the time of the very same code forbids a comparison:
// another device, its size, MIG, ECC, the power limit, the clocks a GPU may reach, a debug build. All else is named:
// driver, CUDA, compiler, operating system, host, and what one run does not know.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compare/compare.h"
#include "core/model/run.h"

namespace gpubench::compare {

struct Comparability {
  std::vector<std::string> differences;      ///< raw text, as "cuda:0: driver was '550', is '570'"
  std::vector<std::string> forbidding;       ///< likewise; not in `differences`
  std::vector<std::string> notes;            ///< likewise: what is alike and still to be known
  std::set<std::string> foreign_device_ids;  ///< devices of the same id that cannot be compared
};

/// Of program version, environment, and of the devices that both runs have: kind, name, size, clocks, properties.
/// With `same_model` another card of the same model is named, and forbids nothing.
Comparability comparability_of(const Run& base, const Run& next, bool same_model = false);

/// Whether both runs are of the same machine code: that of the executable itself, not of libraries it loads.
CodeChange code_change(const Run& base, const Run& next);
/// The same of a GPU's kernels alone: SASS and PTX of all that the executable holds.
CodeChange device_code_change(const Run& base, const Run& next);

/// What a baseline must share with a run, by name: all that would forbid comparing. Absent facts are left out.
std::map<std::string, std::string> fingerprint_of(const Run& run);
/// Without what tells two cards of one model apart.
std::map<std::string, std::string> without_cards(std::map<std::string, std::string> fingerprint);
/// The card that a run is of: the UUIDs of its GPUs; of a CPU the host.
std::string card_of(const Run& run);

}  // namespace gpubench::compare
