// SPDX-License-Identifier: Apache-2.0
// A kernel with every call of the tracer, and the same without any. Compiled twice: with and without -DWITH_CALLS.
#include <gpubench/kernel_trace.cuh>

#ifdef WITH_CALLS
#define CALL(statement) statement
#else
#define CALL(statement)
#endif

namespace kt = gpubench::kernel_trace;

template <class Warp>
__device__ __forceinline__ void work(float* values, int count, [[maybe_unused]] const kt::View& view) {
  extern __shared__ float tile[];
  CALL(Warp trace(view);)
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    CALL(auto scope = trace.scope(0, static_cast<std::uint32_t>(i)); (void)scope;)
    CALL(trace.begin(1);)
    tile[threadIdx.x] = values[i];
    CALL(trace.begin_async(5, 3);)
    CALL(trace.flow_out(6, static_cast<std::uint32_t>(i));)
    CALL(trace.swap(1, 2);)
    __syncthreads();
    CALL(trace.flow_in(6, static_cast<std::uint32_t>(i));)
    CALL(trace.end_async(5, 3);)
    float sum = 0.0F;
    for (unsigned k = 0; k < blockDim.x; ++k) sum += tile[k] * tile[threadIdx.x ^ k];
    CALL(trace.end(2);)
    CALL(trace.value(3, sum);)
    CALL(trace.value(3, i);)
#ifdef WITH_CALLS
    trace.sync_block(7);
    trace.after_barrier();
#else
    __syncthreads();
#endif
    if (sum < 0.0F) {
      CALL(trace.instant(4);)
      return;
    }
    __syncthreads();
    CALL(trace.place();)
    values[i] = sum;
  }
  CALL(trace.close();)
}

extern "C" __global__ void by_type(float* values, int count, kt::View view) { work<kt::NoWarp>(values, count, view); }
// With GPUBENCH_KERNEL_TRACE=0 the usual names record nothing either.
extern "C" __global__ void by_macro(float* values, int count, kt::View view) { work<kt::Warp>(values, count, view); }
extern "C" __global__ void by_macro_ring(float* values, int count, kt::View view) {
  work<kt::RingWarp>(values, count, view);
}
