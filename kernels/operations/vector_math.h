// SPDX-License-Identifier: Apache-2.0
// Functions of whole vectors. As host_simd.h: for sources that are compiled once per vector extension, internal linkage
// only. Polynomials: Cephes Mathematical Library 2.2 (Moshier, 1992), single precision, sinf.c and expf.c.
#pragma once

#include "kernels/probes/host_simd.h"

// NOLINTBEGIN(cert-dcl59-cpp,misc-definitions-in-headers): internal linkage is the point.
namespace {

/// Adding and subtracting this rounds to an integer, which then also stands in the low bits of the sum.
constexpr float rounding_magic = 12582912.0F;  // 1.5 * 2^23

inline Ints bits_of(Floats v) { return reinterpret_cast<Ints>(v); }
inline Floats floats_of(Ints v) { return reinterpret_cast<Floats>(v); }

/// e^x to about 2 ulp; below -87.3 it gives e^-87.3 = 1.2e-38 rather than a denormal or 0, above 88 it gives e^88. NaN
/// stays.
[[maybe_unused]] inline Floats exponential(Floats x) {
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
[[maybe_unused]] inline Floats cosine_near(Floats x) {
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

[[maybe_unused]] inline Floats maximum(Floats a, Floats b) { return a > b ? a : b; }

}  // namespace
// NOLINTEND(cert-dcl59-cpp,misc-definitions-in-headers)
