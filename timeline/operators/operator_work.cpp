// SPDX-License-Identifier: Apache-2.0
#include "timeline/operators/operator_work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <vector>

#include "core/base/text.h"
#include "core/storage/document.h"

namespace gpubench::timeline {
namespace {

struct Input {
  std::vector<double> extents;
  std::string type;
  std::string given;        ///< of what is no tensor its value as Python writes it: "[1, 1]", "True"; empty: not told
  double bytes_each = 0.0;  ///< 0 for what is no tensor

  [[nodiscard]] double elements() const {
    double product = 1.0;
    for (const double extent : extents) product *= extent;
    return product;
  }
  [[nodiscard]] double bytes() const { return elements() * bytes_each; }
};

double bytes_of_type(std::string_view type) {
  constexpr std::pair<std::string_view, double> sizes[] = {{"float", 4},
                                                           {"double", 8},
                                                           {"c10::Half", 2},
                                                           {"c10::BFloat16", 2},
                                                           {"int", 4},
                                                           {"long int", 8},
                                                           {"long", 8},
                                                           {"short int", 2},
                                                           {"signed char", 1},
                                                           {"unsigned char", 1},
                                                           {"bool", 1},
                                                           {"c10::Float8_e4m3fn", 1},
                                                           {"c10::Float8_e5m2", 1}};
  const auto found = std::ranges::find(sizes, type, &std::pair<std::string_view, double>::first);
  return found == std::end(sizes) ? 0.0 : found->second;
}

/// None where the text is not as expected.
std::vector<Input> inputs_in(std::string_view text) {
  std::array<nlohmann::json, 3> lists;  // shapes, types, values
  for (std::size_t i = 0; i < lists.size(); ++i) lists[i] = storage::parsed_json(inputs_list(text, i));
  const auto& [shapes, types, values] = lists;
  if (!shapes.is_array() || !types.is_array() || shapes.size() != types.size()) return {};
  std::vector<Input> inputs(shapes.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (values.is_array() && i < values.size() && values[i].is_string()) inputs[i].given = values[i].get<std::string>();
    if (!types[i].is_string() || !shapes[i].is_array()) continue;
    inputs[i].type = types[i].get<std::string>();
    inputs[i].bytes_each = bytes_of_type(inputs[i].type);
    for (const auto& extent : shapes[i]) {
      if (!extent.is_number() || !(extent.get<double>() >= 0.0) || !(extent.get<double>() < 1e15)) return {};
      inputs[i].extents.push_back(extent.get<double>());
    }
  }
  return inputs;
}

/// Whole numbers from 0 on, as many as there are dimensions, of "[1, 1]" or of "[1]" for all of them; none of what is
/// no such list.
std::vector<double> numbers_in(const Input& input, std::size_t dimensions) {
  const auto list = storage::parsed_json(input.given);
  std::vector<double> numbers;
  if (!list.is_array()) return {};
  for (const auto& one : list) {
    if (!one.is_number_integer() || one.get<std::int64_t>() < 0 || one.get<std::int64_t>() > 1'000'000) return {};
    numbers.push_back(one.get<double>());
  }
  if (numbers.size() == 1) numbers.assign(dimensions, numbers.front());
  return numbers.size() == dimensions ? numbers : std::vector<double>();
}

double product_of(std::span<const double> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 1.0, std::multiplies());
}

/// Which of a convolution's inputs are what; after the input and the weight come lists.
struct ConvolutionInputs {
  std::string_view name;
  std::size_t padding, stride, dilation;
  std::size_t output_padding = 0;  ///< of a transposed one; 0: it is not
  bool matrix = true;
};
constexpr ConvolutionInputs convolutions[] = {{"aten::cudnn_convolution", 2, 3, 4},
                                              {"aten::cudnn_convolution_transpose", 2, 4, 5, 3},
                                              {"aten::_conv_depthwise2d", 5, 4, 6, 0, false},
                                              {"aten::conv_depthwise3d", 5, 4, 6, 0, false}};
constexpr std::string_view convolution_backward = "aten::convolution_backward";

bool is_convolution(const Input& x, const Input& weight) {
  return x.extents.size() >= 3 && x.extents.size() == weight.extents.size() && x.bytes_each > 0.0 &&
         x.type == weight.type;
}

/// Multiplications: each place of the output of an ordinary convolution, or of the input of a transposed one, meets
/// each place of the filter and each channel of its group. Padding counts as data.
double convolution_products(const Input& places, const Input& weight) {
  return places.elements() * product_of(std::span(weight.extents).subspan(1));
}

std::optional<OperatorWork> convolution_work(const ConvolutionInputs& of, const std::vector<Input>& inputs) {
  if (inputs.size() <= of.dilation || !is_convolution(inputs[0], inputs[1])) return std::nullopt;
  const Input &x = inputs[0], &weight = inputs[1];
  const std::size_t dimensions = x.extents.size() - 2;
  const bool transposed = of.output_padding != 0;
  const auto padding = numbers_in(inputs[of.padding], dimensions), stride = numbers_in(inputs[of.stride], dimensions),
             dilation = numbers_in(inputs[of.dilation], dimensions);
  auto more = std::vector<double>(dimensions, 0.0);
  if (transposed) more = numbers_in(inputs[of.output_padding], dimensions);
  if (padding.empty() || stride.empty() || dilation.empty() || more.empty()) return std::nullopt;
  Input y = x;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const double reach = dilation[i] * (weight.extents[i + 2] - 1.0), in = x.extents[i + 2];
    if (stride[i] < 1.0) return std::nullopt;
    y.extents[i + 2] = transposed ? (in - 1.0) * stride[i] - 2.0 * padding[i] + reach + more[i] + 1.0
                                  : std::floor((in + 2.0 * padding[i] - reach - 1.0) / stride[i]) + 1.0;
    if (!(y.extents[i + 2] >= 1.0)) return std::nullopt;
  }
  // The weight of a transposed one has the output's channels of a group behind the input's channels.
  if (transposed) {
    const auto groups = inputs.size() > of.dilation + 1 ? number_in<int>(inputs[of.dilation + 1].given) : std::nullopt;
    if (!groups || *groups < 1 || weight.extents[0] != x.extents[1]) return std::nullopt;
    y.extents[1] = weight.extents[1] * *groups;
  } else {
    const double groups = weight.extents[1] > 0.0 ? x.extents[1] / weight.extents[1] : 0.0;
    if (!(groups >= 1.0) || groups != std::floor(groups)) return std::nullopt;
    y.extents[1] = weight.extents[0];
  }
  return OperatorWork{2.0 * convolution_products(transposed ? x : y, weight), x.bytes() + weight.bytes(), y.bytes(),
                      of.matrix, x.type};
}

/// Gradients of the input and of the weight take as many products each as the convolution itself.
std::optional<OperatorWork> convolution_backward_work(const std::vector<Input>& inputs) {
  constexpr std::size_t transposed = 7, mask = 10;
  if (inputs.size() <= mask || !is_convolution(inputs[1], inputs[2]) ||
      inputs[0].extents.size() != inputs[1].extents.size())
    return std::nullopt;
  const Input &gradient = inputs[0], &x = inputs[1], &weight = inputs[2];
  const std::string& wanted = inputs[mask].given;  // "[True, True, False]": of input, weight and bias
  const bool of_input = wanted.starts_with("[True"), of_weight = contains(wanted, ", True, ");
  if (inputs[transposed].given.empty() || !wanted.starts_with('[') || !(of_input || of_weight)) return std::nullopt;
  const double products = convolution_products(inputs[transposed].given == "True" ? x : gradient, weight);
  return OperatorWork{2.0 * products * ((of_input ? 1.0 : 0.0) + (of_weight ? 1.0 : 0.0)),
                      gradient.bytes() + (of_input ? weight.bytes() : 0.0) + (of_weight ? x.bytes() : 0.0),
                      (of_input ? x.bytes() : 0.0) + (of_weight ? weight.bytes() : 0.0), true, x.type};
}

/// Which of an attention's inputs are what: queries, then keys and values, the mask that is no tensor, sequences packed
/// one behind the other, the window.
struct AttentionInputs {
  std::string_view name;
  std::size_t query, causal, packed, window;
  bool heads_first;  ///< batch, heads, places, channels; else batch, places, heads, channels
  bool backward;
};
constexpr std::size_t no_input = 1000;
constexpr AttentionInputs attentions[] = {
    {"aten::_scaled_dot_product_cudnn_attention", 0, 6, no_input, no_input, true, false},
    {"aten::_scaled_dot_product_cudnn_attention_backward", 1, 14, 9, no_input, true, true},
    {"aten::_cudnn_attention_forward", 0, 10, 4, no_input, true, false},
    {"aten::_cudnn_attention_backward", 1, 14, 9, no_input, true, true},
    {"aten::_flash_attention_forward", 0, 8, 3, 11, false, false},
    {"aten::_flash_attention_backward", 1, 11, 6, 15, false, true},
    {"aten::_efficient_attention_forward", 0, 9, 4, 13, false, false},
    {"aten::_efficient_attention_backward", 1, 14, 6, 18, false, true}};

/// Two products of matrices forwards (queries and keys, weights and values), five backwards; of the places that the
/// mask lets through.
std::optional<OperatorWork> attention_work(const AttentionInputs& of, const std::vector<Input>& inputs) {
  if (inputs.size() <= of.causal) return std::nullopt;
  const Input &query = inputs[of.query], &key = inputs[of.query + 1], &value = inputs[of.query + 2];
  for (const Input* one : {&query, &key, &value})
    if (one->extents.size() != 4 || one->bytes_each == 0.0 || one->type != query.type) return std::nullopt;
  if (of.packed < inputs.size() && !inputs[of.packed].extents.empty()) return std::nullopt;
  for (std::size_t i = of.window; i < of.window + 2 && i < inputs.size(); ++i)
    if (const std::string& given = inputs[i].given; !given.empty() && given != "-1" && given != "False")
      return std::nullopt;
  const std::size_t at = of.heads_first ? 2 : 1, heads = of.heads_first ? 1 : 2;
  const double places = query.extents[at], others = key.extents[at], channels = query.extents[3];
  if (key.extents[3] != channels || value.extents[at] != others || key.extents[0] != query.extents[0])
    return std::nullopt;
  const std::string& mask = inputs[of.causal].given;
  const bool all = mask == "False" || mask == "0", causal = mask == "True" || mask == "1" || mask == "2";
  // Kernels differ in where the triangle of a mask lies that is not square.
  if (!all && !(causal && places == others)) return std::nullopt;
  const double pairs = causal ? places * (places + 1.0) / 2.0 : places * others;
  const double products = query.extents[0] * query.extents[heads] * pairs *
                          (of.backward ? 3.0 * channels + 2.0 * value.extents[3] : channels + value.extents[3]);
  const double in = query.bytes() + key.bytes() + value.bytes();
  const double out = query.extents[0] * query.extents[heads] * places * value.extents[3] * query.bytes_each;
  return OperatorWork{2.0 * products, of.backward ? in + 2.0 * out : in, of.backward ? in : out, true, query.type};
}

template <class Table>
const auto* named_in(const Table& table, std::string_view name) {
  const auto found = std::ranges::find_if(table, [&](const auto& one) { return one.name == name; });
  return found == std::end(table) ? nullptr : &*found;
}

}  // namespace

std::string_view inputs_list(std::string_view inputs, std::size_t number) {
  for (;; --number) {
    std::size_t depth = 0, end = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < inputs.size() && end == 0; ++i) {
      if (quoted && inputs[i] == '\\') {
        ++i;
        continue;
      }
      if (inputs[i] == '"') quoted = !quoted;
      if (quoted) continue;
      depth += inputs[i] == '[' ? 1 : 0;
      if (inputs[i] == ']' && depth > 0 && --depth == 0) end = i + 1;
    }
    if (number == 0 || end == 0) return inputs.substr(0, end);
    inputs.remove_prefix(end);
  }
}

std::string_view inputs_of_work(std::string_view inputs) {
  const std::string_view last = inputs_list(inputs, 2);
  return last.empty() ? inputs : inputs.substr(0, static_cast<std::size_t>(last.end() - inputs.begin()));
}

bool work_needs_values(std::string_view name) {
  return named_in(convolutions, name) != nullptr || named_in(attentions, name) != nullptr ||
         name == convolution_backward;
}

std::optional<OperatorWork> operator_work(std::string_view name, std::string_view text) {
  // The first of its two matrices among the inputs; what is added comes before.
  constexpr std::pair<std::string_view, std::size_t> products[] = {
      {"aten::mm", 0}, {"aten::addmm", 1}, {"aten::bmm", 0}, {"aten::baddbmm", 1}};
  constexpr std::string_view elementwise[] = {"aten::add",
                                              "aten::sub",
                                              "aten::mul",
                                              "aten::div",
                                              "aten::neg",
                                              "aten::exp",
                                              "aten::sqrt",
                                              "aten::relu",
                                              "aten::gelu",
                                              "aten::silu",
                                              "aten::sigmoid",
                                              "aten::tanh",
                                              "aten::threshold_backward",
                                              "aten::gelu_backward",
                                              "aten::silu_backward",
                                              "aten::rsqrt",
                                              "aten::clamp",
                                              "aten::native_layer_norm",
                                              "aten::native_layer_norm_backward",
                                              "aten::_fused_rms_norm",
                                              "aten::native_group_norm",
                                              "aten::native_batch_norm",
                                              "aten::cudnn_batch_norm",
                                              "aten::_softmax",
                                              "aten::_softmax_backward_data",
                                              "aten::_log_softmax",
                                              "aten::_log_softmax_backward_data"};
  constexpr std::string_view counted[] = {"aten::add", "aten::sub", "aten::mul", "aten::div"};
  const std::vector<Input> inputs = inputs_in(text);
  if (const auto* convolution = named_in(convolutions, name)) return convolution_work(*convolution, inputs);
  if (const auto* attention = named_in(attentions, name)) return attention_work(*attention, inputs);
  if (name == convolution_backward) return convolution_backward_work(inputs);
  OperatorWork work;
  if (const auto product = std::ranges::find(products, name, &std::pair<std::string_view, std::size_t>::first);
      product != std::end(products)) {
    const std::size_t first = product->second;
    if (inputs.size() < first + 2) return std::nullopt;
    const Input &a = inputs[first], &b = inputs[first + 1];
    const std::size_t n = a.extents.size();
    if (n < 2 || b.extents.size() != n || a.bytes_each == 0.0 || a.type != b.type) return std::nullopt;
    if (a.extents[n - 1] != b.extents[n - 2]) return std::nullopt;
    const double written = a.elements() / a.extents[n - 1] * b.extents[n - 1];
    if (!(a.extents[n - 1] > 0.0)) return std::nullopt;
    work = {2.0 * a.elements() * b.extents[n - 1], a.bytes() + b.bytes(), written * a.bytes_each, true, a.type};
    if (first == 1) work.bytes_read += inputs[0].bytes();
    return work;
  }
  if (inputs.empty() || inputs[0].bytes_each == 0.0 || inputs[0].extents.empty()) return std::nullopt;
  work.type = inputs[0].type;
  if (name == "aten::copy_") {
    if (inputs.size() < 2 || inputs[1].bytes_each == 0.0) return std::nullopt;
    work.bytes_read = inputs[1].bytes();
    work.bytes_written = inputs[0].bytes();
    return work;
  }
  if (name == "aten::sum" || name == "aten::mean") {
    work.flops = inputs[0].elements();
    work.bytes_read = inputs[0].bytes();
    return work;
  }
  const std::string_view plain = name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
  if (std::ranges::find(elementwise, plain) == std::end(elementwise)) return std::nullopt;
  double elements = 0.0;
  for (const Input& input : inputs) {
    if (input.bytes_each == 0.0 || input.extents.empty()) continue;
    work.bytes_read += input.bytes();
    elements = std::max(elements, input.elements());
  }
  work.bytes_written = elements * inputs[0].bytes_each;
  if (std::ranges::find(counted, plain) != std::end(counted)) work.flops = elements;
  return work;
}

}  // namespace gpubench::timeline
