// SPDX-License-Identifier: Apache-2.0
// The ceilings of an NVIDIA GPU.
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
#include "bench/launch_overhead.h"
#include "calibrate/calibrate.h"
#include "calibrate/cuda_l2.h"
#include "calibrate/cuda_probe.h"
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

/// How much is measured in each mode.
struct Plan {
  int rounds;  ///< times that all probes are gone through; an independent repeat of each
  int ladder_sweeps;
  int rungs_per_octave;
  double warm_up_seconds;
  double sustained_seconds;  ///< of uninterrupted matrix products, for the method's text
};
constexpr Plan quick_plan = {7, 5, 4, 0.3, 0.4};
constexpr Plan full_plan = {25, 15, 4, 2.0, 4.0};

class CudaCalibration {
 public:
  CudaCalibration(const Device& device, const Options& options)
      : device_(device),
        options_(options),
        plan_(options.mode == Mode::quick ? quick_plan : full_plan),
        gpu_(bench::open_gpu(device)),
        stream_(gpu_->stream()),
        timer_(stream_),
        multiprocessors_(device.units),
        clock_(stream_, device.units),
        sink_(1) {
    int index = 0;
    GPUBENCH_CUDA_CHECK(cudaGetDevice(&index));
    GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&major_, cudaDevAttrComputeCapabilityMajor, index));
    GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&minor_, cudaDevAttrComputeCapabilityMinor, index));
  }

  Calibration run() {
    step("warm-up", 0.0);
    attempt({"fp32"}, [&] { warm_up(); });
    step("launch", 0.03);
    attempt({"launch"}, [&] { calibration_.ceilings.push_back(bench::measure_launch_overhead(device_)); });
    attempt({"fp32"}, [&] { prepare_fma("fp32", FmaType::fp32); });
    attempt({"fp64"}, [&] { prepare_fma("fp64", FmaType::fp64); });
    step("matrix products", 0.05);
    prepare_gemms();
    step("memory", 0.2);
    attempt({"dram-read", "dram-write", "dram-copy", "dram-triad", "l2"}, [&] { prepare_memory(); });
    for (int round = 0; round < plan_.rounds; ++round) {
      step("ceilings", 0.3 + 0.5 * round / plan_.rounds);
      for (auto& probe : probes_) sample(probe, timer_, clock_);
    }
    step("sustained matrix products", 0.8);
    const auto best = best_probes();
    for (Probe* probe : best)
      if (probe->resource.starts_with("tensor")) sustain(*probe, plan_.sustained_seconds, timer_, clock_);
    conclude(best);
    step("L2 cache", 0.9);
    if (pool_.size() > 0) attempt({"l2"}, [&] { measure_l2(); });
    const auto measured = [&](const AbsentCeiling& one) { return calibration_.find(one.resource) != nullptr; };
    std::erase_if(calibration_.absent, measured);
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
  void measure_l2();
  std::vector<Probe*> best_probes();
  void conclude(const std::vector<Probe*>& best);

  const Device& device_;
  const Options& options_;
  Plan plan_;
  std::unique_ptr<bench::Gpu> gpu_;
  cudaStream_t stream_;
  Timer timer_;
  int multiprocessors_;
  SmClock clock_;
  DeviceVector<double> sink_;
  int major_ = 0;
  int minor_ = 0;

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
      GPUBENCH_CUDA_CHECK(probes::launch_fma(FmaType::fp32, 1000, sink_.data(), clock_.readings(), stream_, flops));
    });
}

void CudaCalibration::prepare_fma(const std::string& resource, FmaType type) {
  double flops = 0.0;
  const auto launch = [this, type](std::int64_t loops, double& count) {
    GPUBENCH_CUDA_CHECK(probes::launch_fma(type, loops, sink_.data(), clock_.readings(), stream_, count));
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
  probe.clock_readings = probes::fma_blocks(type, multiprocessors_);
  if (const int rate = probes::fma_per_clock(type, major_, minor_); rate > 0)
    probe.limit_for_a_clock = 2.0 * rate * multiprocessors_;
  probe.method = fmt::format("fused multiply-adds in registers, {}; samples of {:.1f} GFLOP", probes::fma_shape(type),
                             flops * 1e-9);
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
      "input type; samples of {} product{}",
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
      "(the best of {} shapes); samples of {} launch{}",
      size, arrays, arrays == 1 ? "" : "s", best.accesses, best.threads,
      best.folds > 1 ? fmt::format(" in {} places at a time", best.folds) : "", probes::memory_shapes(pattern).size(),
      launches, launches == 1 ? "" : "es");
  probes_.push_back(std::move(probe));
}

void CudaCalibration::measure_l2() {
  const Ceiling* launch = calibration_.find("launch");
  if (launch == nullptr) {
    absent("l2", "the launch, which is to be taken off, could not be measured");
    return;
  }
  const L2Plan plan = {plan_.ladder_sweeps, plan_.rungs_per_octave, launch->value,
                       [this](double done) { step("L2 cache", 0.9 + 0.1 * done); }};
  L2Result result =
      calibrate::measure_l2(device_, plan, pool_, reinterpret_cast<float*>(sink_.data()), stream_, timer_, clock_);
  calibration_.ladder = std::move(result.ladder);
  if (!result.reason.empty()) absent("l2", result.reason);
  if (result.level) calibration_.levels.push_back(std::move(*result.level));
  if (result.ceiling) calibration_.ceilings.push_back(std::move(*result.ceiling));
}

/// One probe for each resource: of two sizes of a matrix product, the faster.
std::vector<Probe*> CudaCalibration::best_probes() {
  std::vector<Probe*> best;
  for (auto& probe : probes_) {
    if (!probe.failure.empty() || probe.rates.empty()) continue;
    const auto found =
        std::find_if(best.begin(), best.end(), [&](const Probe* one) { return one->resource == probe.resource; });
    if (found == best.end())
      best.push_back(&probe);
    else if (statistics::median(probe.rates) > statistics::median((*found)->rates))
      *found = &probe;
  }
  return best;
}

void CudaCalibration::conclude(const std::vector<Probe*>& best) {
  for (Probe* probe : best) {
    probe->method += fmt::format("; median of {} samples, taken in turn with the other probes", probe->rates.size());
    if (probe->rest_seconds > 0.0)
      probe->method += fmt::format(", {:.0f} ms idle before each", 1e3 * probe->rest_seconds);
    probe->method += "; " + clock_text(*probe);
    calibration_.ceilings.push_back(ceiling_of(*probe));
  }
  for (const auto& probe : probes_)
    if (!probe.failure.empty() && calibration_.find(probe.resource) == nullptr) absent(probe.resource, probe.failure);
}

}  // namespace

Calibration calibrate_cuda(const Device& device, const Options& options) {
  return CudaCalibration(device, options).run();
}

}  // namespace gpubench::calibrate
