// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "gpu/device.h"
#include "gpu/graph.h"

namespace gpubench::bench {

/// As CUDA writes it: "0000:18:00.0". Throws GpuError.
std::string pci_bus_id(int index);
/// By the index that CUDA counts. Throws GpuError.
std::unique_ptr<Gpu> open_cuda_gpu(const Device& device, int index);
/// Reads the nodes of a graph, those of child graphs included. Throws GpuError.
GraphContent content_of(cudaGraph_t graph);

}  // namespace gpubench::bench
