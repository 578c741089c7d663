// SPDX-License-Identifier: Apache-2.0
// Vectors as wide as the extension this file is compiled for. For the sources that are compiled once per extension, and
// for them alone. Everything here has internal linkage: the linker must never merge functions of differing extensions.
#pragma once

#include <cstddef>
#include <cstdint>

// NOLINTBEGIN(cert-dcl59-cpp,misc-definitions-in-headers): internal linkage is the point.
namespace {

#if defined(__AVX512F__)
constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX__)
constexpr std::size_t vector_bytes = 32;
#else
constexpr std::size_t vector_bytes = 16;
#endif

typedef float Floats __attribute__((vector_size(vector_bytes)));
typedef double Doubles __attribute__((vector_size(vector_bytes)));
typedef std::int32_t Ints __attribute__((vector_size(vector_bytes)));
typedef std::int64_t Longs __attribute__((vector_size(vector_bytes)));
typedef float HalfFloats __attribute__((vector_size(vector_bytes / 2)));
// The same at any address, and over memory of any type.
typedef float LooseFloats __attribute__((vector_size(vector_bytes), aligned(4), may_alias));
typedef float LooseHalfFloats __attribute__((vector_size(vector_bytes / 2), aligned(4), may_alias));
typedef std::int64_t AliasLongs __attribute__((vector_size(vector_bytes), may_alias));

constexpr std::size_t float_lanes = vector_bytes / sizeof(float);
constexpr std::size_t double_lanes = vector_bytes / sizeof(double);

[[maybe_unused]] inline Floats load(const float* p) { return *reinterpret_cast<const LooseFloats*>(p); }
[[maybe_unused]] inline void store(float* p, Floats v) { *reinterpret_cast<LooseFloats*>(p) = v; }
[[maybe_unused]] inline Floats broadcast(float value) { return value - Floats{}; }

}  // namespace
// NOLINTEND(cert-dcl59-cpp,misc-definitions-in-headers)
