// SPDX-License-Identifier: Apache-2.0
// Others that use CUPTI in this process, such as torch.profiler. Before version 13.3 libcupti hands its records to the
// last one that asked, and its callbacks to the first. So this one gives up what another one asks for.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gpu/cuda/cupti/cupti_library.h"

namespace gpubench::profile {

/// What is done when another user asks, in its thread and before it has its way.
struct GiveUp {
  std::function<void(const std::string& user)> records;    ///< `user`: the file of its code
  std::function<void(const std::string& user)> callbacks;  ///< its subscription
};

/// From here on notices what objects that link to libcupti ask of it; again for objects that were loaded since.
/// Functions that were looked up by name (dlsym) are not noticed.
void watch_other_users(const std::shared_ptr<const bench::CuptiLibrary>& library, GiveUp give_up);
void watch_new_objects();

/// Whether anybody else has asked CUPTI for anything.
bool others_use_cupti();
/// Takes them back from one that has not wanted any for a second. True where there is nobody any more. Its own
/// timestamps are over then.
bool take_records_back();

}  // namespace gpubench::profile
