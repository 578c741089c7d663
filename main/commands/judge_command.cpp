// SPDX-License-Identifier: Apache-2.0
// gpubench judge: candidates against a reference. They are mostly Python, and so is the judge: python/gpubench/judging.
// This file is its command line, and becomes its process.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "core/base/environment.h"
#include "core/base/files.h"
#include "main/cli/command.h"

namespace gpubench {
namespace {

struct JudgeOptions : Options, CeilingFileOptions {
  // Parsed here for what is wrong with them; the judge reads the words again.
  double seconds = 0.0;
  int count = 0;
  std::string text;
  bool on = false;
};

/// The folder in which the package lies that was built with this program: of a wheel, or of a build; empty if neither.
std::filesystem::path package_folder() {
  std::error_code error;
  const auto here = program_folder();
  for (const auto& folder : {here / "python", here.parent_path().parent_path()})
    if (std::filesystem::exists(folder / "gpubench" / "judging", error)) return folder;
  return {};
}

/// Says in one sentence what is missing, and else is the judge. The folder that it is called in may be that of
/// candidates: nothing is imported from there.
constexpr const char* start = R"(
import sys
sys.path[:] = [each for each in sys.path if each]
try:
    from gpubench.judging.__main__ import main
except ImportError as error:
    print(f"gpubench: {sys.executable} cannot load the judge: {error}. Give a Python that has gpubench and NumPy with GPUBENCH_PYTHON=FILE.", file=sys.stderr)
    sys.exit(64)
sys.exit(main(sys.argv[1:]))
)";

int run_judge(const JudgeOptions& options) {
  const std::string chosen = environment("GPUBENCH_PYTHON"), python = chosen.empty() ? "python3" : chosen;
  std::vector<std::string> words = {python, "-c", start};
  words.insert(words.end(), options.words.begin() + 1, options.words.end());
  if (const auto folder = package_folder(); !folder.empty()) {
    const std::string before = environment("PYTHONPATH");
    setenv("PYTHONPATH", (folder.string() + (before.empty() ? "" : ":" + before)).c_str(), 1);
  }
  setenv("PYTHONSAFEPATH", "1", 1);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp(python.c_str(), pointers.data());
  throw UsageError(
      fmt::format("gpubench judge needs Python 3.10 or newer with NumPy, and {} cannot be run: {}. Name one with "
                  "GPUBENCH_PYTHON=FILE.",
                  python, std::strerror(errno)));
}

OptionRows judge_rows() {
  return joined_rows(
      {{{"--json", "", "", Rank::common, "Print one line of JSON for each candidate, as soon as it is judged.",
         use::set(&JudgeOptions::on)},
        {"--time-budget", "SECONDS", "5", Rank::common,
         "Time a candidate for so long at most, and shorter where its interval is narrow.",
         use::number(&JudgeOptions::seconds, 0.01, 3600.0)},
        {"--resume", "FOLDER", "", Rank::common,
         "Keep verdicts in this folder, and judge nothing again whose files and options are the same.",
         use::text(&JudgeOptions::text)},
        {"--jobs", "N", "1", Rank::common,
         "Check so many candidates at once. Timing is always done one by one, with nothing beside it.",
         use::count(&JudgeOptions::count, 1, 1024)},
        {"--time-limit", "SECONDS", "60", Rank::other,
         "End a candidate that takes longer to load, or for one batch of calls.",
         use::number(&JudgeOptions::seconds, 0.1, 86400.0)},
        {"--memory-limit", "MIB", "8192", Rank::other, "Memory that a candidate may take. 0: no limit.",
         use::count(&JudgeOptions::count, 0, 1 << 30)},
        {"--no-cold", "", "", Rank::other, "Take no times with cold caches.", use::set(&JudgeOptions::on)},
        {"--no-namespaces", "", "", Rank::other, "Do not shut candidates in: no own network, files and processes.",
         use::set(&JudgeOptions::on)}},
       shared_rows({"--calibration"})});
}

}  // namespace

extern const CommandFile judge_command{
    25, [] {
      return std::vector{
          with(Command{"judge",
                       "Say whether candidates are right, and how fast",
                       "gpubench judge matmul.py candidate.py\n"
                       "gpubench judge matmul.py candidates/ --out=leaderboard.html\n"
                       "gpubench judge matmul.py candidates/ --json --resume=verdicts",
                       {"PROBLEM CANDIDATE...",
                        "A problem with its reference, and candidates: files, or folders of them.", 2, 100'000},
                       ".json .jsonl .html",
                       judge_rows()},
               run_judge)};
    }};

}  // namespace gpubench
