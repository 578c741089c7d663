// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/base/text.h"
#include "core/base/units.h"
#include "doctor/doctor.h"

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
    "can do this. Times need no counters.";

std::string megahertz(double hertz) { return fmt::format("{:.0f} MHz", hertz / 1e6); }

/// Adds the lines of one section. A green line keeps no remedy.
struct Section {
  std::vector<Line>& lines;
  std::string name;

  void add(Light light, std::string check, std::string found, std::string remedy = "") const {
    if (light == Light::green) remedy.clear();
    lines.push_back({name, std::move(check), light, std::move(found), std::move(remedy), std::nullopt, ""});
  }
  /// What NVML read; where it did not, a yellow line says so.
  template <class Value>
  const Value* known(const std::string& check, const bench::Reading<Value>& reading) const {
    if (reading.value) return &*reading.value;
    add(Light::yellow, check, "not known: " + reading.reason,
        "gpubench works without it. A newer driver may report it.");
    return nullptr;
  }
};

Light yellow_if(bool bad) { return bad ? Light::yellow : Light::green; }

void judge_driver(const Facts& facts, std::vector<Line>& lines) {
  const Section section{lines, "driver"};
  const Driver& driver = facts.driver;
  const std::string known = driver.version.empty() ? "version not shown" : driver.version;
  if (driver.cuda) {
    const std::string found = fmt::format("{}, runs CUDA up to {}", known, cuda_version_text(*driver.cuda));
    // Within a major version of CUDA an older driver runs programs of a newer toolkit (minor version compatibility).
    if (driver.built_for && *driver.cuda / 1000 < *driver.built_for / 1000)
      section.add(Light::red, "driver", found,
                  fmt::format("This program needs CUDA {}: install a newer driver, or build with a toolkit of CUDA {}.",
                              cuda_version_text(*driver.built_for), *driver.cuda / 1000));
    else
      section.add(Light::green, "driver", found);
  } else if (!driver.version.empty() || facts.device_files) {
    section.add(Light::red, "driver", fmt::format("{}, but libcuda reports no version", known),
                "Install the user-space part of the same driver (libcuda1). Start a container with --gpus=all.");
  } else {
    section.add(Light::yellow, "driver", "no NVIDIA driver",
                "To measure a GPU, install the driver. Start a container with --gpus=all. The CPU works without.");
  }
  if (driver.built_for)
    section.add(Light::green, "toolkit", fmt::format("built with CUDA {}", cuda_version_text(*driver.built_for)));
  else
    section.add(Light::yellow, "toolkit", "built without CUDA",
                "To measure a GPU, install a CUDA toolkit (12.6 or newer) and build again.");
}

const std::map<std::string_view, std::string_view> purposes = {
    {"libcuda", "It comes with the driver. No GPU works without it."},
    {"libnvidia-ml", "It comes with the driver. Clocks, power and temperature are unknown without it."},
    {"libcublasLt", "It is in the toolkit's libcublas. There is no gemm and no tensor ceiling on GPUs without it."},
    {"libcupti", "It is in the toolkit's CUPTI. There are no counters without it."},
    {"libnvperf_host", "It comes with CUPTI. There are no counters without it."}};

void judge_libraries(const Facts& facts, std::vector<Line>& lines) {
  const Section section{lines, "libraries"};
  for (const Library& library : facts.libraries) {
    if (library.path.empty()) {
      section.add(Light::yellow, library.name, library.reason.empty() ? "not found" : library.reason,
                  fmt::format("Install it, or add its folder to LD_LIBRARY_PATH. {}", purposes.at(library.name)));
      continue;
    }
    const bool stub = contains(library.path, "/stubs/");
    section.add(stub ? Light::red : Light::green, library.name, library.path,
                "Remove its folder from LD_LIBRARY_PATH: this is the toolkit's stub for linking, not the driver.");
  }
  const auto folder_of = [&](std::string_view name) {
    const auto library = std::ranges::find(facts.libraries, name, &Library::name);
    return library == facts.libraries.end() ? std::string() : library->path.substr(0, library->path.rfind('/'));
  };
  const std::string cupti = folder_of("libcupti"), perf = folder_of("libnvperf_host");
  if (!cupti.empty() && !perf.empty() && cupti != perf)
    section.add(Light::yellow, "CUPTI's parts", "libcupti and libnvperf_host come from different folders",
                "Keep one of the two folders in LD_LIBRARY_PATH: counters fail when versions differ.");
}

void judge_counters(const Facts& facts, std::vector<Line>& lines) {
  const Section section{lines, "counters"};
  const CounterPermission& counters = facts.counters;
  if (!counters.admin_only)
    section.add(Light::yellow, "permission", "not known: no /proc/driver/nvidia/params",
                "Without a driver there are no counters. WSL and some sandboxes hide the file.");
  else
    section.add(yellow_if(*counters.admin_only && !counters.sys_admin), "permission",
                !*counters.admin_only ? "all users may read counters (RmProfilingAdminOnly: 0)"
                : counters.sys_admin  ? "for administrators, and this process is one (CAP_SYS_ADMIN)"
                                      : "refused: RmProfilingAdminOnly: 1, and no CAP_SYS_ADMIN",
                counter_remedy);
  if (facts.profilers.variables.empty() && facts.profilers.processes.empty())
    section.add(Light::green, "held by", "no profiler or monitor found");
  for (const auto& [name, value] : facts.profilers.variables)
    section.add(Light::yellow, "held by", fmt::format("{}={}", name, value),
                fmt::format("Run without the profiler, or 'unset {}': a profiler makes times longer and takes the "
                            "counters.",
                            name));
  for (const RunningProcess& process : facts.profilers.processes) {
    const bool dcgm = process.name.starts_with("nv-hostengine") || process.name.starts_with("dcgm");
    section.add(Light::yellow, "held by", fmt::format("{} (process {})", process.name, process.id),
                dcgm ? "Run 'dcgmi profile --pause' before and '--resume' after, or stop it: it may hold the counters."
                     : "End it first: it may hold the counters and make times longer.");
  }
}

void judge_clocks(const GpuFacts& gpu, const Section& section) {
  if (section.known("clocks", gpu.sm_clock) == nullptr) return;
  const auto of_max = [](const bench::Reading<double>& now, const bench::Reading<double>& max) {
    if (!now.value) return std::string("not known");
    return max.value ? fmt::format("{} of {}", megahertz(*now.value), megahertz(*max.value)) : megahertz(*now.value);
  };
  section.add(Light::green, "clocks",
              fmt::format("SM {} now, memory {}", of_max(gpu.sm_clock, gpu.max_sm_clock),
                          of_max(gpu.memory_clock, gpu.max_memory_clock)));
  const bool set = gpu.throttle.value && (*gpu.throttle.value & bench::clocks_set_by_user) != 0;
  const auto& chosen = gpu.application_clock.value;
  const auto& usual = gpu.default_application_clock.value;
  const bool lower = chosen && usual && *chosen < *usual;
  const bool held = set || lower;
  const std::string at = chosen ? megahertz(*chosen) : "";
  section.add(yellow_if(held), "set clocks",
              held ? fmt::format("held {}by a setting", chosen ? fmt::format("at {} ", at) : "")
                   : fmt::format("none{}", chosen ? "; application clock " + at : ""),
              fmt::format("To undo it: nvidia-smi -i {0} -rac; nvidia-smi -i {0} -rgc. Fixed clocks give steady times, "
                          "but lower ceilings.",
                          gpu.uuid));
}

void judge_power(const GpuFacts& gpu, const Section& section) {
  const double* const limit = section.known("power cap", gpu.power_limit);
  if (limit == nullptr) return;
  const auto& usual = gpu.default_power_limit.value;
  std::string found = fmt::format("{:.0f} W", *limit);
  if (usual) found += fmt::format(", default {:.0f} W", *usual);
  if (gpu.power.value) found += fmt::format(", drawing {:.0f} W now", *gpu.power.value);
  section.add(yellow_if(usual && *limit < min_power_share * *usual), "power cap", found,
              fmt::format("As root: nvidia-smi -i {} -pl {:.0f}. Clocks drop under load otherwise.", gpu.uuid,
                          usual.value_or(*limit)));
}

void judge_throttle(const GpuFacts& gpu, const Section& section) {
  const std::uint64_t* const reasons = section.known("throttled", gpu.throttle);
  if (reasons == nullptr) return;
  const std::string words = bench::throttle_text(*reasons);
  const std::uint64_t broken =
      bench::hardware_slowdown | bench::hardware_thermal_slowdown | bench::hardware_power_brake;
  const bool slowed = (*reasons & broken) != 0;
  section.add(slowed ? Light::red : yellow_if(!words.empty()), "throttled", words.empty() ? "not now" : words,
              slowed ? "Check the cooling and the power supply: the board slows itself down."
                     : "Wait until the GPU is idle, then run doctor again.");
}

void judge_switches(const GpuFacts& gpu, const Section& section) {
  if (const bool* const on = section.known("persistence", gpu.persistence))
    section.add(
        yellow_if(!*on), "persistence", *on ? "on" : "off",
        fmt::format("As root: nvidia-smi -i {} -pm 1. Otherwise each program loads the driver again.", gpu.uuid));
  section.add(Light::green, "ECC",
              !gpu.ecc.value   ? "not known: " + gpu.ecc.reason
              : *gpu.ecc.value ? "on"
                               : "off: compare only with runs without ECC");
  const bool mig = gpu.mig.value.value_or(false);
  section.add(yellow_if(mig), "MIG",
              mig             ? "on"
              : gpu.mig.value ? "off"
                              : "not offered by this GPU",
              fmt::format("To measure the whole GPU, as root: nvidia-smi -i {} -mig 0. An instance shares the GPU with "
                          "others and lacks some counters.",
                          gpu.uuid));
}

void judge_users(const GpuFacts& gpu, const Section& section) {
  if (const bench::ComputeMode* const mode = section.known("compute mode", gpu.compute_mode)) {
    const bool shared = *mode == bench::ComputeMode::shared, prohibited = *mode == bench::ComputeMode::prohibited;
    section.add(prohibited ? Light::red : yellow_if(!shared), "compute mode",
                shared       ? "default: any process may use it"
                : prohibited ? "prohibited: no process may compute on it"
                             : "exclusive: one process at a time",
                fmt::format("As root: nvidia-smi -i {} -c 0", gpu.uuid));
  }
  if (const std::vector<unsigned>* const ids = section.known("other processes", gpu.processes))
    section.add(yellow_if(!ids->empty()), "other processes",
                ids->empty()
                    ? "none found"
                    : fmt::format("process {}", joined(*ids, ", ", [](unsigned id) { return std::to_string(id); })),
                "End them or wait: they share the GPU's time and memory with what you measure.");
}

struct CostLimit {
  std::string_view what;
  double seconds;
  const char* remedy;
};
constexpr const char* busy_host = "Stop what else runs on the host, and see its lines below: it is slow or busy.";
constexpr std::array cost_limits = {
    CostLimit{"globaltimer step", coarse_timer_seconds, "Time stamps inside kernels are this coarse on this GPU."},
    CostLimit{"event pair", slow_pair_seconds, busy_host},
    CostLimit{"event quantum", coarse_quantum_seconds, "Event times are this coarse here, so batches must be long."},
    CostLimit{"stream launch", slow_launch_seconds, busy_host},
    CostLimit{"graph node", slow_node_seconds,
              "Check the lines above: another process may use the GPU, or its clock is low."},
    CostLimit{"launch + synchronise", slow_synchronise_seconds, busy_host}};

void judge_costs(const GpuFacts& gpu, const Section& section) {
  if (gpu.costs.empty())
    section.add(Light::red, "kernels", "none ran: " + gpu.costs_reason,
                "Check that nvidia-smi shows the GPU and that other CUDA programs run.");
  for (const bench::Cost& cost : gpu.costs) {
    if (!cost.seconds) {
      section.add(Light::red, cost.what, "not measured: " + cost.reason, "Kernels fail on this GPU, for this reason.");
      continue;
    }
    const auto* const limit = std::find_if(cost_limits.begin(), cost_limits.end(),
                                           [&](const CostLimit& each) { return each.what == cost.what; });
    const bool over = limit != cost_limits.end() && *cost.seconds > limit->seconds;
    section.lines.push_back({section.name, cost.what, yellow_if(over),
                             fmt::format("{} ({})", format_seconds(*cost.seconds, 3), cost.method),
                             over ? limit->remedy : "", cost.seconds, cost.method});
  }
}

void judge_gpu(const GpuFacts& gpu, std::vector<Line>& lines) {
  const Section section{lines, gpu.id};
  section.add(Light::green, "GPU", gpu.uuid.empty() ? gpu.name : fmt::format("{}, {}", gpu.name, gpu.uuid));
  judge_clocks(gpu, section);
  judge_power(gpu, section);
  if (const double* const celsius = section.known("temperature", gpu.temperature))
    section.add(yellow_if(*celsius >= hot_celsius), "temperature", fmt::format("{:.0f} \u00b0C", *celsius),
                "Let it cool down and check its cooling: clocks drop under load.");
  judge_throttle(gpu, section);
  judge_switches(gpu, section);
  judge_users(gpu, section);
  judge_costs(gpu, section);
}

void judge_gpus(const Facts& facts, std::vector<Line>& lines) {
  for (const GpuFacts& gpu : facts.gpus) judge_gpu(gpu, lines);
  if (!facts.gpus.empty()) return;
  const Section section{lines, "GPUs"};
  const std::string why = facts.no_gpu.empty() ? "none" : facts.no_gpu;
  section.add(facts.gpus_failed ? Light::red : Light::yellow, "GPU", why,
              facts.gpus_failed
                  ? "Check that nvidia-smi shows the GPU: the driver is there, but CUDA cannot use it."
                  : "gpubench measures the CPU here. If there is a GPU, check CUDA_VISIBLE_DEVICES and nvidia-smi -L.");
}

void judge_cores(const Host& host, const Section& section) {
  const double usable = host.core_limit ? std::min<double>(host.usable_cores, *host.core_limit) : host.usable_cores;
  std::string found = fmt::format("{} of {} for this process", host.usable_cores, host.online_cores);
  if (host.core_limit) found += fmt::format(", limited to {} by its control group", format_number(*host.core_limit));
  const bool limited = host.core_limit && *host.core_limit < host.usable_cores;
  section.add(yellow_if(limited || usable < 2.0), "cores", found,
              limited ? "Set OMP_NUM_THREADS to the limit, or raise it: threads beyond it are paused many times "
                        "a second."
                      : "Give it two cores or more: anything else that runs shares this one.");
  if (host.load)
    section.add(yellow_if(*host.load > busy_share * usable), "load",
                fmt::format("{:.2f} on {} cores", *host.load, format_number(usable)),
                "Wait until the machine is idle: host times vary and launches come late.");
  else
    section.add(Light::yellow, "load", "not known: no /proc/loadavg", "Make sure that nothing else runs.");
}

void judge_host(const Host& host, std::vector<Line>& lines) {
  const Section section{lines, "host"};
  section.add(
      yellow_if(host.clock_step_seconds > coarse_clock_seconds || host.clock_cost_seconds > slow_clock_seconds),
      "steady clock",
      fmt::format("steps of {}, {} a reading{}", format_seconds(host.clock_step_seconds, 2),
                  format_seconds(host.clock_cost_seconds, 2),
                  host.clock_source.empty() ? "" : fmt::format(" (source {})", host.clock_source)),
      "Boot with clocksource=tsc if /sys/devices/system/clocksource/clocksource0/available_clocksource offers it: "
      "short host times are coarse.");
  judge_cores(host, section);
  const bool has_governor = !host.governor.empty(), has_pages = !host.huge_pages.empty();
  section.add(yellow_if(has_governor && host.governor != "performance"), "governor",
              has_governor ? host.governor : "not shown by this system (usual in virtual machines)",
              "As root: cpupower frequency-set -g performance. The CPU's clock follows the load otherwise.");
  section.add(
      yellow_if(host.huge_pages == "never"), "huge pages", has_pages ? host.huge_pages : "not shown by this system",
      "As root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled. Without huge pages, TLB misses lower "
      "the host's memory figures.");
  section.add(yellow_if(host.virtual_machine), "virtual machine", host.virtual_machine ? "yes" : "no",
              "Expect host times and launches to vary more than on bare metal. Kernels' own times do not.");
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

Light worst(const std::vector<Line>& lines) {
  Light state = Light::green;
  for (const Line& line : lines) state = std::max(state, line.light);
  return state;
}

namespace {

constexpr int schema_version = 1;
constexpr std::array signs = {std::string_view("+"), std::string_view("!"), std::string_view("x")};
constexpr std::array colors = {color::green, color::yellow, color::red};

std::size_t index_of(Light state) { return static_cast<std::size_t>(state); }

/// "  ! yellow  power cap       " and the text beside it, over as many lines as it needs.
std::string line_text(const Line& line, std::size_t check_width, const ConsoleStyle& style) {
  const std::string mark = fmt::format("{} {}", signs[index_of(line.light)], light_names[index_of(line.light)]);
  constexpr std::size_t mark_width = 8;  // "! yellow"
  const std::string lead =
      fmt::format("  {}  {}  ", pad_right(mark, mark_width), pad_right(printable(line.check), check_width));
  std::string text = paragraph(lead, printable(line.found), color::none, style);
  // Painted afterwards: paragraph counts the columns of what it is given.
  text.replace(2, mark.size(), paint(mark, colors[index_of(line.light)], style));
  const std::string arrow = std::string(display_width(lead), ' ') + "-> ";
  return line.remedy.empty() ? text : text + paragraph(arrow, printable(line.remedy), color::none, style);
}

}  // namespace

std::string console(const std::vector<Line>& lines, const ConsoleStyle& style) {
  std::size_t check_width = 0;
  std::array<int, light_names.size()> counts{};
  for (const Line& line : lines) {
    check_width = std::max(check_width, display_width(printable(line.check)));
    ++counts[index_of(line.light)];
  }
  std::string text;
  std::string_view section;
  for (const Line& line : lines) {
    if (line.section != section) text += paint(printable(line.section), color::bold, style) + "\n";
    section = line.section;
    text += line_text(line, check_width, style);
  }
  const std::string summary = fmt::format("{} green, {} yellow, {} red", counts[0], counts[1], counts[2]);
  return text + paragraph("", summary, colors[index_of(worst(lines))], style);
}

std::string json(const std::vector<Line>& lines, const Context& context) {
  using Json = nlohmann::ordered_json;
  Json checks = Json::array();
  for (const Line& line : lines) {
    Json check = {{"section", line.section},
                  {"check", line.check},
                  {"state", light_names[index_of(line.light)]},
                  {"found", line.found}};
    if (!line.remedy.empty()) check["remedy"] = line.remedy;
    if (line.value) check["seconds"] = *line.value;
    if (!line.method.empty()) check["method"] = line.method;
    checks.push_back(std::move(check));
  }
  const Json document = {{"schema", {{"name", "gpubench-doctor"}, {"version", schema_version}}},
                         {"gpubench_version", context.gpubench_version},
                         {"created_utc", context.created_utc},
                         {"host", context.host},
                         {"environment", context.environment},
                         {"worst", light_names[index_of(worst(lines))]},
                         {"checks", std::move(checks)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace gpubench::doctor
