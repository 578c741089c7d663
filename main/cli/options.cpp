// SPDX-License-Identifier: Apache-2.0
#include "main/cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>

#include "bench/counters/metric_names.h"
#include "classifier/checks.h"
#include "main/cli/completion.h"
#include "reports/charts/drawing.h"
#include "reports/charts/picture.h"
#include "reports/reports.h"

namespace gpubench {
namespace {

/// What the command line's texts land in before they are checked.
struct Raw {
  std::string calibrate;
  std::string device;
  std::string filter;
  std::string calibration_file;
  std::string drift_check = "on";
  std::string time;
  std::string time_budget = "0.25";
  std::string cache = "warm";
  std::string metrics = "none";
  std::string check;
  std::string isolate_timeout;
  std::string resume_file;
  std::string adaptive;
  std::string fail_on = "regression";
  std::string min_effect = "1";
  std::string process_noise;
  std::vector<std::string> base_runs;
  std::vector<std::string> new_runs;
  bool force = false;
  bool paired = false;
  std::string compared_clock;
  std::string total_budget = "600";
  std::string precision = "1";
  std::string pairs;
  std::string keep_folder;
  std::string store = ".gpubench";
  std::string label;
  std::string summary_file;
  std::string color = "auto";
  std::string chart;
  std::string completion;
  std::vector<std::string> outputs;
  std::vector<std::string> inputs;
  bool list = false;
  bool isolate = false;
  bool quiet = false;
};

enum Scope : unsigned {
  in_run = 1,
  in_compare = 2,
  in_report = 4,
  in_doctor = 8,
  in_calibration = 16,
  in_ab = 32,
  in_gate_check = 64,
  in_gate_update = 128,
  in_gate_history = 256,
  in_gate = in_gate_check | in_gate_update | in_gate_history,
  in_any_comparison = in_compare | in_ab | in_gate_check,
  everywhere = 511
};

struct Row {
  unsigned scope;
  const char* flag;
  const char* value;    ///< placeholder of its value; empty for a switch
  const char* implied;  ///< the value a bare flag stands for; empty when a value must be given
  const char* help;
  std::function<void(CLI::App&, const Row&, Raw&)> add;
};

template <auto member>
void add_value(CLI::App& app, const Row& row, Raw& raw) {
  app.add_option(row.flag, raw.*member, row.help)->option_text(row.value);
}
template <auto member>
void add_switch(CLI::App& app, const Row& row, Raw& raw) {
  app.add_flag(row.flag, raw.*member, row.help);
}
template <auto member>
void add_choice(CLI::App& app, const Row& row, Raw& raw) {
  std::vector<std::string> choices;
  std::string_view rest = row.value;
  while (!rest.empty()) {
    const auto bar = std::min(rest.find('|'), rest.size());
    choices.emplace_back(rest.substr(0, bar));
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  app.add_option(row.flag, raw.*member, row.help)->option_text(row.value)->check(CLI::IsMember(choices));
}

const std::vector<Row>& table() {
  static const std::vector<Row> rows = {
      {in_run, "--calibrate", "quick|full", "quick",
       "Measure the device's ceilings, keep them in the cache and print them; run no operation",
       add_choice<&Raw::calibrate>},
      {in_run, "--device", "cpu|cuda:N|all", "", "Where to measure; without it cuda:0 if there is one, else the CPU",
       add_value<&Raw::device>},
      {in_run, "--filter", "REGEX", "", "Run only points whose name matches; a leading '-' turns the choice round",
       add_value<&Raw::filter>},
      {in_run, "--list", "", "", "Name the points that would run, and stop", add_switch<&Raw::list>},
      {in_run | in_report, "--calibration", "FILE", "",
       "Judge by the ceilings in this file, not by the cached or stored ones; `report` estimates the times where they "
       "are "
       "another device's",
       add_value<&Raw::calibration_file>},
      {in_run, "--drift-check", "on|off", "",
       "Whether a stored calibration is held against the device as it is now, for up to a second (on); one that is off "
       "by over 2 % beyond its interval is measured anew, one given by --calibration never",
       add_choice<&Raw::drift_check>},
      {in_run, "--time-budget", "SECONDS", "", "Most time to spend on sampling one point (0.25)",
       add_value<&Raw::time_budget>},
      {in_run, "--time", "device|stream|latency|all", "",
       "The question a GPU's times answer: device (the operation alone), stream (launched back to back, default), "
       "latency (launch to finished); device stands beside stream, all shows the three",
       add_choice<&Raw::time>},
      {in_run, "--cache", "warm|cold", "",
       "What executions find in the caches: their data, left there by the ones before (warm, default), or none of it "
       "(cold)",
       add_choice<&Raw::cache>},
      {in_run, "--metrics", "none|core|flops|NAME,...", "",
       "Hardware counters of each point, read after all timing (none): bytes moved and occupancy, FLOPs by pipe, or "
       "CUPTI's names",
       add_value<&Raw::metrics>},
      {in_run, "--check", "activity|ncu-rule,...", "activity",
       "Hold device times against a second clock, after all timing is done: the driver's own records of kernels, by "
       "CUPTI; where the two disagree, a warning says so. ncu-rule: count the two metrics of Nsight Compute's "
       "SpeedOfLight rule, and set what it says beside the verdicts",
       add_value<&Raw::check>},
      {in_run, "--adaptive", "SIZES", "16",
       "Add sizes between those that are registered, by bisection, where the verdict changes or is unsure, until a "
       "boundary's interval is within 5 %; at most so many for each operation (16)",
       add_value<&Raw::adaptive>},
      {in_run, "--isolate", "", "",
       "Measure each operation in a process of its own, so that a crash, a hang or a lost GPU costs one point",
       add_switch<&Raw::isolate>},
      {in_run, "--isolate-timeout", "SECONDS", "",
       "With --isolate: the longest that one point may take (120, and twice the time budget)",
       add_value<&Raw::isolate_timeout>},
      {in_run, "--resume", "RUN.json", "", "Take the points that this run has from it, and measure the others",
       add_value<&Raw::resume_file>},
      {in_any_comparison, "--fail-on", "regression|inconclusive|never", "",
       "What ends with a non-zero exit code: 1 for a slower point (default), 4 for an undecided one too, or nothing",
       add_choice<&Raw::fail_on>},
      {in_any_comparison | in_gate_history, "--least-effect", "PERCENT", "", "Smaller changes count as the same (1)",
       add_value<&Raw::min_effect>},
      {in_compare | in_gate_check, "--process-noise", "PERCENT", "",
       "How far processes of the same code differ (standard deviation), in place of what the runs tell or, with one a "
       "side, of what is assumed",
       add_value<&Raw::process_noise>},
      {in_any_comparison, "--force", "", "", "Compare although devices or their settings differ in what forbids it",
       add_switch<&Raw::force>},
      {in_any_comparison | in_gate_update, "--time", "device|stream|latency", "",
       "Compare the times of this clock, and leave points without them out; without it each point's own, or where the "
       "sides differ in that a clock that both have; what `gate update` is given holds for later checks",
       add_choice<&Raw::compared_clock>},
      {in_compare, "--base", "RUN", "", "A further run, or folder of runs, of the base side; repeatable",
       add_value<&Raw::base_runs>},
      {in_compare, "--new", "RUN", "", "Likewise of the new side", add_value<&Raw::new_runs>},
      {in_compare, "--paired", "", "",
       "The i-th runs of both sides ran next to each other, as ab keeps them: compare pair by pair",
       add_switch<&Raw::paired>},
      {in_ab, "--total-budget", "SECONDS", "", "Most time to spend on all processes (600)",
       add_value<&Raw::total_budget>},
      {in_ab, "--precision", "PERCENT", "",
       "Stop when the 95 % interval of every ratio is within plus or minus this, or the point is decided (1)",
       add_value<&Raw::precision>},
      {in_ab, "--pairs", "N", "", "Run exactly so many pairs of processes", add_value<&Raw::pairs>},
      {in_ab, "--keep", "DIR", "", "Keep the runs there, in base/ and new/", add_value<&Raw::keep_folder>},
      {in_gate, "--store", "DIR", "", "The folder of the baselines (.gpubench)", add_value<&Raw::store>},
      {in_gate_update, "--label", "TEXT", "",
       "What the runs are of, a commit for instance; without it GITHUB_SHA or CI_COMMIT_SHA", add_value<&Raw::label>},
      {in_gate_check, "--summary", "FILE.md", "",
       "Write a summary for the pull request; GITHUB_STEP_SUMMARY gets one too where it is set",
       add_value<&Raw::summary_file>},
      {everywhere & ~static_cast<unsigned>(in_gate_update), "--out", "FILE", "",
       "Write a report; repeatable; the extension decides: .json .csv .md .html "
       ".gbench.json .nvbench.json .prom .junit.xml, and for one chart .png .svg .pdf .vl.json",
       add_value<&Raw::outputs>},
      {in_run | in_report, "--chart", "NAME[:WHICH][@DEVICE]", "",
       "What .png, .svg, .pdf and .vl.json show: overview, roofline, map, strip, time, rate, shares, samples, ladder, "
       "latency or intensity, of several runs rooflines, times or changes; WHICH is an operation, of samples a point; "
       "without it the file's name says (h200-roofline.svg)",
       add_value<&Raw::chart>},
      {everywhere, "--color", "auto|always|never", "",
       "Colour on the terminal; auto obeys NO_COLOR; always also draws sparklines and a roofline where it is no "
       "terminal",
       add_choice<&Raw::color>},
      {everywhere, "--quiet", "", "", "No table and no progress; reports, warnings and errors only",
       add_switch<&Raw::quiet>},
      {in_run, "--completion", "bash|zsh|fish", "", "Print the completion script of a shell and stop",
       add_choice<&Raw::completion>},
  };
  return rows;
}

constexpr const char* run_footer =
    "All flags of Google Benchmark work: --benchmark_filter, --benchmark_repetitions, --benchmark_format, "
    "--benchmark_out, ...\n"
    "(--benchmark_min_time sets the least time, or with 'x' the count of samples, of a point.)\n\n"
    "Exit codes: 0 fine, 1 regression, 2 an operation failed or gave a wrong result, 3 not comparable,\n"
    "4 inconclusive, 64 wrong usage.";

void add_rows(CLI::App& app, unsigned scope, Raw& raw) {
  for (const Row& row : table())
    if ((row.scope & scope) != 0) row.add(app, row, raw);
}

using CalibrationActions = std::vector<std::pair<CalibrationAction, CLI::App*>>;

/// The subcommands of `calibration`.
CalibrationActions add_calibration_actions(CLI::App& app, Raw& raw) {
  CalibrationActions actions;
  const auto add = [&](CalibrationAction action, const char* name, const char* help, const char* inputs,
                       const char* inputs_help, int min, int max) {
    CLI::App* const subcommand = app.add_subcommand(name, help);
    if (max > 0) {
      auto* const option = subcommand->add_option(inputs, raw.inputs, inputs_help)->expected(min, max);
      if (min > 0) option->required();
    }
    add_rows(*subcommand, in_calibration, raw);
    actions.emplace_back(action, subcommand);
  };
  using enum CalibrationAction;
  add(list, "list", "Name the stored ones: device, mode, age, and whether each fits a device of this machine", "", "",
      0, 0);
  add(show, "show", "Print one as --calibrate does, or write it with --out; all that fit this machine without a name",
      "CALIBRATION", "a name of the list, a device such as cuda:0, or a file", 0, 1);
  add(export_one, "export", "Write a stored one to a file", "CALIBRATION", "what to write, and the file to write", 2,
      2);
  add(import_one, "import", "Store one from a file, in place of that of the same device", "FILE",
      "a calibration or a run; FILE@cuda:1 chooses one of several", 1, 1);
  add(diff, "diff", "Compare two, ceiling by ceiling", "CALIBRATIONS", "BASE NEW, names or files", 2, 2);
  return actions;
}

using GateActions = std::vector<std::pair<GateAction, CLI::App*>>;

/// The subcommands of `gate`.
GateActions add_gate_actions(CLI::App& app, Raw& raw) {
  GateActions actions;
  const auto add = [&](GateAction action, const char* name, const char* help, unsigned scope, bool runs) {
    CLI::App* const subcommand = app.add_subcommand(name, help);
    if (runs)
      subcommand->add_option("RUNS", raw.inputs, "run files or folders of them, all of one code: one run a process")
          ->required();
    add_rows(*subcommand, scope, raw);
    actions.emplace_back(action, subcommand);
  };
  using enum GateAction;
  add(update, "update", "Add runs to the store: they become the baseline of this machine", in_gate_update, true);
  add(check, "check", "Compare runs with the baseline of this machine; exit codes as of compare", in_gate_check, true);
  add(history, "history", "Say in which entry of the store the times of a point took a step", in_gate_history, false);
  return actions;
}

double parse_number(const char* flag, const std::string& text, double low, double high) {
  double value = 0.0;
  std::size_t used = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::logic_error&) {
    used = 0;
  }
  if (used == 0 || used != text.size() || !(value >= low && value <= high))
    throw UsageError(fmt::format("{} takes a number from {} to {}, not '{}'.", flag, low, high, text));
  return value;
}

int parse_count(const char* flag, const std::string& text, int low, int high) {
  const double value = parse_number(flag, text, low, high);
  if (value != std::floor(value)) throw UsageError(fmt::format("{} takes a whole number, not '{}'.", flag, text));
  return static_cast<int>(value);
}

/// The names of `--check`, separated by commas.
std::vector<std::string> parse_checks(const std::string& text) {
  std::vector<std::string> names;
  std::size_t start = 0;
  while (!text.empty() && start <= text.size()) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    names.push_back(text.substr(start, comma - start));
    if (names.back() != "activity" && names.back() != "ncu-rule")
      throw UsageError(fmt::format("--check knows no check '{}'; it takes activity, ncu-rule.", names.back()));
    start = comma + 1;
  }
  return names;
}

/// Where "--" stands when the command is `ab`: what follows is for the programs. Else the end.
int end_of_own_words(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "ab") return argc;
  for (int i = 2; i < argc; ++i)
    if (std::string_view(argv[i]) == "--") return i;
  return argc;
}

/// A bare `--calibrate` becomes `--calibrate=quick`; Google Benchmark's flags are taken out.
std::vector<std::string> prepare(int argc, char** argv, std::vector<std::string>& google) {
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (word.starts_with("--benchmark_") || word.starts_with("--v=")) {
      google.push_back(std::move(word));
      continue;
    }
    for (const Row& row : table())
      if (word == row.flag && *row.implied != '\0') word += std::string("=") + row.implied;
    words.push_back(std::move(word));
  }
  return words;
}

/// A picture that cannot be drawn is better refused before anything is measured.
void check_pictures(const Options& options) {
  try {
    bool renderer = false;
    if (!options.chart.empty()) (void)reports::parse_chart(options.chart);
    bool any = false;
    for (const std::string& output : options.outputs) {
      if (!reports::is_picture(output)) continue;
      any = true;
      (void)reports::choice_of(output, options.chart);
      renderer = renderer || reports::needs_renderer(output);
    }
    if (!options.chart.empty() && !any)
      throw UsageError("--chart says what a picture shows; give --out=FILE with .png, .svg, .pdf or .vl.json too.");
    const bool is_run_or_report = options.command == Command::run || options.command == Command::report;
    if (renderer && is_run_or_report) reports::check_can_draw();
  } catch (const reports::NoSuchChart& error) {
    throw UsageError(fmt::format("{}.", error.what()));
  } catch (const reports::DrawingError& error) {
    throw UsageError(fmt::format("{}.", error.what()));
  }
}

void check_raw(const Raw& raw, Options& options) {
  if (!raw.calibrate.empty())
    options.calibrate = raw.calibrate == "full" ? calibrate::Mode::full : calibrate::Mode::quick;
  options.device = raw.device;
  options.filter = raw.filter;
  options.list = raw.list;
  if (!raw.calibration_file.empty()) options.calibration_file = raw.calibration_file;
  options.drift_check = raw.drift_check == "on";
  if (raw.time == "all")
    options.clocks = {"stream", "device", "latency"};
  else if (!raw.time.empty())
    options.clocks = {raw.time};
  options.cache_state = raw.cache;
  options.time_budget_seconds = parse_number("--time-budget", raw.time_budget, 0.001, 3600.0);
  try {
    options.metrics = bench::parse_metrics(raw.metrics);
  } catch (const bench::MetricNameError& error) {
    throw UsageError(error.what());
  }
  options.checks = parse_checks(raw.check);
  if (std::ranges::find(options.checks, "ncu-rule") != options.checks.end())
    for (const std::string_view metric : {classifier::sm_throughput, classifier::memory_throughput})
      if (std::ranges::find(options.metrics, metric) == options.metrics.end()) options.metrics.emplace_back(metric);
  options.isolate = raw.isolate;
  if (!raw.isolate_timeout.empty() && !raw.isolate)
    throw UsageError("--isolate-timeout says how long a point may take with --isolate; give that too.");
  if (!raw.isolate_timeout.empty())
    options.isolate_timeout_seconds = parse_number("--isolate-timeout", raw.isolate_timeout, 0.1, 86400.0);
  if (!raw.adaptive.empty()) {
    const double sizes = parse_number("--adaptive", raw.adaptive, 1.0, 1000.0);
    if (sizes != std::floor(sizes))
      throw UsageError(fmt::format("--adaptive takes a whole number of sizes, not '{}'.", raw.adaptive));
    options.adaptive_sizes = static_cast<std::size_t>(sizes);
  }
  if (!raw.resume_file.empty()) options.resume_file = raw.resume_file;
  if (options.calibrate &&
      (options.isolate || options.resume_file || options.cache_state != "warm" || options.adaptive_sizes > 0))
    throw UsageError(
        "--isolate, --resume, --adaptive and --cache=cold are for measuring operations, not for --calibrate.");
  options.min_effect = parse_number("--least-effect", raw.min_effect, 0.0, 1000.0) / 100.0;
  if (!raw.process_noise.empty())
    options.process_deviation = parse_number("--process-noise", raw.process_noise, 0.0001, 1000.0) / 100.0;
  options.force = raw.force;
  options.paired = raw.paired;
  options.compared_clock = raw.compared_clock;
  options.base_runs = raw.base_runs;
  options.new_runs = raw.new_runs;
  options.total_budget_seconds = parse_number("--total-budget", raw.total_budget, 0.1, 1e6);
  options.precision = parse_number("--precision", raw.precision, 0.001, 1000.0) / 100.0;
  if (!raw.pairs.empty()) options.pairs = parse_count("--pairs", raw.pairs, 2, 10'000);
  if (!raw.keep_folder.empty()) options.keep_folder = raw.keep_folder;
  options.store = raw.store;
  options.label = raw.label;
  if (!raw.summary_file.empty()) options.summary_file = raw.summary_file;
  options.fail_on = raw.fail_on == "never"          ? compare::FailOn::never
                    : raw.fail_on == "inconclusive" ? compare::FailOn::inconclusive
                                                    : compare::FailOn::regression;
  options.color = raw.color == "always"  ? ColorChoice::always
                  : raw.color == "never" ? ColorChoice::never
                                         : ColorChoice::automatic;
  options.quiet = raw.quiet;
  options.inputs = raw.inputs;
  options.outputs = raw.outputs;
  options.chart = raw.chart;
  for (const std::string& output : options.outputs)
    if (!reports::can_write(output))
      throw UsageError(fmt::format("--out={}: the extension says what to write; use one of {}.", output,
                                   reports::known_extensions()));
  if (options.command == Command::compare || options.command == Command::ab || options.command == Command::gate ||
      options.command == Command::doctor)
    for (const std::string& output : options.outputs)
      if (reports::is_for_another_tool(output))
        throw UsageError(fmt::format("--out={}: this format holds runs; write this as .json.", output));
  check_pictures(options);
}

}  // namespace

Options parse_command_line(int argc, char** argv) {
  Options options;
  Raw raw;
  const std::string program = argc > 0 ? std::string(argv[0]) : std::string("gpubench");
  CLI::App app("Measures operations, says what limits each, and how sure that is.",
               program.substr(program.rfind('/') + 1));
  app.footer(run_footer);
  app.set_help_flag("-h,--help", "Print this help and stop");
  bool version = false;
  app.add_flag("--version", version, "Print the version and stop");
  bool markdown = false;
  app.add_flag("--help-markdown", markdown, "Print the table of flags in Markdown and stop")->group("");
  add_rows(app, in_run, raw);

  CLI::App* const compare = app.add_subcommand("compare", "Compare stored runs, point by point");
  compare->add_option("RUNS", raw.inputs, "BASE NEW, each a run file or a folder of run files: one run a process")
      ->expected(0, 2);
  add_rows(*compare, in_compare, raw);
  CLI::App* const ab = app.add_subcommand(
      "ab", "Run two programs in turn, process by process, and compare them; their arguments after --");
  ab->add_option("PROGRAMS", raw.inputs, "BASE_PROGRAM NEW_PROGRAM, benchmark programs of gpubench")
      ->expected(2)
      ->required();
  add_rows(*ab, in_ab, raw);
  CLI::App* const gate = app.add_subcommand("gate", "Hold runs against a stored baseline");
  gate->require_subcommand(1);
  const GateActions gate_actions = add_gate_actions(*gate, raw);
  CLI::App* const report = app.add_subcommand(
      "report", "Show a stored run, judged anew, or write it in other formats; of several, lay them over one another");
  report->add_option("RUNS", raw.inputs, "RUN.json ...")->expected(1, reports::max_runs)->required();
  add_rows(*report, in_report, raw);
  CLI::App* const doctor =
      app.add_subcommand("doctor", "Say what works here, what does not, why, and the remedy; 2 when something is red");
  add_rows(*doctor, in_doctor, raw);

  CLI::App* const calibration = app.add_subcommand("calibration", "What ceilings are stored: look at them, move them");
  calibration->require_subcommand(1);
  const CalibrationActions actions = add_calibration_actions(*calibration, raw);

  std::vector<std::string> google;
  const int end = end_of_own_words(argc, argv);
  options.program_arguments.assign(argv + std::min(end + 1, argc), argv + argc);
  std::vector<std::string> words = prepare(end, argv, google);
  std::reverse(words.begin(), words.end());  // CLI11 takes them last first
  try {
    app.parse(words);
  } catch (const CLI::CallForHelp&) {
    options.command = Command::help;
    const CLI::App* asked = &app;
    while (!asked->get_subcommands().empty()) asked = asked->get_subcommands().front();
    options.help_text = asked->help();
    return options;
  } catch (const CLI::ParseError& error) {
    throw UsageError(
        fmt::format("{}{} See --help.", error.what(), std::string_view(error.what()).ends_with('.') ? "" : "."));
  }
  if (version || markdown) {
    options.command = version ? Command::version : Command::help;
    options.help_text = flags_markdown();
    return options;
  }
  if (!raw.completion.empty()) {
    options.command = Command::help;
    options.help_text = completion_script(app, raw.completion);
    return options;
  }
  options.command = compare->parsed()       ? Command::compare
                    : ab->parsed()          ? Command::ab
                    : gate->parsed()        ? Command::gate
                    : report->parsed()      ? Command::report
                    : doctor->parsed()      ? Command::doctor
                    : calibration->parsed() ? Command::calibration
                                            : Command::run;
  for (const auto& [action, subcommand] : actions)
    if (subcommand->parsed()) options.calibration_action = action;
  for (const auto& [action, subcommand] : gate_actions)
    if (subcommand->parsed()) options.gate_action = action;
  check_raw(raw, options);
  if (options.command != Command::run && !google.empty())
    throw UsageError(
        fmt::format("{} belongs to a run, not to '{}'.", google.front(), app.get_subcommands().front()->get_name()));
  try {
    options.google = bench::parse_google_flags(google);
  } catch (const bench::GoogleFlagError& error) {
    throw UsageError(error.what());
  }
  // One point may well take what its sampling is allowed; a limit the user gave stands.
  if (raw.isolate_timeout.empty())
    options.isolate_timeout_seconds +=
        2.0 * std::max(options.time_budget_seconds, options.google.min_time_seconds.value_or(0.0));
  if ((options.isolate || options.resume_file || options.adaptive_sizes > 0) && options.google.interleaves_at_random())
    throw UsageError(
        "--isolate, --resume and --adaptive need the points in order; leave --benchmark_enable_random_interleaving "
        "out.");
  if (!options.filter.empty() && !options.google.filter.empty())
    throw UsageError("--filter and --benchmark_filter say the same; give one of them.");
  if (options.filter.empty()) options.filter = options.google.filter;
  options.list = options.list || options.google.list;
  return options;
}

namespace {

/// The commands that alone take a flag: "`compare`, `ab`: "; empty for those of a run.
std::string commands_of(unsigned scope) {
  if ((scope & in_run) != 0) return {};
  std::string text;
  const auto add = [&](unsigned part, std::string_view name) {
    if ((scope & part) == part) text += fmt::format("{}`{}`", text.empty() ? "" : ", ", name);
  };
  add(in_compare, "compare");
  add(in_ab, "ab");
  if ((scope & in_gate) == in_gate) {
    add(in_gate, "gate");
  } else {
    add(in_gate_update, "gate update");
    add(in_gate_check, "gate check");
    add(in_gate_history, "gate history");
  }
  return text + ": ";
}

}  // namespace

std::string flags_markdown() {
  std::string text = "| Flag | Meaning |\n|---|---|\n";
  const auto escaped = [](std::string_view raw) {
    std::string out;
    for (const char c : raw) out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
  };
  for (const Row& row : table()) {
    std::string flag = row.flag;
    if (*row.value != '\0')
      flag += *row.implied != '\0' ? fmt::format("[={}]", row.value) : fmt::format("={}", row.value);
    text += fmt::format("| `{}` | {}{} |\n", escaped(flag), commands_of(row.scope), escaped(row.help));
  }
  return text;
}

}  // namespace gpubench
