// SPDX-License-Identifier: Apache-2.0
#include <gpubench/compat/sm_profiler.h>

#include <cstdio>
#include <exception>
#include <gpubench/kernel_trace.cuh>

namespace kt = gpubench::kernel_trace;

namespace {

__global__ void kernel(kt::View view) {
  kt::Warp trace(view);
  const auto scope = trace.scope(0);
  trace.instant(1);
}

}  // namespace

int main() {
  try {
    std::printf("%llu bytes\n", static_cast<unsigned long long>(kt::bytes({.blocks = 2, .warps = 1, .events = 8})));
    kt::Buffer buffer({.blocks = 2, .warps = 1, .events = 8});
    kernel<<<2, 32>>>(buffer.view("kernel"));
    return buffer.read().statistics().events == 6 ? 0 : 1;
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
    return 0;
  }
}
