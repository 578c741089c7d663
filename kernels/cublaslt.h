// SPDX-License-Identifier: Apache-2.0
// Matrix products through cuBLASLt, which is loaded at run time: a program that links this starts on a machine without
// it.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

#include "gpubench/stream.h"
#include "gpubench/work.h"

namespace gpubench::kernels {

// A product is named by the format of A and B, and int32 has none:
//   fp32, fp64   computed in that format throughout, TF32 not allowed
//   fp16, bf16   accumulated in FP32, the result rounded to the input format, as in a network's forward pass
//   tf32         FP32 matrices whose elements are rounded to TF32
//   fp8          E4M3 factors, the tensor cores' fast accumulation, a BF16 result
//   int8         an INT32 result

/// Bytes of an element of C.
constexpr std::size_t result_bytes(NumberFormat type) {
  return type == NumberFormat::fp8 ? 2 : type == NumberFormat::int8 ? 4 : bytes_of(type);
}
/// Whether GemmPlan takes B by its columns: the only form that tensor cores take FP8 and INT8 in.
constexpr bool takes_columns(NumberFormat type) { return type == NumberFormat::fp8 || type == NumberFormat::int8; }

/// The loaded library with a handle on the current device. Cheap to copy. Never throws for lack of the library.
class CublasLt {
 public:
  /// Tries libcublasLt.so.13 and .12 as the loader finds them, then in CUDA_HOME, CUDA_PATH and /usr/local/cuda.
  CublasLt();
  /// Tries exactly these files.
  CublasLt(std::initializer_list<std::string> files);

  /// Why it cannot be used, with what to do; empty when it can.
  [[nodiscard]] const std::string& reason() const;
  /// "13.1.0"; empty when it cannot be used.
  [[nodiscard]] std::string version() const;

  struct Library;

 private:
  friend class GemmPlan;
  std::shared_ptr<const Library> library_;
};

/// One product C = A B of row-major n x n matrices (C = A B^T where takes_columns), with the fastest of the algorithms
/// that cuBLASLt proposes.
class GemmPlan {
 public:
  /// Times the candidates on the given matrices (device memory, aligned to 16 bytes; C is overwritten). Throws
  /// CudaError, also when cuBLASLt has no algorithm for this product, and OutOfMemory when the workspace does not fit.
  GemmPlan(const CublasLt& library, NumberFormat type, std::int64_t n, const void* a, const void* b, void* c,
           Stream stream);
  ~GemmPlan();

  /// Enqueues the product of the matrices it was made for. Throws CudaError when it is refused.
  void run(Stream stream) const;
  /// The same of other matrices of that size, aligned as those were.
  void run(const void* a, const void* b, void* c, Stream stream) const;
  /// "algorithm 2 of 8, cuBLASLt 13.1.0"
  [[nodiscard]] std::string description() const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace gpubench::kernels
