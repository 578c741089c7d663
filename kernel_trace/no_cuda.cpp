// SPDX-License-Identifier: Apache-2.0
// A build without CUDA: what needs a GPU says so.
#include <stdexcept>

#include "gpubench/kernel_trace.h"

namespace gpubench::kernel_trace {
namespace {

[[noreturn]] void refuse() {
  throw std::runtime_error(
      "gpubench was built without CUDA, so that no kernel can record; build it with a CUDA toolkit.");
}

}  // namespace

struct Buffer::Contents {};
Buffer::Buffer(const Options&) { refuse(); }
Buffer::~Buffer() = default;
Buffer::Buffer(Buffer&&) noexcept = default;
Buffer& Buffer::operator=(Buffer&&) noexcept = default;
std::uint64_t Buffer::bytes() const { refuse(); }
Buffer& Buffer::name(std::uint32_t, std::string_view) { refuse(); }
View Buffer::view(std::string_view) { refuse(); }
void Buffer::reset(Stream) { refuse(); }
void Buffer::copy(Stream) { refuse(); }
Trace Buffer::read(Stream) { refuse(); }
void* Buffer::device_memory() const { refuse(); }
EventCost measure_event_cost(int, Stream) { refuse(); }
AddedTime measure_added_time(Buffer&, const std::function<void(const View&)>&, Stream, int) { refuse(); }

}  // namespace gpubench::kernel_trace
