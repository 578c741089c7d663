// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernel_trace/recording.h"

namespace gpubench::kernel_trace {

Statistics statistics_of(const Recording& recording);
std::string statistics_table(const Statistics& statistics);
std::string statistics_csv(const Statistics& statistics);
std::string statistics_json(const Statistics& statistics);

}  // namespace gpubench::kernel_trace
