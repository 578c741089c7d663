// SPDX-License-Identifier: Apache-2.0
// CUDA's row among the vendors.
#pragma once

#include "gpu/backend.h"

namespace gpubench::bench {

/// Without CUDA, one that shows no GPU and says why.
const Backend& cuda_backend();

}  // namespace gpubench::bench
