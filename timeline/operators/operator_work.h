// SPDX-License-Identifier: Apache-2.0
// What an operator of a framework does at least, by the shapes of its inputs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace gpubench::timeline {

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

/// Of `inputs` the shapes (0), the types (1), the values as far as the work needs them (2), the strides (3), and of
/// operators whose work needs none the values (4). Empty where they are not told.
std::string_view inputs_list(std::string_view inputs, std::size_t number);
/// The first three, which tell the work.
std::string_view inputs_of_work(std::string_view inputs);

/// Convolutions and attention: their strides and masks are no tensors.
bool work_needs_values(std::string_view name);

}  // namespace gpubench::timeline
