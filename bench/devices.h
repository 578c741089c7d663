// SPDX-License-Identifier: Apache-2.0
// Which devices there are.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "core/model/device.h"

namespace gpubench::bench {

/// The host CPU with the threads OpenMP would use.
Device host_device();

/// A device was asked for that is not there; what() says which there are.
struct NoSuchDevice : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The devices a `--device` value stands for: "" (the best: cuda:0, else cpu), "cpu", "cuda", "cuda:N" or "all".
std::vector<Device> choose_devices(const std::string& wanted);

}  // namespace gpubench::bench
