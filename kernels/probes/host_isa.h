// SPDX-License-Identifier: Apache-2.0
// Vector extensions of the host CPU that kernels are compiled for and chosen among at run time.
#pragma once

#include <string_view>
#include <vector>

namespace gpubench::probes {

enum class Isa { baseline, avx2, avx512 };

/// "baseline", "avx2", "avx512".
std::string_view name_of(Isa isa);

/// The extensions this CPU and its operating system support, narrowest first; never empty. `avx2` includes FMA;
/// `avx512` is the F, DQ, BW and VL parts together.
std::vector<Isa> available_isas();

/// The widest of them.
Isa widest_isa();

}  // namespace gpubench::probes
