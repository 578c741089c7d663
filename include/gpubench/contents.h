// SPDX-License-Identifier: Apache-2.0
// What vectors are filled with.
//
//   auto keys   = state.host_vector<unsigned char>(n);                  // integers: uniform over all values
//   auto x      = state.device_vector<__half>(n);                       // floating point: standard normal
//   auto angles = state.device_vector<float>(n, gpubench::uniform);     // floating point: from 0 to less than 1
//   auto nodes  = state.device_vector<Node>(n, gpubench::none);         // a struct: zeros, unless told otherwise
#pragma once

#include <cstddef>
#include <type_traits>

#ifdef __CUDACC__
#include <cuda_fp8.h>  // and with it __half and __nv_bfloat16
#else
// CUDA's own types, declared so that host code needs no CUDA header.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-*): CUDA's own names
struct __half;
struct __half2;
struct __nv_bfloat16;
struct __nv_bfloat162;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;
// NOLINTEND(bugprone-reserved-identifier,cert-*)
struct float2;
struct float3;
struct float4;
struct double2;
struct double3;
#endif

namespace gpubench {

namespace detail {
enum class Filling { normal, uniform, zeros, none, automatic };
template <Filling filling>
struct Contents {};
}  // namespace detail

/// Standard normal numbers, for floating-point types. The default of these.
inline constexpr detail::Contents<detail::Filling::normal> normal;
/// Integers: uniform over all values of the type, and their default. Floating point: uniform from 0 to less than 1.
inline constexpr detail::Contents<detail::Filling::uniform> uniform;
/// All bytes zero. The default of types that are no numbers.
inline constexpr detail::Contents<detail::Filling::zeros> zeros;
/// Not filled: the memory holds whatever was there.
inline constexpr detail::Contents<detail::Filling::none> none;

/// Says that a type consists of numbers of one type, which then decides how it is filled. Known without it:
/// std::complex and CUDA's float2, float3, float4, double2, double3, __half2 and __nv_bfloat162.
///
///   struct Particle { float x, y, z, mass; };
///   template <> struct gpubench::made_of<Particle> { using type = float; };
template <class T>
struct made_of {
  using type = void;  ///< the number type; void: none is known
};

namespace detail {

/// How the elements of a type are drawn.
enum class ElementKind { other, integer, boolean, float64, float32, float16, bfloat16, fp8_e4m3, fp8_e5m2 };

template <class T>
concept ComplexLike = requires {
  typename T::value_type;
}
&&std::is_floating_point_v<typename T::value_type> &&
    sizeof(T) == 2 * sizeof(typename T::value_type) && std::is_trivially_copyable_v<T>;

/// The number type that T consists of; T itself where nothing else is known.
template <class T>
struct NumberIn {
  using type = std::conditional_t<std::is_void_v<typename made_of<T>::type>, T, typename made_of<T>::type>;
};
template <ComplexLike T>
struct NumberIn<T> {
  using type = typename T::value_type;
};
#define GPUBENCH_VECTOR_TYPE(vector, element) \
  template <>                                 \
  struct NumberIn<::vector> {                 \
    using type = element;                     \
  }
GPUBENCH_VECTOR_TYPE(float2, float);
GPUBENCH_VECTOR_TYPE(float3, float);
GPUBENCH_VECTOR_TYPE(float4, float);
GPUBENCH_VECTOR_TYPE(double2, double);
GPUBENCH_VECTOR_TYPE(double3, double);
GPUBENCH_VECTOR_TYPE(__half2, ::__half);
GPUBENCH_VECTOR_TYPE(__nv_bfloat162, ::__nv_bfloat16);
#undef GPUBENCH_VECTOR_TYPE

template <class T>
constexpr ElementKind element_kind() {
  if constexpr (std::is_same_v<T, double>)
    return ElementKind::float64;
  else if constexpr (std::is_same_v<T, float>)
    return ElementKind::float32;
  else if constexpr (std::is_same_v<T, ::__half>)
    return ElementKind::float16;
  else if constexpr (std::is_same_v<T, ::__nv_bfloat16>)
    return ElementKind::bfloat16;
  else if constexpr (std::is_same_v<T, ::__nv_fp8_e4m3>)
    return ElementKind::fp8_e4m3;
  else if constexpr (std::is_same_v<T, ::__nv_fp8_e5m2>)
    return ElementKind::fp8_e5m2;
  else if constexpr (std::is_same_v<T, bool>)
    return ElementKind::boolean;
  else if constexpr (std::is_integral_v<T> || std::is_same_v<T, std::byte>)
    return ElementKind::integer;
  else
    return ElementKind::other;
}

/// What fills one vector.
struct Fill {
  ElementKind kind = ElementKind::other;
  Filling filling = Filling::zeros;
  std::size_t numbers_per_element = 1;
};

template <class T, Filling wanted>
constexpr Fill fill_for() {
  using Number = typename NumberIn<T>::type;
  constexpr ElementKind kind = element_kind<Number>();
  constexpr bool is_integer = kind == ElementKind::integer || kind == ElementKind::boolean;
  static_assert(wanted != Filling::normal || (kind != ElementKind::other && !is_integer),
                "gpubench::normal fills floating-point types; give gpubench::uniform to integers, gpubench::zeros or "
                "gpubench::none to other types, or say what a struct is made of with gpubench::made_of");
  static_assert(wanted != Filling::uniform || kind != ElementKind::other,
                "gpubench::uniform fills numbers; give gpubench::zeros or gpubench::none to other types, or say what a "
                "struct is made of with gpubench::made_of");
  static_assert(sizeof(T) % sizeof(Number) == 0, "gpubench::made_of names a type that does not divide the struct");
  constexpr Filling filling = wanted != Filling::automatic ? wanted
                              : kind == ElementKind::other ? Filling::zeros
                              : is_integer                 ? Filling::uniform
                                                           : Filling::normal;
  return {kind, filling, sizeof(T) / sizeof(Number)};  // NOLINT(bugprone-sizeof-expression): pointers are as good
}

}  // namespace detail
}  // namespace gpubench
