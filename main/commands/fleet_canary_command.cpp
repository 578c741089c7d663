// SPDX-License-Identifier: Apache-2.0
// gpubench fleet canary: a campaign of one node that is over in a moment, with a time limit of its own.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <thread>

#include "calibrate/check/health.h"
#include "core/base/files.h"
#include "core/base/process.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/base/units.h"
#include "core/storage/document.h"
#include "core/storage/storage.h"
#include "fleet/campaign.h"
#include "fleet/slow.h"
#include "gpu/devices.h"
#include "main/cli/command.h"
#include "main/cli/output.h"
#include "main/commands/shared/fleet_rank.h"

namespace gpubench {
namespace {

namespace fs = std::filesystem;

struct CanaryOptions : Options, FleetRankOptions {
  std::optional<std::string> baseline, event_file;
  double max_seconds = 60.0;
  double min_effect = 0.05;
  bool links = false;
};

/// What is usual of a test, from a campaign.
struct Usual {
  std::string group, phase, resource;
  double median = 0.0;
  double sigma = 0.0;
};

std::vector<Usual> read_usual(const std::string& file) {
  constexpr std::string_view schema = "gpubench fleet join";
  const storage::Document document = storage::parse_document(storage::read_text(file), file, schema);
  const storage::Node root = document.root(file);
  if (root.at("schema").text() != schema) root.at("schema").fail("must be that of fleet join --out=FILE.json");
  return root.at("tests").list([](const storage::Node& test) {
    return Usual{test.at("group").text(), test.at("phase").text(), test.at("resource").text(),
                 test.at("median").number(storage::Domain::not_negative),
                 test.at("sigma").number(storage::Domain::not_negative)};
  });
}

/// What this process is when it is set: the one that does the work, and may hang.
constexpr const char* inside_variable = "GPUBENCH_CANARY_INSIDE";

/// A process that may hang in a driver, where nothing ends it: whoever waits for it then waits for ever.
class Mortal {
 public:
  explicit Mortal(pid_t id) : id_(id), process_(std::make_unique<Process>(id)) {}
  Mortal(Mortal&&) = default;
  Mortal& operator=(Mortal&&) = delete;
  /// Ended by force where it still runs, and left behind where even that does not end it at once.
  ~Mortal() {
    if (!process_ || ended()) return;
    ::kill(-id_, SIGKILL);
    constexpr double grace_seconds = 0.5;
    for (const double end = steady_seconds() + grace_seconds; !ended() && steady_seconds() < end;)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (!ended()) (void)process_.release();
  }
  bool ended() { return process_->poll().has_value(); }
  [[nodiscard]] int exit_code() const { return process_->ended()->exit_code.value_or(exit_codes::operation_failed); }

 private:
  pid_t id_;
  std::unique_ptr<Process> process_;
};

/// Waits for all; false where that took longer.
bool wait_for(std::vector<Mortal>& processes, double end_seconds) {
  while (steady_seconds() < end_seconds) {
    if (std::ranges::all_of(processes, [](Mortal& process) { return process.ended(); })) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

/// The ranks of this node, each a process.
std::vector<Mortal> start_ranks(const CanaryOptions& options, std::size_t count, const fs::path& folder) {
  const Descriptor nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  std::vector<Mortal> ranks;
  for (std::size_t rank = 0; rank < count; ++rank) {
    std::vector<std::string> words = {"gpubench", "fleet", "calibrate", "--quiet", "--probes=brief", "--runs=1",
                                      "--steps=files", fmt::format("--out={}", folder.string()),
                                      fmt::format("--rank={}", rank), fmt::format("--ranks={}", count),
                                      fmt::format("--local-rank={}", rank),
                                      // Two of them are to be given up before this one's own time is.
                                      fmt::format("--max-step-seconds={}", 0.3 * options.max_seconds)};
    if (!options.device.empty()) words.push_back("--device=" + options.device);
    if (options.links) words.emplace_back("--links");
    Spawn spawn("this program cannot be started again");
    spawn.give(1, nothing);
    spawn.give(2, nothing);
    ranks.emplace_back(spawn.start("/proc/self/exe", words));
  }
  return ranks;
}

struct Judgement {
  std::vector<std::string> slow;
  std::size_t compared = 0;
};

std::string shortfall(const fleet::Gpu& gpu, const fleet::Test& test, double deficit, double usual,
                      std::string_view of) {
  return printable(fmt::format("{} ({}): {} ({}) {:.1f} % below {} {}", gpu.device.id, gpu.uuid(), test.resource,
                               test.phase, 100.0 * deficit, of, format_value(usual, test.unit)));
}

/// By what is usual in a campaign: beyond the least effect, and four times as far as GPUs differ.
Judgement judge_by_baseline(const fleet::Campaign& campaign, const std::vector<Usual>& usual, double min_effect) {
  constexpr double far = 4.0;
  Judgement judgement;
  for (std::size_t gpu = 0; gpu < campaign.gpus.size(); ++gpu)
    for (std::size_t test = 0; test < campaign.tests.size(); ++test) {
      const fleet::Test& what = campaign.tests[test];
      const auto found = std::ranges::find_if(usual, [&](const Usual& one) {
        return one.phase == what.phase && one.resource == what.resource &&
               one.group.substr(0, one.group.find(',')) == campaign.gpus[gpu].device.name;
      });
      const double value = campaign.value(test, 0, gpu);
      if (found == usual.end() || !(value > 0.0) || !(found->median > 0.0)) continue;
      ++judgement.compared;
      const double deficit = 1.0 - (fleet::is_time(what) ? found->median / value : value / found->median);
      if (deficit > std::max(min_effect, far * found->sigma))
        judgement.slow.push_back(shortfall(campaign.gpus[gpu], what, deficit, found->median, "the fleet's"));
    }
  return judgement;
}

/// By the other GPUs of this node.
Judgement judge_by_peers(const fleet::Campaign& campaign, double min_effect) {
  const auto verdicts = fleet::find_slow(campaign, {.min_effect = min_effect, .min_runs = 1});
  Judgement judgement{{}, verdicts.comparisons};
  for (const fleet::SlowGpu& one : verdicts.slow) {
    const double value = campaign.value(one.test, 0, one.gpu), factor = 1.0 - one.deficit.value;
    const fleet::Test& test = campaign.tests[one.test];
    judgement.slow.push_back(shortfall(campaign.gpus[one.gpu], test, one.deficit.value,
                                       fleet::is_time(test) ? value * factor : value / factor, "its peers'"));
  }
  return judgement;
}

/// By what GPUs of the kind are known to reach, and by the other GPUs of this node.
Judgement judge_by_kind(const fleet::Campaign& campaign, double min_effect) {
  Judgement judgement = judge_by_peers(campaign, min_effect);
  for (std::size_t gpu = 0; gpu < campaign.gpus.size(); ++gpu) {
    Calibration alone;
    alone.device = campaign.gpus[gpu].device;
    for (const Device& here : bench::gpus())
      if (here.property("uuid") == campaign.gpus[gpu].uuid()) alone.device = here;
    for (std::size_t test = 0; test < campaign.tests.size(); ++test) {
      const std::size_t place = campaign.place(test, 0, gpu);
      if (campaign.tests[test].phase != "alone" || !(campaign.values[place] > 0.0)) continue;
      Ceiling ceiling;
      ceiling.resource = campaign.tests[test].resource;
      ceiling.unit = campaign.tests[test].unit;
      ceiling.value = campaign.values[place];
      ceiling.ci95 = {campaign.lows[place], campaign.highs[place]};
      alone.ceilings.push_back(std::move(ceiling));
    }
    const auto health = calibrate::assess(alone);
    if (!health) continue;
    for (const BandCheck& check : health->checks) {
      ++judgement.compared;
      if (check.worse)
        judgement.slow.push_back(shortfall(campaign.gpus[gpu], {"alone", check.resource, check.unit, {}},
                                           -check.difference, check.reference.low, "what its kind reaches,"));
    }
  }
  return judgement;
}

/// The line, and the exit code.
struct Said {
  std::string text;
  int code = exit_codes::fine;
};

Said said_of(const CanaryOptions& options, const std::optional<fleet::Campaign>& campaign, bool in_time,
             std::size_t count, const std::vector<Usual>& usual) {
  if (!campaign) return {"no GPU answered: a driver hangs, or the node is very busy", exit_codes::operation_failed};
  const Judgement judgement = options.baseline ? judge_by_baseline(*campaign, usual, options.min_effect)
                                               : judge_by_kind(*campaign, options.min_effect);
  if (!judgement.slow.empty()) return {joined(judgement.slow, "; "), 1};
  std::vector<std::string> troubles;
  for (const fleet::Trouble& one : campaign->troubles)
    if (fleet::costs_a_gpu(one.kind) || one.kind == fleet::TroubleKind::repeated) troubles.push_back(one.text);
  if (!troubles.empty()) return {joined(troubles, " "), exit_codes::operation_failed};
  if (!in_time || campaign->gpus.size() < count)
    return {fmt::format("{} of {} gave no whole result", count - std::min(count, campaign->gpus.size()), count),
            exit_codes::operation_failed};
  if (judgement.compared == 0)
    return {"measured, but there is nothing to compare with: give --baseline=FILE.json of fleet join",
            exit_codes::not_comparable};
  return {fmt::format("{} fine, {}", plural(count, options.device == "cpu" ? "CPU" : "GPU"),
                      plural(judgement.compared, "comparison"))};
}

/// Measures and judges. A driver that hangs may hang this.
int look_closely(const CanaryOptions& options) {
  const double start = steady_seconds();
  std::vector<Usual> usual;
  if (options.baseline) usual = read_usual(*options.baseline);
  const std::size_t count = options.device.empty() ? bench::gpus().size() : 1;
  Said said{fmt::format("no GPU ({})", bench::why_no_gpu()), exit_codes::operation_failed};
  if (count > 0) {
    const PrivateFolder folder;
    bool in_time = false;
    {
      std::vector<Mortal> ranks = start_ranks(options, count, folder.path());
      in_time = wait_for(ranks, start + 0.8 * options.max_seconds);
    }
    std::optional<fleet::Campaign> campaign;
    try {
      campaign = fleet::join_folder(folder.path());
      if (options.baseline) fleet::add_derived(*campaign);  // which a baseline has, too
    } catch (const storage::ReadError&) {                   // nobody wrote anything
    }
    said = said_of(options, campaign, in_time, count, usual);
  }
  show(fmt::format("canary: {} ({:.1f} s)\n", printable(said.text), steady_seconds() - start));
  return said.code;
}

/// For NVSentinel's platform connector (its data-models/protobufs/health_event.proto, as JSON): to be kept and shown.
/// It asks for nothing to be done to the node: that is for whoever reads it.
void write_event(const CanaryOptions& options, const std::string& line, int code) {
  if (!options.event_file || code > exit_codes::operation_failed) return;  // nothing is known of the node
  storage::write_file(*options.event_file,
                      fmt::format(R"({{
 "version": 1,
 "events": [
  {{
   "version": 1,
   "agent": "gpubench",
   "componentClass": "GPU",
   "checkName": "GpubenchCanary",
   "isFatal": false,
   "isHealthy": {},
   "message": {},
   "recommendedAction": "NONE",
   "generatedTimestamp": {},
   "nodeName": {},
   "processingStrategy": "STORE_ONLY"
  }}
 ]
}}
)",
                                  code == exit_codes::fine, storage::json_string(line), storage::json_string(utc_now()),
                                  storage::json_string(options.node.empty() ? host_name() : options.node)));
}

/// Has another process look, and never touches a driver itself.
int fleet_canary(const CanaryOptions& options) {
  if (std::getenv(inside_variable) != nullptr) return look_closely(options);
  const double start = steady_seconds();
  const Descriptor output = memory_file();
  std::vector<std::string> words = {options.program};
  std::ranges::copy(options.words, std::back_inserter(words));
  Spawn spawn("this program cannot be started again");
  spawn.give(1, output);
  std::vector<Mortal> looking;
  looking.emplace_back(spawn.start("/proc/self/exe", words, Spawn::environment_with({{inside_variable, "1"}})));
  if (wait_for(looking, start + 0.95 * options.max_seconds)) {
    const std::string line = read_all(output);
    show(line);
    write_event(options, line.substr(0, line.find('\n')), looking.front().exit_code());
    return looking.front().exit_code();
  }
  const std::string line =
      fmt::format("canary: no answer within {:g} s: a driver hangs, or the node is very busy", options.max_seconds);
  show(line + "\n");
  write_event(options, line, exit_codes::operation_failed);
  return exit_codes::operation_failed;
}

}  // namespace

extern const CommandFile fleet_canary_command{
    57, [] {
      using enum Rank;
      using Own = CanaryOptions;
      const OptionRows rows = joined_rows(
          {{{"--baseline", "FILE", "", common,
             "What is usual: the JSON of fleet join of a campaign with --probes=brief. Without it: what GPUs of the "
             "kind are known to reach, and the other GPUs of this node.",
             use::text(&Own::baseline)},
            {"--max-seconds", "SECONDS", "60", common,
             "End after this time, whatever hangs: what did not answer is named, and the exit code is 2.",
             use::number(&Own::max_seconds, 1.0, 3600.0)},
            {"--min-effect", "PERCENT", "5", common,
             "A GPU is slow when it is further below the baseline, and four times as far as GPUs differ there.",
             use::number(&Own::min_effect, 0.0, 100.0, 0.01)},
            {"--links", "", "", common,
             "Measure links, too, as fleet calibrate does. The baseline's campaign must have them.",
             use::set(&Own::links)},
            {"--event", "FILE.json", "", other,
             "Write what was found as a health event of NVSentinel, to be kept and shown alone. Not where nothing is "
             "known.",
             use::text(&Own::event_file)}},
           fleet_rank_rows({"--device", "--node"})});
      return std::vector{with(Command{"fleet canary",
                                      "Say in a line and an exit code whether this node's GPUs are fit for a job",
                                      "gpubench fleet canary --baseline=/shared/usual.json\n"
                                      "gpubench fleet canary --max-seconds=30",
                                      {},
                                      "",
                                      rows},
                              fleet_canary)};
    }};

}  // namespace gpubench
