// SPDX-License-Identifier: Apache-2.0
#include "kernels/probes/host_isa.h"

#include <array>
#include <cstddef>

namespace gpubench::probes {

std::string_view name_of(Isa isa) {
  constexpr std::array names = {std::string_view("baseline"), std::string_view("avx2"), std::string_view("avx512")};
  return names[static_cast<std::size_t>(isa)];
}

std::vector<Isa> available_isas() {
  std::vector<Isa> isas = {Isa::baseline};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    isas.push_back(Isa::avx2);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
      isas.push_back(Isa::avx512);
  }
#endif
  return isas;
}

Isa widest_isa() { return available_isas().back(); }

}  // namespace gpubench::probes
