// SPDX-License-Identifier: Apache-2.0
// Compiled once per vector extension, with GPUBENCH_ISA naming it.
#include "kernels/operations/vector_kernels.h"

#include "kernels/probes/host/simd.h"

namespace gpubench::operations {
namespace {

// As operations.h, which this source cannot include: nothing of the standard library may be compiled for a wide
// extension.
constexpr float factor = 2.0F;
constexpr std::size_t columns = 1024;
constexpr float epsilon = 1e-5F;

// Polynomials: Cephes Mathematical Library 2.2 (Moshier, 1992), single precision, sinf.c and expf.c.

/// Adding and subtracting this rounds to an integer, which then also stands in the low bits of the sum.
constexpr float rounding_magic = 12582912.0F;  // 1.5 * 2^23

inline Ints bits_of(Floats v) { return reinterpret_cast<Ints>(v); }
inline Floats floats_of(Ints v) { return reinterpret_cast<Floats>(v); }

/// e^x to about 2 ulp; below -87.3 it gives e^-87.3 = 1.2e-38 rather than a denormal or 0, above 88 it gives e^88. NaN
/// stays.
inline Floats exponential(Floats x) {
  const Floats low = broadcast(-87.3F);
  const Floats high = broadcast(88.0F);
  x = x < low ? low : x;
  x = x > high ? high : x;
  const Floats shifted = x * 1.44269504088896341F + rounding_magic;
  const Floats k = shifted - rounding_magic;
  Floats r = x - k * 0.693359375F;
  r = r + k * 2.12194440e-4F;
  Floats p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  // 2^k: the low bits of `shifted` hold k, and shifting them up to the exponent drops the rest.
  const Floats scale = floats_of((bits_of(shifted) + 127) << 23);
  return p * scale;
}

/// Largest |x| that the three-term reduction below is exact enough for.
constexpr float max_cosine_argument = 8192.0F;

/// cos(x) to about 1 ulp of 1 for |x| <= max_cosine_argument.
inline Floats cosine_near(Floats x) {
  const Floats shifted = x * 0.636619772367581343F + rounding_magic;  // 2 / pi
  const Ints quadrant = bits_of(shifted);
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
  return floats_of(bits_of(value) ^ sign);
}

inline Floats maximum(Floats a, Floats b) { return a > b ? a : b; }

/// y = f(x) for each element; the rest that fills no vector goes through a padded one.
template <class Function>
inline void map(const float* x, float* y, std::size_t n, Function f) {
  std::size_t i = 0;
  for (; i + float_lanes <= n; i += float_lanes) store(y + i, f(load(x + i)));
  if (i == n) return;
  Floats rest = {};
  for (std::size_t j = 0; i + j < n; ++j) rest[j] = x[i + j];
  rest = f(rest);
  for (std::size_t j = 0; i + j < n; ++j) y[i + j] = rest[j];
}

void axpy(const float* x, const float* y, float* out, std::size_t n) {
  std::size_t i = 0;
  for (; i + float_lanes <= n; i += float_lanes) store(out + i, factor * load(x + i) + load(y + i));
  for (; i < n; ++i) out[i] = factor * x[i] + y[i];
}

void cosine(const float* x, float* y, std::size_t n) {
  Ints far = {};
  map(x, y, n, [&far](Floats v) {
    far |= v > max_cosine_argument;
    far |= v < -max_cosine_argument;
    return cosine_near(v);
  });
  std::int32_t any = 0;
  for (std::size_t lane = 0; lane < float_lanes; ++lane) any |= far[lane];
  if (any == 0) return;
  for (std::size_t i = 0; i < n; ++i)
    if (x[i] > max_cosine_argument || x[i] < -max_cosine_argument) y[i] = __builtin_cosf(x[i]);
}

void gelu(const float* x, float* y, std::size_t n) {
  // x/2 (1 + tanh(u)) = x / (1 + exp(-2u)), with u = sqrt(2/pi) (x + 0.044715 x^3)
  constexpr float linear = -2.0F * 0.7978845608028654F;
  constexpr float cubic = linear * 0.044715F;
  map(x, y, n, [](Floats v) { return v / (1.0F + exponential(v * (v * v * cubic + linear))); });
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

/// Folds a row with an operation on vectors, four at a time, and then over the lanes.
template <class Fold, class Element>
inline float fold_row(float start, Fold fold, Element element) {
  constexpr std::size_t width = 4;
  Floats parts[width];
  for (auto& part : parts) part = broadcast(start);
  for (std::size_t i = 0; i < columns; i += width * float_lanes) {
#pragma GCC unroll 4
    for (std::size_t j = 0; j < width; ++j) parts[j] = fold(parts[j], element(i + j * float_lanes));
  }
  const Floats all = fold(fold(parts[0], parts[1]), fold(parts[2], parts[3]));
  Floats result = broadcast(all[0]);
  for (std::size_t lane = 1; lane < float_lanes; ++lane) result = fold(result, broadcast(all[lane]));
  return result[0];
}

void softmax(const float* x, float* y, std::size_t rows) {
  const auto add = [](Floats a, Floats b) { return a + b; };
  for (std::size_t row = 0; row < rows; ++row, x += columns, y += columns) {
    const Floats largest = broadcast(fold_row(x[0], maximum, [x](std::size_t i) { return load(x + i); }));
    const float sum = fold_row(0.0F, add, [=](std::size_t i) {
      const Floats value = exponential(load(x + i) - largest);
      store(y + i, value);
      return value;
    });
    const Floats scale = broadcast(1.0F / sum);
    map(y, y, columns, [scale](Floats v) { return v * scale; });
  }
}

void layer_norm(const float* x, const float* gamma, const float* beta, float* y, std::size_t rows) {
  const auto add = [](Floats a, Floats b) { return a + b; };
  constexpr float share = 1.0F / static_cast<float>(columns);
  for (std::size_t row = 0; row < rows; ++row, x += columns, y += columns) {
    const float mean = share * fold_row(0.0F, add, [x](std::size_t i) { return load(x + i); });
    const Floats centre = broadcast(mean);
    const float variance = share * fold_row(0.0F, add, [=](std::size_t i) {
                             const Floats difference = load(x + i) - centre;
                             return difference * difference;
                           });
    const float scale = 1.0F / __builtin_sqrtf(variance + epsilon);
    const Floats factors = broadcast(scale);
    const Floats shift = broadcast(-mean * scale);
    for (std::size_t i = 0; i < columns; i += float_lanes)
      store(y + i, (load(x + i) * factors + shift) * load(gamma + i) + load(beta + i));
  }
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

inline Floats chain(Floats v, std::int64_t fma_count) {
  for (std::int64_t k = 0; k < fma_count; ++k) v = v * 0.999F + 0.001F;
  return v;
}

void fma_chain(const float* x, float* y, std::size_t n, std::int64_t fma_count) {
  constexpr std::size_t width = vector_bytes == 64 ? 20 : 12;  // independent chains: more than latency x ports
  std::size_t i = 0;
  for (; i + width * float_lanes <= n; i += width * float_lanes) {
    Floats values[width];
    for (std::size_t j = 0; j < width; ++j) values[j] = load(x + i + j * float_lanes);
    for (std::int64_t k = 0; k < fma_count; ++k) {
#pragma GCC unroll 32
      for (auto& value : values) value = value * 0.999F + 0.001F;
    }
    for (std::size_t j = 0; j < width; ++j) store(y + i + j * float_lanes, values[j]);
  }
  map(x + i, y + i, n - i, [fma_count](Floats v) { return chain(v, fma_count); });
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
