// SPDX-License-Identifier: Apache-2.0
#include <gpubench/gpubench.h>

#include <cstdio>

// --8<-- [start:main]
int main(int argc, char** argv) {
  const int code = gpubench::run_command_line(argc, argv);  // exit codes as of --help
  if (code != 0) std::fprintf(stderr, "exit code %d\n", code);
  return code;
}
// --8<-- [end:main]
