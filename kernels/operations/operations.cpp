// SPDX-License-Identifier: Apache-2.0
// The built-in operations, each declared once for the host and for GPUs: memory, work, check and registration.
//
// Bytes are the least an execution must move: every input read once, every output written once, nothing for
// write-allocation. The single result of sum and dot counts no bytes.
//
// FLOPs are those of one element in plain arithmetic; a fused multiply-add is two, a comparison in a maximum one.
// Functions that are no single instruction count what an evaluation in FP32 to about 1 ulp takes:
//   cos  17 = to quadrants 2 (multiply, round), three-term reduction 6 (3 FMA), square 1, polynomial 8 (4 FMA)
//   exp  17 = to powers of two 2 (multiply, round), two-term reduction 4 (2 FMA), polynomial 10 (5 FMA), scaling 1
// A GPU evaluates exp partly on its special-function units: there the count overstates what the FP32 pipe does. Blends
// of two polynomials and other extra work of an implementation do not count.
#include "kernels/operations/operations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "gpubench/benchmark.h"
#include "gpubench/check.h"
#include "gpubench/state.h"

#ifdef GPUBENCH_WITH_CUDA
#include "gpu/memory/memory.h"
#include "kernels/cublaslt.h"
#endif

namespace gpubench::operations {
namespace {

constexpr std::int64_t cos_flops = 17;
constexpr std::int64_t exp_flops = 17;

void declare(State& state, std::int64_t read, std::int64_t written, std::int64_t flops, Pipe pipe = fp32,
             std::int64_t element_bytes = sizeof(float)) {
  state.reads(element_bytes * read);
  if (written > 0) state.writes(element_bytes * written);
  if (flops > 0) state.flops(pipe, flops);
}

/// Elements of a vector, on the host.
template <class T>
void copy_out(T* to, const HostVector<T>& from, std::int64_t first, std::int64_t count) {
  std::copy_n(from.data() + first, count, to);
}

#ifdef GPUBENCH_WITH_CUDA
template <class T>
void copy_out(T* to, const DeviceVector<T>& from, std::int64_t first, std::int64_t count) {
  detail::copy_from_device(to, from.data() + first, static_cast<std::size_t>(count) * sizeof(T));
}
#endif

/// Where an operation runs: work() or, on a GPU, work(stream).
template <DeviceKind where>
struct On {
  static constexpr bool gpu = where == DeviceKind::gpu;
  static constexpr Pipe sums = gpu ? fp32 : fp64;  ///< what sum and dot accumulate on
  static constexpr std::int64_t intensity_elements = gpu ? 1 << 25 : 1 << 24;
  static auto vector(State& state, std::int64_t n) {
    if constexpr (gpu)
      return state.device_vector<float>(n);
    else
      return state.host_vector<float>(n);
  }
  template <class Work>
  static void measure(State& state, const Work& work) {
    if constexpr (gpu)
      state.measure([&](Stream stream) { work(stream); });
    else
      state.measure([&] { work(); });
  }
  /// A variant with this share of the arithmetic.
  template <class Work>
  static void ablation(State& state, double remaining, const Work& work) {
    if constexpr (gpu)
      state.ablation(less_arithmetic, remaining, [work](Stream stream) { work(stream); });
    else
      state.ablation(less_arithmetic, remaining, [work] { work(); });
  }
};

template <class Vector>
auto whole(const Vector& vector) {
  std::vector<std::remove_cvref_t<decltype(*vector.data())>> values(vector.size());
  copy_out(values.data(), vector, 0, static_cast<std::int64_t>(values.size()));
  return values;
}

/// The elements of a vector that a check looks at: all of them up to `most`, beyond that 64 chunks that start with the
/// first element, end with the last and lie evenly between. At 10 GB/s from a GPU that is under 2 ms for each vector.
class Sample {
 public:
  static constexpr std::int64_t chunks = 64;
  /// Chunks begin at multiples of `granule` elements (a row, say), which divides a chunk, and `count` when that is
  /// large.
  explicit Sample(std::int64_t count, std::int64_t granule = 1, std::int64_t most = std::int64_t{1} << 22)
      : count_(count), granule_(granule), chunk_(count <= most ? count : most / chunks), whole_(count <= most) {}

  template <class Vector>
  [[nodiscard]] std::vector<float> of(const Vector& vector) const {
    std::vector<float> values(static_cast<std::size_t>(whole_ ? count_ : chunks * chunk_));
    for (std::int64_t i = 0; i < (whole_ ? 1 : chunks); ++i)
      copy_out(values.data() + i * chunk_, vector, start(i), chunk_);
    return values;
  }

  /// all_close, and a word in the message that its index counts the sample's elements.
  [[nodiscard]] Check close(const std::vector<float>& actual, const std::vector<float>& expected, double relative,
                            double absolute) const {
    Check check = all_close(actual, expected, relative, absolute);
    if (!check.passed && !whole_) check.message += fmt::format(" (counted in a sample of {} x {})", chunks, chunk_);
    return check;
  }

  /// Elements of a result beside what a formula in double makes of each of the sample's.
  template <class Vector, class Exact>
  [[nodiscard]] Check close_to(const Vector& result, double relative, double absolute, const Exact& exact) const {
    std::vector<float> expected = of(result);
    const std::vector<float> actual = expected;
#pragma omp parallel for
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<float>(exact(i));
    return close(actual, expected, relative, absolute);
  }

 private:
  [[nodiscard]] std::int64_t start(std::int64_t index) const {
    return (count_ - chunk_) / granule_ * index / (chunks - 1) * granule_;
  }

  std::int64_t count_;
  std::int64_t granule_;
  std::int64_t chunk_;
  bool whole_;
};

struct Copy {
  std::int64_t n = 0;
  void operator()(const float* x, float* y, auto... stream) const { operations::copy(x, y, n, stream...); }
};

/// An operation that makes a vector of n elements of another: `exact` each of them, and work(x, y, stream...) all. With
/// `remaining` below 1, `less` is a variant that does that share of the arithmetic.
template <class Side, class Exact, class Work, class Less = Copy>
void map(State& state, std::int64_t n, double relative, double absolute, const Exact& exact, const Work& work,
         double remaining = 1.0, const Less& less = {}, std::int64_t checked = std::int64_t{1} << 22) {
  const auto x = Side::vector(state, n);
  auto y = Side::vector(state, n);
  state.verify([&] {
    const Sample sample(n, 1, checked);
    return sample.close_to(y, relative, absolute,
                           [&, from = sample.of(x)](std::size_t i) { return exact(static_cast<double>(from[i])); });
  });
  if (remaining < 1.0)
    Side::ablation(state, remaining, [&x, &y, less](auto... stream) { less(x.data(), y.data(), stream...); });
  Side::measure(state, [&](auto... stream) { work(x.data(), y.data(), stream...); });
}

template <class Side>
void copy(State& state) {
  const auto n = state.range(0);
  declare(state, n, n, 0);
  map<Side>(
      state, n, 0.0, 0.0, [](double x) { return x; }, Copy{n});
}

template <class Side>
void cosine(State& state) {
  const auto n = state.range(0);
  declare(state, n, n, cos_flops * n);
  // cosf of a GPU is within 2 ulp (CUDA C++ Programming Guide, appendix Mathematical Functions), and |cos| <=
  // 1: 2.4e-7.
  map<Side>(
      state, n, 0.0, 5e-7, [](double x) { return std::cos(x); },
      [n](const float* x, float* y, auto... stream) { operations::cosine(x, y, n, stream...); }, 0.0, Copy{n});
}

template <class Side>
void gelu(State& state) {
  constexpr bool on_host = !Side::gpu;
  const auto n = state.range(0);
  // As x / (1 + exp(-2u)): square 1, FMA 2, multiply 1 give -2u; then exp, add 1, divide 1.
  declare(state, n, n, (4 + exp_flops + 2) * n);
  const auto exact = [](double x) {
    return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  };
  // A GPU's __expf errs by 2 + 1.16 |argument| ulp and __fdividef by 2; |argument| stays below 23 for normal data
  // (|x| < 6): under 31 ulp = 3.7e-6.
  map<Side>(
      state, n, on_host ? 1e-6 : 1e-5, 1e-6, exact,
      [n](const float* x, float* y, auto... stream) { operations::gelu(x, y, n, stream...); }, on_host ? 0.0 : 1.0,
      Copy{n});
}

/// So many multiply-adds on each of n elements.
struct Chain {
  std::int64_t n = 0;
  std::int64_t length = 0;
  void operator()(const float* x, float* y, auto... stream) const { fma_chain(x, y, n, length, stream...); }
};

template <class Side>
void intensity(State& state) {
  const std::int64_t n = Side::intensity_elements;
  const auto fma_count = state.range(0);
  const std::int64_t half = fma_count / 2;
  declare(state, n, n, 2 * fma_count * n);
  const auto exact = [fma_count](double value) {
    for (std::int64_t k = 0; k < fma_count; ++k)
      value = value * static_cast<double>(0.999F) + static_cast<double>(0.001F);
    return value;
  };
  // Errors of 2^-24 |v| a step, two without FMA, fade by 0.999 a step: their sum stays below 1.2e-4 of the chain's
  // largest value, and they mostly cancel.
  const std::int64_t checked = std::min<std::int64_t>(1 << 22, (1 << 26) / fma_count);
  map<Side>(state, n, 1e-4, 1e-4, exact, Chain{n, fma_count},
            static_cast<double>(half) / static_cast<double>(fma_count), Chain{n, half}, checked);
}

// One multiply-add: rounded once, or twice without FMA. Each rounding is at most 2^-24 of its result, and of the
// product, which may cancel against y: hence an absolute part for values of a few units.
constexpr double axpy_tolerance = 1e-6;

double axpy(float x, float y) { return static_cast<double>(scale) * x + static_cast<double>(y); }

// In place: y grows by 2 x an execution until it is 2^24 times as large and rounding stops it, so it stays finite.
template <class Side>
void saxpy(State& state) {
  const auto n = state.range(0);
  const auto x = Side::vector(state, n);
  auto y = Side::vector(state, n);
  declare(state, 2 * n, n, 2 * n);
  const Sample sample(n);
  state.verify([&, before = sample.of(y)] {  // the one execution that the check sees
    return sample.close_to(y, axpy_tolerance, axpy_tolerance,
                           [&, from = sample.of(x)](std::size_t i) { return axpy(from[i], before[i]); });
  });
  Side::measure(state, [&](auto... stream) { operations::saxpy(x.data(), y.data(), n, stream...); });
}

template <class Side>
void triad(State& state) {
  const auto n = state.range(0);
  const auto b = Side::vector(state, n);
  const auto c = Side::vector(state, n);
  auto a = Side::vector(state, n);
  declare(state, 2 * n, n, 2 * n);
  state.verify([&] {
    const Sample sample(n);
    return sample.close_to(
        a, axpy_tolerance, axpy_tolerance,
        [first = sample.of(c), second = sample.of(b)](std::size_t i) { return axpy(first[i], second[i]); });
  });
  Side::measure(state, [&](auto... stream) { operations::triad(b.data(), c.data(), a.data(), n, stream...); });
}

/// sum(vectors...) or dot(vectors...), with the result held against that in double of all terms, which are products of
/// one element of each vector.
template <class Side, class Work, class... Vectors>
void reduce(State& state, const Work& work, const Vectors&... vectors) {
  const auto n = state.range(0);
  constexpr auto operands = static_cast<std::int64_t>(sizeof...(Vectors));
  declare(state, operands * n, 0, operands * n, Side::sums);
  const auto check = [&](double actual, const auto& allowed) -> Check {
    constexpr std::int64_t piece = std::int64_t{1} << 22;  // so that it needs little host memory
    double expected = 0.0;
    double magnitude = 0.0;
    for (std::int64_t at = 0; at < n; at += piece) {
      const auto count = std::min(piece, n - at);
      std::array<std::vector<float>, sizeof...(Vectors)> values;
      std::size_t next = 0;
      ((values[next].resize(static_cast<std::size_t>(count)), copy_out(values[next++].data(), vectors, at, count)),
       ...);
#pragma omp parallel for reduction(+ : expected, magnitude)
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
        double term = 1.0;
        for (const auto& factor : values) term *= static_cast<double>(factor[i]);
        expected += term;
        magnitude += std::abs(term);
      }
    }
    if (std::abs(actual - expected) <= allowed(expected, magnitude)) return true;
    return {false, fmt::format("the result is {}, in double it is {}", actual, expected)};
  };
  if constexpr (!Side::gpu) {
    double result = 0.0;
    // Far above 2^26 roundings in double.
    state.verify([&] { return check(result, [](double, double magnitude) { return 1e-12 * magnitude; }); });
    state.measure([&] {
      result = work(vectors.data()..., n);
      keep(result);
    });
  } else {
    DeviceVector<float> result(1);
    ReductionScratch scratch;
    // A thread adds up k terms of unit variance in float (four accumulators, then trees): each addition errs by at most
    // 2^-24 of a partial sum that has grown to about sqrt(k), independently of the others, so n of them by about 2^-24
    // sqrt(n k). Eight times that, and 2^-23 of the sum itself for rounding it to float, is allowed: for 2^26 elements
    // on an H200 0.06, where leaving out one element is an error of about 1.
    const auto allowed = [&](double expected, double) {
      const double by_thread = static_cast<double>(n) / (static_cast<double>(scratch.max_blocks()) * 256.0) + 16.0;
      return 0x1p-24 * (8.0 * std::sqrt(static_cast<double>(n) * by_thread) + 2.0 * std::abs(expected));
    };
    state.verify([&] { return check(result.to_host()[0], allowed); });
    state.measure([&](Stream stream) { work(vectors.data()..., result.data(), n, scratch, stream); });
  }
}

template <class Side>
void reduction(State& state) {
  const auto x = Side::vector(state, state.range(0));
  reduce<Side>(
      state, [](auto&&... arguments) { return sum(arguments...); }, x);
}
template <class Side>
void dot(State& state) {
  const auto x = Side::vector(state, state.range(0));
  const auto y = Side::vector(state, state.range(0));
  reduce<Side>(
      state, [](auto&&... arguments) { return operations::dot(arguments...); }, x, y);
}

using Row = std::vector<double>;

/// An operation on rows: `exact()` gives what makes a row of the result of one of the input, in place.
template <class Side, class Exact, class Work>
void by_rows(State& state, double relative, double absolute, const Exact& exact, const Work& work) {
  const auto n = state.range(0);
  const auto x = Side::vector(state, n);
  auto y = Side::vector(state, n);
  state.verify([&] {
    const Sample sample(n, row_length);
    std::vector<float> expected = sample.of(x);
    const auto rows = static_cast<std::int64_t>(expected.size()) / row_length;
    const auto make = exact();
#pragma omp parallel for
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto begin = expected.begin() + i * row_length;
      Row row(begin, begin + row_length);
      make(row);
      std::ranges::transform(row, begin, [](double value) { return static_cast<float>(value); });
    }
    return sample.close(sample.of(y), expected, relative, absolute);
  });
  Side::measure(state, [&](auto... stream) { work(x.data(), y.data(), n / row_length, stream...); });
}

/// Whether there are whole rows of row_length; where not, the point is left out.
bool has_whole_rows(State& state) {
  const bool whole = state.range(0) % row_length == 0;
  if (!whole) state.skip(fmt::format("{} elements are no whole rows of {}", state.range(0), row_length));
  return whole;
}

template <class Side>
void softmax(State& state) {
  if (!has_whole_rows(state)) return;
  const auto n = state.range(0);
  // An element: maximum 1, subtract 1, exp, add 1, scale 1; a row: one division.
  declare(state, n, n, (4 + exp_flops) * n + n / row_length);
  const auto exact = [] {
    return [](Row& row) {
      const double largest = *std::ranges::max_element(row);
      double total = 0.0;
      for (auto& value : row) total += value = std::exp(value - largest);
      for (auto& value : row) value /= total;
    };
  };
  // A GPU's __expf errs by 2 + 1.16 |x - maximum| ulp, below 20 ulp = 2.4e-6 for normal data; a sum of 1024 positive
  // terms and the factor add some ulps. Entries are about 1e-3, hence hardly an absolute part.
  by_rows<Side>(state, 1e-5, 1e-9, exact, [](auto... arguments) { operations::softmax(arguments...); });
}

template <class Side>
void layer_norm(State& state) {
  if (!has_whole_rows(state)) return;
  const auto n = state.range(0);
  const auto gamma = Side::vector(state, row_length);
  const auto beta = Side::vector(state, row_length);
  // An element: add 1 (mean), subtract 1 and FMA 2 (variance), FMA 2 (normalise), FMA 2 (gamma, beta);
  // a row: two divisions for the moments, add epsilon, square root, reciprocal, and multiply for the normalising FMA.
  declare(state, n + 2 * row_length, n, 8 * n + 6 * (n / row_length));
  const auto exact = [&] {
    return [factors = whole(gamma), shifts = whole(beta)](Row& row) {
      const auto columns = static_cast<double>(row.size());
      double mean = 0.0;
      for (const double value : row) mean += value / columns;
      double variance = 0.0;
      for (const double value : row) variance += (value - mean) * (value - mean) / columns;
      const double deviation = std::sqrt(variance + static_cast<double>(layer_norm_epsilon));
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = (row[i] - mean) / deviation * factors[i] + shifts[i];
    };
  };
  // Sums of 1024 terms in trees err by some 2^-24 of a value of order 1; results are up to about 20, and gamma times
  // the normalised value may cancel against beta: hence an absolute part of 20 x 2^-24 x 8.
  const double tolerance = Side::gpu ? 1e-5 : 4e-6;
  by_rows<Side>(state, tolerance, tolerance, exact, [&](const float* x, float* y, auto... rest) {
    operations::layer_norm(x, gamma.data(), beta.data(), y, rest...);
  });
}

template <class Side>
void transpose(State& state) {
  const auto n = state.range(0);
  const auto x = Side::vector(state, n * n);
  auto y = Side::vector(state, n * n);
  declare(state, n * n, n * n, 0);
  state.verify([&]() -> Check {
    const auto from = whole(x);
    const auto to = whole(y);
    std::int64_t wrong = -1;
#pragma omp parallel for reduction(max : wrong)
    for (std::int64_t i = 0; i < n * n; ++i)
      if (to[static_cast<std::size_t>(i)] != from[static_cast<std::size_t>(i % n * n + i / n)]) wrong = i;
    if (wrong < 0) return true;
    return {false, fmt::format("row {}, column {} is not what stands in the other's place", wrong / n, wrong % n)};
  });
  Side::measure(state, [&](auto... stream) { operations::transpose(x.data(), y.data(), n, stream...); });
}

float number(float value) { return value; }
[[maybe_unused]] float number(std::uint16_t bfloat16) { return std::bit_cast<float>(std::uint32_t{bfloat16} << 16U); }

/// M v in double.
template <class T>
std::vector<double> product(const std::vector<T>& matrix, const std::vector<double>& v) {
  std::vector<double> result(v.size());
#pragma omp parallel for
  for (std::size_t row = 0; row < v.size(); ++row)
    for (std::size_t j = 0; j < v.size(); ++j)
      result[row] += static_cast<double>(number(matrix[row * v.size() + j])) * v[j];
  return result;
}

/// Freivalds' check (IFIP Congress 1977): C v = A (B v) for a vector v of random signs, all three products in double.
///
/// Errors of one element of C, whose n terms have unit variance: n additions in FP32 err by 2^-24 of a partial sum of
/// up to sqrt(n), independently: 2^-24 n in all. Eight times that is a tolerance for the worst of many elements. A
/// row's error is sqrt(n) times an element's: the accumulation's, and the rounding of C to its own type, of elements of
/// size sqrt(n), usually 0.4 ulp and four times that in the worst of some thousand rows. A wrong 64 x 64 tile is an
/// error of 8 sqrt(2 n): for BF16 at n = 8192, 1024 against a tolerance of 58.
template <class Vector>
Check check_product(const Vector& a, const Vector& b, const Vector& c, std::int64_t n) {
  std::vector<double> v(static_cast<std::size_t>(n));
  std::uint32_t bits = 0x9E3779B9U;
  for (auto& sign : v) {
    bits ^= bits << 13U;  // xorshift32, Marsaglia, J. Statistical Software 8(14), 2003
    bits ^= bits >> 17U;
    bits ^= bits << 5U;
    sign = (bits & 0x10000U) != 0 ? 1.0 : -1.0;
  }
  const double size = static_cast<double>(n);
  const double rounding = sizeof(*c.data()) == 2 ? 0x1p-8 : 0x1p-23;
  const double tolerance = std::sqrt(size) * 8.0 * 0x1p-24 * size + 1.8 * size * rounding;
  Check check = all_close(product(whole(c), v), product(whole(a), product(whole(b), v)), 0.0, tolerance);
  if (!check.passed) check.message = "C v differs from A (B v): " + check.message;
  return check;
}

void declare_gemm(State& state, std::int64_t n, Pipe pipe, std::int64_t element_bytes) {
  declare(state, 2 * n * n, n * n, 2 * n * n * n, pipe, element_bytes);
}

void gemm_on_host(State& state) {
  const auto n = state.range(0);
  const auto a = state.host_vector<float>(n * n);
  const auto b = state.host_vector<float>(n * n);
  auto c = state.host_vector<float>(n * n);
  declare_gemm(state, n, fp32, sizeof(float));
  state.verify([&] { return check_product(a, b, c, n); });
  state.measure([&] { gemm(a.data(), b.data(), c.data(), n); });
}

#ifdef GPUBENCH_WITH_CUDA
/// By cuBLASLt. T: a float, or the bits of a number of this format.
template <class T>
void gemm_on_gpu(State& state, NumberFormat format, Pipe pipe) {
  const auto n = state.range(0);
  const kernels::CublasLt library;
  if (!library.reason().empty()) return state.skip(library.reason());
  auto a = state.device_vector<T>(n * n, none);
  auto b = state.device_vector<T>(n * n, none);
  auto c = state.device_vector<T>(n * n, none);
  detail::draw_normal_device(a.data(), format, a.size(), 1);
  detail::draw_normal_device(b.data(), format, b.size(), 2);
  declare_gemm(state, n, pipe, sizeof(T));
  const kernels::GemmPlan plan(library, format, n, a.data(), b.data(), c.data(), nullptr);
  // Choosing the algorithm has written C; the checked execution must write it again. All bits set is a NaN.
  detail::fill_bytes_device(c.data(), 0xFF, c.bytes());
  state.verify([&] { return check_product(a, b, c, n); });
  state.measure([&](Stream stream) { plan.run(a.data(), b.data(), c.data(), stream); });
}
#endif

// The sizes that operations are swept over.

void apply_sizes(GoogleBenchmark* benchmark, const char* name, std::initializer_list<std::int64_t> sizes) {
  benchmark->ArgName(name);
  for (const auto size : sizes) benchmark->Arg(size);
}
void vector_sizes(GoogleBenchmark* benchmark) {
  benchmark->ArgName("n")->RangeMultiplier(2)->Range(min_vector, max_vector);
}
void row_sizes(GoogleBenchmark* benchmark) {
  benchmark->ArgName("elements")->RangeMultiplier(2)->Range(4 * row_length, max_vector);
}
void matrix_sizes(GoogleBenchmark* benchmark) {
  apply_sizes(benchmark, "n", {64, 128, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192});
}
void host_gemm_sizes(GoogleBenchmark* benchmark) {
  apply_sizes(benchmark, "n", {32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048});
}
void fma_counts(GoogleBenchmark* benchmark) {
  apply_sizes(benchmark, "fma", {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048});
}

struct Operation {
  const char* name;
  void (*run)(State&);
  void (*sizes)(GoogleBenchmark*);
};

/// Those that either side has.
template <class Side>
constexpr Operation common[] = {{"copy", copy<Side>, vector_sizes},
                                {"saxpy", saxpy<Side>, vector_sizes},
                                {"triad", triad<Side>, vector_sizes},
                                {"cos", cosine<Side>, vector_sizes},
                                {"gelu", gelu<Side>, vector_sizes},
                                {"reduction", reduction<Side>, vector_sizes},
                                {"dot", dot<Side>, vector_sizes},
                                {"softmax", softmax<Side>, row_sizes},
                                {"layer_norm", layer_norm<Side>, row_sizes},
                                {"transpose", transpose<Side>, matrix_sizes},
                                {"intensity", intensity<Side>, fma_counts}};

template <DeviceKind kind>
bool registered(std::initializer_list<Operation> more) {
  const auto add = [](const Operation& each) {
    register_operation(each.name, kind, each.run, {GPUBENCH_CODE.optimized})->Apply(each.sizes);
  };
  std::ranges::for_each(common<On<kind>>, add);
  std::ranges::for_each(more, add);
  return true;
}

[[maybe_unused]] const bool on_host = registered<DeviceKind::cpu>({{"gemm_fp32", gemm_on_host, host_gemm_sizes}});
#ifdef GPUBENCH_WITH_CUDA
[[maybe_unused]] const bool on_gpu = registered<DeviceKind::gpu>(
    {{"gemm_fp32", [](State& state) { gemm_on_gpu<float>(state, NumberFormat::fp32, fp32); }, matrix_sizes},
     {"gemm_bf16", [](State& state) { gemm_on_gpu<std::uint16_t>(state, NumberFormat::bf16, tensor_bf16); },
      matrix_sizes}});
#endif

}  // namespace
}  // namespace gpubench::operations
