// SPDX-License-Identifier: Apache-2.0
// The one header of a benchmark program.
#pragma once

#include "gpubench/benchmark.h"
#include "gpubench/check.h"
#include "gpubench/command_line.h"
#include "gpubench/state.h"
#include "gpubench/vectors.h"
#include "gpubench/work.h"
