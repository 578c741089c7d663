// SPDX-License-Identifier: Apache-2.0
// Whole matrix products by cuBLASLt: what a library reaches on the tensor cores.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "bench/cuda/cuda_error.h"
#include "calibrate/cuda/workbench.h"
#include "kernels/cublaslt.h"
#include "kernels/probes/cuda_limits.h"
#include "kernels/probes/cuda_tensor.h"

namespace gpubench::calibrate {
namespace {

using kernels::GemmPlan;

constexpr double sample_seconds = 3e-3;
// Matrix products reach the power limit within some 10 ms, after which the clock falls (H200: 1980 to 1400 MHz): a
// ceiling is what a product reaches that does not follow seconds of others.
constexpr double rest_seconds = 0.03;
constexpr std::int64_t sizes[] = {8192, 4096};

constexpr NumberFormat formats[] = {NumberFormat::bf16, NumberFormat::fp16, NumberFormat::fp8,
                                    NumberFormat::int8, NumberFormat::tf32, NumberFormat::fp64};
/// Whether a quick calibration measures it.
bool is_quick(NumberFormat format) { return format == NumberFormat::bf16 || format == NumberFormat::fp16; }

/// Matrices of one type, and a plan for each size; the products of all sizes use the front of the same memory.
struct Products {
  DeviceVector<std::byte> a, b, zeros, c;
  std::vector<std::unique_ptr<GemmPlan>> plans;
};

double flops_of(std::int64_t n) {
  const auto size = static_cast<double>(n);
  return 2.0 * size * size * size;
}

/// Rests, then times one product: the first after another would find a lower clock.
double trial_rate(Workbench& bench, const GemmPlan& plan, std::int64_t n) {
  plan.run(bench.stream);
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(bench.stream));
  Probe probe;
  probe.rest_seconds = rest_seconds;
  const int products = static_cast<int>(std::clamp(8.0 * 4096.0 / static_cast<double>(n), 1.0, 8.0));
  probe.ceiling.work_per_run = products * flops_of(n);
  probe.clock_readings = 0;
  probe.measure = [&] {
    const double seconds = bench.timer.seconds([&] {
      for (int i = 0; i < products; ++i) plan.run(bench.stream);
    });
    return Reading{*probe.ceiling.work_per_run / seconds, std::nullopt, std::nullopt};
  };
  sample(probe, bench.instruments());
  if (!probe.failure.empty()) throw CudaError(probe.failure);
  return probe.values.front();
}

void add_product(Workbench& bench, const kernels::CublasLt& library, NumberFormat format) {
  const std::string resource = fmt::format("tensor-{}", name_of(format));
  const auto products = std::make_shared<Products>();
  const std::size_t count = static_cast<std::size_t>(sizes[0]) * static_cast<std::size_t>(sizes[0]);
  const std::size_t bytes = count * bytes_of(format);
  products->a = DeviceVector<std::byte>(bytes);
  products->b = DeviceVector<std::byte>(bytes);
  products->c = DeviceVector<std::byte>(count * kernels::result_bytes(format));
  GPUBENCH_CUDA_CHECK(probes::launch_fill(format, products->a.data(), count, 1, bench.stream));
  GPUBENCH_CUDA_CHECK(probes::launch_fill(format, products->b.data(), count, 2, bench.stream));
  std::size_t best = 0;
  double best_rate = 0.0;
  for (const std::int64_t n : sizes) {
    products->plans.push_back(std::make_unique<GemmPlan>(library, format, n, products->a.data(), products->b.data(),
                                                         products->c.data(), bench.stream));
    const double rate = trial_rate(bench, *products->plans.back(), n);
    if (rate <= best_rate) continue;
    best_rate = rate;
    best = products->plans.size() - 1;
  }
  const std::int64_t n = sizes[best];
  const int repeats = static_cast<int>(std::clamp(std::ceil(sample_seconds * best_rate / flops_of(n)), 1.0, 1000.0));
  Probe probe;
  probe.ceiling.resource = resource;
  const bool integers = is_integer(format);
  probe.ceiling.unit = integers ? "op/s" : "FLOP/s";
  probe.ceiling.group = CeilingGroup::compute;
  probe.ceiling.shape = fmt::format("n = {}, {}", n, products->plans[best]->description());
  probe.ceiling.conditions = "normal random data";
  probe.ceiling.load = Load::burst;
  probe.ceiling.work_per_run = repeats * flops_of(n);
  probe.ceiling.work_unit = integers ? "op" : "FLOP";
  probe.ceiling.method = fmt::format("cuBLASLt, the better of n = 4096 and 8192, {}; samples of {} product{}",
                                     format == NumberFormat::int8   ? "INT32 result"
                                     : format == NumberFormat::fp8  ? "E4M3 factors, fast accumulation, BF16 result"
                                     : format == NumberFormat::fp64 ? "FP64 result"
                                                                    : "FP32 accumulation, result of the input type",
                                     repeats, repeats == 1 ? "" : "s");
  probe.rest_seconds = rest_seconds;
  probe.enqueue = [products, stream = bench.stream, plan = products->plans[best].get(), repeats] {
    for (int i = 0; i < repeats; ++i) plan->run(stream);
  };
  if (const int limit = probes::tensor_limit(format, bench.major, bench.minor); limit > 0)
    probe.limit_for_clock = limit;
  probe.counted = {{fmt::format("flops_tensor_{}", name_of(format))}};
  probe.sustained_seconds = 0.8;
  if (bench.full) {
    // The same algorithm, not the one that is fastest on zeros.
    Probe zeros = probe;
    zeros.ceiling.resource += "-zeros";
    zeros.ceiling.conditions = "zeros";
    zeros.sustained_seconds = 0.0;
    products->zeros = DeviceVector<std::byte>(static_cast<std::size_t>(n * n) * bytes_of(format));
    GPUBENCH_CUDA_CHECK(cudaMemsetAsync(products->zeros.data(), 0, products->zeros.bytes(), bench.stream));
    zeros.enqueue = [products, stream = bench.stream, plan = products->plans[best].get(), repeats] {
      for (int i = 0; i < repeats; ++i)
        plan->run(products->zeros.data(), products->zeros.data(), products->c.data(), stream);
    };
    bench.probes.push_back(std::move(zeros));
  }
  bench.probes.push_back(std::move(probe));
}

}  // namespace

void add_product_probes(Workbench& bench) {
  const kernels::CublasLt library;
  for (const NumberFormat format : formats) {
    if (!is_quick(format) && !bench.full) continue;
    const std::string resource = fmt::format("tensor-{}", name_of(format));
    if (!library.reason().empty())
      bench.absent(resource, library.reason());
    else
      bench.attempt({resource}, [&] { add_product(bench, library, format); });
  }
}

}  // namespace gpubench::calibrate
