// SPDX-License-Identifier: Apache-2.0
// Vector extensions of the host CPU that kernels are compiled for and chosen among at run time.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
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

/// The entry for `isa`; throws std::invalid_argument when this CPU cannot run it.
template <class Table>
const Table& choose([[maybe_unused]] const Table& baseline, [[maybe_unused]] const Table& avx2,
                    [[maybe_unused]] const Table& avx512, Isa isa) {
  const auto isas = available_isas();
  if (std::find(isas.begin(), isas.end(), isa) == isas.end())
    throw std::invalid_argument("this CPU does not have " + std::string(name_of(isa)));
  if (isa == Isa::avx512) return avx512;
  return isa == Isa::avx2 ? avx2 : baseline;
}

}  // namespace gpubench::probes

/// Defines `const Table& function(Isa)` over the objects `object` that each compilation put into its own namespace.
/// Other processors than x86-64 have the baseline alone.
#if defined(__x86_64__)
#define GPUBENCH_CHOOSE_BY_ISA(Table, function, object)                                     \
  namespace baseline {                                                                      \
  extern const Table object;                                                                \
  }                                                                                         \
  namespace avx2 {                                                                          \
  extern const Table object;                                                                \
  }                                                                                         \
  namespace avx512 {                                                                        \
  extern const Table object;                                                                \
  }                                                                                         \
  const Table& function(::gpubench::probes::Isa isa) {                                      \
    return ::gpubench::probes::choose(baseline::object, avx2::object, avx512::object, isa); \
  }
#else
#define GPUBENCH_CHOOSE_BY_ISA(Table, function, object)                                           \
  namespace baseline {                                                                            \
  extern const Table object;                                                                      \
  }                                                                                               \
  const Table& function(::gpubench::probes::Isa isa) {                                            \
    return ::gpubench::probes::choose(baseline::object, baseline::object, baseline::object, isa); \
  }
#endif
