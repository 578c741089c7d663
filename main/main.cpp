// SPDX-License-Identifier: Apache-2.0
#include "gpubench/gpubench.h"

extern "C" const bool gpubench_main_is_ours = true;

int main(int argc, char** argv) { return gpubench::run_command_line(argc, argv); }
