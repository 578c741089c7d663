// SPDX-License-Identifier: Apache-2.0
// Arithmetic: vector pipes, matrix instructions, and whole matrix products by cuBLASLt.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/cuda/cuda_calibration.h"
#include "core/model/resources.h"
#include "gpu/memory/memory.h"
#include "kernels/cublaslt.h"
#include "kernels/probes/cuda/compute.h"
#include "kernels/probes/cuda/memory.h"

namespace gpubench::calibrate {
namespace {

using probes::BlockShape;
using probes::VectorOperation;

constexpr double burst_seconds = 4e-3;  ///< of a sample, from rest: before power and clocks have settled
constexpr double vector_rest_seconds = 5e-3;
constexpr double matrix_rest_seconds = 15e-3;

bool multiplies(VectorOperation operation) { return operation <= VectorOperation::int32; }

/// Metrics whose sum times a factor is a vector operation's work.
void set_counted(Probe& probe, VectorOperation operation) {
  if (operation < VectorOperation::int32) {
    probe.counted = {{std::string(find_resource(name_of(operation))->counter)}};
  } else if (operation == VectorOperation::int32) {
    probe.counted = {{"smsp__sass_thread_inst_executed_op_integer_pred_on.sum"}};
    probe.counted_factor = 2.0;
  } else {
    const char* const pipe = operation == VectorOperation::alu ? "alu" : "xu";
    for (const char* const unit : {"smsp", "sm"})
      probe.counted.push_back({fmt::format("{}__inst_executed_pipe_{}.sum", unit, pipe)});
    probe.counted_factor = 32.0;
  }
}

/// `shape`: the only one to try, where there is such a one; empty for all.
void add_vector(CudaCalibration& bench, VectorOperation operation, const std::string& resource,
                const std::string& shape = "") {
  if (operation == VectorOperation::bf16 && bench.major < 8)
    throw GpuError("BF16 arithmetic needs compute capability 8.0");
  auto shapes = probes::vector_shapes(operation);
  const auto text = [operation](BlockShape one) { return probes::vector_shape_text(operation, one); };
  if (const auto same = std::ranges::find(shapes, shape, text); same != shapes.end()) shapes = {same, 1};
  const bool counts_flops = multiplies(operation) && operation != VectorOperation::int32;
  Probe probe;
  probe.ceiling = new_ceiling(resource, counts_flops ? "FLOP/s" : "op/s", CeilingGroup::compute,
                              counts_flops            ? "fused multiply-adds in registers, two operations each"
                              : multiplies(operation) ? "multiply-adds in registers, two operations each"
                              : operation == VectorOperation::alu
                                  ? "exclusive or and maximum of 32-bit integers in registers, in turn"
                                  : "single-precision operations in registers");
  probe.ceiling.load = Load::burst;
  if (operation == VectorOperation::fp16 || operation == VectorOperation::bf16)
    probe.ceiling.method += ", two pairs in an instruction";
  probe.rest_seconds = vector_rest_seconds;
  if (const int limit = probes::vector_limit(operation, bench.major, bench.minor); limit > 0)
    probe.limit_for_clock = limit;
  set_counted(probe, operation);
  if (multiplies(operation)) probe.sustained_seconds = 0.4;
  const auto kernel = [operation](BlockShape one, const probes::LoopLaunch& launch) {
    return probes::launch_vector(operation, one, launch);
  };
  bench.add_fastest(std::move(probe), shapes, kernel, text, burst_seconds);
}

using MatrixLaunch = probes::Launched (*)(NumberFormat, BlockShape, const void*, const void*, void*,
                                          const probes::LoopLaunch&);

/// One way to the tensor cores.
struct Path {
  const char* name;
  MatrixLaunch launch;
  std::span<const BlockShape> (*shapes)();
  std::string (*shape_text)(BlockShape);
  std::vector<NumberFormat> types;
  double sustained_seconds;
};

void add_matrix(CudaCalibration& bench, const Path& path, NumberFormat type, const std::string& resource) {
  const bool is_mma = path.launch == probes::launch_mma;
  const std::size_t bytes_a =
      is_mma ? probes::mma_a_bytes(type) : std::size_t{probes::wgmma_rows} * probes::wgmma_row_bytes;
  const std::size_t bytes_b =
      is_mma ? probes::mma_b_bytes(type) : std::size_t{probes::wgmma_columns} * probes::wgmma_row_bytes;
  std::byte* const random_a = bench.keep(bytes_a);
  std::byte* const random_b = bench.keep(bytes_b);
  detail::draw_normal_device(random_a, type, bytes_a / bytes_of(type), 11);
  detail::draw_normal_device(random_b, type, bytes_b / bytes_of(type), 12);
  const auto kernel = [launch = path.launch, type, random_a, random_b](BlockShape shape,
                                                                       const probes::LoopLaunch& how) {
    return launch(type, shape, random_a, random_b, nullptr, how);
  };
  const auto shapes = path.shapes();
  if (shapes.empty()) throw GpuError("built without code for Hopper (compute capability 9.0)");
  Probe probe;
  probe.ceiling = new_ceiling(resource, is_integer(type) ? "op/s" : "FLOP/s", CeilingGroup::compute,
                              "matrix instructions on operands that stay where they are");
  probe.ceiling.load = Load::burst;
  probe.ceiling.conditions = "normal random data";
  probe.rest_seconds = matrix_rest_seconds;
  probe.sustained_seconds = path.sustained_seconds;
  if (const int limit = probes::tensor_limit(type, bench.major, bench.minor); limit > 0) probe.limit_for_clock = limit;
  // Hopper's mma.sync makes FP16 products of FP8 factors.
  const bool as_half = type == NumberFormat::fp8 && is_mma && bench.major == 9;
  probe.counted = {{fmt::format("flops_tensor_{}", as_half ? "fp16" : name_of(type))}};
  bench.add_fastest(std::move(probe), shapes, kernel, path.shape_text, burst_seconds);
}

// ---- Whole products: what a library reaches on the tensor cores

using kernels::GemmPlan;

constexpr double product_seconds = 3e-3;  ///< of a sample, at least
// Matrix products reach the power limit within some 10 ms, and the clock falls. A ceiling is what a product reaches
// that does not follow others.
constexpr double product_rest_seconds = 0.03;
constexpr std::int64_t sizes[] = {8192, 4096};

constexpr NumberFormat formats[] = {NumberFormat::bf16, NumberFormat::fp16, NumberFormat::fp8,
                                    NumberFormat::int8, NumberFormat::tf32, NumberFormat::fp64};
/// Whether a quick calibration measures it.
bool is_quick(NumberFormat format) { return format == NumberFormat::bf16 || format == NumberFormat::fp16; }

/// Matrices of one type, and a plan for each size, all in the front of the same memory.
struct Products {
  DeviceVector<std::byte> a, b, c;
  std::vector<std::unique_ptr<GemmPlan>> plans;
};

double flops_of(std::int64_t n) {
  const auto size = static_cast<double>(n);
  return 2.0 * size * size * size;
}

/// Rests, then times one product: the first after another would find a lower clock.
double trial_rate(CudaCalibration& bench, const GemmPlan& plan, std::int64_t n) {
  plan.run(bench.stream);
  bench.gpu->wait();
  Probe probe;
  probe.rest_seconds = product_rest_seconds;
  const int products = static_cast<int>(std::clamp(8.0 * 4096.0 / static_cast<double>(n), 1.0, 8.0));
  probe.ceiling.work_per_run = products * flops_of(n);
  probe.measure = [&] {
    const double seconds = bench.timer.seconds([&] {
      for (int i = 0; i < products; ++i) plan.run(bench.stream);
    });
    return Reading{*probe.ceiling.work_per_run / seconds};
  };
  bench.sample(probe);
  if (!probe.failure.empty()) throw GpuError(probe.failure);
  return probe.values.front();
}

void add_product(CudaCalibration& bench, const kernels::CublasLt& library, NumberFormat format) {
  if (!library.reason().empty()) throw GpuError(library.reason());
  const auto products = std::make_shared<Products>();
  const std::size_t count = static_cast<std::size_t>(sizes[0]) * static_cast<std::size_t>(sizes[0]);
  const std::size_t bytes = count * bytes_of(format);
  products->a = DeviceVector<std::byte>(bytes);
  products->b = DeviceVector<std::byte>(bytes);
  products->c = DeviceVector<std::byte>(count * kernels::result_bytes(format));
  detail::draw_normal_device(products->a.data(), format, count, 1);
  detail::draw_normal_device(products->b.data(), format, count, 2);
  std::vector<double> rates;
  for (const std::int64_t n : sizes) {
    products->plans.push_back(std::make_unique<GemmPlan>(library, format, n, products->a.data(), products->b.data(),
                                                         products->c.data(), bench.stream));
    rates.push_back(trial_rate(bench, *products->plans.back(), n));
  }
  const auto best = static_cast<std::size_t>(std::ranges::max_element(rates) - rates.begin());
  const std::int64_t n = sizes[best];
  const int repeats = static_cast<int>(std::clamp(std::ceil(product_seconds * rates[best] / flops_of(n)), 1.0, 1000.0));
  Probe probe;
  probe.ceiling = new_ceiling(
      fmt::format("tensor-{}", name_of(format)), is_integer(format) ? "op/s" : "FLOP/s", CeilingGroup::compute,
      fmt::format("cuBLASLt, the better of n = 4096 and 8192, {}; samples of {}",
                  format == NumberFormat::int8   ? "INT32 result"
                  : format == NumberFormat::fp8  ? "E4M3 factors, fast accumulation, BF16 result"
                  : format == NumberFormat::fp64 ? "FP64 result"
                                                 : "FP32 accumulation, result of the input type",
                  plural(repeats, "product")));
  probe.ceiling.shape = fmt::format("n = {}, {}", n, products->plans[best]->description());
  probe.ceiling.conditions = "normal random data";
  probe.ceiling.load = Load::burst;
  probe.ceiling.work_per_run = repeats * flops_of(n);
  probe.rest_seconds = product_rest_seconds;
  probe.enqueue = [products, stream = bench.stream, plan = products->plans[best].get(), repeats] {
    for (int i = 0; i < repeats; ++i) plan->run(stream);
  };
  if (const int limit = probes::tensor_limit(format, bench.major, bench.minor); limit > 0)
    probe.limit_for_clock = limit;
  probe.counted = {{fmt::format("flops_tensor_{}", name_of(format))}};
  probe.sustained_seconds = 0.8;
  bench.probes.push_back(std::move(probe));
}

constexpr int intensity_repeats = 5;
constexpr double intensity_seconds = 3e-3;
constexpr double max_bytes = 4.0 * gibibyte;

}  // namespace

void add_vector_probes(CudaCalibration& bench) {
  for (std::size_t i = 0; i < probes::vector_operation_names.size(); ++i) {
    const auto operation = static_cast<VectorOperation>(i);
    // One pipe does all special functions at one rate; 2^x stands for them.
    const bool is_special = operation == VectorOperation::exp2;
    const bool quick = operation == VectorOperation::fp32 || operation == VectorOperation::fp64 || is_special;
    const std::string resource(is_special ? name_of(special) : name_of(operation));
    if (quick || bench.full) bench.attempt({resource}, [&] { add_vector(bench, operation, resource); });
  }
}

void add_vector_probe_like(CudaCalibration& bench, const Ceiling& stored) {
  for (std::size_t i = 0; i < probes::vector_operation_names.size(); ++i)
    if (probes::vector_operation_names[i] == stored.resource)
      add_vector(bench, static_cast<VectorOperation>(i), stored.resource, stored.shape);
}

void add_matrix_probes(CudaCalibration& bench) {
  using enum NumberFormat;
  const std::vector<NumberFormat> mma_types = {fp64, tf32, fp16, bf16, fp8, int8};
  const std::vector<NumberFormat> wgmma_types = {tf32, fp16, bf16, fp8, int8};
  const std::array paths = {
      Path{"mma", probes::launch_mma, probes::mma_shapes, probes::mma_shape_text, mma_types, 0.3},
      Path{"wgmma", probes::launch_wgmma, probes::wgmma_shapes, probes::wgmma_shape_text, wgmma_types, 0.4}};
  constexpr int hopper = 9;
  for (const Path& path : paths)
    for (const NumberFormat type : path.types) {
      const std::string resource = fmt::format("{}-{}", path.name, name_of(type));
      if (path.launch == probes::launch_wgmma && bench.major != hopper) {
        bench.absent(resource, fmt::format("wgmma is Hopper's alone (compute capability 9.0), and this GPU has {}.{}{}",
                                           bench.major, bench.minor,
                                           bench.major == 10 ? "; for its tcgen05 there is no probe yet" : ""));
        continue;
      }
      bench.attempt({resource}, [&] { add_matrix(bench, path, type, resource); });
    }
}

void add_product_probes(CudaCalibration& bench) {
  const kernels::CublasLt library;
  for (const NumberFormat format : formats) {
    if (!is_quick(format) && !bench.full) continue;
    const std::string resource = fmt::format("tensor-{}", name_of(format));
    bench.attempt({resource}, [&] { add_product(bench, library, format); });
  }
}

void measure_intensities(CudaCalibration& bench) {
  const std::size_t count =
      static_cast<std::size_t>(std::min(max_bytes / 4.0, static_cast<double>(bench.pool.size()))) /
      probes::memory_granule * probes::memory_granule;
  const auto add_point = [&](int multiply_adds) {
    const auto launch = [&] {
      probes::launch_intensity(multiply_adds, bench.pool.data(), count, bench.float_sink(), bench.stream);
    };
    launch();
    const double once = bench.timer.seconds(launch);
    const int launches = static_cast<int>(std::clamp(std::ceil(intensity_seconds / once), 1.0, 100.0));
    Probe probe;
    probe.ceiling = new_ceiling("intensities", "B/s", CeilingGroup::memory, "");
    probe.ceiling.work_per_run = launches * 4.0 * static_cast<double>(count);
    probe.enqueue = [&] {
      for (int i = 0; i < launches; ++i) launch();
    };
    for (int i = 0; i < intensity_repeats; ++i) bench.sample(probe);
    if (!probe.failure.empty()) throw GpuError(probe.failure);
    const Ceiling ceiling = bench.ceiling_of(probe);
    const double intensity = flops_per_byte(multiply_adds);
    bench.calibration.intensity_sweep.push_back(
        {intensity, ceiling.value * intensity, ceiling.value, ceiling.clock_hz});
  };
  bench.attempt({"intensities"}, [&] {
    if (count == 0) throw OutOfMemory("there was no memory for DRAM's probes either");
    const auto steps = probes::intensity_steps();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      bench.step("intensities", static_cast<double>(i) / static_cast<double>(steps.size()));
      add_point(steps[i]);
    }
  });
}

}  // namespace gpubench::calibrate
