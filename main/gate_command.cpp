// SPDX-License-Identifier: Apache-2.0
#include "main/commands.h"

namespace gpubench {

int gate_command(const Options&) { throw UsageError("gate is not part of this version."); }

}  // namespace gpubench
