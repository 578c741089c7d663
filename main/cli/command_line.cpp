// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "bench/devices.h"
#include "bench/google/google_runner.h"
#include "core/storage/storage.h"
#include "gpubench/gpubench.h"
#include "gpubench/version.h"
#include "main/cli/options.h"
#include "main/commands/commands.h"
#include "reports/charts/picture.h"

namespace gpubench {
namespace {

int dispatch(const Options& options, int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  switch (options.command) {
    case Command::help:
      fmt::print("{}", options.help_text);
      return exit_codes::fine;
    case Command::version:
      fmt::print("gpubench {}\n", version);
      return exit_codes::fine;
    case Command::compare:
      return compare_command(options);
    case Command::ab:
      return ab_command(options);
    case Command::gate:
      return gate_command(options);
    case Command::report:
      return report_command(options);
    case Command::calibration:
      return calibration_command(options);
    case Command::doctor:
      return doctor_command(options, argv[0], arguments);
    case Command::run:
      break;
  }
  return run_command(options, argv[0], arguments);
}

}  // namespace

void say(const std::string& message) {
  (void)std::fflush(stdout);  // or the two mix where both go to one file
  fmt::print(stderr, "gpubench: {}\n", message);
}

int run_command_line(int argc, char** argv) {
  // What the user can put right is wrong usage; anything else that stops a whole run is a failure.
  try {
    return dispatch(parse_command_line(argc, argv), argc, argv);
  } catch (const UsageError& error) {
    say(error.what());
  } catch (const bench::GoogleFlagError& error) {
    say(error.what());
  } catch (const bench::ArgumentError& error) {
    say(error.what());
  } catch (const bench::NoSuchDevice& error) {
    say(error.what());
  } catch (const storage::ReadError& error) {
    say(error.what());
  } catch (const storage::WriteError& error) {
    say(error.what());
  } catch (const reports::NoSuchChart& error) {
    say(error.what());
  } catch (const reports::DrawingError& error) {
    say(error.what());
  } catch (const std::exception& error) {
    say(error.what());
    return exit_codes::operation_failed;
  }
  return exit_codes::wrong_usage;
}

}  // namespace gpubench
