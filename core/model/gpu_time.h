// SPDX-License-Identifier: Apache-2.0
// What people read for a GPU of a program and for why it was idle.
#pragma once

#include <string>
#include <string_view>

#include "core/model/program.h"

namespace gpubench {

/// "cuda:0 of python3 (rank 1)"
std::string name_of(const GpuTime& gpu);
/// In words: "late launches".
std::string_view text_of(IdleCause cause);

}  // namespace gpubench
