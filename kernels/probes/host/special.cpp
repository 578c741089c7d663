// SPDX-License-Identifier: Apache-2.0
// Extensions that few CPUs have. Each function is compiled for its own and called only where the CPU and the operating
// system have it; the file itself is compiled for any CPU. Always optimised.
// GCC's own headers start results from themselves (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <cmath>
#include <cstring>

#include "kernels/probes/host/kernels.h"

#if defined(__x86_64__) && ((defined(__clang__) && __clang_major__ >= 14) || (!defined(__clang__) && __GNUC__ >= 12))
#define GPUBENCH_SPECIAL_LOOPS 1
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace gpubench::probes {
namespace {

ArithmeticLoop loop_of(std::string_view resource, std::string_view what, std::string_view unit, std::string_view isa) {
  ArithmeticLoop loop;
  loop.resource = resource;
  loop.what = what;
  loop.work_unit = unit;
  loop.isa = isa;
  return loop;
}

#if defined(GPUBENCH_SPECIAL_LOOPS)

constexpr int width = 20;  // 512-bit accumulators; two of 32 registers are the operands
constexpr int narrow_width = 12;

// Loops over the accumulators are unrolled all, or they would live in memory.

template <class Element, std::size_t count>
double sum_of(const std::array<Element, count>& values) {
  double sum = 0.0;
  for (const Element value : values) sum += static_cast<double>(value);
  return sum;
}

/// Of numbers without a sign, infinities and fractions too small to be normal.
double from_half(std::uint16_t bits) {
  return bits == 0 ? 0.0 : std::ldexp(1024.0 + (bits & 0x3FFU), (bits >> 10) - 25);
}

/// The bits of n / 16, from 1 to below 4.
constexpr short half_of_sixteenths(int n) {
  return static_cast<short>(n < 32 ? 0x3C00 + 64 * (n - 16) : 0x4000 + 32 * (n - 32));
}

// v = v / 2 + 1 from 1 + j / 16: halves its distance from 2 in every round, exactly at first. All start apart, or the
// compiler would do the work once for those that are alike.
// Not with intrinsics: some compilers have those of half precision only when all is compiled for it.
__attribute__((target("avx512f,avx512bw,avx512vl,avx512fp16"))) double fp16_rounds(std::int64_t rounds) {
  const __m512i factor = _mm512_set1_epi16(0x3800);  // 0.5
  const __m512i addend = _mm512_set1_epi16(0x3C00);  // 1
  __m512i sums[width];
#pragma GCC unroll 32
  for (int j = 0; j < width; ++j) sums[j] = _mm512_set1_epi16(half_of_sixteenths(16 + j));
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
    for (int j = 0; j < width; ++j) asm("vfmadd132ph %2, %1, %0" : "+v"(sums[j]) : "v"(addend), "v"(factor));
  }
  alignas(64) std::array<std::uint16_t, std::size_t{width} * 32> lanes;
#pragma GCC unroll 32
  for (int j = 0; j < width; ++j) _mm512_store_si512(lanes.data() + std::ptrdiff_t{32} * j, sums[j]);
  double result = 0.0;
  for (const auto bits : lanes) result += from_half(bits);
  return result;
}

// Each lane grows by 1 x 0.5 twice in every round, from j.
__attribute__((target("avx512f,avx512bf16"))) double bf16_rounds(std::int64_t rounds) {
  const auto one = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3F803F80));
  const auto half = reinterpret_cast<__m512bh>(_mm512_set1_epi32(0x3F003F00));
  __m512 sums[width];
#pragma GCC unroll 32
  for (int j = 0; j < width; ++j) sums[j] = _mm512_set1_ps(static_cast<float>(j));
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
    for (int j = 0; j < width; ++j) sums[j] = _mm512_dpbf16_ps(sums[j], one, half);
  }
  alignas(64) std::array<float, std::size_t{width} * 16> lanes;
#pragma GCC unroll 32
  for (int j = 0; j < width; ++j) _mm512_store_ps(lanes.data() + std::ptrdiff_t{16} * j, sums[j]);
  return sum_of(lanes);
}

// Each lane grows by 4 x 2 x 3 in every round, modulo 2^32, from j.
__attribute__((target("avx512f,avx512vnni"))) double int8_rounds(std::int64_t rounds) {
  const __m512i two = _mm512_set1_epi32(0x02020202);
  const __m512i three = _mm512_set1_epi32(0x03030303);
  __m512i sums[width];
#pragma GCC unroll 32
  for (int j = 0; j < width; ++j) sums[j] = _mm512_set1_epi32(j);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
    for (int j = 0; j < width; ++j) sums[j] = _mm512_dpbusd_epi32(sums[j], two, three);
  }
  alignas(64) std::array<std::int32_t, std::size_t{width} * 16> lanes;
#pragma GCC unroll 32
  for (int j = 0; j < width; ++j) _mm512_store_si512(lanes.data() + std::ptrdiff_t{16} * j, sums[j]);
  return sum_of(lanes);
}

__attribute__((target("avx2,avxvnni"))) double int8_narrow_rounds(std::int64_t rounds) {
  const __m256i two = _mm256_set1_epi32(0x02020202);
  const __m256i three = _mm256_set1_epi32(0x03030303);
  __m256i sums[narrow_width];
#pragma GCC unroll 32
  for (int j = 0; j < narrow_width; ++j) sums[j] = _mm256_set1_epi32(j);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
    for (int j = 0; j < narrow_width; ++j) sums[j] = _mm256_dpbusd_avx_epi32(sums[j], two, three);
  }
  alignas(64) std::array<std::int32_t, std::size_t{narrow_width} * 8> lanes;
#pragma GCC unroll 32
  for (int j = 0; j < narrow_width; ++j)
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes.data() + std::ptrdiff_t{8} * j), sums[j]);
  return sum_of(lanes);
}

// Tiles of 16 rows of 64 bytes: six accumulators, two operands. Every element of an accumulator grows by the sum of 32
// products 1 x 0.5, or of 64 products 2 x 3, in every round.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileShapes) == 64);
constexpr int tile_accumulators = 6;

#define GPUBENCH_TILES(product, element, left, right)                            \
  const TileShapes shapes;                                                       \
  alignas(64) std::array<std::uint8_t, 1024> a;                                  \
  alignas(64) std::array<std::uint8_t, 1024> b;                                  \
  for (std::size_t i = 0; i < a.size(); i += 2) std::memcpy(&a[i], &(left), 2);  \
  for (std::size_t i = 0; i < b.size(); i += 2) std::memcpy(&b[i], &(right), 2); \
  _tile_loadconfig(&shapes);                                                     \
  _tile_zero(0);                                                                 \
  _tile_zero(1);                                                                 \
  _tile_zero(2);                                                                 \
  _tile_zero(3);                                                                 \
  _tile_zero(4);                                                                 \
  _tile_zero(5);                                                                 \
  _tile_loadd(6, a.data(), 64);                                                  \
  _tile_loadd(7, b.data(), 64);                                                  \
  for (std::int64_t round = 0; round < rounds; ++round) {                        \
    product(0, 6, 7);                                                            \
    product(1, 6, 7);                                                            \
    product(2, 6, 7);                                                            \
    product(3, 6, 7);                                                            \
    product(4, 6, 7);                                                            \
    product(5, 6, 7);                                                            \
  }                                                                              \
  std::array<std::array<element, 256>, tile_accumulators> c;                     \
  _tile_stored(0, c[0].data(), 64);                                              \
  _tile_stored(1, c[1].data(), 64);                                              \
  _tile_stored(2, c[2].data(), 64);                                              \
  _tile_stored(3, c[3].data(), 64);                                              \
  _tile_stored(4, c[4].data(), 64);                                              \
  _tile_stored(5, c[5].data(), 64);                                              \
  _tile_release();                                                               \
  double result = 0.0;                                                           \
  for (const auto& tile : c) result += sum_of(tile);                             \
  return result

__attribute__((target("amx-tile,amx-bf16"))) double amx_bf16_rounds(std::int64_t rounds) {
  constexpr std::uint16_t one = 0x3F80;
  constexpr std::uint16_t half = 0x3F00;
  GPUBENCH_TILES(_tile_dpbf16ps, float, one, half);
}

__attribute__((target("amx-tile,amx-int8"))) double amx_int8_rounds(std::int64_t rounds) {
  constexpr std::uint16_t twos = 0x0202;
  constexpr std::uint16_t threes = 0x0303;
  GPUBENCH_TILES(_tile_dpbssd, std::int32_t, twos, threes);
}

#undef GPUBENCH_TILES

struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};
Leaf leaf_7(unsigned subleaf) {
  Leaf leaf;
  if (__get_cpuid_count(7, subleaf, &leaf.eax, &leaf.ebx, &leaf.ecx, &leaf.edx) == 0) return {};
  return leaf;
}

/// Linux hands out the tiles' registers on request.
bool tiles_granted() {
  constexpr long request_permission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long tile_data = 18;               // XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

/// `vectors` accumulators a round, each a vector instruction of `work`.
ArithmeticLoop sized(ArithmeticLoop loop, double (*run)(std::int64_t), std::int64_t vectors, double work,
                     std::size_t vector_bytes, int max_units) {
  loop.run = run;
  loop.accumulators = vectors;
  loop.work_per_round = work * static_cast<double>(vectors);
  loop.work_per_unit_and_clock = max_units > 0 ? work : 0.0;
  loop.max_units = max_units;
  loop.vector_bytes = vector_bytes;
  loop.clock_isa = widest_isa();
  return loop;
}

#endif

}  // namespace

std::vector<SpecialLoop> special_loops() {
  std::vector<SpecialLoop> loops;
  const auto fp16 = loop_of("fp16", "fused multiply-adds", "FLOP", "avx512fp16");
  const auto bf16 = loop_of("bf16-dot", "dot products of two BF16 pairs added in fp32", "FLOP", "avx512bf16");
  const auto int8 = loop_of("int8-dot", "dot products of four bytes added in int32", "op", "avx512vnni");
  [[maybe_unused]] const auto int8_narrow = loop_of("int8-dot", int8.what, "op", "avxvnni");
  const auto amx_bf16 = loop_of("amx-bf16", "products of BF16 tiles 16 x 32 by 32 x 16", "FLOP", "amx-bf16");
  const auto amx_int8 = loop_of("amx-int8", "products of int8 tiles 16 x 64 by 64 x 16", "op", "amx-int8");
#if defined(GPUBENCH_SPECIAL_LOOPS)
  const auto bit = [](unsigned value, int place) { return ((value >> place) & 1U) != 0U; };
  const Leaf first = leaf_7(0);
  const Leaf second = leaf_7(1);
  const bool wide = widest_isa() == Isa::avx512;  // and the system saves its registers
  const auto add = [&](bool has, const ArithmeticLoop& loop) {
    loops.push_back({loop, has ? "" : "this CPU, or its operating system, has no " + std::string(loop.isa)});
  };
  add(wide && bit(first.edx, 23), sized(fp16, fp16_rounds, width, 64.0, 64, 2));
  add(wide && bit(second.eax, 5), sized(bf16, bf16_rounds, width, 64.0, 64, 2));
  if (const bool vnni = wide && bit(first.ecx, 11); vnni || widest_isa() != Isa::avx2 || !bit(second.eax, 4))
    add(vnni, sized(int8, int8_rounds, width, 128.0, 64, 2));
  else
    add(true, sized(int8_narrow, int8_narrow_rounds, narrow_width, 64.0, 32, 2));
  // A tile instruction takes 16 clocks (Intel 64 and IA-32 Architectures Optimization Reference Manual, Intel AMX).
  const bool tiles = bit(first.edx, 24) && (bit(first.edx, 22) || bit(first.edx, 25)) && tiles_granted();
  const auto add_tiles = [&](bool has, const ArithmeticLoop& loop, double (*run)(std::int64_t), double work) {
    add(has, sized(loop, run, tile_accumulators, work, 1024, 1));
    loops.back().loop.work_per_unit_and_clock = work / 16.0;
  };
  add_tiles(tiles && bit(first.edx, 22), amx_bf16, amx_bf16_rounds, 16.0 * 16.0 * 32.0 * 2.0);
  add_tiles(tiles && bit(first.edx, 25), amx_int8, amx_int8_rounds, 16.0 * 16.0 * 64.0 * 2.0);
#else
  for (const auto& loop : {fp16, bf16, int8, amx_bf16, amx_int8})
    loops.push_back({loop, "there is no probe of it for this processor, or the compiler does not know it"});
#endif
  return loops;
}

}  // namespace gpubench::probes
