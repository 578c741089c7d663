// SPDX-License-Identifier: Apache-2.0
#include "gpubench/compat/sm_profiler.h"

#include <exception>
#include <stdexcept>
#include <string>

#include "kernel_trace/probes.h"

struct sm_profiler_buffer {
  gpubench::kernel_trace::Buffer buffer;
};

namespace {

thread_local std::string last_error;

/// The result of `body`, or that of a call that failed, which is remembered.
template <class Result, class Body>
Result guarded(Result failed, const Body& body) noexcept {
  try {
    return body();
  } catch (const std::exception& error) {
    last_error = error.what();
    return failed;
  }
}

/// 0, or -1 where it failed.
template <class Body>
int code_of(const Body& body) noexcept {
  return guarded(-1, [&] { return body(), 0; });
}

gpubench::kernel_trace::Buffer& buffer_of(sm_profiler_buffer_t buffer) {
  if (buffer == nullptr) throw std::invalid_argument("the buffer is NULL: sm_profiler_create_buffer failed.");
  return buffer->buffer;
}

std::uint32_t positive(int value, const char* what) {
  if (value <= 0)
    throw std::invalid_argument(std::string(what) + " is " + std::to_string(value) + ": it must be above 0.");
  return static_cast<std::uint32_t>(value);
}

}  // namespace

extern "C" {

sm_profiler_buffer_t sm_profiler_create_buffer(int num_blocks, int num_groups, int max_events_per_group, int enabled) {
  return guarded<sm_profiler_buffer_t>(nullptr, [&] {
    gpubench::kernel_trace::Options options;
    options.blocks = positive(num_blocks, "num_blocks");
    options.warps = positive(num_groups, "num_groups");
    options.events = 2 * positive(max_events_per_group, "max_events_per_group");  // a range takes two
    options.enabled = enabled != 0;
    return new sm_profiler_buffer{gpubench::kernel_trace::Buffer(options)};
  });
}

int sm_profiler_register_event(sm_profiler_buffer_t buffer, int event_no, const char* name) {
  return code_of([&] {
    if (event_no < 0 || name == nullptr) throw std::invalid_argument("an event has a number from 0 on, and a name.");
    buffer_of(buffer).name(static_cast<std::uint32_t>(event_no), name);
  });
}

int sm_profiler_init_buffer(sm_profiler_buffer_t buffer) {
  return code_of([&] { buffer_of(buffer).reset(); });
}

uint64_t* sm_profiler_get_device_ptr(sm_profiler_buffer_t buffer) {
  return buffer == nullptr ? nullptr : static_cast<uint64_t*>(buffer->buffer.device_memory());
}

int sm_profiler_export_to_file(sm_profiler_buffer_t buffer, const char* filename) {
  return code_of([&] {
    auto& held = buffer_of(buffer);
    if (filename == nullptr) throw std::invalid_argument("the name of the file to export to is NULL.");
    GPUBENCH_TRACE_CHECK(cudaDeviceSynchronize());
    held.read().write(filename);
  });
}

void sm_profiler_destroy_buffer(sm_profiler_buffer_t buffer) { delete buffer; }

const char* sm_profiler_last_error(void) { return last_error.c_str(); }
}
