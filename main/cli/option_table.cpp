// SPDX-License-Identifier: Apache-2.0
#include "main/cli/option_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "bench/counters/metrics.h"
#include "core/base/text.h"
#include "gpubench/version.h"
#include "main/commands/trace_command.h"
#include "reports/reports.h"

namespace gpubench {
namespace {

using Use = decltype(OptionRow::use);

Use set(bool Options::*member) {
  return [member](Options& options, const OptionRow&, const std::string&) { options.*member = true; };
}

/// A text, or a file that may be left out.
template <typename Text>
Use text(Text Options::*member) {
  return [member](Options& options, const OptionRow&, const std::string& value) { options.*member = value; };
}

Use list(std::vector<std::string> Options::*member) {
  return [member](Options& options, const OptionRow&, const std::string& value) { (options.*member).push_back(value); };
}

double parse_number(const OptionRow& row, const std::string& text, double low, double high) {
  const auto value = number_in<double>(text);
  if (!value || !(*value >= low && *value <= high))
    throw UsageError(fmt::format("{} takes a number from {} to {}, not '{}'.", row.flag, low, high, text));
  return *value;
}

/// `unit` is what one of the user's is in ours: 0.01 for percent.
template <typename Value>
Use number(Value Options::*member, double low, double high, double unit = 1.0) {
  return [=](Options& options, const OptionRow& row, const std::string& value) {
    options.*member = parse_number(row, value, low, high) * unit;
  };
}

template <typename Value>
Use count(Value Options::*member, int low, int high) {
  return [=](Options& options, const OptionRow& row, const std::string& value) {
    const double parsed = parse_number(row, value, low, high);
    if (parsed != std::floor(parsed))
      throw UsageError(fmt::format("{} takes a whole number, not '{}'.", row.flag, value));
    options.*member = static_cast<Value>(parsed);
  };
}

/// "100" columns of the terminal, or "85mm" of pictures.
void use_width(Options& options, const OptionRow& row, const std::string& value) {
  if (value.ends_with("mm"))
    options.picture.width_mm = parse_number(row, value.substr(0, value.size() - 2), 30, 1000);
  else
    count(&Options::width, 40, 1000)(options, row, value);
}

/// The choices in their order, each with what it stands for.
template <typename Target, typename Value>
Use choice(Target Options::*member, std::vector<Value> values) {
  return [member, values = std::move(values)](Options& options, const OptionRow& row, const std::string& text) {
    const auto choices = choices_of(row.value);
    options.*member = values.at(static_cast<std::size_t>(std::ranges::find(choices, text) - choices.begin()));
  };
}

void use_metrics(Options& options, const OptionRow&, const std::string& value) {
  try {
    options.metrics = bench::parse_metrics(value);
  } catch (const bench::MetricNameError& error) {
    throw UsageError(error.what());
  }
}

void use_checks(Options& options, const OptionRow& row, const std::string& value) {
  for (std::size_t start = 0; start <= value.size();) {
    const std::size_t comma = std::min(value.find(',', start), value.size());
    const std::string name = value.substr(start, comma - start);
    if (name != "activity" && name != "ncu-rule")
      throw UsageError(fmt::format("{} takes activity, ncu-rule or both, not '{}'.", row.flag, name));
    options.checks.push_back(name);
    start = comma + 1;
  }
}

}  // namespace

const std::vector<CommandRow>& command_table() {
  static constexpr const char* run_files =
      "Run files, or folders of them. All are of the same code, one file for each process.";
  static constexpr const char* traces =
      "Traces, or folders of them: Chrome JSON (PyTorch, XLA, viztracer), plain or packed by gzip or zstd, Perfetto's, "
      "SQLite exports of Nsight Systems, recordings of gpubench profile. Several are those of one program: a trace for "
      "each rank.";
  static const std::vector<CommandRow> rows = {
      {in_run, "", "Measure the operations of this program, say what limits each, and how sure that is", "", "", 0, 0,
       "gpubench --filter='^copy' --out=run.json --out=run.html\n"
       "gpubench --calibrate full\n"
       "gpubench --device=cpu --list"},
      {in_compare, "compare", "Compare stored runs, point by point", "BASE NEW",
       "Each is a run file, or a folder of run files of one program: one file for each process.", 0, 2,
       "gpubench compare base.json new.json\n"
       "gpubench compare base/ new/ --out=changes.md\n"
       "gpubench compare base.json new.json --min-effect=3 --fail-on=never"},
      {in_ab, "ab", "Run two programs in turn and compare them", "BASE_PROGRAM NEW_PROGRAM",
       "Two benchmark programs. Their own options follow after --.", 2, 2,
       "gpubench ab build-old/bench build-new/bench\n"
       "gpubench ab old/bench new/bench --pairs=8 -- --filter='^gemm'"},
      {in_profile, "profile", "Run any program, and say of each of its kernels what limits it", "",
       "The program and its arguments follow after --.", 0, 0,
       "gpubench profile -- python3 train.py\n"
       "gpubench profile --out=train.html --out=train.json -- ./simulation --steps=100\n"
       "gpubench profile --metrics=core,units --kernels=gemm -- torchrun --nproc-per-node=2 train.py"},
      {0, "trace", "Say where the time of a recorded program went, from its traces", "", "", 0, 0, ""},
      {in_trace_summary, "trace summary", "Say what to do first, and where the time of each GPU went", "TRACE...",
       traces, 1, max_traces,
       "gpubench trace summary trace.json.gz\n"
       "gpubench trace summary rank0.json.gz rank1.json.gz --out=summary.json"},
      {in_trace_timeline, "trace timeline", "Draw streams, threads and ranks over time", "TRACE...", traces, 1,
       max_traces, "gpubench trace timeline trace.json.gz --out=timeline.html"},
      {in_trace_flame, "trace flame", "Draw what called what, and how long it took", "TRACE...", traces, 1, max_traces,
       "gpubench trace flame trace.json.gz --out=flame.html"},
      {in_trace_idle, "trace idle", "Say why the GPUs were idle", "TRACE...", traces, 1, max_traces,
       "gpubench trace idle trace.json.gz"},
      {in_trace_kernels, "trace kernels", "List kernels, copies and fills by their time", "TRACE...", traces, 1,
       max_traces, "gpubench trace kernels trace.json.gz --out=kernels.csv"},
      {in_trace_memory, "trace memory", "Show GPU memory over time, its peak, and what was never freed", "TRACE...",
       traces, 1, max_traces, "gpubench trace memory trace.json.gz"},
      {in_trace_critical_path, "trace critical-path", "Name the work and the waits that made up the time", "TRACE...",
       traces, 1, max_traces, "gpubench trace critical-path trace.json.gz"},
      {in_trace_diff, "trace diff", "Compare two traces, operator by operator and kernel by kernel", "BASE NEW",
       "Two traces, or two folders of traces.", 2, 2, "gpubench trace diff before.json.gz after.json.gz"},
      {in_trace_convert, "trace convert", "Write traces in another format", "TRACE...", traces, 1, max_traces,
       "gpubench trace convert trace.json.gz --out=trace.perfetto-trace"},
      {0, "gate", "Compare runs with a stored baseline, in CI", "", "", 0, 0, ""},
      {in_gate_update, "gate update", "Add runs to the baseline of this machine", "RUN...", run_files, 1, 10'000,
       "gpubench gate update run-*.json\n"
       "gpubench gate update runs/ --label=v1.4"},
      {in_gate_check, "gate check", "Compare runs with the baseline of this machine", "RUN...", run_files, 1, 10'000,
       "gpubench gate check run-*.json\n"
       "gpubench gate check runs/ --summary=summary.md --out=gate.json"},
      {in_gate_history, "gate history", "Name the entry of the store at which the time of a point changed", "", "", 0,
       0,
       "gpubench gate history\n"
       "gpubench gate history --min-effect=5"},
      {in_report, "report", "Show stored runs, or write them in other formats", "RUN...",
       "Run files. Each is judged anew. Several are drawn over one another.", 1, reports::max_runs,
       "gpubench report run.json\n"
       "gpubench report run.json --out=run.html\n"
       "gpubench report a.json b.json --out=both-roofline.svg"},
      {in_serve, "serve", "Show a folder of runs and traces in a browser", "DIR",
       "A folder with runs, calibrations, traces.", 1, 1, "gpubench serve results/"},
      {in_doctor, "doctor", "Say what works on this machine, what does not, and how to put it right", "", "", 0, 0,
       "gpubench doctor\n"
       "gpubench doctor --out=doctor.json"},
      {0, "calibration", "List, show, move and compare stored calibrations", "", "", 0, 0, ""},
      {in_calibration_list, "calibration list", "List the stored calibrations, and say which fit this machine", "", "",
       0, 0, "gpubench calibration list"},
      {in_calibration_show, "calibration show", "Print a calibration, or write it with --out", "[CALIBRATION]",
       "A name of the list, a device such as cuda:0, or a file. Without it, all that fit this machine.", 0, 1,
       "gpubench calibration show cuda:0\n"
       "gpubench calibration show run.json --out=ceilings.html"},
      {in_calibration_export, "calibration export", "Write a stored calibration to a file", "CALIBRATION FILE",
       "What to write (a name of the list or a device), and the file.", 2, 2,
       "gpubench calibration export cuda:0 h200.json"},
      {in_calibration_import, "calibration import",
       "Store a calibration from a file; it replaces that of the same device", "FILE",
       "A calibration or a run. FILE@cuda:1 chooses one of several.", 1, 1, "gpubench calibration import h200.json"},
      {in_calibration_diff, "calibration diff", "Compare two calibrations, ceiling by ceiling", "BASE NEW",
       "Names of the list, devices or files.", 2, 2,
       "gpubench calibration diff cuda:0 cuda:1\n"
       "gpubench calibration diff old.json cuda:0"},
  };
  return rows;
}

const std::vector<OptionRow>& option_table() {
  using enum Rank;
  constexpr bool once = false, repeatable = true;
  static const std::vector<OptionRow> rows = {
      {in_run, "--calibrate", "quick|full", "quick", "", common, once,
       "Measure the ceilings of the device, keep them and print them. Runs no operation. A bare --calibrate is quick.",
       choice(&Options::calibrate, std::vector{calibrate::Mode::quick, calibrate::Mode::full})},
      {in_run, "--device", "cpu|cuda:N|all", "", "", common, once,
       "Where to measure. Without it: cuda:0 if there is one, else cpu.", text(&Options::device)},
      {in_run, "--filter", "REGEX", "", "", common, once,
       "Run only the points whose name matches. A leading '-' inverts the choice.", text(&Options::filter)},
      {in_report | in_compare | in_gate_check | in_gate_history, "--filter", "REGEX", "", "", common, once,
       "Take only the points whose name matches. A leading '-' inverts the choice.", text(&Options::filter)},
      {in_run, "--list", "", "", "", common, once, "List the points that would run, and stop.", set(&Options::list)},
      {in_run, "--arg", "NAME=VALUES", "", "", common, repeatable,
       "Replace the registered values of an argument in every operation that has it: n=1024,4096 or n=2^10..2^26:4 or "
       "type=float. Repeatable.",
       [](Options& options, const OptionRow&, const std::string& value) {
         try {
           options.arguments.push_back(bench::parse_argument_choice(value));
         } catch (const bench::ArgumentError& error) {
           throw UsageError(error.what());
         }
       }},
      {in_run, "--once", "N", "1", "", other, once,
       "Run each point once, or N times, untimed, for a profiler: in an NVTX range of its name, between "
       "cudaProfilerStart and cudaProfilerStop.",
       count(&Options::once, 1, 100'000)},
      {in_run, "--dry", "", "", "", other, once,
       "With --once: print the nsys and ncu commands that go with it, and stop.", set(&Options::dry)},
      {in_run, "--time", "device|stream|latency|all", "", "", common, once,
       "Which time of a GPU operation to measure. stream: launched back to back. device: the operation alone. latency: "
       "from launch to finished. all: the three. Without it: stream, with device beside it.",
       choice(&Options::clocks,
              std::vector<std::vector<TimingMode>>{
                  {TimingMode::device}, {TimingMode::stream}, {TimingMode::latency}, {TimingMode::stream, TimingMode::device, TimingMode::latency}})},
      {in_run, "--cache", "warm|cold", "", "warm", common, once,
       "What an execution finds in the caches. warm: its data, left there by the execution before. cold: none of it.",
       choice(&Options::cache_state, std::vector{"warm", "cold"})},
      {in_run, "--metrics", "none|core|flops|units|NAME,...", "", "none", common, once,
       "Hardware counters to read after all timing. core: bytes moved and occupancy. flops: FLOPs by pipe. units: how "
       "busy each unit is, and what warps wait for. Or names, as CUPTI or gpubench call them.",
       use_metrics},
      {in_profile, "--metrics", "none|core|flops|units|NAME,...", "", "core,units", common, once,
       "Hardware counters to read around launches of each kernel group, in the same run. core: bytes moved and "
       "occupancy. units: how busy each unit is; it takes six sets, each set up in 0.4 s and counted in launches of "
       "its own. none: times alone.",
       use_metrics},
      {in_profile, "--metrics-launches", "N", "", "20", other, once,
       "Launches of each kernel group that are counted at first, in each set. Later ones are counted ever more rarely.",
       count(&Options::counted_launches, 1, 100'000)},
      {in_profile, "--metrics-runs", "N", "", "1", other, once,
       "Runs the program so often, and counts another part of the metrics in each run. For programs whose kernels do "
       "not recur; the program must do the same each time.",
       count(&Options::metrics_runs, 1, 16)},
      {in_profile, "--kernels", "REGEX", "", "", common, once,
       "Judge only kernels whose name matches (an extended regular expression).", text(&Options::kept_kernels)},
      {in_profile, "--range", "NAME", "", "", common, once, "Judge only what was launched in NVTX ranges of this name.",
       text(&Options::kept_range)},
      {in_profile, "--start-after", "SECONDS", "", "", other, once, "Record from this long after CUDA was initialised.",
       number(&Options::start_after_seconds, 0.0, 1e6)},
      {in_profile, "--duration", "SECONDS", "", "", other, once, "Record for this long; the program runs on.",
       number(&Options::duration_seconds, 0.001, 1e6)},
      {in_profile, "--capture-range", "cudaProfilerApi", "", "", other, once,
       "Record only between cudaProfilerStart and cudaProfilerStop.",
       [](Options& options, const OptionRow& row, const std::string& value) {
         if (value != "cudaProfilerApi")
           throw UsageError(fmt::format("{} takes cudaProfilerApi, not '{}'.", row.flag, value));
         options.capture_range = true;
       }},
      {in_profile, "--max-recording", "GIB", "", "4", other, once,
       "Maximum size of what one process leaves on disk. A kernel takes about 56 bytes. What is beyond is not "
       "recorded.",
       number(&Options::max_recording_gib, 0.001, 10'000.0)},
      {in_profile, "--max-spool", "GIB", "", "", hidden, once, "The former name of --max-recording.",
       number(&Options::max_recording_gib, 0.001, 10'000.0)},
      {in_profile, "--keep", "DIR", "", "", other, once, "Keep the recording there, for --recording.",
       text(&Options::keep_folder)},
      {in_profile, "--recording", "DIR", "", "", other, once, "Run no program: judge a recording that --keep kept.",
       text(&Options::recording_folder)},
      {in_profile, "--spools", "DIR", "", "", hidden, once, "The former name of --recording.",
       text(&Options::recording_folder)},
      {in_run | in_report | in_profile, "--calibration", "FILE", "", "", common, once,
       "Judge by the ceilings in this file instead of those in the cache or the run. In report, ceilings of another "
       "device estimate its times.",
       text(&Options::calibration_file)},
      {in_profile, "--out", "FILE", "", "", common, repeatable,
       "Write a report. Repeatable. The extension decides: those of a run, as .html and .json; .perfetto-trace and "
       ".trace.json hold the timeline.",
       list(&Options::outputs)},
      {in_run | in_report | in_calibration_show, "--out", "FILE", "", "", common, repeatable,
       "Write a report. Repeatable. The extension decides: .json .json.gz .csv .md .html .gbench.json .nvbench.json "
       ".prom .junit.xml, and for one chart .png .svg .pdf .vl.json.",
       list(&Options::outputs)},
      {in_any_comparison | in_gate_history, "--out", "FILE", "", "", common, repeatable,
       "Write the result. Repeatable. The extension decides: .json .csv .md, of compare .html too.",
       list(&Options::outputs)},
      {in_trace_summary, "--calibration", "FILE", "", "", common, once,
       "Judge operators whose shapes the trace tells (record_shapes=True) by the ceilings in this file.",
       text(&Options::calibration_file)},
      {in_trace_kernels, "--by", "name|stream|range|operator", "", "name", common, once,
       "What to sum up by: the name of the kernel; that on each stream, or in each range; or the framework's operator "
       "that launched it.",
       choice(&Options::kernel_table, std::vector{reports::KernelTable::name, reports::KernelTable::stream,
                                                  reports::KernelTable::range, reports::KernelTable::operation})},
      {in_trace_tables, "--json", "", "", "", common, once,
       "Print the result as JSON; with --out, write it there as JSON.", set(&Options::json)},
      {in_trace_tables, "--out", "FILE", "", "", common, repeatable,
       "Write the result. Repeatable. The extension decides: .json; of kernels also .csv, of diff .html and .svg.",
       list(&Options::outputs)},
      {in_trace_convert, "--out", "FILE", "", "", common, repeatable,
       "What to write. Repeatable. The extension decides: .perfetto-trace, .trace.json.", list(&Options::outputs)},
      {in_trace_timeline, "--out", "FILE.html", "", "", common, repeatable, "The page to write. Repeatable.",
       list(&Options::outputs)},
      {in_trace_flame, "--out", "FILE", "", "", common, repeatable,
       "What to write. Repeatable. The extension decides: .html is a page, .svg a picture for a paper, .folded a line "
       "a stack, .speedscope.json a file for speedscope, .json the tree.",
       list(&Options::outputs)},
      {in_trace_flame, "--json", "", "", "", common, once,
       "Print the tree as JSON; with --out, write it there as JSON.", set(&Options::json)},
      {in_trace_flame | in_trace_diff, "--time", "gpu|host", "", "", common, once,
       "Which time the frames show: that of the kernels, copies and fills they launched, or that of the host's "
       "threads. "
       "Without it: the GPU's where there is any. Pages of trace flame have both.",
       choice(&Options::flame_weight, std::vector<std::string>{"gpu", "host"})},
      {in_trace_flame | in_trace_diff, "--min-duration-us", "US", "", "0", other, once,
       "Leave out frames with less time in all; their callers keep it.", number(&Options::min_duration_us, 0.0, 1e12)},
      {in_trace_flame | in_trace_diff, "--max-depth", "LEVELS", "", "512", other, once,
       "Leave out what is deeper within a thread; the time is that of the last level shown.",
       count(&Options::max_depth, 1, 512)},
      {in_trace_flame | in_trace_diff, "--group-small-kernels", "yes|no", "", "yes", other, once,
       "Show kernels of one caller with less than 0.1 % of all GPU time each as one frame, \"N other kernels\".",
       choice(&Options::group_small_kernels, std::vector{true, false})},
      {in_serve, "--port", "PORT", "", "6970", common, once, "Where to listen; 0 takes any port that is free.",
       count(&Options::serve_port, 0, 65535)},
      {in_serve, "--host", "ADDRESS", "", "127.0.0.1", common, once,
       "The address to listen on. Beyond loopback, whoever reaches this machine can read the folder's results.",
       text(&Options::serve_host)},
      {in_doctor, "--out", "FILE.json", "", "", common, repeatable, "Write what was found as JSON.",
       list(&Options::outputs)},
      {in_run, "--time-budget", "SECONDS", "", "0.25", other, once, "Maximum time to sample one point.",
       number(&Options::time_budget_seconds, 0.001, 3600.0)},
      {in_run, "--adaptive", "SIZES", "16", "", other, once,
       "Add sizes where the verdict changes or is unsure, by bisection, until the interval of each boundary is within "
       "5 %. SIZES is the maximum for one operation; a bare --adaptive is 16.",
       count(&Options::adaptive_sizes, 1, 1000)},
      {in_run, "--check", "activity|ncu-rule,...", "activity", "", other, once,
       "A second opinion, after all timing. activity (the bare --check): hold device times against the driver's own "
       "records of kernels, by CUPTI, and warn where the two disagree. ncu-rule: show what the SpeedOfLight rule of "
       "Nsight Compute says beside each verdict.",
       use_checks},
      {in_run | in_report, "--kernels", "", "", "", other, once,
       "Show the kernels, copies and fills of each operation under its points, with share, time and verdict. A run "
       "records them (as --check=activity) and, with --metrics, counts each kernel by itself, too.",
       set(&Options::kernels)},
      {in_run | in_profile, "--drift-check", "on|off", "", "on", other, once,
       "Check a stored calibration against the device first, for at most a second. One that is off by more than 2 % "
       "beyond its interval is measured again; one given by --calibration is kept, with a warning.",
       choice(&Options::drift_check, std::vector{true, false})},
      {in_run, "--accept-load", "", "", "", other, once,
       "Store a calibration that was measured while others used more than a tenth of its cores. Without it: asked on a "
       "terminal, else not stored.",
       set(&Options::accept_load)},
      {in_run, "--since", "last|off", "", "last", other, once,
       "Show what changed since the last run of this program on these devices, which the cache keeps.",
       choice(&Options::since_last, std::vector{true, false})},
      {in_run, "--isolate", "", "", "", other, once,
       "Measure each operation in its own process, so that a crash, a hang or a lost GPU costs one point.",
       set(&Options::isolate)},
      {in_run, "--isolate-timeout", "SECONDS", "", "", other, once,
       "With --isolate: maximum time of one point. Without it: 120, plus twice the time budget.",
       number(&Options::given_isolate_timeout_seconds, 0.1, 86400.0)},
      {in_run, "--resume", "RUN.json", "", "", other, once,
       "Take the points that this run already has, and measure the others.", text(&Options::resume_file)},
      {in_any_comparison, "--fail-on", "regression|inconclusive|never", "", "regression", common, once,
       "What makes the exit code non-zero. regression: 1 for a slower point. inconclusive: also 4 for an undecided "
       "one.",
       choice(&Options::fail_on,
              std::vector{compare::FailOn::regression, compare::FailOn::inconclusive, compare::FailOn::never})},
      {in_any_comparison | in_gate_history, "--min-effect", "PERCENT", "", "1", common, once,
       "Smaller changes count as the same.", number(&Options::min_effect, 0.0, 1000.0, 0.01)},
      {in_any_comparison | in_gate_history, "--least-effect", "PERCENT", "", "", hidden, once,
       "The former name of --min-effect.", number(&Options::min_effect, 0.0, 1000.0, 0.01)},
      {in_compare | in_gate_check, "--process-noise", "PERCENT", "", "", common, once,
       "How far processes of the same code differ (standard deviation). Without it: what the runs show, or with one "
       "run a side, an assumption.",
       number(&Options::process_deviation, 0.0001, 1000.0, 0.01)},
      {in_any_comparison, "--force", "", "", "", common, once,
       "Compare even where the devices or their settings differ too much.", set(&Options::force)},
      {in_compare | in_gate_check, "--same-model", "", "", "", common, once,
       "Compare runs of different cards of one model, as of pooled CI runners. Each card is named, and what cards "
       "differ by is part of the noise.",
       set(&Options::same_model)},
      {in_any_comparison | in_gate_update, "--time", "device|stream|latency", "", "", common, once,
       "Compare the times of this clock, and leave out points without it. Without it: the main time of each point, or "
       "where the sides differ in that, a clock that both have. What gate update is given holds for later checks.",
       choice(&Options::compared_clock, std::vector{TimingMode::device, TimingMode::stream, TimingMode::latency})},
      {in_compare, "--base", "RUN", "", "", common, repeatable,
       "One more run, or folder of runs, of the base side. Repeatable.", list(&Options::base_runs)},
      {in_compare, "--new", "RUN", "", "", common, repeatable, "The same for the new side.", list(&Options::new_runs)},
      {in_compare, "--paired", "", "", "", common, once,
       "Compare pair by pair: the first base run with the first new run, and so on, as ab keeps them.",
       set(&Options::paired)},
      {in_ab, "--total-budget", "SECONDS", "", "600", common, once, "Maximum time for all processes.",
       number(&Options::total_budget_seconds, 0.1, 1e6)},
      {in_ab, "--precision", "PERCENT", "", "1", common, once,
       "Stop when the 95 % interval of every ratio is within plus or minus this, or the point is decided.",
       number(&Options::precision, 0.001, 1000.0, 0.01)},
      {in_ab, "--pairs", "N", "", "", common, once, "Run exactly this many pairs of processes.",
       count(&Options::pairs, 2, 10'000)},
      {in_ab, "--keep", "DIR", "", "", common, once, "Keep the runs there, in base/ and new/.",
       text(&Options::keep_folder)},
      {in_gate, "--store", "DIR", "", ".gpubench", common, once, "The folder of the baselines.", text(&Options::store)},
      {in_gate_update, "--label", "TEXT", "", "", common, once,
       "What the runs are of: a commit, for instance. Without it: GITHUB_SHA or CI_COMMIT_SHA.", text(&Options::label)},
      {in_gate_check, "--summary", "FILE.md", "", "", common, once,
       "Write a summary for the pull request. GITHUB_STEP_SUMMARY gets one too where it is set.",
       text(&Options::summary_file)},
      {in_run | in_report | in_profile, "--chart", "NAME[:WHICH][@DEVICE]", "", "", other, once,
       "What .png, .svg, .pdf and .vl.json show: overview, roofline, map, strip, time, rate, shares, kernels, samples, "
       "ladder, "
       "latency or intensity; of several runs rooflines, times or changes. WHICH is an operation (for samples, a "
       "point). Without it the name of the file decides, as in h200-roofline.svg.",
       text(&Options::chart)},
      {everywhere, "--quiet", "", "", "", common, once,
       "Print no table and no progress: reports, warnings and errors only.", set(&Options::quiet)},
      {everywhere, "--color", "auto|always|never", "", "auto", other, once,
       "Colour on the terminal. auto obeys NO_COLOR and CLICOLOR_FORCE. always also draws the roofline and sparklines "
       "into a pipe.",
       choice(&Options::color, std::vector{ColorChoice::automatic, ColorChoice::always, ColorChoice::never})},
      {in_run | in_report | in_profile, "--title", "TEXT", "", "", other, once,
       "The title of pictures, in place of the chart's own.",
       [](Options& options, const OptionRow&, const std::string& value) { options.picture.title = value; }},
      {in_run | in_report | in_profile, "--theme", "light|dark", "", "light", other, once,
       "Colours of pictures: for white paper or for a dark page.",
       [](Options& options, const OptionRow&, const std::string& value) { options.picture.dark = value == "dark"; }},
      {everywhere, "--width", "COLUMNS", "", "", other, once,
       "Fit the terminal output into so many columns, in a pipe too. Without it: the terminal's width, COLUMNS, or "
       "100; a pipe keeps long names whole. --width=85mm is the width of pictures on paper.",
       use_width},
      {in_run | in_report | in_any_comparison, "--operations", "", "", "", other, once,
       "Print one row for each operation instead of each point. Files that --out writes have all points.",
       set(&Options::by_operation)},
      {in_run, "--completion", "bash|zsh|fish", "", "", other, once,
       "Print the completion script of a shell, and stop.",
       [](Options& options, const OptionRow&, const std::string& shell) {
         options.text = completion_script(options.name(), shell);
       }},
      {in_run, "--version", "", "", "", other, once, "Print the version, and stop.",
       [](Options& options, const OptionRow&, const std::string&) {
         options.text = fmt::format("gpubench {}\n", version);
       }},
      {in_run, "--help-markdown", "", "", "", hidden, once, "Print docs/reference/command-line.md, and stop.",
       [](Options& options, const OptionRow&, const std::string&) { options.text = help_markdown(); }},
  };
  return rows;
}

const CommandRow& command_of(const std::vector<std::string>& words) {
  const CommandRow* found = &command_table().front();
  std::string path;
  for (const std::string& word : words) {
    if (word.starts_with('-')) continue;
    path += (path.empty() ? "" : " ") + word;
    const auto longer = std::ranges::find(command_table(), path, &CommandRow::path);
    if (longer == command_table().end()) break;
    found = &*longer;
  }
  return *found;
}

std::vector<const CommandRow*> children_of(const CommandRow& row) {
  const std::string head = *row.path == '\0' ? "" : fmt::format("{} ", row.path);
  std::vector<const CommandRow*> children;
  for (const CommandRow& other : command_table()) {
    const std::string name = name_of(other);
    if (!name.empty() && other.path == head + name) children.push_back(&other);
  }
  return children;
}

std::string name_of(const CommandRow& row) {
  const std::string_view path = row.path;
  return std::string(path.substr(path.rfind(' ') + 1));
}

std::vector<std::string> choices_of(std::string_view value) {
  std::vector<std::string> choices;
  std::istringstream words{std::string(value)};
  for (std::string word; std::getline(words, word, '|'); choices.push_back(word))
    if (word.empty() || word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") != std::string::npos)
      return {};
  return choices;
}

std::string usage_of(const OptionRow& row) {
  if (*row.value == '\0') return row.flag;
  return *row.implied != '\0' ? fmt::format("{}[={}]", row.flag, row.value) : fmt::format("{}={}", row.flag, row.value);
}

}  // namespace gpubench
