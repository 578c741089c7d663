// SPDX-License-Identifier: Apache-2.0
// In which ways a link between two GPUs is measured.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/probes/cuda/peer_link.h"

namespace gpubench::calibrate {

inline constexpr std::size_t peer_bytes = std::size_t{512} << 20;  ///< as nvbandwidth has it
inline constexpr int peer_copies = 8;

struct PeerWay {
  const char* suffix;  ///< of the resource: "peer-1-write"
  probes::LinkWay way;
  probes::LinkEngine engine;
  const char* method;
};
inline constexpr auto peer_ways = std::to_array<PeerWay>(
    {{"-write", probes::LinkWay::write, probes::LinkEngine::copy,
      "8 copies of 512 MiB to the other GPU in a row, events; payload"},
     {"-read", probes::LinkWay::read, probes::LinkEngine::copy,
      "8 copies of 512 MiB from the other GPU in a row, events; payload"},
     {"-both-ways", probes::LinkWay::both_ways, probes::LinkEngine::copy,
      "8 copies of 512 MiB in a row each way at once, each sent by its GPU, events; both together; payload"},
     {"-write-kernel", probes::LinkWay::write, probes::LinkEngine::kernel,
      "a kernel stores 512 MiB to the other GPU, 8 times, events; payload"},
     {"-read-kernel", probes::LinkWay::read, probes::LinkEngine::kernel,
      "a kernel loads 512 MiB from the other GPU, 8 times, events; payload"},
     {"-both-ways-kernel", probes::LinkWay::both_ways, probes::LinkEngine::kernel,
      "a kernel on each GPU stores 512 MiB to the other, 8 times at once, events; both together; payload"}});

}  // namespace gpubench::calibrate
