// SPDX-License-Identifier: Apache-2.0
#include "timeline/program/findings.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/matchers.h"
#include "tests/timeline/sample_timeline.h"
#include "timeline/program/program.h"

namespace gpubench {
namespace {

constexpr std::int64_t us = 1000;

std::string rule_texts(const Program& program) {
  std::string all;
  for (const Finding& finding : program.findings) all += finding.text + "\n";
  return all;
}

timeline::MemoryEvent memory(std::int64_t time, std::uint64_t address, std::int64_t bytes, std::uint32_t source = 0,
                             timeline::MemoryKind kind = timeline::MemoryKind::device) {
  return {
      .time_ns = time, .address = address, .bytes = bytes, .process = 0, .source = source, .device = 0, .kind = kind};
}

TEST(Findings, name_the_cause_and_what_it_could_save) {
  Sample sample;
  for (int i = 0; i < 200; ++i)
    sample.kernel(i * 10 * us, i * 10 * us + 3 * us, i * 10 * us + 4 * us, i * 10 * us + 6 * us);
  const Program program = timeline::analyze(sample.sorted());
  ASSERT_THAT(program.findings, SizeIs(2));
  EXPECT_EQ(program.findings[0].text,
            "cuda:0 is idle 80 % of the time because the host launches too slowly: 200 launches, one every 10.0 us of "
            "host time. Capture what repeats in a CUDA graph, or fuse kernels. This saves up to 1.59 ms of 2.00 ms.");
  EXPECT_THAT(program.findings[0].gain_seconds, Optional(DoubleNear(1.592e-3, 1e-12)));
  EXPECT_THAT(program.findings[1].text, HasSubstr("200 of 200 kernels on cuda:0 take less than 5.00 us"));
  EXPECT_FALSE(program.findings[1].gain_seconds);
}

TEST(Findings, of_launches_that_load_code_do_not_blame_the_number_of_launches) {
  Sample sample;
  sample.kernel(0, 5 * us, 8 * us, 10 * us);
  sample.kernel(11 * us, 3011 * us, 3012 * us, 3014 * us);
  for (int i = 302; i < 330; ++i)
    sample.kernel(i * 10 * us, i * 10 * us + 3 * us, i * 10 * us + 4 * us, i * 10 * us + 6 * us);
  const auto findings = timeline::analyze(sample.sorted()).findings;
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].code, "idle.first_launch");
  EXPECT_THAT(findings[0].text, HasSubstr("because 1 launch took the host over a millisecond, as first launches do, "
                                          "which load a kernel's code. Launch each kernel once before"));
}

// A launch in which the recording switched its counters off, among 60 that the host makes one every 50 us.
TEST(Findings, of_the_recording_in_a_launch_do_not_blame_the_launch) {
  const auto findings_of = [](bool recorded, std::int64_t own) {
    Sample sample;
    std::int64_t at = 0;
    const auto launch = [&](std::int64_t length) {
      sample.kernel(at, at + length, at + length, at + length + 20 * us);
      at += length + 45 * us;
    };
    for (int i = 0; i < 30; ++i) launch(5 * us);
    if (recorded)
      sample.slice(SliceKind::overhead, sample.track(TrackKind::other, -1, 1, ""), at, at + 3000 * us, "counters");
    launch(3000 * us + own);
    for (int i = 0; i < 30; ++i) launch(5 * us);
    return timeline::analyze(sample.sorted()).findings;
  };
  const auto gain_of = [](const std::vector<Finding>& findings, std::string_view code) {
    const auto found = std::ranges::find(findings, code, &Finding::code);
    return found == findings.end() ? 0.0 : found->gain_seconds.value_or(0.0);
  };
  const auto recorded = findings_of(true, 5 * us);
  EXPECT_EQ(gain_of(recorded, "idle.first_launch"), 0.0);
  EXPECT_NEAR(gain_of(recorded, "idle.launch"), 60 * 30e-6, 60e-6);
  EXPECT_NEAR(gain_of(findings_of(true, 2000 * us), "idle.first_launch"), 2e-3, 60e-6) << "what is its own";
  // Each with what it costs, not one with the sum of both.
  const auto first = findings_of(false, 5 * us);
  EXPECT_NEAR(gain_of(first, "idle.first_launch"), 3e-3, 60e-6);
  EXPECT_NEAR(gain_of(first, "idle.launch"), 60 * 30e-6, 60e-6);
}

// Between others in which counters are read: those of 3 ms are no gaps of work that started late.
TEST(Findings, tell_the_longest_gap_of_their_cause) {
  Sample sample;
  for (int i = 0; i < 20; ++i) {
    const std::int64_t at = i * 4000 * us;
    sample.kernel(at, at + 3000 * us, at + 3000 * us, at + 3400 * us);
    sample.timeline.slices[sample.timeline.slices.size() - 2].counted = true;
    sample.kernel(at + 3410 * us, at + 3412 * us, at + (i == 7 ? 3590 : 3500) * us, at + 3995 * us);
  }
  const auto findings = timeline::analyze(sample.sorted(), {.launch_latency_seconds = 4e-6}).findings;
  const auto late = std::ranges::find(findings, "idle.device", &Finding::code);
  ASSERT_NE(late, findings.end());
  EXPECT_THAT(late->text, HasSubstr("it started late. The longest gap"));
  EXPECT_THAT(late->evidence, Not(HasSubstr(" ms"))) << "3 ms are the recording's";
}

TEST(Findings, of_waits_whose_calls_lie_before_the_stretch_name_none) {
  Sample sample;
  sample.kernel(0, 2 * us, 4 * us, 50 * us);
  sample.slice(SliceKind::synchronization, sample.thread, 3 * us, 91 * us, "cudaStreamSynchronize");
  sample.kernel(110 * us, 112 * us, 114 * us, 200 * us);
  const timeline::Linked linked(sample.sorted());
  timeline::Windows stretch;
  stretch.add(80 * us, 200 * us);
  const auto findings = timeline::findings(linked, timeline::analyze(linked), {stretch});
  ASSERT_FALSE(findings.empty());
  for (const Finding& one : findings) EXPECT_THAT(one.text, Not(HasSubstr(": ."))) << one.text;
}

TEST(Findings, of_waits_copies_and_overlaps) {
  Sample sample;
  sample.kernel(0, 2 * us, 4 * us, 50 * us);
  sample.slice(SliceKind::synchronization, sample.thread, 3 * us, 51 * us, "cudaStreamSynchronize");
  sample.kernel(70 * us, 72 * us, 74 * us, 100 * us);
  sample.slice(SliceKind::transfer, sample.thread, 75 * us, 131 * us, "cudaMemcpy", 90);
  sample.slice(SliceKind::copy, sample.stream, 100 * us, 130 * us, "Memcpy DtoH", 90);
  sample.correlation = 90;
  sample.kernel(150 * us, 151 * us, 154 * us, 200 * us);
  sample.slice(SliceKind::communication, sample.other_stream, 190 * us, 230 * us, "ncclKernel");
  const Program program = timeline::analyze(sample.sorted());
  const std::string texts = rule_texts(program);
  EXPECT_THAT(texts, HasSubstr("waited for it before it launched more: cudaStreamSynchronize (1 call)"));
  EXPECT_THAT(texts, HasSubstr("waited for copies: cudaMemcpy (1 call)"));
  EXPECT_THAT(texts, HasSubstr("Copies and fills on cuda:0 take 30.0 us, of which 0.0 % runs during kernels"));
  EXPECT_THAT(texts, HasSubstr("Communication on cuda:0 takes 40.0 us, of which 25 % runs during kernels"));
  EXPECT_TRUE(std::ranges::is_sorted(program.findings, std::ranges::greater(),
                                     [](const Finding& one) { return one.gain_seconds.value_or(-1); }));
}

TEST(Findings, of_kernels_that_only_change_the_layout_of_tensors) {
  Sample sample;
  for (int i = 0; i < 10; ++i) {
    sample.kernel(i * 100 * us, i * 100 * us + 2 * us, i * 100 * us + 4 * us, i * 100 * us + 24 * us,
                  "void cudnn::engines_precompiled::nchwToNhwcKernel<__half, __half, float>(int)");
    sample.kernel(i * 100 * us + 5 * us, i * 100 * us + 7 * us, i * 100 * us + 24 * us, i * 100 * us + 90 * us,
                  "sm90_xmma_fprop_implicit_gemm_f16f16_nhwckrsc_nhwc");
  }
  const auto findings = timeline::analyze(sample.sorted()).findings;
  const auto found = std::ranges::find(findings, "kernels.layout", &Finding::code);
  ASSERT_NE(found, findings.end());
  EXPECT_THAT(found->evidence, HasSubstr("10 kernels on cuda:0 only change the layout of tensors"));
  EXPECT_THAT(found->gain_seconds, Optional(DoubleNear(200e-6, 1e-12)));
}

TEST(Findings, of_allocations_within_steps_and_memory_that_grows) {
  Sample sample;
  const auto library = sample.timeline.names.number("libleak.so");
  for (int i = 0; i < 20; ++i) {
    sample.kernel(i * 100 * us, i * 100 * us + 2 * us, i * 100 * us + 4 * us, i * 100 * us + 90 * us);
    sample.slice(SliceKind::call, sample.thread, i * 100 * us + 10 * us, i * 100 * us + 30 * us, "cudaMalloc");
    sample.timeline.memory.push_back(memory(i * 100 * us, static_cast<std::uint64_t>(i + 1) << 20, 1 << 20, library));
  }
  const std::string texts = rule_texts(timeline::analyze(sample.sorted()));
  EXPECT_THAT(texts, HasSubstr("allocates and frees GPU memory: cudaMalloc (19 calls)"));
  EXPECT_THAT(texts, HasSubstr("libleak.so took 9 allocations (9 MiB) that it never gave back"));
}

TEST(Findings, of_a_busy_gpu_are_none) {
  Sample sample;
  for (int i = 0; i < 100; ++i)
    sample.kernel(i * 10 * us, i * 10 * us + 2 * us, 10 * us + i * 10 * us, 20 * us + i * 10 * us);
  EXPECT_THAT(timeline::analyze(sample.sorted()).findings, IsEmpty());
}

TEST(Findings, of_several_gpus_are_one) {
  Sample sample;
  for (std::uint32_t gpu = 1; gpu < 3; ++gpu) {
    const auto stream = sample.track(TrackKind::stream, gpu, 7, "stream 7");
    for (int i = 0; i < 20; ++i) {
      sample.kernel(i * 100 * us, i * 100 * us + 1, i * 100 * us + 4 * us, i * 100 * us + 20 * us);
      sample.timeline.slices.back().track = stream;
    }
  }
  const Program program = timeline::analyze(sample.sorted());
  ASSERT_THAT(program.findings, SizeIs(1));
  EXPECT_THAT(program.findings[0].text, HasSubstr("The same holds for 1 GPU more."));
}

TEST(Findings, of_any_cause_of_idle_time) {
  Sample sample;
  sample.kernel(0, 2 * us, 4 * us, 10 * us);
  sample.kernel(5 * us, 7 * us, 900 * us, 910 * us);  // launched in time, and starts late
  sample.slice(SliceKind::transfer, sample.thread, 8 * us, 905 * us, "hipMemcpyWithStream");
  const Program program = timeline::analyze(sample.sorted());
  ASSERT_FALSE(program.findings.empty());
  EXPECT_EQ(program.findings[0].code, "idle.device");
  EXPECT_THAT(program.findings[0].evidence, HasSubstr("hipMemcpyWithStream"));
  EXPECT_NEAR(program.findings[0].gain_seconds.value_or(0.0), 890e-6, 10e-6);
}

}  // namespace
}  // namespace gpubench
