// SPDX-License-Identifier: Apache-2.0
#include "gpubench/gpubench.h"

int main(int argc, char** argv) { return gpubench::run_command_line(argc, argv); }
