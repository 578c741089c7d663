// SPDX-License-Identifier: Apache-2.0
// Reports of a profiled program.
#include "reports/program.h"

#include <filesystem>
#include <sstream>
#include <string>

#include "core/base/text.h"
#include "reports/findings.h"
#include "reports/reports.h"
#include "tests/matchers.h"
#include "tests/reports/golden.h"
#include "tests/reports/program_run.h"
#include "tests/reports/sample_run.h"

namespace gpubench::reports {
namespace {

TEST(ProgramReport, on_the_console) {
  for (const int width : {60, 80, 140}) {
    const std::string text = console(program_run(), {.width = width});
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(display_width(line), static_cast<std::size_t>(width)) << line;
    if (width == 80) expect_golden(text, std::filesystem::path(GPUBENCH_GOLDEN) / "program-80.txt");
  }
}

TEST(ProgramReport, as_markdown_and_csv) {
  expect_golden(markdown(program_run()), std::filesystem::path(GPUBENCH_GOLDEN) / "program.md");
  const std::string text = csv(program_run());
  EXPECT_THAT(text, HasSubstr(",program_launches,program_counted_launches,program_total_s,program_share,program_p50_s,"
                              "program_p95_s,program_range\r\n"));
  EXPECT_THAT(text, HasSubstr(",1200,20,0.0061,"));
  EXPECT_THAT(text, HasSubstr(",step */forward\r\n"));
  EXPECT_THAT(csv(sample_run()), Not(HasSubstr("program_launches")));
}

/// One kernel on 8 blocks has 84 % of the GPU's time, as in the attention of HeCBench.
TEST(ProgramReport, names_the_biggest_gain_first_be_it_a_kernels_or_the_wholes) {
  gpubench::Run run = program_run();
  OperationFinding& kernel = run.findings.emplace_back();
  kernel.operation = kernel.point = run.program->kernels.front().point;
  kernel.device = run.points.front().measurement.device;
  kernel.action = "launch more blocks";
  kernel.gain = 16.4;
  kernel.saved = 0.9;
  const auto first_lines = [&] { return finding_lines(run); };
  EXPECT_THAT(first_lines().front().action, HasSubstr("launch more blocks"));
  EXPECT_THAT(first_lines().front().why, HasSubstr("This saves up to 5.49 ms, 33 % of the program"));
  run.program->kernels.front().total_seconds = 2e-3;
  EXPECT_EQ(first_lines().front().action.substr(0, 17), "cuda:0 of python3");
  EXPECT_THAT(first_lines()[1].action, HasSubstr("launch more blocks"));
  // While the GPU waits for its launches, faster kernels do not make the program faster.
  run.program->kernels.front().total_seconds = 6.1e-3;
  StepTime step;
  step.seconds = 1e-3;
  step.at_roof_seconds = 1e-3;
  run.program->steps = {step};
  EXPECT_EQ(first_lines().front().action.substr(0, 17), "cuda:0 of python3");
  const auto lines = first_lines();
  const auto hidden =
      std::ranges::find_if(lines, [](const FindingLine& line) { return line.action == "launch more blocks"; });
  ASSERT_NE(hidden, lines.end());
  EXPECT_THAT(hidden->why,
              HasSubstr("5.49 ms of the GPU's time, but nothing of the program's: the GPU waits for its launches"));
  run.program->steps.front().at_roof_seconds = 0.9e-3;
  EXPECT_THAT(finding_lines(run)[1].why, HasSubstr("at most 1.64 ms of the program's"));
  run.program->steps.front().at_roof_seconds = 0.6e-3;
  EXPECT_THAT(finding_lines(run)[0].why, HasSubstr("This saves up to 5.49 ms, 33 % of the program"));
  run.program->kernels.front().total_seconds = 2e-4;
  for (const FindingLine& line : first_lines()) EXPECT_THAT(line.action, Not(HasSubstr("launch more blocks")));
}

TEST(ProgramReport, says_how_long_the_program_takes_without_the_recording) {
  gpubench::Run run = program_run();
  GpuTime& gpu = run.program->gpus.front();
  gpu.idle.push_back({IdleCause::recording, 2.0, 3});
  gpu.wall_seconds += 2.0;
  EXPECT_EQ(wall_text(gpu), "16.4 ms (without the 2.00 s that the recording took)");
  EXPECT_THAT(busy_text(gpu), HasSubstr("62 % busy of 16.4 ms"));
  EXPECT_THAT(idle_text(gpu), HasSubstr("38 % idle"));
  EXPECT_THAT(idle_text(gpu), Not(HasSubstr("recording")));
}

TEST(ProgramReport, tells_kernels_of_one_short_name_apart) {
  gpubench::Run run = program_run();
  const std::vector<std::string> names = {"void apply<4, at::AddFunctor<float> >(int)",
                                          "void apply<4, at::MulFunctor>(int)", "void apply<8, at::MulFunctor>(int)",
                                          "plain(int)", "plain(int)"};
  for (std::size_t i = 0; i < names.size(); ++i)
    run.program->kernels[i].point = run.points[i].measurement.name = names[i];
  run.program->kernels.resize(names.size());
  std::vector<std::string> shown;
  for (const ProgramRow& row : program_rows(run)) shown.push_back(row.name);
  EXPECT_THAT(shown, ElementsAre("apply<4, AddFunctor<float> >", "apply<4, MulFunctor>", "apply<8, MulFunctor>",
                                 "plain", "plain"));
}

TEST(ProgramReport, says_in_what_rows_of_one_name_differ) {
  gpubench::Run run = program_run();
  run.program->kernels.resize(3);
  const std::vector<std::vector<Argument>> arguments = {
      {{.name = "grid", .value = 0, .text = "1"}, {.name = "block", .value = 0, .text = "32"}},
      {{.name = "grid", .value = 0, .text = "2"}, {.name = "block", .value = 0, .text = "32"}},
      {{.name = "grid", .value = 0, .text = "2"}, {.name = "in", .value = 0, .text = "step/a"}}};
  for (std::size_t i = 0; i < 3; ++i) {
    Measurement& measurement = run.points[i].measurement;
    measurement.kernels = {{.kind = CommandKind::kernel, .launch = {.name = "tiny(int)"}, .bytes = {}, .seconds = {}}};
    measurement.arguments = arguments[i];
    measurement.device = run.devices[0].id;
    run.program->kernels[i].point = measurement.name = "tiny" + std::to_string(i);
  }
  std::vector<std::string> shown;
  for (const ProgramRow& row : program_rows(run)) shown.push_back(row.name + ": " + row.differs);
  EXPECT_THAT(shown, ElementsAre("tiny: grid 1, block 32", "tiny: grid 2, block 32", "tiny: grid 2, in step/a"));
  EXPECT_THAT(console(run, {.whole_names = true}), HasSubstr("tiny grid 2, in step/a "));
  // Ranges that all of them have are left out.
  const std::array<const char*, 3> paths = {"Bert/encoder/layer.0/dense", "Bert/encoder/layer.1/dense", "Bert/encoder"};
  for (std::size_t i = 0; i < 3; ++i)
    run.points[i].measurement.arguments = {{.name = "in", .value = 0, .text = paths[i]}};
  shown.clear();
  for (const ProgramRow& row : program_rows(run)) shown.push_back(row.differs);
  EXPECT_THAT(shown, ElementsAre("in …/encoder/layer.0/dense", "in …/encoder/layer.1/dense", "in …/encoder"));
}

TEST(ProgramReport, shows_counted_work_where_none_is_declared) {
  Measurement measurement;
  EXPECT_EQ(shown_work(measurement).bytes(), 0.0);
  measurement.counters = {{.name = "dram_read_bytes", .value = 100.0, .unit = "bytes", .source = "cupti"},
                          {.name = "dram_write_bytes", .value = 20.0, .unit = "bytes", .source = "cupti"},
                          {.name = "flops_fp32", .value = 60.0, .unit = "FLOP", .source = "cupti"}};
  EXPECT_EQ(shown_work(measurement).bytes(), 120.0);
  EXPECT_EQ(shown_work(measurement).total_flops(), 60.0);
  measurement.work.bytes_read = 7.0;
  EXPECT_EQ(shown_work(measurement).bytes(), 7.0) << "declared";
  EXPECT_EQ(shown_work(measurement).total_flops(), 0.0);
}

TEST(ProgramReport, has_no_lines_without_use) {
  GpuTime gpu;
  gpu.wall_seconds = 1.0;
  gpu.busy_seconds = gpu.memory_seconds = 0.5;
  gpu.idle = {{IdleCause::launch, 0.5, 3}, {IdleCause::copy, 0.0002, 1}};
  EXPECT_EQ(busy_text(gpu), "50 % busy of 1.00 s: copies and fills 50 %");
  EXPECT_EQ(idle_text(gpu), "50 % idle: late launches 50 %");
  gpu.memory_overlap_seconds = 0.1;
  EXPECT_EQ(busy_text(gpu), "50 % busy of 1.00 s: copies and fills 50 % (20 % of it during kernels)");
  Program program;
  program.memory.resize(2);
  program.memory[0].peak_bytes = 9;
  program.memory[1].peak_bytes = 1 << 30;
  ASSERT_EQ(shown_memory(program).size(), 1U);
  EXPECT_EQ(shown_memory(program)[0].peak_bytes, 1 << 30);
}

TEST(ProgramReport, of_a_program_without_a_kernel_says_so) {
  gpubench::Run run = program_run();
  run.points.clear();
  run.program.emplace().ended = "exit code 0";
  EXPECT_THAT(console(run, {}), HasSubstr("no kernel was recorded"));
  EXPECT_THAT(markdown(run), HasSubstr("No kernel was recorded"));
}

TEST(ProgramReport, lets_no_name_from_the_program_steer_a_terminal_or_a_table) {
  gpubench::Run run = program_run();
  const std::string hostile = hostile_name();
  Program& program = *run.program;
  program.command = {hostile};
  program.ended = program.counters_reason = hostile;
  for (GpuTime& gpu : program.gpus) gpu.process = hostile;
  for (Finding& finding : program.findings) finding.text = hostile;
  for (ProgramMemory& memory : program.memory) memory.process = hostile;
  for (std::size_t i = 0; i < program.kernels.size(); ++i) {
    program.kernels[i].point = run.points[i].measurement.name = hostile + std::to_string(i);
    program.kernels[i].range = hostile;
  }
  for (const char c : console(run, {})) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << int{c};
  EXPECT_THAT(markdown(run), Not(HasSubstr("<script")));
  EXPECT_THAT(csv(run), Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace gpubench::reports
