// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "kernel_trace/decode.h"
#include "tests/kernel_trace/synthetic.h"

namespace gpubench::kernel_trace {

/// Two blocks of two warps on two SMs. The second block loads three times as long.
inline Trace sample(std::string_view name = "load") {
  SyntheticBuffer buffer(2, 2, 16);
  for (std::uint32_t block = 0; block < 2; ++block)
    for (std::uint32_t warp = 0; warp < 2; ++warp) {
      auto one = buffer.open(0, block, warp, block);
      const std::int64_t from = 100 + warp * 640, length = block == 0 ? 1000 : 3000;
      one.begin(from, 0).end(from + length, 0).begin(5000, 1).end(5100, 1).close(6400 + length);
    }
  const DecodeOptions options = {.names = {std::string(name), "wait"},
                                 .kernels = {"k"},
                                 .rate = Rate{.ns_per_tick = 0.5, .error = 1e-7},
                                 .host = {}};
  return Trace(std::make_shared<Recording>(decode(buffer.bytes(), options)));
}

}  // namespace gpubench::kernel_trace
