// SPDX-License-Identifier: Apache-2.0
#include "reports/bisections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/base/text.h"
#include "core/base/units.h"
#include "reports/comparisons.h"
#include "reports/console/program.h"

namespace gpubench::reports {
namespace {

constexpr std::size_t shown_hash = 10;

std::string short_hash(const Commit& commit) { return commit.hash.substr(0, shown_hash); }

/// "8c41f0a2b1 (Jane Doe, 2026-11-20): Unroll the inner loop".
std::string commit_text(const Commit& commit) {
  return fmt::format("{} ({}, {}): {}", short_hash(commit), commit.author, commit.date, commit.subject);
}

bool is_found(const BisectedChange& change) { return change.candidates == 1; }

/// "1.05x slower, 95 % of after/before [1.040, 1.060]".
std::string effect_text(const Estimate& ratio) {
  return fmt::format("{}, 95 % of after/before {}", change_text(ratio.value), interval_text(ratio));
}

std::string probability_text(double probability) {
  return probability > 0.995 ? ">99 %" : fmt::format("{:.0f} %", 100.0 * probability);
}

/// The changes of one commit together, in the order of the commits; those that were not found each alone.
std::vector<std::vector<const BisectedChange*>> by_commit(const Bisected& bisected) {
  std::vector<std::vector<const BisectedChange*>> result;
  std::map<std::string, std::size_t> places;
  for (const BisectedChange& change : bisected.changes) {
    const auto [place, is_new] =
        places.try_emplace(is_found(change) ? change.commits.front().hash : change.point, result.size());
    if (is_new) result.emplace_back();
    result[place->second].push_back(&change);
  }
  return result;
}

/// What to do next with a commit that was found.
std::string advice_for(const Commit& commit) {
  if (commit.merged.empty()) return fmt::format("To see it: git show {}", short_hash(commit));
  return fmt::format("It is a merge. To search what it brought: gpubench bisect $(git merge-base {0} {1}) {1}",
                     commit.before.substr(0, 10), commit.merged.substr(0, 10));
}

std::string headline(const std::vector<const BisectedChange*>& changes) {
  const BisectedChange& first = *changes.front();
  if (is_found(first)) return commit_text(first.commits.front());
  return fmt::format("one of {} commits, {} to {}", first.candidates, short_hash(first.commits.front()),
                     short_hash(first.commits.back()));
}

}  // namespace

int Bisected::exit_code() const {
  const bool found = std::ranges::any_of(changes, is_found);
  if (found) return 1;
  return !changes.empty() || !undecided.empty() || !stopped.empty() ? 4 : 0;
}

std::string summary_of(const Bisected& bisected) {
  const auto found = std::ranges::count_if(bisected.changes, is_found);
  std::string text;
  if (bisected.changes.empty())
    text = bisected.stopped.empty() && bisected.undecided.empty() ? "No point is slower in BAD than in GOOD"
                                                                  : "Nothing was found";
  else
    text = fmt::format("{} of {} found", found, plural(std::ssize(bisected.changes), "change"));
  text += fmt::format(": {}, {}, {} of runs, {}", plural(bisected.commits, "commit"), plural(bisected.builds, "build"),
                      plural(bisected.pairs, "pair"), format_seconds(bisected.seconds));
  if (!bisected.stopped.empty()) text += fmt::format(". It ended early: {}", bisected.stopped);
  return text + ".";
}

std::vector<ResultTable> tables_of(const Bisected& bisected) {
  const auto count = [](std::size_t number) { return static_cast<std::int64_t>(number); };
  // Files have whole hashes, people short ones.
  ResultTable facts{"", columns_of("good; bad; :text=GOOD; :text=BAD; commits:count=commits; builds:count=builds; "
                                   "pairs:count=pairs of runs; seconds=took; exit_code:count; stopped")};
  facts.add({bisected.good.hash, bisected.bad.hash, short_hash(bisected.good), short_hash(bisected.bad),
             count(bisected.commits), count(bisected.builds), count(bisected.pairs), bisected.seconds,
             std::int64_t{bisected.exit_code()}, bisected.stopped});
  facts.notes = {summary_of(bisected)};
  for (const std::string& name : bisected.undecided)
    facts.notes.push_back(fmt::format("It is undecided whether {} is slower in BAD.", name));
  for (const std::string& note : bisected.notes) facts.notes.push_back(note.ends_with('.') ? note : note + ".");
  ResultTable changes{"changes",
                      columns_of("commit; :text=commit; author=author~1; date=date~1; subject=subject; point=point; "
                                 "device; change:change=slower by; change_low:change; change_high:change; "
                                 ":text=95 % of after/before~1; probability:share; :text=probability; "
                                 "candidates:count; is_merge:count")};
  changes.title = "Commits that changed a point";
  changes.none = "No commit was found.";
  ResultTable causes{
      "causes", columns_of("commit; :text=commit; point=point; kind=what; cause:text=why; share:share=of the change")};
  causes.title = "Why";
  for (const BisectedChange& change : bisected.changes) {
    for (const Commit& commit : change.commits)
      changes.add({commit.hash, short_hash(commit), commit.author, commit.date, commit.subject, change.point,
                   change.device, change.ratio.value - 1.0, change.ratio.ci95.low - 1.0, change.ratio.ci95.high - 1.0,
                   interval_text(change.ratio), change.probability, probability_text(change.probability),
                   count(change.candidates), std::int64_t{commit.merged.empty() ? 0 : 1}});
    const Commit none, &commit = is_found(change) ? change.commits.front() : none;
    for (const compare::Cause& cause : change.causes.list)
      causes.add({commit.hash, short_hash(commit), change.point, std::string(name_of(cause.kind)), cause.text,
                  or_absent(cause.share, "how much it explains cannot be told")});
    if (!change.causes.rest.empty())
      causes.add({commit.hash, short_hash(commit), change.point, std::string("rest"), change.causes.rest,
                  Absent{"it is no cause"}});
  }
  ResultTable measured{
      "measured", columns_of("commit; :text=commit; subject=subject; pairs:count=pairs; point=point; ratio:change; "
                             ":text=time/GOOD's; ratio_low:change; ratio_high:change; :text=95 %~1")};
  measured.title = "What was measured, in the commits' order";
  for (const MeasuredCommit& each : bisected.measured)
    for (const auto& [point, ratio] : each.ratios)
      measured.add({each.commit.hash, short_hash(each.commit), each.commit.subject, count(each.pairs), point,
                    ratio.value, fmt::format("{:.3f}", ratio.value), ratio.ci95.low, ratio.ci95.high,
                    interval_text(ratio)});
  ResultTable left_out{"left_out", columns_of("commit; :text=commit; subject=subject; reason:text=left out because")};
  left_out.title = "Commits that could not be measured";
  for (const auto& [commit, reason] : bisected.left_out)
    left_out.add({commit.hash, short_hash(commit), commit.subject, reason});
  std::vector<ResultTable> tables = {facts, changes, causes, measured, left_out};
  for (ResultTable& table : tables) table.shown = 200;
  return tables;
}

std::string console(const Bisected& bisected, const ConsoleStyle& style) {
  std::string text;
  for (const auto& changes : by_commit(bisected)) {
    text += paragraph("", printable(headline(changes)), color::bold, style);
    for (const BisectedChange* change : changes) {
      text += paragraph("  ",
                        printable(fmt::format("{}: {}; probability {}", change->point, effect_text(change->ratio),
                                              probability_text(change->probability))),
                        change->ratio.value > 1.0 ? color::red : color::green, style);
      text += paragraphs("    ", cause_texts(change->causes), color::yellow, style);
    }
    if (is_found(*changes.front()))
      text += paragraph("  ", printable(advice_for(changes.front()->commits.front())), color::dim, style);
    else
      for (const Commit& commit : changes.front()->commits)
        text += paragraph("  ", printable(commit_text(commit)), color::none, style);
    text += "\n";
  }
  std::vector<Column> columns = {{"commit"}, {"pairs", true}, {"point"}, {"time/GOOD's", true}, {"95 %"}, {"subject"}};
  for (const MeasuredCommit& each : bisected.measured)
    for (const auto& [point, ratio] : each.ratios)
      add_row(columns, {{short_hash(each.commit)},
                        {std::to_string(each.pairs)},
                        {printable(point)},
                        {fmt::format("{:.3f}", ratio.value)},
                        {interval_text(ratio)},
                        {printable(shorten(each.commit.subject, 40)), color::dim}});
  if (!columns.front().cells.empty()) text += table_text(columns, 12, style, {{"subject"}, {"95 %"}}, 2) + "\n";
  for (const auto& [commit, reason] : bisected.left_out)
    text += paragraph("left out: ", printable(fmt::format("{}: {}", short_hash(commit), reason)), color::yellow, style);
  text += paragraphs("undecided whether it is slower in BAD: ", bisected.undecided, color::yellow, style);
  text += paragraphs("note: ", bisected.notes, color::yellow, style);
  return text + paragraph("", printable(summary_of(bisected)), color::bold, style);
}

std::string markdown(const Bisected& bisected) {
  std::string text = "## gpubench bisect\n\n";
  for (const auto& changes : by_commit(bisected)) {
    text += fmt::format("### {}\n\n", markdown_text(headline(changes)));
    for (const BisectedChange* change : changes) {
      text +=
          fmt::format("- **{}**: {}; probability {}\n", markdown_text(change->point),
                      markdown_text(effect_text(change->ratio)), markdown_text(probability_text(change->probability)));
      for (const std::string& cause : cause_texts(change->causes))
        text += fmt::format("    - {}\n", markdown_text(cause));
    }
    if (!is_found(*changes.front()))
      for (const Commit& commit : changes.front()->commits)
        text += fmt::format("- {}\n", markdown_text(commit_text(commit)));
    text += "\n";
  }
  Rows rows;
  for (const MeasuredCommit& each : bisected.measured)
    for (const auto& [point, ratio] : each.ratios)
      rows.push_back({short_hash(each.commit), each.commit.subject, point, std::to_string(each.pairs),
                      fmt::format("{:.3f}", ratio.value), interval_text(ratio)});
  if (!rows.empty())
    text += "<details><summary>What was measured</summary>\n\n" +
            markdown_table(headings("commit; subject; point; pairs>; time/GOOD's>; 95 %"), rows) + "\n</details>\n\n";
  const auto list = [&](std::string_view what, const std::string& item) {
    text += fmt::format("- {}: {}\n", what, markdown_text(item));
  };
  for (const auto& [commit, reason] : bisected.left_out)
    list("left out", fmt::format("{}: {}", short_hash(commit), reason));
  for (const std::string& name : bisected.undecided) list("undecided whether it is slower in BAD", name);
  for (const std::string& note : bisected.notes) list("note", note);
  return text + "\n" + markdown_text(summary_of(bisected)) + "\n";
}

}  // namespace gpubench::reports
