// SPDX-License-Identifier: Apache-2.0
// What the program itself takes from outside: its command line, the jobs and results of its processes, and the runs
// that it goes on with. Each is refused with a sentence, or understood alike however often it is written and read.
#include "bench/activity/kernel_code.h"
#include "bench/counters/metrics.h"
#include "bench/google/argument_choice.h"
#include "bench/google/google_runner.h"
#include "core/storage/storage.h"
#include "main/cli/parse.h"
#include "main/serve/serve_folder.h"
#include "main/worker/checkpoint.h"
#include "main/worker/job.h"
#include "profile/injection/options.h"
#include "tests/fuzz/written.h"

namespace {

using namespace gpubench;

/// A word a line.
void command_line(std::string_view text) {
  std::vector<std::string> words = {"gpubench"};
  for (std::size_t end = 0; !text.empty() && words.size() < 64; text.remove_prefix(std::min(end + 1, text.size()))) {
    end = std::min(text.find('\n'), text.size());
    words.emplace_back(text.substr(0, std::min(end, text.find('\0'))));
    // Looking for a drawing program would take longer than all the rest.
    for (const char* picture : {".png", ".svg", ".pdf"})
      if (words.back().ends_with(picture)) return;
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  try {
    const CommandLine line = parse_command_line(static_cast<int>(words.size()), arguments.data());
    require(line.options->text.has_value() || line.command != nullptr);
  } catch (const bench::GoogleFlagError&) {  // sentences as well (main/cli/command_line.cpp)
  } catch (const bench::MetricNameError&) {
  } catch (const bench::ArgumentError&) {
  }
}

void job(std::string_view text) {
  const std::string options = profile::to_text(profile::options_from(std::string(text)));
  require(profile::to_text(profile::options_from(options)) == options);
  const std::string once = job_to_json(job_from_json(std::string(text)));
  require(job_to_json(job_from_json(once)) == once);
}

/// A process's result, which joins what is kept, and a run that is gone on with.
void checkpoint(std::string_view text) {
  const Run earlier = storage::run_from_json(text, "input");
  Plan plan;
  for (const Point& point : earlier.points)
    plan.keys.push_back({point.measurement.device, point.measurement.name, point.measurement.repetition, 0});
  Run base = earlier;
  base.points.clear();
  Checkpoint kept(base, {}, {plan});
  const std::size_t left_out = kept.resume(earlier);
  require(kept.count() + left_out <= earlier.points.size());
  for (const Point& point : earlier.points)
    kept.put({point.measurement.device, point.measurement.name, point.measurement.repetition, 1}, point.measurement);
  kept.write();
  const Run again = kept.so_far();
  require(storage::run_from_json(storage::to_json(again), "again") == again);
  (void)why_not_resumable(earlier, again.context, again.devices, "warm");
}

/// A program's file, whose kernels' code is hashed.
void device_code(std::string_view text) {
  bench::KernelCode code("sm_90");
  code.add_device_code(text);
  code.add_file(File(text, "program").path);
  (void)code.of("saxpy");
}

/// What `serve` tells of a file in its folder, and the name that a request asks for.
void served(std::string_view text) {
  (void)serve::is_own_host(std::string(text));
  const File file(text, "a.json");
  for (const serve::ServedFile& one : serve::ServedFolder(file.folder).files()) require(one.path == "a.json");
}

constexpr Target all[] = {{"command_line", refusing<command_line, UsageError>},
                          {"job", refusing<job, storage::ReadError>},
                          {"checkpoint", refusing<checkpoint, storage::ReadError>},
                          {"device_code", refusing<device_code, storage::ReadError>},
                          {"served", refusing<served, storage::ReadError>}};
std::span<const Target> targets() { return all; }

}  // namespace
