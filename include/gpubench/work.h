// SPDX-License-Identifier: Apache-2.0
// The work an operation must do, as its author declares it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

namespace gpubench {

/// What an operation runs on.
enum class DeviceKind { cpu, gpu };

/// tf32 is stored as fp32; fp8 is E4M3.
enum class NumberFormat { fp64, fp32, tf32, fp16, bf16, fp8, int32, int8 };

/// What is known of a number format: one row each, in the order of the enumerators.
struct NumberFormatRow {
  std::string_view name;  ///< "bf16"
  std::size_t bytes;      ///< of one element in memory
  bool integer;           ///< arithmetic in it counts operations, not FLOP
};
inline constexpr std::array number_formats = {NumberFormatRow{"fp64", 8, false}, NumberFormatRow{"fp32", 4, false},
                                              NumberFormatRow{"tf32", 4, false}, NumberFormatRow{"fp16", 2, false},
                                              NumberFormatRow{"bf16", 2, false}, NumberFormatRow{"fp8", 1, false},
                                              NumberFormatRow{"int32", 4, true}, NumberFormatRow{"int8", 1, true}};

constexpr const NumberFormatRow& row_of(NumberFormat format) {
  return number_formats[static_cast<std::size_t>(format)];
}
constexpr std::string_view name_of(NumberFormat format) { return row_of(format).name; }
constexpr std::size_t bytes_of(NumberFormat format) { return row_of(format).bytes; }
constexpr bool is_integer(NumberFormat format) { return row_of(format).integer; }

/// An execution pipe with a ceiling of its own. `fp32` is the vector pipe, `tensor_bf16` the matrix unit fed with BF16.
/// On a CPU, matrix products count on the vector pipes.
enum class Pipe {
  fp64,
  fp32,
  fp16,
  bf16,
  int32,
  tensor_fp64,
  tensor_tf32,
  tensor_fp16,
  tensor_bf16,
  tensor_fp8,
  tensor_int8,
  special  ///< special functions of single precision: 2^x, 1/sqrt(x), sine, ...; each one operation
};
using enum Pipe;

/// What is known of a pipe: one row each, in the order of the enumerators.
struct PipeRow {
  std::string_view name;  ///< of its ceiling in a calibration
  NumberFormat format;    ///< that it calculates in
};
inline constexpr std::array pipes = {
    PipeRow{"fp64", NumberFormat::fp64},        PipeRow{"fp32", NumberFormat::fp32},
    PipeRow{"fp16", NumberFormat::fp16},        PipeRow{"bf16", NumberFormat::bf16},
    PipeRow{"int32", NumberFormat::int32},      PipeRow{"tensor-fp64", NumberFormat::fp64},
    PipeRow{"tensor-tf32", NumberFormat::tf32}, PipeRow{"tensor-fp16", NumberFormat::fp16},
    PipeRow{"tensor-bf16", NumberFormat::bf16}, PipeRow{"tensor-fp8", NumberFormat::fp8},
    PipeRow{"tensor-int8", NumberFormat::int8}, PipeRow{"special", NumberFormat::fp32}};
inline constexpr auto pipe_names = [] {
  std::array<std::string_view, pipes.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = pipes[i].name;
  return names;
}();

/// The name of the pipe's ceiling in a calibration: "fp32", "tensor-bf16".
constexpr std::string_view name_of(Pipe pipe) { return pipe_names[static_cast<std::size_t>(pipe)]; }
/// Accesses of one execution at random places: each moves a sector of 32 bytes for itself, whatever it uses of that.
struct RandomAccesses {
  double reads = 0.0;    ///< loads
  double updates = 0.0;  ///< stores and atomic operations
  double bytes = 0.0;    ///< that the places lie in: decides which cache can hold them
  friend bool operator==(const RandomAccesses&, const RandomAccesses&) = default;
};

/// The work of one execution, as declared.
struct Work {
  double bytes_read = 0.0;     ///< the least the operation must read, in bytes
  double bytes_written = 0.0;  ///< the least the operation must write, in bytes
  /// Bytes of distinct memory touched: decides which cache can hold them. Absent: bytes_read + bytes_written.
  std::optional<double> footprint_bytes;
  std::optional<RandomAccesses> random;  ///< their useful bytes are in bytes_read and bytes_written
  std::map<Pipe, double> flops;  ///< floating-point (or integer) operations by pipe; a fused multiply-add counts two

  [[nodiscard]] double bytes() const { return bytes_read + bytes_written; }  ///< read and written
  /** Of all pipes. */ [[nodiscard]] double total_flops() const {
    double sum = 0.0;
    for (const auto& [pipe, count] : flops) sum += count;
    return sum;
  }
  friend bool operator==(const Work&, const Work&) = default;
};

/// What a variant of an operation has less of.
enum class Ablation { less_arithmetic, less_traffic };
using enum Ablation;
inline constexpr std::array ablation_names = {std::string_view("less_arithmetic"), std::string_view("less_traffic")};

/// The blocks of an operation's longest kernel.
struct Grid {
  std::int64_t blocks = 0;                     ///< of the whole grid
  std::int64_t blocks_per_multiprocessor = 0;  ///< that fit at once: cudaOccupancyMaxActiveBlocksPerMultiprocessor
  friend bool operator==(const Grid&, const Grid&) = default;
};

}  // namespace gpubench
