// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "doctor/doctor.h"
#include "tests/matchers.h"

namespace gpubench::doctor {
namespace {

/// A machine of which all is well.
Facts healthy() {
  Facts facts;
  facts.driver = {"580.159.03", 13000, 13000};
  facts.libraries = {{"libcuda", "/usr/lib/libcuda.so.580", ""},
                     {"libcupti", "/cuda/lib64/libcupti.so.13", ""},
                     {"libnvperf_host", "/cuda/lib64/libnvperf_host.so", ""}};
  facts.counters = {false, false};
  GpuFacts gpu;
  gpu.id = "cuda:0";
  gpu.name = "NVIDIA H200";
  gpu.uuid = "GPU-1234";
  gpu.sm_clock = {345e6, ""};
  gpu.max_sm_clock = {1980e6, ""};
  gpu.memory_clock = {3201e6, ""};
  gpu.max_memory_clock = {3201e6, ""};
  gpu.application_clock = {1980e6, ""};
  gpu.default_application_clock = {1980e6, ""};
  gpu.power = {75.0, ""};
  gpu.power_limit = {700.0, ""};
  gpu.default_power_limit = {700.0, ""};
  gpu.temperature = {30.0, ""};
  gpu.throttle = {1, ""};
  gpu.persistence = {true, ""};
  gpu.ecc = {true, ""};
  gpu.mig = {false, ""};
  gpu.compute_mode = {bench::ComputeMode::shared, ""};
  gpu.processes = {std::vector<unsigned>{}, ""};
  gpu.costs = {{"globaltimer step", 32e-9, "how", ""}, {"launch + synchronise", 8.7e-6, "how", ""}};
  facts.gpus = {gpu};
  facts.host.clock_step_seconds = 20e-9;
  facts.host.clock_cost_seconds = 25e-9;
  facts.host.online_cores = 16;
  facts.host.usable_cores = 16;
  facts.host.governor = "performance";
  facts.host.huge_pages = "madvise";
  facts.host.load = 0.1;
  return facts;
}

const Line& line_of(const std::vector<Line>& lines, const std::string& check) {
  for (const Line& line : lines)
    if (line.check == check) return line;
  throw std::runtime_error("no line " + check);
}

/// The line of a check after one fact has been changed.
template <class Change>
Line changed(const std::string& check, Change change) {
  Facts facts = healthy();
  change(facts);
  return line_of(judge(facts), check);
}

TEST(Judge, AHealthyMachineIsGreen) {
  for (const Line& line : judge(healthy())) EXPECT_EQ(line.light, Light::green) << line.check << ": " << line.found;
  EXPECT_EQ(worst(judge(healthy())), Light::green);
}

TEST(Judge, EveryLineThatIsNotGreenHasARemedy) {
  Facts facts;  // nothing known at all
  facts.libraries = {{"libcuda", "", "not there"}};
  facts.gpus.emplace_back();
  for (const Line& line : judge(facts)) EXPECT_EQ(line.remedy.empty(), line.light == Light::green) << line.check;
}

TEST(Judge, WithoutAGpuNothingIsRed) {
  Facts facts = healthy();
  facts.driver = {};
  facts.gpus.clear();
  facts.no_gpu = "gpubench was built without CUDA";
  facts.counters = {};
  const auto lines = judge(facts);
  EXPECT_EQ(worst(lines), Light::yellow);
  EXPECT_EQ(line_of(lines, "GPU").found, "gpubench was built without CUDA");
  EXPECT_EQ(line_of(lines, "driver").light, Light::yellow);
}

TEST(Judge, ADriverWithoutAUsableGpuIsRed) {
  const Line line = changed("GPU", [](Facts& facts) {
    facts.gpus.clear();
    facts.no_gpu = "system not yet initialized";
    facts.gpus_failed = true;
  });
  EXPECT_EQ(line.light, Light::red);
  EXPECT_THAT(line.found, HasSubstr("not yet initialized"));
}

TEST(Judge, DriverAgainstToolkit) {
  EXPECT_EQ(changed("driver", [](Facts& f) { f.driver.cuda = 12090; }).light, Light::red);
  EXPECT_EQ(changed("driver",
                    [](Facts& f) {
                      f.driver = {"570.1", 12080, 12090};
                    })
                .light,
            Light::green)
      << "minor versions are compatible";
  EXPECT_EQ(changed("driver", [](Facts& f) { f.driver.cuda.reset(); }).light, Light::red);
  EXPECT_EQ(changed("toolkit", [](Facts& f) { f.driver.built_for.reset(); }).light, Light::yellow);
}

TEST(Judge, Libraries) {
  const Line stub =
      changed("libcuda", [](Facts& f) { f.libraries[0].path = "/usr/local/cuda/lib64/stubs/libcuda.so"; });
  EXPECT_EQ(stub.light, Light::red);
  EXPECT_THAT(stub.remedy, HasSubstr("LD_LIBRARY_PATH"));
  EXPECT_EQ(changed("CUPTI's parts", [](Facts& f) { f.libraries[2].path = "/other/libnvperf_host.so"; }).light,
            Light::yellow);
}

TEST(Judge, CountersRefused) {
  const Line refused = changed("permission", [](Facts& f) { f.counters = {true, false}; });
  EXPECT_EQ(refused.light, Light::yellow);
  for (const char* words :
       {"ERR_NVGPUCTRPERM", "--cap-add=SYS_ADMIN", "options nvidia NVreg_RestrictProfilingToAdminUsers=0", "reboot"})
    EXPECT_THAT(refused.remedy, HasSubstr(words));
  EXPECT_EQ(changed("permission", [](Facts& f) { f.counters = {true, true}; }).light, Light::green);
}

TEST(Judge, CountersHeld) {
  const Line dcgm = changed("held by", [](Facts& f) { f.profilers.processes = {{17, "nv-hostengine"}}; });
  EXPECT_EQ(dcgm.light, Light::yellow);
  EXPECT_THAT(dcgm.remedy, HasSubstr("dcgmi profile --pause"));
  const Line injected = changed("held by", [](Facts& f) {
    f.profilers.variables = {{"CUDA_INJECTION64_PATH", "/x.so"}};
  });
  EXPECT_THAT(injected.found, HasSubstr("CUDA_INJECTION64_PATH=/x.so"));
}

TEST(Judge, GpuSettings) {
  using bench::ComputeMode;
  const auto state = [](const std::string& check, auto change) {
    return changed(check, [&](Facts& facts) { change(facts.gpus[0]); }).light;
  };
  EXPECT_EQ(state("power cap", [](GpuFacts& g) { g.power_limit.value = 400.0; }), Light::yellow);
  EXPECT_EQ(state("power cap", [](GpuFacts& g) { g.power_limit = {std::nullopt, "Not Supported"}; }), Light::yellow);
  EXPECT_EQ(state("temperature", [](GpuFacts& g) { g.temperature.value = 88.0; }), Light::yellow);
  EXPECT_EQ(state("throttled", [](GpuFacts& g) { g.throttle.value = bench::software_power_cap; }), Light::yellow);
  EXPECT_EQ(state("throttled", [](GpuFacts& g) { g.throttle.value = bench::hardware_thermal_slowdown; }), Light::red);
  EXPECT_EQ(state("set clocks", [](GpuFacts& g) { g.application_clock.value = 1200e6; }), Light::yellow);
  EXPECT_EQ(state("set clocks", [](GpuFacts& g) { g.throttle.value = bench::clocks_set_by_user; }), Light::yellow);
  EXPECT_EQ(state("persistence", [](GpuFacts& g) { g.persistence.value = false; }), Light::yellow);
  EXPECT_EQ(state("MIG", [](GpuFacts& g) { g.mig.value = true; }), Light::yellow);
  EXPECT_EQ(state("compute mode", [](GpuFacts& g) { g.compute_mode.value = ComputeMode::prohibited; }), Light::red);
  EXPECT_EQ(state("compute mode", [](GpuFacts& g) { g.compute_mode.value = ComputeMode::exclusive_process; }),
            Light::yellow);
  EXPECT_EQ(state("other processes", [](GpuFacts& g) { g.processes.value = {4711}; }), Light::yellow);
}

TEST(Judge, Costs) {
  const Line step = line_of(judge(healthy()), "globaltimer step");
  EXPECT_EQ(step.value, 32e-9);
  EXPECT_EQ(step.method, "how");
  EXPECT_EQ(changed("globaltimer step", [](Facts& f) { f.gpus[0].costs[0].seconds = 1024e-9; }).light, Light::yellow);
  const Line failed = changed("globaltimer step", [](Facts& f) {
    f.gpus[0].costs[0] = {"globaltimer step", std::nullopt, "", "cudaErrorIllegalAddress"};
  });
  EXPECT_EQ(failed.light, Light::red);
  EXPECT_THAT(failed.found, HasSubstr("cudaErrorIllegalAddress"));
  EXPECT_EQ(changed("kernels", [](Facts& f) { f.gpus[0].costs.clear(); }).light, Light::red);
}

TEST(Judge, HostIsNeverRed) {
  const auto state = [](const std::string& check, auto change) {
    return changed(check, [&](Facts& facts) { change(facts.host); }).light;
  };
  EXPECT_EQ(state("steady clock", [](Host& h) { h.clock_cost_seconds = 1e-6; }), Light::yellow);
  EXPECT_EQ(state("cores", [](Host& h) { h.core_limit = 2.0; }), Light::yellow);
  EXPECT_EQ(state("cores", [](Host& h) { h.core_limit = 16.0; }), Light::green);
  EXPECT_EQ(state("cores", [](Host& h) { h.usable_cores = 1; }), Light::yellow);
  EXPECT_EQ(state("load", [](Host& h) { h.load = 8.5; }), Light::yellow);
  EXPECT_EQ(state("load", [](Host& h) { h.load = 7.5; }), Light::green);
  EXPECT_EQ(state("load", [](Host& h) { h.load.reset(); }), Light::yellow);
  EXPECT_EQ(state("governor", [](Host& h) { h.governor = "powersave"; }), Light::yellow);
  EXPECT_EQ(state("governor", [](Host& h) { h.governor.clear(); }), Light::green);
  EXPECT_EQ(state("huge pages", [](Host& h) { h.huge_pages = "never"; }), Light::yellow);
  EXPECT_EQ(state("virtual machine", [](Host& h) { h.virtual_machine = true; }), Light::yellow);
}

}  // namespace
}  // namespace gpubench::doctor
