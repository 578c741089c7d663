// SPDX-License-Identifier: Apache-2.0
// Compiled once per vector extension, with GPUBENCH_ISA naming it.
#include "kernels/operations/vector_kernels.h"

#include "kernels/operations/operations.h"
#include "kernels/probes/host/eigen_of_isa.h"
#include "kernels/probes/host/simd.h"

namespace gpubench::operations {
namespace {

constexpr auto columns = static_cast<std::size_t>(row_length);

Eigen::Map<const Eigen::ArrayXf> all(const float* x, std::size_t n) { return {x, static_cast<Eigen::Index>(n)}; }
Eigen::Map<Eigen::ArrayXf> all(float* x, std::size_t n) { return {x, static_cast<Eigen::Index>(n)}; }

void axpy(const float* x, const float* y, float* out, std::size_t n) { all(out, n) = scale * all(x, n) + all(y, n); }

/// Largest |x| that the three-term reduction below is exact enough for.
constexpr float max_cosine_argument = 8192.0F;

/// cos(x) to about 1 ulp of 1 for |x| <= max_cosine_argument; Eigen's is not vectorised. Polynomials: Cephes
/// Mathematical Library 2.2 (Moshier, 1992), single precision, sinf.c.
inline Floats cosine_near(Floats x) {
  constexpr float rounding_magic = 12582912.0F;  // 1.5 * 2^23: adding it leaves the rounded integer in the low bits
  const Floats shifted = x * 0.636619772367581343F + rounding_magic;  // 2 / pi
  const Ints quadrant = reinterpret_cast<Ints>(shifted);
  const Floats k = shifted - rounding_magic;
  Floats r = x - k * 1.5703125F;  // pi / 2 in three parts
  r = r - k * 4.837512969970703125e-4F;
  r = r - k * 7.54978995489188216e-8F;
  const Floats z = r * r;
  const Floats sine = r + r * z * ((z * -1.9515295891e-4F + 8.3321608736e-3F) * z + -1.6666654611e-1F);
  const Floats cosine =
      (1.0F - 0.5F * z) + z * z * ((z * 2.443315711809948e-5F + -1.388731625493765e-3F) * z + 4.166664568298827e-2F);
  const Floats value = (quadrant & 1) != 0 ? sine : cosine;
  const Ints sign = ((quadrant + 1) & 2) << 30;  // quadrants 1 and 2 are negative
  return reinterpret_cast<Floats>(reinterpret_cast<Ints>(value) ^ sign);
}

void cosine(const float* x, float* y, std::size_t n) {
  Ints far = {};
  std::size_t i = 0;
  for (; i + float_lanes <= n; i += float_lanes) {
    const Floats v = load(x + i);
    far |= (v > max_cosine_argument) | (v < -max_cosine_argument);
    store(y + i, cosine_near(v));
  }
  for (std::size_t j = i; j < n; ++j) y[j] = __builtin_cosf(x[j]);
  std::int32_t any = 0;
  for (std::size_t lane = 0; lane < float_lanes; ++lane) any |= far[lane];
  for (std::size_t j = 0; any != 0 && j < i; ++j)
    if (x[j] > max_cosine_argument || x[j] < -max_cosine_argument) y[j] = __builtin_cosf(x[j]);
}

void gelu(const float* x, float* y, std::size_t n) {
  // x/2 (1 + tanh(u)) = x / (1 + exp(-2u)), with u = sqrt(2/pi) (x + 0.044715 x^3)
  constexpr float linear = -2.0F * 0.7978845608028654F;
  constexpr float cubic = linear * 0.044715F;
  const auto v = all(x, n);
  all(y, n) = v / (1.0F + (v * (v * v * cubic + linear)).exp());
}

void softmax(const float* x, float* y, std::size_t rows) {
  for (std::size_t row = 0; row < rows; ++row, x += columns, y += columns) {
    const auto from = all(x, columns);
    auto to = all(y, columns);
    to = (from - from.maxCoeff()).exp();
    to *= 1.0F / to.sum();
  }
}

void layer_norm(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows) {
  for (std::size_t row = 0; row < rows; ++row, x += columns, y += columns) {
    const auto from = all(x, columns);
    const float mean = from.mean();
    const float factor = 1.0F / std::sqrt((from - mean).square().mean() + layer_norm_epsilon);
    all(y, columns) = (from * factor - mean * factor) * all(gamma, columns) + all(beta, columns);
  }
}

inline Doubles widen(const float* p) {
  return __builtin_convertvector(static_cast<HalfFloats>(*reinterpret_cast<const LooseHalfFloats*>(p)), Doubles);
}

constexpr std::size_t sums_width = 8;  // additions in flight: latency x ports

/// The sum of a term that is there for vectors at an index, and for one element.
template <class Wide, class One>
inline double sum_of(std::size_t n, Wide wide, One one) {
  Doubles sums[sums_width] = {};
  std::size_t i = 0;
  for (; i + sums_width * double_lanes <= n; i += sums_width * double_lanes) {
#pragma GCC unroll 8
    for (std::size_t j = 0; j < sums_width; ++j) sums[j] += wide(i + j * double_lanes);
  }
  for (std::size_t j = 1; j < sums_width; ++j) sums[0] += sums[j];
  double result = 0.0;
  for (std::size_t lane = 0; lane < double_lanes; ++lane) result += sums[0][lane];
  for (; i < n; ++i) result += one(i);
  return result;
}

double sum(const float* x, std::size_t n) {
  return sum_of(
      n, [x](std::size_t i) { return widen(x + i); }, [x](std::size_t i) { return static_cast<double>(x[i]); });
}

double dot(const float* x, const float* y, std::size_t n) {
  return sum_of(
      n, [=](std::size_t i) { return widen(x + i) * widen(y + i); },
      [=](std::size_t i) { return static_cast<double>(x[i]) * static_cast<double>(y[i]); });
}

constexpr std::size_t tile = 16;

/// Through a small copy: reads run along the rows of x and writes along the rows of y, and a power-of-two row length
/// does not make the tile's lines fight for the same few places in the cache.
inline void transpose_tile(const float* x, float* y, std::size_t n) {
  float block[tile][tile + 1];
  for (std::size_t i = 0; i < tile; ++i)
    for (std::size_t j = 0; j < tile; ++j) block[j][i] = x[i * n + j];
  for (std::size_t j = 0; j < tile; ++j)
    for (std::size_t i = 0; i < tile; ++i) y[j * n + i] = block[j][i];
}

void transpose(const float* x, float* y, std::size_t n, std::size_t first, std::size_t last) {
  for (std::size_t j = first; j < last; j += tile) {
    for (std::size_t i = 0; i < n; i += tile) {
      if (j + tile <= last && i + tile <= n) {
        transpose_tile(x + i * n + j, y + j * n + i, n);
        continue;
      }
      for (std::size_t jj = j; jj < (j + tile < last ? j + tile : last); ++jj)
        for (std::size_t ii = i; ii < (i + tile < n ? i + tile : n); ++ii) y[jj * n + ii] = x[ii * n + jj];
    }
  }
}

/// As many vectors side by side as `width`, from element `first` on; the first element that is left.
template <std::size_t width>
inline std::size_t chains(const float* x, float* y, std::size_t first, std::size_t n, std::int64_t fma_count) {
  for (; first + width * float_lanes <= n; first += width * float_lanes) {
    Floats values[width];
    for (std::size_t j = 0; j < width; ++j) values[j] = load(x + first + j * float_lanes);
    for (std::int64_t k = 0; k < fma_count; ++k) {
#pragma GCC unroll 32
      for (auto& value : values) value = value * 0.999F + 0.001F;
    }
    for (std::size_t j = 0; j < width; ++j) store(y + first + j * float_lanes, values[j]);
  }
  return first;
}

void fma_chain(const float* x, float* y, std::size_t n, std::int64_t fma_count) {
  constexpr std::size_t width = vector_bytes == 64 ? 20 : 12;  // independent chains: more than latency x ports
  std::size_t i = chains<1>(x, y, chains<width>(x, y, 0, n, fma_count), n, fma_count);
  for (; i < n; ++i) {
    y[i] = x[i];
    for (std::int64_t k = 0; k < fma_count; ++k) y[i] = y[i] * 0.999F + 0.001F;
  }
}

}  // namespace

namespace GPUBENCH_ISA {
extern const VectorKernels vectors;
const VectorKernels vectors = {.axpy = axpy,
                               .cosine = cosine,
                               .gelu = gelu,
                               .sum = sum,
                               .dot = dot,
                               .softmax = softmax,
                               .layer_norm = layer_norm,
                               .transpose = transpose,
                               .fma_chain = fma_chain};
}  // namespace GPUBENCH_ISA

}  // namespace gpubench::operations
