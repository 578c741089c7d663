// SPDX-License-Identifier: Apache-2.0
// The page of a profiled program.

#include <string>

#include "reports/html/markup.h"
#include "reports/html/sections.h"
#include "reports/reports.h"
#include "tests/matchers.h"
#include "tests/reports/program_run.h"
#include "tests/reports/sample_run.h"
#include "tests/reports_html/synthetic_run.h"

namespace gpubench::reports {
namespace {

TEST(ProgramPage, shows_all_that_is_known_of_the_program) {
  const std::string html = sections::program(program_run());
  EXPECT_THAT(html, HasSubstr("<code>python3 train.py --steps=20</code> ended with exit code 0; 16.4 ms recorded"));
  EXPECT_THAT(html, HasSubstr("<h3>cuda:1 of python3 (rank 1)</h3>"));
  EXPECT_THAT(html, HasSubstr("idle: late launches</dt><dd>24 %"));
  EXPECT_THAT(sections::findings(program_run()), HasSubstr("<li>cuda:0 of python3 (rank 0) is idle 24 %"));
  EXPECT_THAT(html, HasSubstr("<a href=\"#p0\""));
  EXPECT_THAT(html,
              HasSubstr("in step */forward</small></th><td class=\"number detail\" data-title=\"launches\">640</td>"));
  EXPECT_THAT(html, HasSubstr("<p>62 % busy of 16.4 ms. 2 910 launches, ")) << "and no cause twice";
  EXPECT_THAT(html, HasSubstr("Timeline of 4 tracks over 16.4 ms"));
  EXPECT_THAT(html, HasSubstr("Memory: device of python3 (rank 0)"));
  EXPECT_THAT(html, HasSubstr("<path d=\"M0.0 120.0H0.0V120.0H61.0V45.5H195.1V0.0"));
  EXPECT_THAT(html, HasSubstr("forward</th><td class=\"number\" data-title=\"times\">20</td><td class=\"number\" "
                              "data-title=\"host\">6.00 ms</td>"));
  EXPECT_THAT(html, HasSubstr("libtorch_cuda.so"));
  EXPECT_THAT(html, HasSubstr("a range</th><td class=\"number\" data-title=\"times\">80</td>"));
}

TEST(ProgramPage, has_the_phases_as_a_strip_above_all_else) {
  const std::string html = sections::program(program_run());
  const auto strip = html.find("<h3>Phases of python3 (rank 0)</h3>");
  ASSERT_NE(strip, std::string::npos);
  EXPECT_LT(strip, html.find("class=\"kernels\""));
  EXPECT_THAT(html,
              HasSubstr("<span class=\"part-compilation\" style=\"flex-grow:0.182927\" title=\"compilation: 18 %\">"));
  EXPECT_THAT(html, HasSubstr("steady state, 20 steps</dt><dd>56 % <small>9.20 ms</small>"));
  EXPECT_THAT(html, HasSubstr("The report is of the steady state: 40 steps (range step), 9.20 ms with 93 %"));
  gpubench::Run whole = program_run();
  whole.program->phases.clear();
  whole.program->steady.reset();
  whole.program->steady_reason = "Nothing repeats itself often enough to be steps.";
  EXPECT_THAT(sections::program(whole), HasSubstr("<p>The report is of the whole program. Nothing repeats"));
}

TEST(ProgramPage, draws_what_a_step_is_made_of) {
  const std::string html = sections::program(program_run());
  EXPECT_THAT(html, HasSubstr("<h3>A step of cuda:0 of python3 (rank 0)</h3>"));
  EXPECT_THAT(html, HasSubstr("<span class=\"part-above-roof\" style=\"flex-grow:0.134146\" "
                              "title=\"above the roof: gemm_kernel: 13 %\">"));
  EXPECT_THAT(html, HasSubstr("It would take 700 us if every kernel ran at its roof, 620 us if launches were free, "
                              "430 us with both."));
  EXPECT_THAT(html, HasSubstr("is not known: no kernel of the step has a verdict."));
}

TEST(ProgramPage, of_a_run_of_no_program_has_no_such_section) {
  EXPECT_EQ(sections::program(synthetic_run()), "");
  EXPECT_THAT(html(synthetic_run()), Not(HasSubstr("id=\"program\"")));
}

TEST(ProgramPage, takes_no_text_of_the_program_for_markup) {
  gpubench::Run run = program_run();
  const std::string hostile = "</script><img src=x onerror=alert(1)>\"'" + hostile_name();
  Program& program = *run.program;
  program.command = {hostile};
  program.ended = program.counters_reason = hostile;
  for (GpuTime& gpu : program.gpus) gpu.process = gpu.device = hostile;
  for (Finding& finding : program.findings) finding.text = hostile;
  for (ProgramMemory& memory : program.memory) memory.process = memory.kind = hostile;
  for (ProgramRange& range : program.ranges) range.path = range.process = hostile;
  for (ProgramTrack& track : program.overview) track.name = hostile;
  for (std::string& name : program.overview_names) name = hostile;
  for (NeverFreed& left : program.never_freed) left.source = left.kind = hostile;
  for (SelfCost& cost : program.self_cost) cost.what = hostile;
  for (ProgramKernel& kernel : program.kernels) kernel.point = kernel.range = hostile;
  for (ProgramPhase& phase : program.phases) phase.process = hostile;
  for (StepTime& step : program.steps) {
    step.device = step.process = step.by = step.roof_reason = hostile;
    for (StepPart& part : step.parts) part.name = hostile;
  }
  program.steady->by = program.steady_reason = hostile;
  EXPECT_THAT(sections::program(run), AllOf(Not(HasSubstr("<img")), Not(HasSubstr("<script")), HasSubstr("&lt;img")));
  EXPECT_THAT(html(run), HasSubstr(markup::script_json(sections::overview_data(program))));
}

TEST(ProgramPage, of_a_program_that_did_nothing_says_so) {
  gpubench::Run run = program_run();
  run.points.clear();
  run.program.emplace();
  EXPECT_THAT(sections::program(run), HasSubstr("No work on a GPU was recorded"));
  EXPECT_THAT(html(run), HasSubstr("No kernel was recorded"));
}

}  // namespace
}  // namespace gpubench::reports
