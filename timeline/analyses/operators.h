// SPDX-License-Identifier: Apache-2.0
// Operators of a framework: slices of kind `other` on threads that are no frames of Python, such as "aten::mm".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "timeline/timeline.h"

namespace gpubench::timeline {

struct OperatorTime {
  std::uint32_t name = 0;  ///< in Timeline::names; 0: work that no operator launched
  std::int64_t count = 0;
  std::int64_t host_ns = 0;       ///< of all calls, those within one of the same name left out
  std::int64_t host_self_ns = 0;  ///< without operators and API calls within
  std::int64_t gpu_ns = 0;        ///< of kernels, copies and fills launched in it and in operators within
  std::int64_t gpu_self_ns = 0;   ///< of those launched by it directly: PyTorch's "Self CUDA"
  std::int64_t works = 0;         ///< launched directly
};
/// By falling time on the GPU, then on the host. Throws std::invalid_argument as `analyze`.
std::vector<OperatorTime> operator_times(const Timeline& timeline);

/// An operator's call that launched work itself.
struct OperatorCall {
  std::uint32_t slice = 0;
  std::int64_t device = -1;  ///< of its first work
  std::int64_t works = 0;
  std::int64_t kernels = 0;  ///< of them, with their blocks
  std::int64_t blocks = 0;
  std::int64_t gpu_ns = 0;
  std::uint32_t kernel = 0;  ///< the name of the longest; 0 where there is none
};
/// By time. Throws likewise.
std::vector<OperatorCall> operator_calls(const Timeline& timeline);

/// What a call does at least, by the shapes of its inputs.
struct OperatorWork {
  /// Of products of matrices, convolutions and attention as torch.utils.flop_counter counts them (2 m n k of a product;
  /// 2 times the output's elements times the filter's of a group; two products forwards and five backwards), but that
  /// a causal mask leaves n (n + 1) / 2 pairs of n places. Of other operators one for an element.
  double flops = 0.0;
  double bytes_read = 0.0, bytes_written = 0.0;
  bool matrix = false;  ///< made of products of matrices
  std::string type;     ///< of its elements: "float", "c10::BFloat16"
};
/// `inputs` as in Slice::detail: shapes, types and, where `work_needs_values`, values, as Kineto's "Input Dims",
/// "Input type" and "Concrete Inputs". Absent for operators whose work these do not tell.
std::optional<OperatorWork> operator_work(std::string_view name, std::string_view inputs);

/// Convolutions and attention: their strides and masks are no tensors.
bool work_needs_values(std::string_view name);

}  // namespace gpubench::timeline
