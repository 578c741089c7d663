// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/memory.h"

namespace gpubench::bench {

DeviceMemory& cuda_memory();

}  // namespace gpubench::bench
