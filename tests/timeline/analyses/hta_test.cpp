// SPDX-License-Identifier: Apache-2.0
// Figures of Meta's HolisticTraceAnalysis 0.5.0 and of PyTorch 2.11 for the same traces. HTA reads a trace in its own
// way first: `as_hta_reads` does the same, and the analyses of gpubench then give HTA's figures.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/matchers.h"
#include "timeline/analyses/gpu/copies.h"
#include "timeline/analyses/gpu/idle.h"
#include "timeline/analyses/gpu/kernels.h"
#include "timeline/analyses/host/launches.h"
#include "timeline/operators/operators.h"
#include "timeline/program/program.h"
#include "timeline/readers.h"
#include "timeline/statistics/breakdown.h"

namespace gpubench {
namespace {

using timeline::Breakdown;
using timeline::Slice;
using timeline::SliceKind;
using timeline::Timeline;

Timeline kept(const std::string& name) {
  return timeline::read_chrome_json(std::string(GPUBENCH_TRACE_DATA) + "/" + name + ".json.gz");
}

/// What HTA makes of a trace: starts are rounded up and ends down to whole microseconds, so that durations of -1 us
/// come about; work that was launched after the last step's work had begun is left out.
Timeline as_hta_reads(Timeline timeline) {
  constexpr std::int64_t us = 1000;
  const std::int64_t base = timeline.base_ns % us;
  std::int64_t last_step = 0;
  for (Slice& slice : timeline.slices) {
    const std::int64_t start = slice.start_ns + base, end = slice.end_ns() + base;
    slice.start_ns = (start + us - 1) / us * us;
    slice.duration_ns = end / us * us - slice.start_ns;
    if (timeline.names.text(slice.name).starts_with("ProfilerStep#")) last_step = std::max(last_step, slice.start_ns);
  }
  std::set<std::uint32_t> launched;
  for (const Slice& slice : timeline.slices)
    if (!occupies_gpu(slice.kind) && slice.correlation != 0 && slice.start_ns < last_step)
      launched.insert(slice.correlation);
  std::erase_if(timeline.slices, [&](const Slice& slice) {
    return occupies_gpu(slice.kind) ? !launched.contains(slice.correlation) : slice.start_ns >= last_step;
  });
  sort(timeline);
  return timeline;
}

/// HTA knows these calls alone as launches, and not cuLaunchKernelEx, by which cuBLAS and NCCL launch.
Timeline with_launches_of_hta(Timeline timeline) {
  for (Slice& slice : timeline.slices) {
    const std::string& name = timeline.names.text(slice.name);
    const bool known = name == "cudaLaunchKernel" || name == "cudaLaunchKernelExC" || name == "cuLaunchKernel" ||
                       name == "cudaMemcpyAsync" || name == "cudaMemsetAsync";
    if (!occupies_gpu(slice.kind) && !known) slice.correlation = 0;
  }
  return timeline;
}

/// HTA's unions count -1 us for work of -1 us that runs alone; an interval has no negative length. In microseconds, of
/// the kinds given.
std::int64_t negative_alone(const Timeline& timeline, const std::set<SliceKind>& kinds) {
  std::int64_t count = 0, end = std::numeric_limits<std::int64_t>::min();
  for (const Slice& slice : timeline.slices) {
    if (!kinds.contains(slice.kind)) continue;
    if (slice.duration_ns < 0 && slice.start_ns > end) ++count;
    end = std::max(end, slice.end_ns());
  }
  return count;
}

double us(std::int64_t ns) { return static_cast<double>(ns) / 1e3; }

const std::set<SliceKind> all_work = {SliceKind::kernel, SliceKind::communication, SliceKind::copy, SliceKind::fill};

struct Figures {
  const char* trace;
  double idle, compute, other, span, overlap_percent;
};

TEST(Hta, temporal_breakdown_and_overlap) {
  for (const Figures& hta :
       {Figures{"ddp_rank0", 23080, 4714, 16302, 44096, 8.39}, Figures{"ddp_rank1", 32839, 4424, 4178, 41441, 6.26}}) {
    const Timeline timeline = as_hta_reads(kept(hta.trace));
    const Breakdown all = timeline::breakdowns(timeline).front();
    const auto alone = static_cast<double>(negative_alone(timeline, all_work));
    const auto compute_alone = static_cast<double>(negative_alone(timeline, {SliceKind::kernel}));
    EXPECT_DOUBLE_EQ(us(all.span_ns()), hta.span);
    EXPECT_DOUBLE_EQ(us(all.idle_ns()) + alone, hta.idle);
    EXPECT_DOUBLE_EQ(us(all.compute_ns()) - compute_alone, hta.compute);
    EXPECT_DOUBLE_EQ(us(all.busy_ns() - all.compute_ns()) - alone + compute_alone, hta.other);
    EXPECT_NEAR(100.0 * us(all.overlap_ns()) / us(all.communication_ns()), hta.overlap_percent, 0.005);
  }
}

TEST(Hta, kernel_types) {
  std::vector<Breakdown> parts;
  double negative = 0.0;
  for (const char* trace : {"ddp_rank0", "ddp_rank1"}) {
    const Timeline timeline = as_hta_reads(kept(trace));
    parts.push_back(timeline::breakdowns(timeline).front());
    negative += static_cast<double>(
        std::ranges::count_if(timeline.slices, [](const Slice& slice) { return slice.duration_ns < 0; }));
  }
  const Breakdown all = timeline::together(parts);
  using namespace timeline;
  // Work of -1 us runs the wrong way round: while it lasts HTA counts one kind as another, or none.
  EXPECT_NEAR(us(all.by_work_ns[communicating]), 20264, negative);
  EXPECT_NEAR(us(all.by_work_ns[communicating]), 20264, 0.001 * 20264);
  EXPECT_NEAR(us(all.by_work_ns[computing]), 7380, 0.001 * 7380);
  EXPECT_DOUBLE_EQ(us(all.by_work_ns[computing | communicating]), 1763);
  EXPECT_DOUBLE_EQ(us(all.by_work_ns[moving]), 122);
  EXPECT_DOUBLE_EQ(us(all.by_work_ns[communicating | moving]), 95);
}

TEST(Hta, idle_by_cause) {
  const std::map<std::string, std::vector<std::vector<double>>> hta = {
      {"ddp_rank0", {{36769, 590, 1930}, {12410, 26, 0}}}, {"ddp_rank1", {{35218, 600, 1106}, {24687, 6, 0}}}};
  for (const auto& [trace, streams] : hta) {
    std::vector<std::vector<double>> ours;
    for (const timeline::StreamIdle& idle : timeline::stream_idle(as_hta_reads(kept(trace))))
      ours.push_back({us(idle.host_ns), us(idle.kernel_ns), us(idle.other_ns)});
    EXPECT_EQ(ours, streams);
  }
}

/// As pandas describes them: mean, standard deviation, min, quartiles, max.
std::vector<double> described(const timeline::Distribution& values, double unit) {
  return {values.mean / unit, values.deviation / unit, values.min / unit, values.p25 / unit,
          values.p50 / unit,  values.p75 / unit,       values.max / unit};
}

MATCHER_P(AreAbout, expected, "") {
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!(std::abs(arg.at(i) - expected[i]) <= 6e-7 * std::max(1.0, std::abs(expected[i])))) {
      *result_listener << "at " << i << ": " << arg[i] << " and " << expected[i];
      return false;
    }
  return true;
}

TEST(Hta, launch_statistics) {
  using Rows = std::vector<std::vector<double>>;
  const std::map<std::string, Rows> hta = {{"ddp_rank0",
                                            {{5.923611, 4.061214, 2, 4, 5, 6, 46},
                                             {4.697222, 9.586876, -1, 0, 1, 5, 71},
                                             {52.959722, 247.375065, 0, 3, 3, 4, 1979}}},
                                           {"ddp_rank1",
                                            {{5.468056, 3.619078, 1, 4, 5, 6, 39},
                                             {4.613889, 9.620234, -1, 0, 1, 4, 72},
                                             {18.208333, 109.893872, 0, 3, 3, 4, 1183}}}};
  for (const auto& [trace, rows] : hta) {
    const auto times = timeline::launch_times(with_launches_of_hta(as_hta_reads(kept(trace)))).front();
    EXPECT_EQ(times.call_ns.count, 720);
    EXPECT_THAT(described(times.call_ns, 1e3), AreAbout(rows[0]));
    EXPECT_THAT(described(times.work_ns, 1e3), AreAbout(rows[1]));
    EXPECT_THAT(described(times.delay_ns, 1e3), AreAbout(rows[2]));
  }
}

TEST(Hta, queue_length) {
  // Of events in one microsecond HTA keeps the order in which pandas' unstable sort leaves them.
  const std::map<std::string, std::pair<double, double>> hta = {{"ddp_rank0", {1.102778, 22}},
                                                                {"ddp_rank1", {0.772222, 14}}};
  for (const auto& [trace, figures] : hta) {
    const Timeline timeline = with_launches_of_hta(as_hta_reads(kept(trace)));
    const auto queues = timeline::queue_lengths(timeline);
    ASSERT_EQ(queues.size(), 1);
    EXPECT_EQ(timeline.tracks[queues[0].track].id, 7);
    EXPECT_EQ(queues[0].at_steps.count, 1440);
    EXPECT_DOUBLE_EQ(queues[0].at_steps.max, figures.second);
    // The other order of the events of one moment: what joins comes first.
    double sum = queues[0].at_steps.sum;
    const auto& steps = queues[0].steps;
    for (std::size_t i = 0; i < steps.size();) {
      std::size_t end = i;
      std::int64_t before = i == 0 ? 0 : steps[i - 1].second;
      std::vector<std::int64_t> changes;
      for (; end < steps.size() && steps[end].first == steps[i].first; before = steps[end++].second) {
        changes.push_back(steps[end].second - before);
        sum -= static_cast<double>(steps[end].second);
      }
      std::int64_t length = i == 0 ? 0 : steps[i - 1].second;
      std::ranges::sort(changes, std::ranges::greater());
      for (const std::int64_t change : changes) sum += static_cast<double>(length += change);
      i = end;
    }
    EXPECT_LE(queues[0].at_steps.mean, figures.first);
    EXPECT_GE(sum / static_cast<double>(steps.size()), figures.first);
  }
}

TEST(Hta, memory_bandwidth) {
  // HTA takes the bandwidth from the trace, which knows nanoseconds, but loses copies that round to -1 us.
  const std::map<std::string, std::map<std::string, std::vector<double>>> hta = {
      {"ddp_rank0",
       {{"Memcpy DtoD", {98, 389.226880, 553.877714, 1.306122, 2.065037, 6.096774, 1020.061538, 1833.174825}},
        {"Memcpy HtoD", {6, 10.487976, 1.571397, 7.420290, 10.503401, 11.022222, 11.377778, 11.636364}},
        {"Memset", {43, 0.041961, 0.070050, 0.004630, 0.005208, 0.020833, 0.062459, 0.333333}}}},
      {"ddp_rank1",
       {{"Memcpy DtoD", {101, 386.669944, 558.829886, 1.560976, 2.064516, 5.818182, 1003.102041, 2024.277992}},
        {"Memcpy HtoD", {6, 11.030197, 0.491158, 10.448980, 10.668404, 11.025697, 11.377778, 11.636364}},
        {"Memset", {45, 0.046246, 0.068719, 0.004459, 0.005435, 0.021739, 0.065217, 0.333333}}}}};
  for (const auto& [trace, rows] : hta) {
    Timeline timeline = kept(trace);
    std::set<std::uint32_t> shown;
    for (const Slice& slice : as_hta_reads(timeline).slices)
      if (occupies_gpu(slice.kind) && slice.duration_ns >= 0) shown.insert(slice.correlation);
    std::erase_if(timeline.slices, [&](const Slice& slice) { return !shown.contains(slice.correlation); });
    for (const timeline::CopyTimes& copy : timeline::copy_times(timeline)) {
      std::vector<double> ours = described(copy.bytes_per_second, 1e9);
      ours.insert(ours.begin(), static_cast<double>(copy.bytes_per_second.count));
      EXPECT_THAT(ours, AreAbout(rows.at(copy.name))) << copy.name;
    }
  }
}

TEST(Hta, kernels) {
  // Sum, max, min, standard deviation and mean (us).
  const std::map<std::string, std::map<std::string, std::vector<double>>> hta = {
      {"ddp_rank0",
       {{"ncclDevKernel_AllReduce_Sum_f32_RING_LL", {17730, 3363, 40, 848.889794, 985}},
        {"Memcpy DtoD (Device -> Device)", {103, 9, -1, 1.957444, 1.009804}},
        {"Memcpy HtoD (Pageable -> Device)", {4, 1, 0, 0.516398, 0.666667}},
        {"Memset (Device)", {-14, 0, -1, 0.434277, -0.245614}}}},
      {"ddp_rank1",
       {{"ncclDevKernel_AllReduce_Sum_f32_RING_LL", {4407, 1400, 39, 446.987728, 244.833333}},
        {"Memcpy DtoD (Device -> Device)", {101, 9, -1, 1.788274, 0.990196}},
        {"Memset (Device)", {-12, 0, -1, 0.411306, -0.210526}}}}};
  // Names that HTA shows as one kernel: it prints the sum as its max, too.
  const std::map<std::string, std::map<std::string, double>> sums = {
      {"ddp_rank0",
       {{"nvjet_sm90_tst_128x64_64x8_1x2_h_bz_NNT", 285}, {"nvjet_sm90_tst_64x128_64x8_2x1_v_bz_NTN", 197}}},
      {"ddp_rank1", {{"nvjet_sm90_tst_128x64_64x8_1x2_h_bz_NNT", 208}}}};
  for (const auto& [trace, rows] : hta) {
    const Timeline timeline = as_hta_reads(kept(trace));
    std::size_t found = 0;
    for (const auto& kernel : timeline::kernel_times(timeline, timeline::KernelsBy::name)) {
      const std::string& name = timeline.names.text(kernel.name);
      for (const auto& [start, figures] : rows) {
        if (!name.starts_with(start)) continue;
        ++found;
        const auto& d = kernel.durations_ns;
        EXPECT_THAT((std::vector{d.sum / 1e3, d.max / 1e3, d.min / 1e3, d.deviation / 1e3, d.mean / 1e3}),
                    AreAbout(figures))
            << name;
      }
      if (const auto sum = sums.at(trace).find(name); sum != sums.at(trace).end()) {
        ++found;
        EXPECT_DOUBLE_EQ(us(kernel.total_ns), sum->second) << name;
      }
    }
    EXPECT_EQ(found, rows.size() + sums.at(trace).size());
  }
}

TEST(PyTorch, kernel_totals) {
  const std::map<std::string, std::map<std::string, double>> tables = {
      {"train",
       {{"", 6727},
        {"void at::native::unrolled_elementwise_kernel<at::native::", 578.502},
        {"void at::native::reduce_kernel<128, 4, at::native::Reduce", 519.935}}},
      {"ddp_rank0", {{"", 25919}, {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", 18239}}},
      {"ddp_rank1", {{"", 21775}, {"ncclDevKernel_AllReduce_Sum_f32_RING_LL", 14145}}}};
  for (const auto& [trace, rows] : tables) {
    const Timeline timeline = kept(trace);
    const auto kernels = timeline::kernel_times(timeline, timeline::KernelsBy::name);
    for (const auto& [start, total] : rows) {
      double sum = 0.0;
      for (const auto& kernel : kernels)
        if (timeline.names.text(kernel.name).starts_with(start)) {
          sum += us(kernel.total_ns);
          if (!start.empty()) break;  // the table shows the longest of those that begin alike
        }
      EXPECT_NEAR(sum, total, 0.001 * total) << trace << " " << start;
    }
  }
}

TEST(PyTorch, operators) {
  // Calls, self and total time on the CPU, self and total time on the GPU (us). Left out are operators within
  // themselves, such as aten::linear under autocast: PyTorch counts their time twice.
  const std::map<std::string, std::vector<double>> table = {{"aten::mm", {102, 20588, 21797, 905.665, 905.665}},
                                                            {"aten::sum", {51, 5824, 6864, 558.208, 558.208}},
                                                            {"AddmmBackward0", {51, 1282, 24459, 0, 905.665}}};
  const Timeline timeline = kept("train");
  std::size_t found = 0;
  for (const timeline::OperatorTime& one : timeline::operator_times(timeline)) {
    const auto row = table.find(timeline.names.text(one.name));
    if (row == table.end()) continue;
    ++found;
    const std::vector<double> ours = {static_cast<double>(one.count), us(one.host_self_ns), us(one.host_ns),
                                      us(one.gpu_self_ns), us(one.gpu_ns)};
    for (std::size_t i = 0; i < ours.size(); ++i)
      EXPECT_NEAR(ours[i], row->second[i], 0.001 * row->second[i] + 1e-9) << row->first << " " << i;
  }
  EXPECT_EQ(found, table.size());
}

/// Of an operator the calls, and the host's time in it alone and with what it calls.
timeline::OperatorTime operator_of(const Timeline& timeline, std::string_view name) {
  for (const timeline::OperatorTime& time : timeline::operator_times(timeline))
    if (timeline.names.text(time.name) == name) return time;
  ADD_FAILURE() << name << " is missing";
  return {};
}

/// Three training steps on a CPU alone. The figures are those that PyTorch 2.11 itself printed.
TEST(OtherTools, operators_on_a_cpu_are_those_of_pytorchs_own_table) {
  struct Row {
    std::string_view name;
    std::int64_t calls, self_ns, total_ns;
  };
  const Timeline timeline = kept("pytorch_cpu");
  for (const Row& row :
       {Row{"aten::convolution_backward", 3, 673'556, 697'154}, Row{"aten::mkldnn_convolution", 3, 643'832, 687'577},
        Row{"aten::addmm", 3, 227'150, 272'326}, Row{"aten::mm", 6, 129'917, 132'692},
        Row{"aten::convolution", 3, 64'435, 784'468}, Row{"aten::t", 15, 51'224, 108'392}}) {
    const timeline::OperatorTime time = operator_of(timeline, row.name);
    EXPECT_EQ(time.count, row.calls) << row.name;
    EXPECT_NEAR(static_cast<double>(time.host_self_ns), static_cast<double>(row.self_ns), 10) << row.name;
    EXPECT_NEAR(static_cast<double>(time.host_ns), static_cast<double>(row.total_ns), 10) << row.name;
  }
}

/// Ten convolutions of half-precision tensors whose channels come first; PyTorch's table has the same times.
TEST(OtherTools, layout_kernels_of_a_real_convolution_are_found) {
  const Timeline timeline = kept("convolution");
  const auto findings = timeline::analyze(timeline).findings;
  const auto found = std::ranges::find(findings, "kernels.layout", &Finding::code);
  ASSERT_NE(found, findings.end());
  EXPECT_THAT(found->evidence, HasSubstr("30 kernels on cuda:0 only change the layout"));
  EXPECT_NEAR(found->gain_seconds.value_or(0.0), (153.696 + 101.088) * 1e-6, 1e-9);
}

/// JAX's profiler on a CPU: 297 events, five steps.
TEST(OtherTools, a_trace_of_jax_is_read_whole) {
  const Timeline timeline = kept("jax_cpu");
  EXPECT_EQ(timeline.slices.size(), 297U);
  EXPECT_TRUE(timeline.warnings.empty());
  EXPECT_EQ(operator_of(timeline, "train").count, 5);
  EXPECT_EQ(operator_of(timeline, "train").host_ns, 71'487'748);
}

}  // namespace
}  // namespace gpubench
