// SPDX-License-Identifier: Apache-2.0
// What every command line asks for. Each command adds its own options, in a struct of its own that begins with these.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "main/cli/terminal.h"
#include "reports/reports.h"

namespace gpubench {

struct Options {
  Options() = default;
  Options(const Options&) = default;
  Options& operator=(const Options&) = default;
  virtual ~Options();

  std::optional<std::string> text;             ///< to be printed instead: help, the version, a completion script
  std::string program;                         ///< as it was called
  std::vector<std::string> words;              ///< all that follow the program
  std::vector<std::string> google_words;       ///< flags of Google Benchmark among them
  std::vector<std::string> inputs;             ///< what is no option
  std::vector<std::string> program_arguments;  ///< after "--"
  std::vector<std::string> outputs;
  ColorChoice color = ColorChoice::automatic;
  int width = 0;  ///< columns of the terminal; 0: as it says
  bool quiet = false;
  bool kernels = false;  ///< what each point runs, kernel by kernel
  bool json = false;     ///< the result as JSON, on the terminal too and whatever a file's name

  /// The program's name without its folder.
  [[nodiscard]] std::string name() const;
};

/// Of commands that draw.
struct PictureOptions : reports::PictureStyle {
  std::string chart;  ///< what pictures among the outputs show; empty: their names say
};

struct FilterOptions {
  std::string filter;
};

/// Of commands that judge.
struct CeilingFileOptions {
  std::optional<std::string> calibration_file;
};

/// Of commands that look for ceilings.
struct CeilingOptions : CeilingFileOptions {
  bool drift_check = true;   ///< of a stored calibration
  bool accept_load = false;  ///< store a calibration that was measured under load
};

/// Wrong usage (exit code 64); what() is one sentence.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace gpubench
