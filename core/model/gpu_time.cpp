// SPDX-License-Identifier: Apache-2.0
#include "core/model/gpu_time.h"

#include <fmt/format.h>

namespace gpubench {

std::string name_of(const GpuTime& gpu) {
  return gpu.process.empty() ? gpu.device : fmt::format("{} of {}", gpu.device, gpu.process);
}

std::string_view text_of(IdleCause cause) {
  constexpr std::array<std::string_view, idle_cause_names.size()> texts = {"late launches",
                                                                           "host at other work",
                                                                           "host waiting for the GPU",
                                                                           "host waiting for a copy",
                                                                           "launched but not started",
                                                                           "the recording itself",
                                                                           "before the first and after the last work",
                                                                           "cause not known"};
  return texts[static_cast<std::size_t>(cause)];
}

}  // namespace gpubench
