// SPDX-License-Identifier: Apache-2.0
// What a CUDA graph consists of.
#pragma once

#include <cuda_runtime_api.h>

#include "gpu/graph.h"

namespace gpubench::bench {

/// Reads the nodes of a graph, those of child graphs included. Throws GpuError.
GraphContent content_of(cudaGraph_t graph);

}  // namespace gpubench::bench
