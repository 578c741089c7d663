// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gpubench {

/// What an operation runs on.
enum class DeviceKind { cpu, cuda };

}  // namespace gpubench
