// SPDX-License-Identifier: Apache-2.0
// The links of a node by themselves: of a GPU to the host's NUMA nodes, and to another GPU.
#pragma once

#include "core/model/calibration.h"
#include "core/model/device.h"

namespace gpubench::calibrate {

// Each result holds ceilings of links, and what is absent with its reason. Both throw GpuError where the device itself
// cannot be used, and std::runtime_error in a build without CUDA.

/// Copies to and from pinned memory on the NUMA node beside the GPU ("host-to-device-near") and on the one that is
/// farthest from it ("-far"); where the system does not say which one is beside it, on each ("-node-0").
Calibration measure_host_links(const Device& device);

/// Writes, reads and both at once to another GPU that this process sees, by copy engines and by kernels: "peer-write",
/// "peer-write-kernel", ...
Calibration measure_peer_links(const Device& device, const Device& peer);

}  // namespace gpubench::calibrate
