// SPDX-License-Identifier: Apache-2.0
// The commit that made a point slower: builds of a few commits, each run in turn with the one of GOOD.
#include <fmt/format.h>

#include <optional>

#include "calibrate/calibrate.h"
#include "core/base/elf_image.h"
#include "core/storage/storage.h"
#include "gpubench/version.h"
#include "main/bisect/search.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/run/stored_runs.h"
#include "reports/result_table.h"
#include "reports/timelines.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

/// By default a folder of these very words in the cache, so that the same words find it again.
fs::path folder_of(const BisectOptions& options, const Repository& repository, const std::string& good,
                   const std::string& bad) {
  if (!options.folder.empty()) return options.folder;
  const auto cache = calibrate::cache_directory();
  if (!cache)
    throw UsageError("There is no folder for caches (HOME and XDG_CACHE_HOME are not set). Give --folder=DIR.");
  Fnv1a64 hash;
  for (const std::string& text : {repository.root().string(), good, bad, options.build, options.run_command})
    hash.add(text + '\n');
  return *cache / "bisect" / fmt::format("{:016x}", hash.value());
}

int run_bisect(const BisectOptions& options) {
  if (options.run_command.empty())
    throw UsageError(
        "Say how to run the benchmark: --run='build/my_benchmark --filter=...'. It gets --out=FILE, or the file where "
        "it "
        "has {out}.");
  const Repository repository(options.repository);
  const std::string good = repository.commit_of(options.inputs[0]), bad = repository.commit_of(options.inputs[1]);
  std::vector<std::string> hashes = repository.commits_between(good, bad);
  hashes.insert(hashes.begin(), good);
  const SearchFolder folder(folder_of(options, repository, good, bad));
  std::optional<Interruption> interruption(std::in_place, nullptr);
  BisectSearch search(options, repository, std::move(hashes), folder);
  reports::Bisected result;
  try {
    result = search.run();
  } catch (const std::exception&) {
    for (const std::string& sentence : search.end()) say(sentence);
    throw;
  }
  if (Interruption::noted() != 0) {
    say(
        fmt::format("stopped. The same command goes on where it was. Its worktrees are in {}: to give up, remove that "
                    "folder, then git worktree prune.",
                    folder.path().string()));
    Interruption::end();
  }
  interruption.reset();
  if (!options.quiet) show(reports::console(result, stdout_style(options)));
  write_each(options.outputs, options.quiet, [&](const std::string& file) {
    const std::string extension = extension_of(file);
    const auto tables = reports::tables_of(result);
    const reports::AboutTrace about{
        fmt::format("bisect {} {}", result.good.hash.substr(0, 10), result.bad.hash.substr(0, 10)),
        std::string(version),
        {}};
    storage::write_file(file, extension == ".json"   ? reports::json(tables, "gpubench bisect", {})
                              : extension == ".html" ? reports::tables_html(tables, about)
                                                     : reports::markdown(result));
  });
  for (const std::string& sentence : search.end())
    if (!options.quiet) say(sentence);
  if (!result.stopped.empty() && !options.quiet) say("The same command goes on where it was, for as long again.");
  return result.exit_code();
}

}  // namespace

extern const CommandFile bisect_command{
    25, [] {
      using enum Rank;
      return std::vector{with(
          Command{
              "bisect",
              "Find the commit that made a benchmark slower",
              "gpubench bisect v1.4 HEAD --build='cmake --build build' --run='build/bench --filter=^gemm'\n"
              "gpubench bisect HEAD~50 HEAD --build='pip install -e .' --run='python bench.py {out}'\n"
              "gpubench bisect HEAD~50 HEAD --build=make --run='./bench --benchmark_out={out}' --out=why.md",
              {"GOOD BAD", "Commits: one before and one after it got slower.", 2, 2},
              ".json .md .html",
              {{"--build", "COMMAND", "", common,
                "Builds a commit, in the root of a worktree of its own. A folder of 'cmake --build DIR' is configured "
                "first. What pip installs goes into an environment of its own. Without it nothing is built.",
                use::text(&BisectOptions::build)},
               {"--run", "COMMAND", "", common,
                "Runs the benchmarks, in the same place. It gets --out=FILE --quiet at its end; or, where it has "
                "{out}, "
                "the name of the JSON file there: 'pytest --benchmark-json={out}'.",
                use::text(&BisectOptions::run_command)},
               {"--total-budget", "SECONDS", "3600", common, "Maximum time for the search.",
                use::number(&BisectOptions::total_budget_seconds, 1.0, 1e7)},
               {"--min-effect", "PERCENT", "1", common, "Smaller changes count as the same.",
                use::number(&BisectOptions::min_effect, 0.0, 1000.0, 0.01)},
               {"--build-limit", "SECONDS", "1800", other,
                "Maximum time of one build. A commit that takes longer is left out.",
                use::number(&BisectOptions::build_limit_seconds, 1.0, 1e7)},
               {"--run-limit", "SECONDS", "600", other, "Likewise of one run.",
                use::number(&BisectOptions::run_limit_seconds, 1.0, 1e7)},
               {"--build-ahead", "N", "0", other,
                "Build up to N commits that may be next while benchmarks run, at once. For machines with cores to "
                "spare: about half of these builds are not needed.",
                use::count(&BisectOptions::builds_ahead, 0, 64)},
               {"--repository", "DIR", "", other, "A folder of the repository. Without it: this folder.",
                use::text(&BisectOptions::repository)},
               {"--folder", "DIR", "", other,
                "Where worktrees, builds and runs go. Without it: a folder in the cache, of these very words.",
                use::text(&BisectOptions::folder)},
               {"--restart", "", "", other, "Forget what an earlier search with the same words measured.",
                use::set(&BisectOptions::restart)},
               {"--keep", "", "", other, "Leave the worktrees with their builds.", use::set(&BisectOptions::keep)}}},
          run_bisect)};
    }};

}  // namespace gpubench
