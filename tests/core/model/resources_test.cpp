// SPDX-License-Identifier: Apache-2.0
// The resource table, and the reference page of ceilings that is made from it.
#include "core/model/resources.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/model/calibration.h"
#include "core/storage/storage.h"
#include "tests/reports/golden.h"

namespace gpubench {
namespace {

/// "shared-conflict-#" as "shared-conflict-N".
std::string shown(std::string_view name) {
  std::string text(name);
  if (text.ends_with('#')) text.back() = 'N';
  if (text.ends_with('*')) text.replace(text.size() - 1, 1, "...");
  return text;
}

std::string_view yes(bool value) { return value ? "yes" : ""; }

std::string resource_page() {
  std::string page =
      "<!-- Generated from core/model/resources.cpp by the test ResourcePage; run it with GPUBENCH_UPDATE_GOLDEN=1. "
      "-->\n"
      "# Ceilings and other resources\n\n"
      "A ceiling is the measured limit of one resource. `gpubench --calibrate` measures those that verdicts use,\n"
      "`gpubench --calibrate=full` measures all of them. Rates are per second, and a fused multiply-add counts as two\n"
      "operations.\n\n"
      "## What limits an operation\n\n"
      "A verdict names one of these as the limiter, and shares of the time carry the same names. *Clock*: the rate is\n"
      "scaled to the clock at which the operation ran. *Power*: the power limit decides the rate.\n\n"
      "| resource | called | clock | power | do first |\n|---|---|---|---|---|\n";
  for (const Resource& each : all_resources())
    if (!each.advice.empty())
      page += fmt::format(
          "| `{}` | {} | {} | {} | {} |\n", shown(each.name), each.label.empty() ? each.name : each.label,
          yes(each.follows_clock && !each.unit.empty() && each.unit != "s"), yes(each.bound_by_power), each.advice);
  for (const CeilingGroup group : {CeilingGroup::memory, CeilingGroup::latency, CeilingGroup::compute,
                                   CeilingGroup::overhead, CeilingGroup::link, CeilingGroup::atomics}) {
    page += fmt::format("\n## Ceilings: {}\n\n| ceiling | unit | what it is |\n|---|---|---|\n", name_of(group));
    for (const Resource& each : all_resources())
      if (each.group == group && !each.unit.empty())
        page += fmt::format("| `{}` | {} | {} |\n", shown(each.name), each.unit, each.text);
  }
  page += "\n## Resources without a ceiling of their own\n\n| resource | what it is |\n|---|---|\n";
  for (const Resource& each : all_resources())
    if (each.unit.empty()) page += fmt::format("| `{}` | {} |\n", shown(each.name), each.text);
  page +=
      "\n## Suffixes\n\nA suffix means the same resource, measured in another way.\n\n| suffix | meaning "
      "|\n|---|---|\n";
  for (const ResourceSuffix& each : resource_suffixes()) page += fmt::format("| `{}` | {} |\n", each.name, each.text);
  return page;
}

TEST(ResourcePage, IsTheOneInTheReference) {
  expect_golden(resource_page(), std::string(GPUBENCH_DOCS) + "/reference/ceilings.md");
}

TEST(Resources, NamesAreThereOnce) {
  std::set<std::string_view> names;
  for (const Resource& each : all_resources()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    EXPECT_TRUE(each.text.ends_with('.')) << each.name;
  }
}

TEST(Resources, EveryPipeHasARow) {
  for (std::size_t i = 0; i < pipe_names.size(); ++i) {
    const Resource* const row = find_plain_resource(pipe_names[i]);
    ASSERT_NE(row, nullptr) << pipe_names[i];
    EXPECT_EQ(row->pipe, static_cast<Pipe>(i));
    EXPECT_EQ(row->kind, ResourceKind::pipe);
    EXPECT_FALSE(row->advice.empty());
  }
}

TEST(Resources, NumbersAndFamilies) {
  EXPECT_EQ(find_resource("latency-l3")->name, "latency-l#");
  EXPECT_EQ(find_resource("latency-l"), nullptr);
  EXPECT_EQ(find_resource("latency-lx"), nullptr);
  EXPECT_EQ(find_resource("wgmma-bf16")->name, "wgmma-*");
  EXPECT_EQ(find_resource("peer-1-read")->group, CeilingGroup::link);
  EXPECT_EQ(find_resource("l17"), nullptr);
  EXPECT_EQ(find_resource(""), nullptr);
  EXPECT_EQ(find_resource("-sustained"), nullptr);
}

TEST(Resources, Suffixes) {
  EXPECT_EQ(find_resource("fp32-sustained")->name, "fp32");
  EXPECT_EQ(find_resource("dram-write-one-core")->name, "dram-write");
  EXPECT_EQ(find_resource("copy-device-to-device")->name, "copy-*");
  EXPECT_EQ(find_resource("copy-rate-device-to-device")->unit, "B/s");
  EXPECT_EQ(find_plain_resource("fp32-sustained"), nullptr);
  EXPECT_EQ(find_plain_resource("mma-fp64")->name, "mma-*");
}

TEST(Resources, ClocksAndPower) {
  for (const char* name : {"fp32", "l1", "l2", "block-start", "int32", "shared", "alu", "lsu", "l2-random-read",
                           "l2-random-update", "a name of tomorrow"})
    EXPECT_TRUE(follows_clock(name)) << name;
  for (const char* name : {"tensor-bf16", "dram", "l3", "l4", "dram-read-sustained", "dram-random-read",
                           "dram-random-update", "fill-rate"})
    EXPECT_FALSE(follows_clock(name)) << name;
  for (const char* name : {"tensor-int8", "fp32-sustained", "dram-read-sustained"})
    EXPECT_TRUE(is_bound_by_power(name)) << name;
  for (const char* name : {"fp32", "mma-bf16", "dram-read", "unheard-of"})
    EXPECT_FALSE(is_bound_by_power(name)) << name;
}

TEST(Resources, Labels) {
  EXPECT_EQ(label_of("dram"), "DRAM");
  EXPECT_EQ(label_of("fp32"), "FP32");
  EXPECT_EQ(label_of("shared"), "shared memory");
  EXPECT_EQ(label_of("tensor-bf16"), "tensor-bf16");
  EXPECT_EQ(label_of("unheard-of"), "unheard-of");
}

TEST(Resources, DramMixesByGrowingShareOfWrites) {
  double before = -1.0;
  for (const Resource& each : all_resources())
    if (each.write_fraction) {
      EXPECT_GT(*each.write_fraction, before) << each.name;
      before = *each.write_fraction;
    }
  EXPECT_EQ(before, 1.0);
}

TEST(Resources, CountersOfPipes) {
  std::set<Pipe> pipes;
  for (const PipeCounter& each : pipe_counters())
    for (const Pipe pipe : each.pipes) EXPECT_TRUE(pipes.insert(pipe).second) << each.name;
  const auto half = std::find_if(pipe_counters().begin(), pipe_counters().end(),
                                 [](const PipeCounter& each) { return each.name == "flops_half"; });
  ASSERT_NE(half, pipe_counters().end());
  EXPECT_EQ(half->pipes, (std::vector<Pipe>{fp16, bf16}));
  EXPECT_EQ(half->min_share, 0.5);
}

// Calibrations kept in the repository hold no ceiling that the table does not describe, in the group and unit it tells;
// but a CPU's of an older version hold costs of the operating system, which are no longer measured.
TEST(Resources, DescribeEveryCeilingThatIsKept) {
  // Ceilings that older versions measured, by what their names begin with.
  const auto is_measured_no_more = [](std::string_view name) {
    for (const std::string_view old : {"event-record",
                                       "dram-write-",
                                       "grid-sync",
                                       "host-callback",
                                       "stream-synchronize",
                                       "device-synchronize",
                                       "l2-merged",
                                       "managed-",
                                       "ridge-",
                                       "constant",
                                       "exp2",
                                       "rsqrt",
                                       "sin",
                                       "division",
                                       "sqrt-",
                                       "bf16-dot",
                                       "int8-dot",
                                       "amx-",
                                       "int32-multiply-add",
                                       "latency-core-to-core",
                                       "atomic-one",
                                       "atomic-line",
                                       "atomic-spread",
                                       "atomic-shared-",
                                       "shared-conflict-",
                                       "launch-stream",
                                       "launch-synchronised",
                                       "event-",
                                       "globaltimer-step"})
      if (name.starts_with(old)) return true;
    return name.ends_with("-zeros") || name.ends_with("-graph") || name.ends_with("-avx2") ||
           name.ends_with("-avx512") || name.ends_with("-baseline");
  };
  const auto kept = [](const char* file) { return std::string(GPUBENCH_DOCS) + "/results/" + file; };
  for (const Calibration& calibration : {storage::read_calibration(kept("h200/calibration-full.json")),
                                         storage::read_run(kept("host/calibration-full.json")).calibrations.at(0)}) {
    for (const Ceiling& ceiling : calibration.ceilings) {
      const Resource* const row = find_resource(ceiling.resource);
      if (row == nullptr && calibration.device.kind == DeviceKind::cpu && ceiling.group == CeilingGroup::overhead)
        continue;
      if (row == nullptr && is_measured_no_more(ceiling.resource)) continue;
      ASSERT_NE(row, nullptr) << ceiling.resource;
      EXPECT_EQ(row->group, ceiling.group) << ceiling.resource;
      const bool may_be_of_integers = row->name.find("mma-") != std::string_view::npos;
      EXPECT_TRUE(row->unit == ceiling.unit || may_be_of_integers) << ceiling.resource;
    }
  }
}

}  // namespace
}  // namespace gpubench
