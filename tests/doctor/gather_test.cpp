// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "doctor/doctor.h"
#include "tests/matchers.h"

namespace gpubench::doctor {
namespace {

/// A system's files, made up.
class Gather : public testing::Test {
 protected:
  Gather() {
    std::string name = testing::TempDir() + "gpubench-doctor-XXXXXX";
    root_ = mkdtemp(name.data());
  }
  ~Gather() override { std::filesystem::remove_all(root_); }

  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  std::filesystem::path root_;
};

TEST_F(Gather, NothingIsThere) {
  EXPECT_EQ(gather_driver_version(root_), "");
  EXPECT_FALSE(gather_counter_permission(root_).admin_only.has_value());
  const Host host = gather_host_files(root_);
  EXPECT_FALSE(host.core_limit || host.load || host.virtual_machine);
  EXPECT_EQ(host.governor + host.huge_pages + host.clock_source, "");
  const Profilers profilers = gather_profilers(root_, [](const char*) -> const char* { return nullptr; });
  EXPECT_THAT(profilers.variables, IsEmpty());
  EXPECT_THAT(profilers.processes, IsEmpty());
}

TEST_F(Gather, DriverVersion) {
  file("proc/driver/nvidia/version",
       "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.03  Release Build  (dvs)\n"
       "GCC version:  gcc version 12.2.0\n");
  EXPECT_EQ(gather_driver_version(root_), "580.159.03");
  file("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54  Tue\n");
  EXPECT_EQ(gather_driver_version(root_), "535.54");
  file("proc/driver/nvidia/version", "NVRM version\n");
  EXPECT_EQ(gather_driver_version(root_), "");
}

TEST_F(Gather, Permission) {
  file("proc/driver/nvidia/params", "RmProfilingAdminOnly: 1\n");
  file("proc/self/status", "CapEff:\t00000000a80425fb\n");
  const CounterPermission permission = gather_counter_permission(root_);
  EXPECT_EQ(permission.admin_only, true);
  EXPECT_FALSE(permission.sys_admin) << "what a container has by default";
  file("proc/driver/nvidia/params", "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 0\n");
  file("proc/self/status", "Name:\tbash\nCapPrm:\t0000000000000000\nCapEff:\t0000000000200000\n");
  EXPECT_EQ(gather_counter_permission(root_).admin_only, false);
  EXPECT_TRUE(gather_counter_permission(root_).sys_admin) << "bit 21";
  file("proc/driver/nvidia/params", "RmProfilingAdminOnly: maybe\n");
  file("proc/self/status", "CapEff:\tnothing\n");
  EXPECT_EQ(gather_counter_permission(root_).admin_only, std::nullopt);
  EXPECT_FALSE(gather_counter_permission(root_).sys_admin);
}

TEST_F(Gather, ProfilersOfEnvironmentAndProcesses) {
  file("proc/17/comm", "nv-hostengine\n");
  file("proc/9/comm", "nsys\n");
  file("proc/12/comm", "bash\n");
  file("proc/self/comm", "nsys\n");
  const std::map<std::string, std::string> variables = {{"CUDA_INJECTION64_PATH", "/opt/nsys/lib.so"},
                                                        {"NVTX_INJECTION64_PATH", ""}};
  const Profilers found = gather_profilers(root_, [&](const char* name) -> const char* {
    const auto place = variables.find(name);
    return place == variables.end() ? nullptr : place->second.c_str();
  });
  EXPECT_THAT(found.variables, ElementsAre(Pair("CUDA_INJECTION64_PATH", "/opt/nsys/lib.so")));
  ASSERT_EQ(found.processes.size(), 2U);
  EXPECT_EQ(found.processes[0].name, "nsys");
  EXPECT_EQ(found.processes[1].id, 17);
}

TEST_F(Gather, NamesOfProfilers) {
  const auto found = [&](const std::string& name) {
    file("proc/17/comm", name + "\n");
    return !gather_profilers(root_, [](const char*) -> const char* { return nullptr; }).processes.empty();
  };
  for (const char* name : {"nv-hostengine", "dcgm-exporter", "nsys", "nsys-launcher", "ncu"})
    EXPECT_TRUE(found(name)) << name;
  for (const char* name : {"ncurses-app", "bash", "nvidia-smi", "nvidia-persiste", ""})
    EXPECT_FALSE(found(name)) << name;
}

TEST_F(Gather, TheNarrowestLimitCounts) {
  file("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
  file("proc/self/cgroup", "0::/pod/box\n");
  file("sys/fs/cgroup/pod/cpu.max", "200000 100000\n");
  file("sys/fs/cgroup/pod/box/cpu.max", "max 100000\n");
  EXPECT_EQ(gather_host_files(root_).core_limit, 2.0);
  file("sys/fs/cgroup/pod/box/cpu.max", "50000 100000\n");
  EXPECT_EQ(gather_host_files(root_).core_limit, 0.5);
  file("sys/fs/cgroup/pod/cpu.max", "200000\n");
  file("sys/fs/cgroup/pod/box/cpu.max", "200000 0\n");
  EXPECT_EQ(gather_host_files(root_).core_limit, std::nullopt);
  file("proc/self/cgroup", "nonsense");
  EXPECT_EQ(gather_host_files(root_).core_limit, std::nullopt);
}

TEST_F(Gather, LimitsOfTheFirstVersionOfControlGroups) {
  file("proc/self/cgroup", "4:cpu,cpuacct:/box\n");
  file("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "300000\n");
  file("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(gather_host_files(root_).core_limit, 3.0);
  file("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(gather_host_files(root_).core_limit, std::nullopt);
  file("proc/self/cgroup", "4:cpuset:/box\n0::/box\n");
  file("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "300000\n");
  EXPECT_EQ(gather_host_files(root_).core_limit, std::nullopt);
}

TEST_F(Gather, HostFiles) {
  file("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  file("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
  file("sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
  file("proc/loadavg", "0.50 0.40 0.30 1/100 1\n");
  file("proc/cpuinfo", "flags\t: fpu hypervisor\n");
  const Host host = gather_host_files(root_);
  EXPECT_EQ(host.governor, "powersave");
  EXPECT_EQ(host.clock_source, "tsc");
  EXPECT_EQ(host.huge_pages, "always");
  EXPECT_EQ(host.load, 0.5);
  EXPECT_TRUE(host.virtual_machine);
}

TEST_F(Gather, HostFilesOfAnotherForm) {
  file("sys/kernel/mm/transparent_hugepage/enabled", "] [");
  file("proc/loadavg", "high\n");
  file("proc/cpuinfo", "flags\t: fpu hypervisors\n");
  const Host host = gather_host_files(root_);
  EXPECT_EQ(host.huge_pages, "");
  EXPECT_FALSE(host.load || host.virtual_machine);
}

TEST(CudaVersion, IsThousandsAndTens) {
  EXPECT_EQ(cuda_version_text(13000), "13.0");
  EXPECT_EQ(cuda_version_text(12060), "12.6");
}

TEST(GatherLibraries, SaysWhereEachIsOrWhyNot) {
  const auto libraries = gather_libraries();
  EXPECT_EQ(libraries.size(), 5U);
  for (const Library& library : libraries) EXPECT_NE(library.path.empty(), library.reason.empty()) << library.name;
}

}  // namespace
}  // namespace gpubench::doctor
