// SPDX-License-Identifier: Apache-2.0
// Pointer chase on the host.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpubench::probes {

/// Distance of the links: a cache line of x86-64 and of most AArch64 cores.
inline constexpr std::size_t host_line_bytes = 64;

/// Links the first `lines` lines of memory in one random cycle, another for each seed: the start of each holds the
/// address of the next. By all threads of the team. `lines` > 0.
void make_host_chain(std::byte* memory, std::uint32_t lines, std::uint64_t seed);

/// Follows the links from `from` so many times and returns where that ends; each load waits for the one before it.
const std::byte* chase_host_chain(const std::byte* from, std::int64_t steps);

}  // namespace gpubench::probes
