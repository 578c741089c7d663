// SPDX-License-Identifier: Apache-2.0
// The ceilings of an NVIDIA GPU, but for the launch overhead, which is timed by the harness as operations are.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/cuda/check.h"
#include "bench/gpu.h"
#include "calibrate/calibrate.h"
#include "calibrate/ladder.h"
#include "gpubench/vectors.h"
#include "kernels/cublaslt.h"
#include "kernels/probes/cuda_compute.h"
#include "kernels/probes/cuda_memory.h"
#include "statistics/statistics.h"

namespace gpubench::calibrate {
namespace {

using kernels::GemmType;
using probes::FmaType;
using probes::MemoryPattern;
using probes::MemoryShape;

constexpr double mebibyte = 1024.0 * 1024.0;
constexpr double gibibyte = 1024.0 * mebibyte;
constexpr double most_memory_bytes = 12.0 * gibibyte;  ///< triad then has 4 GiB an array
constexpr double share_of_free_memory = 0.6;
constexpr double memory_sample_seconds = 4e-3;  ///< an event pair's 1 to 6 us are then below 0.15 %
constexpr double fma_sample_seconds = 8e-3;
constexpr double gemm_sample_seconds = 3e-3;
constexpr double rung_seconds = 1.5e-3;
constexpr std::uint64_t clock_nanoseconds = 200'000;

/// How much is measured in each mode.
struct Plan {
  int rounds;  ///< times that all probes are gone through; an independent repeat of each
  int ladder_sweeps;
  int rungs_per_octave;
  double warm_up_seconds;
  double sustained_seconds;  ///< of uninterrupted matrix products, for the method's text
};
constexpr Plan quick_plan = {7, 5, 3, 0.3, 0.4};
constexpr Plan full_plan = {25, 15, 4, 2.0, 4.0};

/// A sample's length on the stream.
class Timer {
 public:
  explicit Timer(cudaStream_t stream) : stream_(stream) {
    GPUBENCH_CUDA_CHECK(cudaEventCreate(&start_));
    GPUBENCH_CUDA_CHECK(cudaEventCreate(&stop_));
  }
  ~Timer() {
    (void)cudaEventDestroy(start_);
    (void)cudaEventDestroy(stop_);
  }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  double seconds(const std::function<void()>& enqueue) {
    GPUBENCH_CUDA_CHECK(cudaEventRecord(start_, stream_));
    enqueue();
    GPUBENCH_CUDA_CHECK(cudaEventRecord(stop_, stream_));
    GPUBENCH_CUDA_CHECK(cudaEventSynchronize(stop_));
    float milliseconds = 0.0F;
    GPUBENCH_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start_, stop_));
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  cudaStream_t stream_;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

/// One thing measured once in every round.
struct Probe {
  std::string resource;
  std::string unit;
  double work = 0.0;  ///< bytes or FLOP of a sample
  std::function<void()> enqueue;
  double rest_seconds = 0.0;                ///< idle time before each sample
  bool reads_clock = false;                 ///< the probe's own kernel leaves a clock reading
  std::optional<double> limit;              ///< theoretical, whatever the clock
  std::optional<double> limit_for_a_clock;  ///< theoretical, for each Hz of the SM clock
  std::string method;
  std::vector<double> rates;
  std::vector<double> clocks;
  std::string failure;  ///< why it was given up; empty while it works
};

std::string idle_text(const Probe& probe) {
  return probe.rest_seconds > 0.0 ? fmt::format(", {:.0f} ms idle before each", 1e3 * probe.rest_seconds) : "";
}

class CudaCalibration {
 public:
  CudaCalibration(const Device& device, const Options& options)
      : device_(device),
        options_(options),
        plan_(options.mode == Mode::quick ? quick_plan : full_plan),
        gpu_(bench::open_gpu(device)),
        stream_(gpu_->stream()),
        timer_(stream_),
        reading_(1),
        sink_(1) {
    int index = 0;
    GPUBENCH_CUDA_CHECK(cudaGetDevice(&index));
    GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&major_, cudaDevAttrComputeCapabilityMajor, index));
    GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&minor_, cudaDevAttrComputeCapabilityMinor, index));
    GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, index));
  }

  Calibration run() {
    step("warm-up", 0.0);
    attempt({"fp32"}, [&] { warm_up(); });
    attempt({"fp32"}, [&] { prepare_fma("fp32", FmaType::fp32); });
    attempt({"fp64"}, [&] { prepare_fma("fp64", FmaType::fp64); });
    step("matrix products", 0.05);
    prepare_gemms();
    step("memory", 0.2);
    attempt({"dram-read", "dram-write", "dram-copy", "dram-triad", "l2"}, [&] { prepare_memory(); });
    for (int round = 0; round < plan_.rounds; ++round) {
      step("ceilings", 0.3 + 0.5 * round / plan_.rounds);
      for (auto& probe : probes_) sample(probe);
    }
    step("sustained matrix products", 0.8);
    for (auto& probe : probes_)
      if (probe.resource.starts_with("tensor")) sustain(probe);
    step("L2 cache", 0.9);
    if (pool_.size() > 0) attempt({"l2"}, [&] { measure_l2(); });
    conclude();
    step("done", 1.0);
    return std::move(calibration_);
  }

 private:
  void step(std::string_view name, double done) const {
    if (options_.progress) options_.progress(name, done);
  }
  void absent(const std::string& resource, const std::string& reason) {
    const auto known = [&](const AbsentCeiling& one) { return one.resource == resource; };
    if (std::none_of(calibration_.absent.begin(), calibration_.absent.end(), known))
      calibration_.absent.push_back({resource, reason});
  }
  /// Runs part of the calibration; where the GPU or its memory fails it, the resources are absent with the reason.
  template <class Part>
  void attempt(std::initializer_list<const char*> resources, Part&& part) {
    try {
      part();
    } catch (const CudaError& error) {
      for (const char* resource : resources) absent(resource, error.what());
    } catch (const OutOfMemory& error) {
      for (const char* resource : resources) absent(resource, error.what());
    }
  }

  void warm_up();
  void prepare_fma(const std::string& resource, FmaType type);
  void prepare_gemms();
  void prepare_gemm(const std::string& resource, GemmType type, Element element, std::int64_t n);
  void prepare_memory();
  void prepare_pattern(const std::string& resource, MemoryPattern pattern, const std::string& size);
  void sample(Probe& probe);
  void sustain(Probe& probe);
  void measure_l2();
  double working_set_rate(std::size_t bytes, double expected_rate);
  void conclude();
  void add_ceiling(const Probe& probe);

  double read_clock() {
    probes::ClockReading reading;
    GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream_));
    GPUBENCH_CUDA_CHECK(cudaMemcpy(&reading, reading_.data(), sizeof(reading), cudaMemcpyDeviceToHost));
    return reading.hertz();
  }
  double clock_now() {
    GPUBENCH_CUDA_CHECK(probes::launch_clock(clock_nanoseconds, reading_.data(), stream_));
    return read_clock();
  }

  const Device& device_;
  const Options& options_;
  Plan plan_;
  std::unique_ptr<bench::Gpu> gpu_;
  cudaStream_t stream_;
  Timer timer_;
  DeviceVector<probes::ClockReading> reading_;
  DeviceVector<double> sink_;
  int major_ = 0;
  int minor_ = 0;
  int multiprocessors_ = 0;

  /// Matrices of one type; the products of all sizes use the front of the same memory.
  struct Matrices {
    DeviceVector<std::byte> a, b, c;
  };
  std::vector<std::unique_ptr<Matrices>> matrices_;
  std::vector<std::unique_ptr<kernels::GemmPlan>> gemms_;
  DeviceVector<float> pool_;
  std::vector<Probe> probes_;
  Calibration calibration_;
};

/// Brings the clocks up from idle: arithmetic for as long as the plan says.
void CudaCalibration::warm_up() {
  const auto start = std::chrono::steady_clock::now();
  double flops = 0.0;
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < plan_.warm_up_seconds)
    timer_.seconds([&] {
      GPUBENCH_CUDA_CHECK(probes::launch_fma(FmaType::fp32, 1000, sink_.data(), reading_.data(), stream_, flops));
    });
}

void CudaCalibration::prepare_fma(const std::string& resource, FmaType type) {
  double flops = 0.0;
  const auto launch = [this, type](std::int64_t loops, double& count) {
    GPUBENCH_CUDA_CHECK(probes::launch_fma(type, loops, sink_.data(), reading_.data(), stream_, count));
  };
  std::int64_t loops = 1;
  for (double seconds = 0.0; seconds < 0.5 * fma_sample_seconds && loops < 1'000'000;) {
    seconds = timer_.seconds([&] { launch(loops, flops); });
    const double more = fma_sample_seconds / std::max(seconds, 1e-6);
    if (more > 1.0) loops = static_cast<std::int64_t>(std::ceil(static_cast<double>(loops) * std::min(more, 1000.0)));
  }
  launch(loops, flops);
  Probe probe;
  probe.resource = resource;
  probe.unit = "FLOP/s";
  probe.work = flops;
  probe.enqueue = [launch, loops] {
    double ignored = 0.0;
    launch(loops, ignored);
  };
  probe.reads_clock = true;
  if (const int rate = probes::fma_per_clock(type, major_, minor_); rate > 0)
    probe.limit_for_a_clock = 2.0 * rate * multiprocessors_;
  probe.method =
      fmt::format("fused multiply-adds in registers, {}; samples of {:.1f} GFLOP; clock read in the probe's kernel",
                  probes::fma_shape(type), flops * 1e-9);
  probes_.push_back(std::move(probe));
}

void CudaCalibration::prepare_gemms() {
  const kernels::CublasLt library;
  if (!library.reason().empty()) {
    absent("tensor-bf16", library.reason());
    absent("tensor-fp16", library.reason());
    return;
  }
  struct Type {
    const char* resource;
    GemmType type;
    Element element;
  };
  for (const auto& [resource, type, element] : {Type{"tensor-bf16", GemmType::bf16, Element::bfloat16},
                                                Type{"tensor-fp16", GemmType::fp16, Element::float16}}) {
    attempt({resource}, [&, resource = resource, type = type, element = element] {
      for (const std::int64_t n : {std::int64_t{8192}, std::int64_t{4096}}) prepare_gemm(resource, type, element, n);
    });
  }
}

void CudaCalibration::prepare_gemm(const std::string& resource, GemmType type, Element element, std::int64_t n) {
  const kernels::CublasLt library;
  const auto count = static_cast<std::size_t>(n * n);
  const std::size_t bytes = count * kernels::element_bytes(type);
  const bool first_size =
      std::none_of(probes_.begin(), probes_.end(), [&](const Probe& p) { return p.resource == resource; });
  if (first_size) {
    auto fresh = std::make_unique<Matrices>();
    fresh->a = DeviceVector<std::byte>(bytes);
    fresh->b = DeviceVector<std::byte>(bytes);
    fresh->c = DeviceVector<std::byte>(bytes);
    detail::fill_random_device(fresh->a.data(), element, count, 1);
    detail::fill_random_device(fresh->b.data(), element, count, 2);
    matrices_.push_back(std::move(fresh));
  }
  Matrices& matrices = *matrices_.back();
  auto owned = std::make_unique<kernels::GemmPlan>(library, type, n, matrices.a.data(), matrices.b.data(),
                                                   matrices.c.data(), stream_);
  const kernels::GemmPlan* const plan = owned.get();
  gemms_.push_back(std::move(owned));
  const double seconds = timer_.seconds([&] { plan->run(stream_); });
  const int products = static_cast<int>(std::clamp(std::ceil(gemm_sample_seconds / seconds), 1.0, 1000.0));
  Probe probe;
  probe.resource = resource;
  probe.unit = "FLOP/s";
  const double size = static_cast<double>(n);
  probe.work = products * 2.0 * size * size * size;
  probe.enqueue = [this, plan, products] {
    for (int i = 0; i < products; ++i) plan->run(stream_);
  };
  // Matrix products reach the power limit within some 10 ms, after which the clock falls (H200: 1980 to 1400 MHz): a
  // ceiling is what a product reaches that does not follow seconds of others.
  probe.rest_seconds = 0.03;
  if (const int rate = probes::tensor_flops_per_clock(major_, minor_); rate > 0)
    probe.limit_for_a_clock = static_cast<double>(rate) * multiprocessors_;
  probe.method = fmt::format(
      "cuBLASLt, n = {} (the better of 4096 and 8192), {}, normal random data, FP32 accumulation, result of the "
      "input type; samples of {} product{}; clock read in a kernel right after",
      n, plan->description(), products, products == 1 ? "" : "s");
  probes_.push_back(std::move(probe));
}

void CudaCalibration::prepare_memory() {
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  GPUBENCH_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  constexpr std::size_t granule = 6 * probes::memory_granule;  // whole granules for two and for three arrays
  const double wanted = std::min(most_memory_bytes, share_of_free_memory * static_cast<double>(free_bytes));
  const std::size_t count = static_cast<std::size_t>(wanted / 4.0) / granule * granule;
  if (count == 0)
    throw OutOfMemory(
        fmt::format("only {:.0f} MiB of the GPU's memory are free", static_cast<double>(free_bytes) / mebibyte));
  pool_ = DeviceVector<float>(count);
  detail::fill_random_device(pool_.data(), Element::float32, count, 3);
  std::string size = fmt::format("{:.2f} GiB", 4.0 * static_cast<double>(count) / gibibyte);
  if (wanted < most_memory_bytes)
    size += " (60 % of the free memory; with less than 4 GiB an array the figure may be low)";
  prepare_pattern("dram-read", MemoryPattern::read, size);
  prepare_pattern("dram-write", MemoryPattern::write, size);
  prepare_pattern("dram-copy", MemoryPattern::copy, size);
  prepare_pattern("dram-triad", MemoryPattern::triad, size);
}

void CudaCalibration::prepare_pattern(const std::string& resource, MemoryPattern pattern, const std::string& size) {
  const std::size_t arrays = pattern == MemoryPattern::triad ? 3 : pattern == MemoryPattern::copy ? 2 : 1;
  const std::size_t count = pool_.size() / arrays;
  const auto launch = [this, pattern, arrays, count](MemoryShape shape) {
    float* const a = pool_.data();
    const float* const b = arrays > 1 ? a + count : a;
    const float* const c = arrays > 2 ? a + 2 * count : a;
    GPUBENCH_CUDA_CHECK(
        probes::launch_memory(pattern, shape, a, b, c, count, reinterpret_cast<float*>(sink_.data()), stream_));
  };
  MemoryShape best;
  double best_seconds = 0.0;
  for (const MemoryShape shape : probes::memory_shapes(pattern)) {
    launch(shape);
    const double seconds = timer_.seconds([&] {
      launch(shape);
      launch(shape);
    }) / 2.0;
    if (best_seconds == 0.0 || seconds < best_seconds) {
      best_seconds = seconds;
      best = shape;
    }
  }
  const int launches = static_cast<int>(std::clamp(std::ceil(memory_sample_seconds / best_seconds), 1.0, 1000.0));
  Probe probe;
  probe.resource = resource;
  probe.unit = "B/s";
  probe.work = launches * probes::memory_bytes(pattern, count);
  probe.enqueue = [launch, best, launches] {
    for (int i = 0; i < launches; ++i) launch(best);
  };
  probe.limit = device_.memory_bandwidth_limit;
  probe.method = fmt::format(
      "{} in {} array{}, random data, 16-byte accesses, {} a thread for each array, {} threads a block, grid covers "
      "the arrays once{} "
      "(the best of {} shapes); samples of {} launch{}; clock read in a kernel right after",
      size, arrays, arrays == 1 ? "" : "s", best.accesses, best.threads,
      best.folds > 1 ? fmt::format(" in {} places at a time", best.folds) : "", probes::memory_shapes(pattern).size(),
      launches, launches == 1 ? "" : "es");
  probes_.push_back(std::move(probe));
}

void CudaCalibration::sample(Probe& probe) {
  if (!probe.failure.empty()) return;
  try {
    std::this_thread::sleep_for(std::chrono::duration<double>(probe.rest_seconds));
    const double seconds = timer_.seconds(probe.enqueue);
    probe.rates.push_back(probe.work / seconds);
    probe.clocks.push_back(probe.reads_clock ? read_clock() : clock_now());
  } catch (const CudaError& error) {
    probe.failure = error.what();
  }
}

/// What the products keep up without rest, told in the method: the clock that the power limit allows.
void CudaCalibration::sustain(Probe& probe) {
  if (!probe.failure.empty()) return;
  try {
    const auto start = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    std::vector<double> rates;
    while (passed() < plan_.sustained_seconds) {
      const double seconds = timer_.seconds(probe.enqueue);
      if (passed() > 0.5 * plan_.sustained_seconds) rates.push_back(probe.work / seconds);
    }
    if (rates.empty()) return;
    probe.method += fmt::format("; without rest, in the second half of {:.1f} s: {:.1f} TFLOP/s at {:.0f} MHz",
                                plan_.sustained_seconds, 1e-12 * statistics::median(rates), 1e-6 * clock_now());
  } catch (const CudaError& error) {
    probe.failure = error.what();
  }
}

double CudaCalibration::working_set_rate(std::size_t bytes, double expected_rate) {
  double read = 0.0;
  const auto launch = [&](double least) {
    GPUBENCH_CUDA_CHECK(
        probes::launch_working_set(pool_.data(), bytes, least, reinterpret_cast<float*>(sink_.data()), stream_, read));
  };
  launch(static_cast<double>(bytes));  // fills the cache
  const double seconds =
      timer_.seconds([&] { launch(std::max(4.0 * static_cast<double>(bytes), rung_seconds * expected_rate)); });
  return read / seconds;
}

void CudaCalibration::measure_l2() {
  constexpr std::size_t smallest = 256 * 1024;
  constexpr std::size_t granularity = 4096;
  const auto cache = static_cast<std::size_t>(std::max<std::int64_t>(device_.last_level_cache_bytes, 0));
  const std::size_t wanted = cache > 0 ? 8 * cache : std::size_t{1} << 30;
  const std::size_t largest = std::min(wanted, pool_.bytes()) / granularity * granularity;
  const auto sizes = rungs(smallest, largest, plan_.rungs_per_octave, granularity);

  Ladder ladder;
  for (const std::size_t size : sizes) ladder.working_set_bytes.push_back(static_cast<double>(size));
  std::vector<double> clocks;
  double rate = 1e12;
  for (int sweep = 0; sweep < plan_.ladder_sweeps; ++sweep) {
    step("L2 cache", 0.9 + 0.1 * sweep / plan_.ladder_sweeps);
    auto& rates = ladder.sweeps.emplace_back();
    for (const std::size_t size : sizes) rates.push_back(rate = working_set_rate(size, rate));
    clocks.push_back(clock_now());
  }

  const LevelFit fit = find_levels(ladder);
  calibration_.ladder = fit.ladder;
  if (fit.levels.empty()) {
    absent("l2", "the ladder of working sets shows no plateau above memory");
    return;
  }
  // The level next to memory; the loads pass L1 by, so that a faster one is no cache of its own.
  Level level = fit.levels.back();
  level.level.resource = "l2";
  Probe probe;
  probe.resource = "l2";
  probe.unit = "B/s";
  probe.rates = level.rates;
  probe.clocks = clocks;
  probe.method = fmt::format(
      "16-byte loads past L1, every multiprocessor through the whole working set again and again, at least {:.1f} ms "
      "each; the plateau "
      "before memory in a ladder of {} working sets from {:.2g} to {:.0f} MiB; a repeat is one sweep's median over the "
      "plateau; clock read "
      "in a kernel after each sweep",
      1e3 * rung_seconds, sizes.size(), static_cast<double>(smallest) / mebibyte,
      static_cast<double>(largest) / mebibyte);
  calibration_.levels.push_back(level.level);
  add_ceiling(probe);
}

void CudaCalibration::add_ceiling(const Probe& probe) {
  Ceiling ceiling;
  ceiling.resource = probe.resource;
  ceiling.unit = probe.unit;
  ceiling.value = statistics::median(probe.rates);
  std::vector<double> sorted = probe.rates;
  std::sort(sorted.begin(), sorted.end());
  ceiling.ci95 = statistics::median_ci95(sorted);
  ceiling.repeats = static_cast<int>(probe.rates.size());
  ceiling.method = probe.method;
  if (!probe.clocks.empty())
    if (const double clock = statistics::median(probe.clocks); clock > 0.0) ceiling.clock_hz = clock;
  ceiling.theoretical_limit = probe.limit;
  if (probe.limit_for_a_clock && ceiling.clock_hz)
    ceiling.theoretical_limit = *probe.limit_for_a_clock * *ceiling.clock_hz;
  calibration_.ceilings.push_back(std::move(ceiling));
}

/// One ceiling for each resource: of two sizes of a matrix product, the faster.
void CudaCalibration::conclude() {
  std::vector<std::pair<std::string, const Probe*>> best;
  for (auto& probe : probes_) {
    if (probe.failure.empty() && !probe.rates.empty()) {
      probe.method += fmt::format("; median of {} samples{}, taken in turn with the other probes", probe.rates.size(),
                                  idle_text(probe));
    } else {
      absent(probe.resource, probe.failure);
      continue;
    }
    const auto same = [&](const auto& entry) { return entry.first == probe.resource; };
    const auto found = std::find_if(best.begin(), best.end(), same);
    if (found == best.end())
      best.emplace_back(probe.resource, &probe);
    else if (statistics::median(probe.rates) > statistics::median(found->second->rates))
      found->second = &probe;
  }
  std::vector<Ceiling> later = std::exchange(calibration_.ceilings, {});  // L2 was added first
  for (const auto& [resource, probe] : best) add_ceiling(*probe);
  calibration_.ceilings.insert(calibration_.ceilings.end(), later.begin(), later.end());
  std::erase_if(calibration_.absent,
                [&](const AbsentCeiling& one) { return calibration_.find(one.resource) != nullptr; });
}

}  // namespace

Calibration calibrate_cuda(const Device& device, const Options& options) {
  return CudaCalibration(device, options).run();
}

}  // namespace gpubench::calibrate
