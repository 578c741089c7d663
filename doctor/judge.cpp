// SPDX-License-Identifier: Apache-2.0
#include "doctor/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/units.h"
#include "doctor/parse.h"

namespace gpubench::doctor {
namespace {

// Each threshold says what it guards.
constexpr double hot_celsius = 80.0;           // data-centre GPUs slow down from about 85 degrees
constexpr double min_power_share = 0.99;       // of the default; NVML rounds to milliwatts
constexpr double coarse_timer_seconds = 1e-7;  // in-kernel time stamps of 1 us are of no use for kernels of 10 us
constexpr double coarse_quantum_seconds = 1e-6;
constexpr double slow_launch_seconds = 20e-6;  // a launch takes 2 to 5 us on an idle host
constexpr double slow_synchronise_seconds = 50e-6;
constexpr double slow_node_seconds = 5e-6;
constexpr double slow_pair_seconds = 20e-6;
constexpr double coarse_clock_seconds = 1e-6;
constexpr double slow_clock_seconds = 200e-9;  // read through the kernel rather than from the TSC
constexpr double busy_share = 0.5;             // of the usable cores

constexpr const char* counter_remedy =
    "This is what ERR_NVGPUCTRPERM means. Run as root; in a container start it with --cap-add=SYS_ADMIN; or allow all "
    "users: put 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' into /etc/modprobe.d/nvidia-profiling.conf, run "
    "update-initramfs -u (Debian, Ubuntu) or dracut -f (Fedora, RHEL) and reboot. On a rented machine only its owner "
    "can "
    "do this. Times need no counters.";

std::string megahertz(double hertz) { return fmt::format("{:.0f} MHz", hertz / 1e6); }

/// Collects the lines of one section.
class Section {
 public:
  Section(std::vector<Line>& lines, std::string name) : lines_(lines), name_(std::move(name)) {}
  void green(std::string check, std::string found) const { add(State::green, std::move(check), std::move(found), ""); }
  void yellow(std::string check, std::string found, std::string remedy) const {
    add(State::yellow, std::move(check), std::move(found), std::move(remedy));
  }
  void red(std::string check, std::string found, std::string remedy) const {
    add(State::red, std::move(check), std::move(found), std::move(remedy));
  }
  /// Yellow when `bad`.
  void green_unless(bool bad, std::string check, std::string found, std::string remedy) const {
    if (bad)
      yellow(std::move(check), std::move(found), std::move(remedy));
    else
      green(std::move(check), std::move(found));
  }
  /// What NVML did not tell.
  void unknown(std::string check, const std::string& reason) const {
    yellow(std::move(check), "not known: " + reason, "gpubench works without it; a newer driver may tell.");
  }
  void line(Line line) const {
    line.section = name_;
    lines_.push_back(std::move(line));
  }

 private:
  void add(State state, std::string check, std::string found, std::string remedy) const {
    lines_.push_back({name_, std::move(check), state, std::move(found), std::move(remedy), std::nullopt, ""});
  }
  std::vector<Line>& lines_;
  std::string name_;
};

const Library* library_of(const Facts& facts, std::string_view name) {
  for (const Library& library : facts.libraries)
    if (library.name == name) return &library;
  return nullptr;
}

void judge_driver(const Facts& facts, std::vector<Line>& lines) {
  const Section section(lines, "driver");
  const Driver& driver = facts.driver;
  const std::string known = driver.version.empty() ? "version not shown" : driver.version;
  if (driver.cuda) {
    const std::string found = fmt::format("{}, runs CUDA up to {}", known, cuda_version_text(*driver.cuda));
    // Within a major version of CUDA an older driver runs programs of a newer toolkit (minor version compatibility).
    if (driver.built_for && *driver.cuda / 1000 < *driver.built_for / 1000)
      section.red("driver", found,
                  fmt::format("This program needs CUDA {}: install a newer driver, or build with a toolkit of CUDA {}.",
                              cuda_version_text(*driver.built_for), *driver.cuda / 1000));
    else
      section.green("driver", found);
  } else if (!driver.version.empty() || facts.device_files) {
    section.red("driver", fmt::format("{}, but libcuda tells no version", known),
                "Install the user part of the same driver (libcuda1); in a container start it with --gpus=all.");
  } else {
    section.yellow("driver", "no NVIDIA driver",
                   "For measurements on a GPU install one; in a container start it with --gpus=all. The CPU works.");
  }
  if (driver.built_for)
    section.green("toolkit", fmt::format("built with CUDA {}", cuda_version_text(*driver.built_for)));
  else
    section.yellow("toolkit", "built without CUDA", "For GPUs install a CUDA toolkit, 12.6 or newer, and build again.");
}

std::string purpose_of(std::string_view library) {
  if (library == "libcuda") return "no GPU can be used without it; it comes with the driver";
  if (library == "libnvidia-ml")
    return "clocks, power and temperature stay unknown without it; it comes with the driver";
  if (library == "libcublasLt")
    return "no gemm on GPUs and no tensor ceilings without it; install libcublas of the toolkit";
  if (library == "libcupti") return "no counters without it; install CUPTI of the toolkit";
  return "no counters without it; it comes with CUPTI";
}

void judge_libraries(const Facts& facts, std::vector<Line>& lines) {
  const Section section(lines, "libraries");
  for (const Library& library : facts.libraries) {
    if (library.path.empty()) {
      section.yellow(library.name, library.reason.empty() ? "not found" : library.reason,
                     fmt::format("Not found: {}, or add its folder to LD_LIBRARY_PATH.", purpose_of(library.name)));
      continue;
    }
    const std::string found =
        library.version.empty() ? library.path : fmt::format("{} ({})", library.path, library.version);
    if (library.path.find("/stubs/") != std::string::npos)
      section.red(library.name, found,
                  "This is the toolkit's stub for linking, not the driver: take its folder out of LD_LIBRARY_PATH.");
    else
      section.green(library.name, found);
  }
  const Library* const cupti = library_of(facts, "libcupti");
  const Library* const perf = library_of(facts, "libnvperf_host");
  if (cupti == nullptr || perf == nullptr || cupti->path.empty() || perf->path.empty()) return;
  const auto folder = [](const std::string& path) { return path.substr(0, path.rfind('/')); };
  if (folder(cupti->path) != folder(perf->path))
    section.yellow("CUPTI's parts", "libcupti and libnvperf_host come from different folders",
                   "Counters fail when the two are of different versions: keep one of them in LD_LIBRARY_PATH.");
}

void judge_counters(const Facts& facts, std::vector<Line>& lines) {
  const Section section(lines, "counters");
  const CounterPermission& counters = facts.counters;
  if (!counters.admin_only) {
    section.yellow("permission", "not known: no /proc/driver/nvidia/params",
                   "Without a driver there are no counters; in WSL and some sandboxes the file is not shown.");
  } else if (!*counters.admin_only) {
    section.green("permission", "all users may read counters (RmProfilingAdminOnly: 0)");
  } else if (counters.sys_admin) {
    section.green("permission", "for administrators, and this process is one (CAP_SYS_ADMIN)");
  } else {
    section.yellow("permission", "refused: RmProfilingAdminOnly: 1, and no CAP_SYS_ADMIN", counter_remedy);
  }
  if (facts.profilers.variables.empty() && facts.profilers.processes.empty())
    section.green("held by", "no profiler or monitor to be seen");
  for (const auto& [name, value] : facts.profilers.variables)
    section.yellow("held by", fmt::format("{}={}", name, value),
                   fmt::format("A profiler is under this program: times are longer and its counters taken. Run it "
                               "without the profiler, or 'unset {}'.",
                               name));
  for (const Process& process : facts.profilers.processes) {
    const bool dcgm = process.name.starts_with("nv-hostengine") || process.name.starts_with("dcgm");
    section.yellow("held by", fmt::format("{} (process {})", process.name, process.id),
                   dcgm ? "It may hold the counters: 'dcgmi profile --pause' before and '--resume' after, or stop it."
                        : "It may hold the counters and lengthen times: end it first.");
  }
}

void judge_clocks(const Gpu& gpu, const Section& section) {
  if (!gpu.sm_clock.value) {
    section.unknown("clocks", gpu.sm_clock.reason);
    return;
  }
  const auto of_max = [](const bench::NvmlReading<double>& now, const bench::NvmlReading<double>& max) {
    if (!now.value) return std::string("not known");
    return max.value ? fmt::format("{} of {}", megahertz(*now.value), megahertz(*max.value)) : megahertz(*now.value);
  };
  section.green("clocks", fmt::format("SM {} now, memory {}", of_max(gpu.sm_clock, gpu.max_sm_clock),
                                      of_max(gpu.memory_clock, gpu.max_memory_clock)));
  const bool set = gpu.throttle.value && (*gpu.throttle.value & bench::nvml_clocks_set_by_user) != 0;
  const auto& chosen = gpu.application_clock.value;
  const auto& usual = gpu.default_application_clock.value;
  const bool lower = chosen && usual && *chosen < *usual;
  if (set || lower)
    section.yellow("set clocks",
                   chosen ? fmt::format("held at {} by a setting", megahertz(*chosen)) : "held by a setting",
                   fmt::format("Good for steady figures, but ceilings are lower. To undo it: nvidia-smi -i {0} -rac; "
                               "nvidia-smi -i {0} -rgc.",
                               gpu.uuid));
  else
    section.green("set clocks", chosen ? fmt::format("none; application clock {}", megahertz(*chosen)) : "none");
}

void judge_power(const Gpu& gpu, const Section& section) {
  const auto& limit = gpu.power_limit;
  const auto& usual = gpu.default_power_limit;
  if (!limit.value) {
    section.unknown("power cap", limit.reason);
    return;
  }
  std::string found = fmt::format("{:.0f} W", *limit.value);
  if (usual.value) found += fmt::format(", default {:.0f} W", *usual.value);
  if (gpu.power.value) found += fmt::format(", drawing {:.0f} W now", *gpu.power.value);
  section.green_unless(usual.value && *limit.value < min_power_share * *usual.value, "power cap", found,
                       fmt::format("Clocks will fall under load. As root: nvidia-smi -i {} -pl {:.0f}", gpu.uuid,
                                   usual.value.value_or(*limit.value)));
}

void judge_throttle(const Gpu& gpu, const Section& section) {
  if (!gpu.throttle.value) {
    section.unknown("throttled", gpu.throttle.reason);
    return;
  }
  const std::uint64_t reasons = *gpu.throttle.value;
  const std::string words = bench::throttle_text(reasons);
  const std::uint64_t broken =
      bench::nvml_hardware_slowdown | bench::nvml_hardware_thermal_slowdown | bench::nvml_hardware_power_brake;
  if ((reasons & broken) != 0)
    section.red("throttled", words, "The board slows itself down: look to its cooling and its power supply.");
  else
    section.green_unless(!words.empty(), "throttled", words.empty() ? "not now" : words,
                         "Something draws power or heat now: wait until the GPU is idle, then look again.");
}

void judge_switches(const Gpu& gpu, const Section& section) {
  if (gpu.persistence.value)
    section.green_unless(
        !*gpu.persistence.value, "persistence", *gpu.persistence.value ? "on" : "off",
        fmt::format("Each start of a program loads the driver anew. As root: nvidia-smi -i {} -pm 1", gpu.uuid));
  else
    section.unknown("persistence", gpu.persistence.reason);
  if (gpu.ecc.value)
    section.green("ECC", *gpu.ecc.value ? "on" : "off: compare with runs without ECC alone");
  else
    section.green("ECC", "not known: " + gpu.ecc.reason);
  if (gpu.mig.value && *gpu.mig.value)
    section.yellow(
        "MIG", "on",
        fmt::format("An instance has a share of the GPU, and neighbours; some counters are refused. As root: "
                    "nvidia-smi -i {} -mig 0",
                    gpu.uuid));
  else
    section.green("MIG", gpu.mig.value ? "off" : "not offered by this GPU");
}

void judge_users(const Gpu& gpu, const Section& section) {
  if (!gpu.compute_mode.value) {
    section.unknown("compute mode", gpu.compute_mode.reason);
  } else {
    const std::string remedy = fmt::format("As root: nvidia-smi -i {} -c 0", gpu.uuid);
    switch (*gpu.compute_mode.value) {
      case bench::ComputeMode::shared:
        section.green("compute mode", "default: any process may use it");
        break;
      case bench::ComputeMode::prohibited:
        section.red("compute mode", "prohibited: no process may compute on it", remedy);
        break;
      case bench::ComputeMode::exclusive_thread:
      case bench::ComputeMode::exclusive_process:
        section.yellow("compute mode", "exclusive: one process at a time", remedy + ", if others shall use it too.");
        break;
    }
  }
  if (!gpu.processes.value) {
    section.unknown("other processes", gpu.processes.reason);
    return;
  }
  std::string ids;
  for (const unsigned id : *gpu.processes.value) ids += fmt::format("{}{}", ids.empty() ? "" : ", ", id);
  section.green_unless(!ids.empty(), "other processes", ids.empty() ? "none to be seen" : "process " + ids,
                       "They share the GPU's time and memory with what is measured: end them or wait.");
}

struct CostLimit {
  std::string_view what;
  double seconds;
  const char* remedy;
};
constexpr const char* busy_host = "The host is slow or busy: see its lines below; stop what else runs on it.";
constexpr std::array cost_limits = {
    CostLimit{"globaltimer step", coarse_timer_seconds, "Time stamps inside kernels are that coarse on this GPU."},
    CostLimit{"event pair", slow_pair_seconds, busy_host},
    CostLimit{"event quantum", coarse_quantum_seconds, "Event times are that coarse here: let batches be long."},
    CostLimit{"stream launch", slow_launch_seconds, busy_host},
    CostLimit{"graph node", slow_node_seconds, "Is the GPU in use by others, or its clock low? See the lines above."},
    CostLimit{"launch + synchronise", slow_synchronise_seconds, busy_host}};

void judge_costs(const Gpu& gpu, const Section& section) {
  if (gpu.costs.empty())
    section.red("kernels", "none ran: " + gpu.costs_reason,
                "Nothing can be measured on this GPU: does nvidia-smi show it, and do other CUDA programs run?");
  for (const bench::Cost& cost : gpu.costs) {
    if (!cost.seconds) {
      section.red(cost.what, "not measured: " + cost.reason, "Kernels fail on this GPU: see the reason.");
      continue;
    }
    const auto* const limit = std::find_if(cost_limits.begin(), cost_limits.end(),
                                           [&](const CostLimit& each) { return each.what == cost.what; });
    const bool over = limit != cost_limits.end() && *cost.seconds > limit->seconds;
    section.line({"", cost.what, over ? State::yellow : State::green,
                  fmt::format("{} ({})", format_seconds(*cost.seconds, 3), cost.method), over ? limit->remedy : "",
                  cost.seconds, cost.method});
  }
}

void judge_gpu(const Gpu& gpu, std::vector<Line>& lines) {
  const Section section(lines, gpu.id);
  section.green("GPU", gpu.uuid.empty() ? gpu.name : fmt::format("{}, {}", gpu.name, gpu.uuid));
  judge_clocks(gpu, section);
  judge_power(gpu, section);
  if (gpu.temperature.value)
    section.green_unless(*gpu.temperature.value >= hot_celsius, "temperature",
                         fmt::format("{:.0f} degrees Celsius", *gpu.temperature.value),
                         "Clocks will fall under load: let it cool down, look to its cooling.");
  else
    section.unknown("temperature", gpu.temperature.reason);
  judge_throttle(gpu, section);
  judge_switches(gpu, section);
  judge_users(gpu, section);
  judge_costs(gpu, section);
}

void judge_gpus(const Facts& facts, std::vector<Line>& lines) {
  for (const Gpu& gpu : facts.gpus) judge_gpu(gpu, lines);
  if (!facts.gpus.empty()) return;
  const Section section(lines, "GPUs");
  const std::string why = facts.no_gpu.empty() ? "none" : facts.no_gpu;
  if (facts.gpus_failed)
    section.red("GPU", why,
                "There is a driver with its device files, and CUDA cannot use the GPU: does nvidia-smi show it?");
  else
    section.yellow("GPU", why,
                   "gpubench measures the CPU here. If there is a GPU: is CUDA_VISIBLE_DEVICES empty, and does "
                   "nvidia-smi -L show it?");
}

void judge_cores(const Host& host, const Section& section) {
  const double usable = host.core_limit ? std::min<double>(host.usable_cores, *host.core_limit) : host.usable_cores;
  std::string found = fmt::format("{} of {} for this process", host.usable_cores, host.online_cores);
  if (host.core_limit) found += fmt::format(", limited to {:.3g} by its control group", *host.core_limit);
  const bool limited = host.core_limit && *host.core_limit < host.usable_cores;
  section.green_unless(limited || usable < 2.0, "cores", found,
                       limited
                           ? "Threads beyond the limit are stopped for parts of each tenth of a second: use no more "
                             "threads than it allows (OMP_NUM_THREADS), or raise it."
                           : "Whatever else runs shares the core with what is measured; give it two or more.");
  if (host.load)
    section.green_unless(*host.load > busy_share * usable, "load",
                         fmt::format("{:.2f} on {:.3g} cores", *host.load, usable),
                         "The machine is busy, so host times vary and launches come late: wait until it is idle.");
  else
    section.yellow("load", "not known: no /proc/loadavg", "Make sure that nothing else runs.");
}

void judge_host(const Host& host, std::vector<Line>& lines) {
  const Section section(lines, "host");
  section.green_unless(
      host.clock_step_seconds > coarse_clock_seconds || host.clock_cost_seconds > slow_clock_seconds, "steady clock",
      fmt::format("steps of {}, {} a reading{}", format_seconds(host.clock_step_seconds, 2),
                  format_seconds(host.clock_cost_seconds, 2),
                  host.clock_source.empty() ? "" : fmt::format(" (source {})", host.clock_source)),
      "Short host times are coarse. If /sys/devices/system/clocksource/clocksource0/available_clocksource offers tsc, "
      "boot with clocksource=tsc.");
  judge_cores(host, section);
  if (host.smt)
    section.green("SMT", *host.smt ? "on: two threads may share a core" : "off");
  else
    section.green("SMT", "not shown by this system");
  if (host.governor.empty())
    section.green("governor", "not shown by this system (usual in virtual machines)");
  else
    section.green_unless(host.governor != "performance", "governor", host.governor,
                         "The CPU's clock follows the load. As root: cpupower frequency-set -g performance");
  if (host.huge_pages.empty())
    section.green("huge pages", "not shown by this system");
  else
    section.green_unless(host.huge_pages == "never", "huge pages", host.huge_pages,
                         "Host memory figures suffer from the TLB. As root: echo madvise > "
                         "/sys/kernel/mm/transparent_hugepage/enabled");
  section.green_unless(
      host.virtual_machine, "virtual machine", host.virtual_machine ? "yes" : "no",
      "Neighbours may take time from it: host times and launches vary more than on bare metal. Kernels' "
      "own times do not.");
  section.green("container", host.container.empty() ? "none to be seen" : host.container);
}

}  // namespace

std::vector<Line> judge(const Facts& facts) {
  std::vector<Line> lines;
  judge_driver(facts, lines);
  judge_libraries(facts, lines);
  judge_counters(facts, lines);
  judge_gpus(facts, lines);
  judge_host(facts.host, lines);
  return lines;
}

State worst(const std::vector<Line>& lines) {
  State state = State::green;
  for (const Line& line : lines) state = std::max(state, line.state);
  return state;
}

}  // namespace gpubench::doctor
