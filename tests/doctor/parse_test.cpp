// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "doctor/facts.h"

namespace gpubench::doctor {
namespace {

TEST(Parse, DriverVersion) {
  EXPECT_EQ(driver_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build  (dvs)\n"
                           "GCC version:  gcc version 12.2.0\n"),
            "580.159.03");
  EXPECT_EQ(driver_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54  Tue\n"), "535.54");
  EXPECT_EQ(driver_version(""), "");
  EXPECT_EQ(driver_version("NVRM version\n"), "");
}

TEST(Parse, ProfilingAdminOnly) {
  EXPECT_EQ(profiling_admin_only("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n"), true);
  EXPECT_EQ(profiling_admin_only("RmProfilingAdminOnly: 0\nPreserveVideoMemoryAllocations: 0\n"), false);
  EXPECT_EQ(profiling_admin_only("RmProfilingAdminOnly: maybe\n"), std::nullopt);
  EXPECT_EQ(profiling_admin_only(""), std::nullopt);
}

TEST(Parse, SysAdminIsBit21) {
  EXPECT_TRUE(has_sys_admin("Name:\tbash\nCapPrm:\t0000000000000000\nCapEff:\t000001ffffffffff\n"));
  EXPECT_TRUE(has_sys_admin("CapEff:\t0000000000200000\n"));
  EXPECT_FALSE(has_sys_admin("CapEff:\t00000000a80425fb\n")) << "what a container has by default";
  EXPECT_FALSE(has_sys_admin("CapEff:\tnothing\n"));
  EXPECT_FALSE(has_sys_admin(""));
}

TEST(Parse, CoreLimits) {
  EXPECT_EQ(cpu_max_cores("150000 100000\n"), 1.5);
  EXPECT_EQ(cpu_max_cores("max 100000\n"), std::nullopt);
  EXPECT_EQ(cpu_max_cores("150000\n"), std::nullopt);
  EXPECT_EQ(cpu_quota_cores("400000\n", "100000\n"), 4.0);
  EXPECT_EQ(cpu_quota_cores("-1\n", "100000\n"), std::nullopt);
  EXPECT_EQ(cpu_quota_cores("400000", "0"), std::nullopt);
}

TEST(Parse, ControlGroupPath) {
  const char* const old = "5:devices:/\n1:cpu,cpuacct:/docker/12\n0::/\n";
  EXPECT_EQ(cgroup_path(old, "cpu"), "/docker/12");
  EXPECT_EQ(cgroup_path(old, "cpuacct"), "/docker/12");
  EXPECT_EQ(cgroup_path(old, "cpuset"), "");
  EXPECT_EQ(cgroup_path("0::/user.slice/a:b\n", ""), "/user.slice/a:b");
  EXPECT_EQ(cgroup_path("nonsense", ""), "");
}

TEST(Parse, Choices) {
  EXPECT_EQ(chosen_of("always [madvise] never\n"), "madvise");
  EXPECT_EQ(chosen_of("always"), "");
  EXPECT_EQ(chosen_of("] ["), "");
}

TEST(Parse, Load) {
  EXPECT_EQ(load_average("4.16 2.72 1.99 8/110 18952\n"), 4.16);
  EXPECT_EQ(load_average(""), std::nullopt);
  EXPECT_EQ(load_average("high"), std::nullopt);
}

TEST(Parse, CpuFlagsAreWholeWords) {
  const char* const text = "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\n";
  EXPECT_TRUE(has_cpu_flag(text, "hypervisor"));
  EXPECT_FALSE(has_cpu_flag(text, "hyper"));
  EXPECT_FALSE(has_cpu_flag("", "hypervisor"));
}

TEST(Parse, NamesOfProfilers) {
  for (const char* name : {"nv-hostengine", "dcgm-exporter", "nsys", "nsys-launcher", "ncu"})
    EXPECT_TRUE(takes_counters(name)) << name;
  for (const char* name : {"ncurses-app", "bash", "nvidia-smi", "nvidia-persiste", ""})
    EXPECT_FALSE(takes_counters(name)) << name;
}

TEST(Parse, CudaVersion) {
  EXPECT_EQ(cuda_version_text(13000), "13.0");
  EXPECT_EQ(cuda_version_text(12060), "12.6");
}

}  // namespace
}  // namespace gpubench::doctor
