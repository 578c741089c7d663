// SPDX-License-Identifier: Apache-2.0
// The loop by which an event's cost is measured, without and with events: off_test.py compares the registers.
#include "kernel_trace/cost_loop.cuh"

namespace gpubench::kernel_trace {
using Ring = BasicWarp<true, When::latest>;
template __global__ void cost_loop<NoWarp, CostOf::begin_and_end>(View, std::uint64_t*, float*);
template __global__ void cost_loop<BasicWarp<true>, CostOf::begin_and_end>(View, std::uint64_t*, float*);
template __global__ void cost_loop<BasicWarp<true>, CostOf::scope>(View, std::uint64_t*, float*);
template __global__ void cost_loop<Ring, CostOf::begin_and_end>(View, std::uint64_t*, float*);
}  // namespace gpubench::kernel_trace
