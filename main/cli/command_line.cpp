// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "bench/devices.h"
#include "bench/google/google_runner.h"
#include "core/storage/storage.h"
#include "gpubench/gpubench.h"
#include "main/cli/options.h"
#include "main/commands/commands.h"
#include "reports/charts/picture.h"

namespace gpubench {
namespace {

/// Whether an error is one of these types.
template <class... Errors>
bool is_any_of(const std::exception& error) {
  return ((dynamic_cast<const Errors*>(&error) != nullptr) || ...);
}

}  // namespace

void say(const std::string& message) {
  (void)std::fflush(stdout);  // or the two mix where both go to one file
  fmt::print(stderr, "gpubench: {}\n", message);
}

int run_command_line(int argc, char** argv) {
  try {
    const Options options = parse_command_line(argc, argv);
    if (!options.text) return options.run(options);
    fmt::print("{}", *options.text);
    return exit_codes::fine;
  } catch (const std::exception& error) {
    say(error.what());
    // What the user can put right is wrong usage; anything else that stops a whole run is a failure.
    const bool usage =
        is_any_of<UsageError, bench::GoogleFlagError, bench::ArgumentError, bench::NoSuchDevice, storage::ReadError,
                  storage::WriteError, reports::NoSuchChart, reports::DrawingError>(error);
    return usage ? exit_codes::wrong_usage : exit_codes::operation_failed;
  }
}

}  // namespace gpubench
