// SPDX-License-Identifier: Apache-2.0
// Two programs in turn: base, new, new, base, base, new, ... so that what drifts evenly meets both alike.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <stdexcept>
#include <system_error>

#include "compare/noise/looks.h"
#include "core/base/process.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/base/units.h"
#include "core/storage/storage.h"
#include "main/cli/terminal.h"
#include "main/commands/shared/comparison.h"

namespace gpubench {
namespace {

struct AbOptions : ComparisonOptions {
  double total_budget_seconds = 600.0;
  double precision = 0.01;   ///< half-width of a ratio's interval that is narrow enough
  std::optional<int> pairs;  ///< exactly so many
  std::optional<std::string> keep_folder;
};

constexpr std::string_view side_names[] = {"base", "new"};

/// What a process said last, for an error.
std::string last_words(std::string_view text) {
  const std::string line = last_line(text);
  return line.empty() ? "" : fmt::format(" Its last message: {}", line.substr(0, 300));
}

class Alternation {
 public:
  explicit Alternation(const AbOptions& options)
      : options_(options), progress_(options.quiet), start_(steady_seconds()) {
    if (!options_.keep_folder) return;
    for (const std::size_t side : {0U, 1U}) {
      const auto first = file_of(side);
      if (std::error_code none; std::filesystem::exists(first, none))
        throw UsageError(fmt::format(
            "{} is of an earlier ab, whose runs would mix with these. Give --keep another folder, or remove {}.",
            first.string(), first.parent_path().string()));
      storage::check_writable(first);
    }
  }

  /// Whole groups of base, new, new, base until it is enough.
  compare::Comparison run() {
    std::optional<compare::Comparison> comparison;
    for (int look = 1; !stopped_; ++look) {
      while (!stopped_ && wants_more(look)) add_pair();
      if (pairs() < 2) break;
      comparison = compare();
      if (options_.pairs ? pairs() >= static_cast<std::size_t>(*options_.pairs) : enough(*comparison, look)) break;
    }
    if (Interruption::noted() != 0) return stopped();
    if (!comparison)
      throw UsageError(
          fmt::format("Fewer than two pairs of processes finished within {} s{}. Give more time with --total-budget, "
                      "or measure fewer points with -- --filter=REGEX.",
                      format_number(options_.total_budget_seconds), cut_off_));
    progress_.clear();
    if (!options_.quiet)
      say(fmt::format("{} pairs of processes in {} s: {}", pairs(), format_number(elapsed()), why_stopped_));
    if (!explain(*comparison)) return stopped();
    return std::move(*comparison);
  }

 private:
  [[nodiscard]] std::size_t pairs() const { return runs_[0].size(); }
  compare::Comparison stopped() {
    progress_.clear();
    say(fmt::format("stopped after {}.", plural(pairs(), "pair")) +
        (options_.keep_folder && pairs() > 1
             ? fmt::format(" To compare them: gpubench compare {0}/base {0}/new --paired", *options_.keep_folder)
             : ""));
    return {};
  }
  [[nodiscard]] bool wants_more(int look) const {
    if (options_.pairs) return pairs() < static_cast<std::size_t>(*options_.pairs);
    return pairs() < compare::pairs_due(look);
  }
  [[nodiscard]] double elapsed() const { return steady_seconds() - start_; }

  /// Why points changed may need counters, which take time and are read once. Returns false where that was stopped.
  bool explain(compare::Comparison& comparison) {
    const auto further = counting_options(comparison, runs_[0], runs_[1]);
    const bool asked = std::ranges::any_of(options_.program_arguments,
                                           [](const std::string& word) { return word.starts_with("--metrics"); });
    if (further.empty() || asked) return true;
    try {
      for (const std::size_t side : {0U, 1U}) {
        const auto counted = run_one(side, further);
        if (Interruption::noted() != 0) return false;
        if (!counted) throw std::runtime_error("there was no time left");
        take_counters(*counted, runs_[side]);
      }
      comparison = compare();
    } catch (const std::runtime_error& error) {
      comparison.notes.push_back(fmt::format("why points changed is told without counters: {}", error.what()));
    }
    return true;
  }

  compare::Comparison compare() const {
    compare::CompareOptions wanted = options_;
    wanted.paired = true;
    return compare::compare(runs_[0], runs_[1], wanted);
  }

  /// Every point narrow or decided.
  bool enough(const compare::Comparison& comparison, int look) {
    const double share = compare::share_of_look(look);
    std::size_t open = 0;
    for (const auto& point : comparison.points) {
      const double half = 0.5 * std::log(point.ratio.ci95.high / point.ratio.ci95.low);
      if (half > std::log1p(options_.precision) && point.p_value > share * compare::family_significance) ++open;
    }
    if (open == 0)
      why_stopped_ =
          comparison.points.empty() ? "there is no point to compare" : "every point is precise enough or decided";
    open_ = open;
    return open == 0;
  }

  /// The sides of pair i stand in the order base, new when i is even, else new, base.
  void add_pair() {
    const std::size_t first = pairs() % 2;
    auto one = run_one(first), other = one ? run_one(1 - first) : std::nullopt;
    if (!other) {
      stopped_ = true;
      std::filesystem::remove(file_of(first));  // pairs are kept, as compare --paired takes them
      return;
    }
    runs_[first].push_back(std::move(*one));
    runs_[1 - first].push_back(std::move(*other));
    // What the last pair took, the next will.
    const double spent = elapsed();
    const double next = spent * static_cast<double>(pairs() + 1) / static_cast<double>(pairs());
    if (!options_.pairs && next > options_.total_budget_seconds) {
      stopped_ = true;
      why_stopped_ = "the time budget is used up";
    }
  }

  [[nodiscard]] std::filesystem::path file_of(std::size_t side, bool counted = false) const {
    return (options_.keep_folder ? std::filesystem::path(*options_.keep_folder) : temporary_.path()) /
           (counted ? fmt::format("{}-counted.json", side_names[side])
                    : fmt::format("{}/run-{:04}.json", side_names[side], pairs() + 1));
  }

  std::optional<Run> run_one(std::size_t side, const std::vector<std::string>& further = {}) {
    const auto file = file_of(side, !further.empty());
    const std::string& program = options_.inputs[side];
    std::error_code none;
    std::filesystem::create_directories(file.parent_path(), none);
    std::filesystem::remove(file, none);
    progress_.step(fmt::format("pair {}: {} ({})", pairs() + 1, program,
                               open_ ? fmt::format("{} points open", *open_) : std::string(side_names[side])),
                   std::min(1.0, elapsed() / options_.total_budget_seconds));
    std::vector<std::string> words = {program};
    words.insert(words.end(), options_.program_arguments.begin(), options_.program_arguments.end());
    words.insert(words.end(), further.begin(), further.end());
    words.push_back(fmt::format("--out={}", file.string()));
    words.emplace_back("--quiet");
    const double left =
        options_.pairs ? options_.total_budget_seconds : std::max(0.0, options_.total_budget_seconds - elapsed());
    ProgramOptions how;
    how.max_seconds = left;
    how.keep_output = false;
    how.stop = [] { return Interruption::noted() != 0; };
    const double began = elapsed();
    const ProgramResult result = run_program(words, how);
    if (result.timed_out) {
      why_stopped_ = "the time budget is used up";
      cut_off_ = fmt::format("; {} was stopped after {} s of its run {}", program, format_number(elapsed() - began),
                             runs_[side].size() + 1);
    }
    if (result.timed_out || result.stopped) {
      std::filesystem::remove(file, none);
      return std::nullopt;
    }
    const bool ran = result.end.exit_code == exit_codes::fine || result.end.exit_code == exit_codes::operation_failed;
    if (!ran || !std::filesystem::exists(file, none))
      throw std::runtime_error(fmt::format("{} {} in run {} and wrote no result.{}{}", program, words_of(result.end),
                                           runs_[side].size() + 1, last_words(result.errors),
                                           result.end.exit_code == exit_codes::fine
                                               ? " A program without gpubench's main is compared by two scripts with: "
                                                 "exec gpubench profile \"$@\" -- PROGRAM"
                                               : ""));
    return storage::read_slim_run(file);
  }

  const AbOptions& options_;
  PrivateFolder temporary_;
  ProgressLine progress_;
  double start_;
  std::vector<Run> runs_[2];
  bool stopped_ = false;
  std::optional<std::size_t> open_;
  std::string why_stopped_ = "as many as requested";
  std::string cut_off_;  ///< the process that the end of the time met
};

int run_ab(const AbOptions& options) {
  for (const std::string& program : options.inputs)
    if (contains(program, '/') && ::access(program.c_str(), X_OK) != 0)
      throw UsageError(fmt::format("{} cannot be started: {}.", program, std::generic_category().message(errno)));
  for (const std::string& argument : options.program_arguments)
    if (argument.starts_with("--out"))
      throw UsageError(fmt::format(
          "{} after -- does not work, because ab reads the runs itself. To keep them, use --keep=DIR.", argument));
  std::optional<Interruption> interruption(std::in_place, nullptr);
  const compare::Comparison comparison = Alternation(options).run();  // its folder goes with it
  if (Interruption::noted() != 0) Interruption::end();
  interruption.reset();
  return report_comparison(comparison, options);
}

OptionRows own_rows() {
  using enum Rank;
  return {{"--total-budget", "SECONDS", "600", common, "Maximum time for all processes.",
           use::number(&AbOptions::total_budget_seconds, 0.1, 1e6)},
          {"--precision", "PERCENT", "1", common,
           "Stop when the 95 % interval of every ratio is within plus or minus this, or the point is decided.",
           use::number(&AbOptions::precision, 0.001, 1000.0, 0.01)},
          {"--pairs", "N", "", common, "Run exactly this many pairs of processes.",
           use::count(&AbOptions::pairs, 2, 10'000)},
          {"--keep", "DIR", "", common, "Keep the runs there, in base/ and new/.", use::text(&AbOptions::keep_folder)}};
}

}  // namespace

extern const CommandFile ab_command{
    20, [] {
      return std::vector{
          with(Command{"ab",
                       "Run two programs in turn and compare them",
                       "gpubench ab build-old/bench build-new/bench\n"
                       "gpubench ab old/bench new/bench --pairs=8 -- --filter='^gemm'",
                       {"BASE_PROGRAM NEW_PROGRAM", "Two benchmark programs. Their own options follow after --.", 2, 2},
                       ".json .csv .md",
                       joined_rows({chosen_rows(comparison_rows(), {"--fail-on", "--min-effect", "--force", "--time"}),
                                    own_rows()}),
                       true},
               run_ab)};
    }};

}  // namespace gpubench
