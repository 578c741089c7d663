/* SPDX-License-Identifier: Apache-2.0
 * The functions of the library SM Profiler, by gpubench's recorder of events inside kernels. Programs written for it
 * need this include in place of theirs, and link gpubench::kernel_trace. Blocks, warps and events beyond the declared
 * ones are counted, never written; the file says how many. New code uses gpubench/kernel_trace.cuh: an event costs a
 * tenth there. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sm_profiler_buffer* sm_profiler_buffer_t;

/* NULL where there is no such buffer: sm_profiler_last_error() says why. `enabled` 0: nothing is recorded. */
sm_profiler_buffer_t sm_profiler_create_buffer(int num_blocks, int num_groups, int max_events_per_group, int enabled);
/* 0, or -1 with sm_profiler_last_error(). Numbers are below 4095. */
int sm_profiler_register_event(sm_profiler_buffer_t buffer, int event_no, const char* name);
/* Forgets all events: before each launch. */
int sm_profiler_init_buffer(sm_profiler_buffer_t buffer);
/* What kernels are handed; NULL for a buffer that is not enabled. */
uint64_t* sm_profiler_get_device_ptr(sm_profiler_buffer_t buffer);
/* Waits for the GPU. A timeline (.json, .perfetto-trace), or statistics (.csv, .stats.json, .txt), as the name ends. */
int sm_profiler_export_to_file(sm_profiler_buffer_t buffer, const char* filename);
void sm_profiler_destroy_buffer(sm_profiler_buffer_t buffer);
/* Of this thread's last call that failed. Not in SM Profiler. */
const char* sm_profiler_last_error(void);

#ifdef __cplusplus
}
#endif

#ifdef __CUDACC__
#include "gpubench/kernel_trace.cuh"

__device__ __forceinline__ uint32_t sm_profiler_get_lane_id() { return gpubench::kernel_trace::detail::lane_id(); }
/* In the block, of one to three dimensions. */
__device__ __forceinline__ uint32_t sm_profiler_get_warp_id() {
  return gpubench::kernel_trace::detail::warp_in_block();
}
__device__ __forceinline__ uint32_t sm_profiler_get_block_idx() {
  return static_cast<uint32_t>(gpubench::kernel_trace::detail::block_in_grid());
}
__device__ __forceinline__ uint32_t sm_profiler_get_smid() { return gpubench::kernel_trace::detail::sm_id(); }
/* Nanoseconds of the global timer. */
__device__ __forceinline__ uint64_t sm_profiler_get_timestamp() { return gpubench::kernel_trace::detail::global_ns(); }

__device__ __forceinline__ void sm_profiler_event_start(uint64_t* buffer, uint32_t event_no, bool predicate) {
  using namespace gpubench::kernel_trace;
  if (predicate) detail::record_counted(buffer, event_word(Kind::begin, event_no));
}
__device__ __forceinline__ void sm_profiler_event_end(uint64_t* buffer, uint32_t event_no, bool predicate) {
  using namespace gpubench::kernel_trace;
  if (predicate) detail::record_counted(buffer, event_word(Kind::end, event_no));
}
__device__ __forceinline__ void sm_profiler_event_instant(uint64_t* buffer, uint32_t event_no, bool predicate) {
  using namespace gpubench::kernel_trace;
  if (predicate) detail::record_counted(buffer, event_word(Kind::instant, event_no));
}
#endif
