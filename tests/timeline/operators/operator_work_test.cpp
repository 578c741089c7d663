// SPDX-License-Identifier: Apache-2.0
#include "timeline/operators/operator_work.h"

#include <gmock/gmock.h>

#include <string>

#include "tests/timeline/sample_timeline.h"

namespace gpubench {
namespace {

TEST(OperatorWork, is_what_shapes_tell) {
  const auto mm = timeline::operator_work("aten::mm", R"([[8, 256], [256, 512]]["c10::BFloat16", "c10::BFloat16"])");
  ASSERT_TRUE(mm);
  EXPECT_DOUBLE_EQ(mm->flops, 2.0 * 8 * 256 * 512);
  EXPECT_DOUBLE_EQ(mm->bytes_read, 2.0 * (8 * 256 + 256 * 512));
  EXPECT_DOUBLE_EQ(mm->bytes_written, 2.0 * 8 * 512);
  EXPECT_TRUE(mm->matrix);
  const auto addmm = timeline::operator_work(
      "aten::addmm", R"([[512], [8, 256], [256, 512], [], []]["float", "float", "float", "Scalar", "Scalar"])");
  ASSERT_TRUE(addmm);
  EXPECT_DOUBLE_EQ(addmm->bytes_read, 4.0 * (512 + 8 * 256 + 256 * 512));
  const auto bmm = timeline::operator_work("aten::bmm", R"([[4, 8, 16], [4, 16, 32]]["c10::Half", "c10::Half"])");
  EXPECT_DOUBLE_EQ(bmm->flops, 2.0 * 4 * 8 * 16 * 32);
  const auto copy =
      timeline::operator_work("aten::copy_", R"([[100, 10], [100, 10], []]["c10::BFloat16", "float", "Scalar"])");
  EXPECT_DOUBLE_EQ(copy->bytes_read, 4000);
  EXPECT_DOUBLE_EQ(copy->bytes_written, 2000);
  EXPECT_DOUBLE_EQ(copy->flops, 0);
  EXPECT_DOUBLE_EQ(timeline::operator_work("aten::mul_", R"([[10], []]["float", "double"])")->flops, 10);
  // What does not fit, or is not known, has no work.
  const auto norm =
      timeline::operator_work("aten::native_layer_norm",
                              R"([[8, 512], [], [512], [512], []]["float", "ScalarList", "float", "float", "Scalar"])");
  EXPECT_DOUBLE_EQ(norm->bytes_read, 4.0 * (8 * 512 + 2 * 512));
  EXPECT_DOUBLE_EQ(norm->bytes_written, 4.0 * 8 * 512);
  EXPECT_FALSE(timeline::operator_work("aten::mm", R"([[8, 256], [255, 512]]["float", "float"])"));
  EXPECT_FALSE(timeline::operator_work("aten::mm", R"([[8, 256], [256, 512]]["float", "double"])"));
  EXPECT_FALSE(timeline::operator_work("aten::mm", R"([[8, 256]]["float"])"));
  EXPECT_FALSE(timeline::operator_work("aten::mm", "[[8, 256], [256"));
  EXPECT_FALSE(timeline::operator_work("aten::mm", ""));
  EXPECT_FALSE(timeline::operator_work("aten::mm", R"([[-1, 2], [2, 1e300]]["float", "float"])"));
  EXPECT_FALSE(timeline::operator_work("aten::unheard_of", R"([[8]]["float"])"));
}

/// Expectations are worked out by hand, and equal torch.utils.flop_counter's but for the mask.
TEST(OperatorWork, of_convolutions_is_that_of_their_output_and_filter) {
  // 7 x 7 of stride 2: 112 x 112 places.
  const auto stem = timeline::operator_work(
      "aten::cudnn_convolution",
      R"([[8, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], []]["c10::Half", "c10::Half", "ScalarList", "ScalarList", "ScalarList", "Scalar", "Scalar", "Scalar", "Scalar"]["", "", "[3, 3]", "[2, 2]", "[1, 1]", "1", "False", "False", "True"])");
  ASSERT_TRUE(stem);
  EXPECT_DOUBLE_EQ(stem->flops, 2.0 * 8 * 64 * 112 * 112 * 3 * 7 * 7);
  EXPECT_DOUBLE_EQ(stem->bytes_read, 2.0 * (8 * 3 * 224 * 224 + 64 * 3 * 7 * 7));
  EXPECT_DOUBLE_EQ(stem->bytes_written, 2.0 * 8 * 64 * 112 * 112);
  EXPECT_TRUE(stem->matrix);
  // Two groups, dilated, one number for both dimensions.
  const auto grouped = timeline::operator_work(
      "aten::cudnn_convolution",
      R"([[1, 32, 20, 30], [64, 16, 3, 3], [], [], []]["float", "float", "ScalarList", "ScalarList", "ScalarList"]["", "", "[0]", "[1]", "[2]"])");
  ASSERT_TRUE(grouped);
  EXPECT_DOUBLE_EQ(grouped->flops, 2.0 * 64 * 16 * 26 * 16 * 3 * 3);
  const auto transposed = timeline::operator_work(
      "aten::cudnn_convolution_transpose",
      R"([[4, 16, 10, 10], [16, 8, 4, 4], [], [], [], [], []]["float", "float", "", "", "", "", ""]["", "", "[1, 1]", "[0, 0]", "[2, 2]", "[1, 1]", "1"])");
  ASSERT_TRUE(transposed);
  EXPECT_DOUBLE_EQ(transposed->flops, 2.0 * 4 * 16 * 10 * 10 * 8 * 4 * 4);
  EXPECT_DOUBLE_EQ(transposed->bytes_written, 4.0 * 4 * 8 * 20 * 20);
  const auto depthwise = timeline::operator_work(
      "aten::_conv_depthwise2d",
      R"([[2, 32, 14, 14], [32, 1, 3, 3], [], [], [], [], []]["float", "float", "", "", "", "", ""]["", "", "[3, 3]", "", "[1, 1]", "[1, 1]", "[1, 1]"])");
  ASSERT_TRUE(depthwise);
  EXPECT_DOUBLE_EQ(depthwise->flops, 2.0 * 2 * 32 * 14 * 14 * 9);
  EXPECT_FALSE(depthwise->matrix);
  const std::string shapes =
      R"([[8, 64, 112, 112], [8, 3, 224, 224], [64, 3, 7, 7], [], [], [], [], [], [], [], []]["c10::Half", "c10::Half", "c10::Half", "", "", "", "", "", "", "", ""])";
  const auto both = timeline::operator_work(
      "aten::convolution_backward",
      shapes + R"(["", "", "", "[0]", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1", "[True, True, False]"])");
  ASSERT_TRUE(both);
  EXPECT_DOUBLE_EQ(both->flops, 2.0 * stem->flops);
  const auto weight = timeline::operator_work(
      "aten::convolution_backward",
      shapes + R"(["", "", "", "[0]", "[2, 2]", "[3, 3]", "[1, 1]", "False", "[0, 0]", "1", "[False, True, False]"])");
  ASSERT_TRUE(weight);
  EXPECT_DOUBLE_EQ(weight->flops, stem->flops);
  EXPECT_DOUBLE_EQ(weight->bytes_written, 2.0 * 64 * 3 * 7 * 7);
  // Without the values, with a stride of nothing, with a filter that is larger than what it goes over.
  EXPECT_FALSE(timeline::operator_work("aten::convolution_backward", shapes));
  for (const char* values :
       {R"(["", "", "[0]", "[0]", "[1]"])", R"(["", "", "[0]", "[1]", "[50]"])",
        R"(["", "", "[0]", "[1, 1, 1]", "[1]"])", R"(["", "", "[-1]", "[1]", "[1]"])", R"(["")", ""})
    EXPECT_FALSE(timeline::operator_work(
        "aten::cudnn_convolution",
        std::string(R"([[1, 32, 20, 30], [64, 16, 3, 3], [], [], []]["float", "float", "", "", ""])") + values))
        << values;
}

TEST(OperatorWork, of_attention_is_that_of_the_pairs_that_its_mask_leaves) {
  const auto flash = [](const char* causal, const char* window = "", const char* lengths = "[]") {
    return timeline::operator_work(
        "aten::_flash_attention_forward",
        std::string("[[2, 100, 8, 64], [2, 100, 4, 64], [2, 100, 4, 64], ") + lengths +
            R"(, [], [], [], [], [], [], [], [], []]["c10::Half", "c10::Half", "c10::Half", "", "", "", "", "", "", "", "", "", ""]["", "", "", "", "", "100", "100", "0.", ")" +
            causal + R"(", "False", "", ")" + window + R"(", ""])");
  };
  ASSERT_TRUE(flash("False"));
  EXPECT_DOUBLE_EQ(flash("False")->flops, 2.0 * 2 * 8 * 100 * 100 * (64 + 64));
  EXPECT_DOUBLE_EQ(flash("True")->flops, 2.0 * 2 * 8 * (100 * 101 / 2.0) * (64 + 64));
  EXPECT_DOUBLE_EQ(flash("True")->bytes_read, 2.0 * 2 * 100 * 64 * (8 + 4 + 4));
  EXPECT_DOUBLE_EQ(flash("True")->bytes_written, 2.0 * 2 * 100 * 64 * 8);
  EXPECT_FALSE(flash(""));                  // the mask is not told
  EXPECT_FALSE(flash("False", "128"));      // a window
  EXPECT_FALSE(flash("False", "", "[3]"));  // sequences one behind the other
  EXPECT_TRUE(flash("False", "-1"));
  // Of the kept trace: heads before places, causal; three products with queries' channels, two with values'.
  const auto backward = timeline::operator_work(
      "aten::_cudnn_attention_backward",
      R"([[8, 8, 256, 64], [8, 8, 256, 64], [8, 8, 256, 64], [8, 8, 256, 64], [8, 8, 256, 64], [8, 8, 256, 1], [], [], [], [], [], [], [], [], [], []]["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "float", "long int", "long int", "", "", "", "Scalar", "Scalar", "Scalar", "Scalar", ""]["", "", "", "", "", "", "", "", "", "", "", "256", "256", "0.", "True", ""])");
  ASSERT_TRUE(backward);
  EXPECT_DOUBLE_EQ(backward->flops, 2.0 * 8 * 8 * (256 * 257 / 2.0) * 5 * 64);
  // A causal mask over other keys than queries lies differently in different kernels.
  EXPECT_FALSE(timeline::operator_work(
      "aten::_efficient_attention_forward",
      R"([[1, 10, 2, 8], [1, 20, 2, 8], [1, 20, 2, 8], [], [], [], [], [], [], []]["float", "float", "float", "", "", "", "", "", "", ""]["", "", "", "", "", "", "", "", "0.", "1"])"));
  EXPECT_DOUBLE_EQ(
      timeline::operator_work(
          "aten::_efficient_attention_forward",
          R"([[1, 10, 2, 8], [1, 20, 2, 8], [1, 20, 2, 8], [], [], [], [], [], [], []]["float", "float", "float", "", "", "", "", "", "", ""]["", "", "", "", "", "", "", "", "0.", "0"])")
          ->flops,
      2.0 * 2 * 10 * 20 * 16);
}

TEST(OperatorInputs, AreListsThatMayBeDamaged) {
  constexpr std::string_view inputs = R"([[8]]["a\"]["]["[1]"][[1]]["x"])";
  EXPECT_EQ(timeline::inputs_list(inputs, 0), "[[8]]");
  EXPECT_EQ(timeline::inputs_list(inputs, 1), R"(["a\"]["])");
  EXPECT_EQ(timeline::inputs_list(inputs, 2), R"(["[1]"])");
  EXPECT_EQ(timeline::inputs_list(inputs, 4), R"(["x"])");
  EXPECT_EQ(timeline::inputs_list(inputs, 5), "");
  EXPECT_EQ(timeline::inputs_of_work(inputs), R"([[8]]["a\"]["]["[1]"])");
  EXPECT_EQ(timeline::inputs_of_work("[[8]][\"float\"]"), "[[8]][\"float\"]");
  for (const std::string_view damaged : {"", "]", "[", "\"", "[\"\\", "[[[]", "]]][[["})
    for (std::size_t i = 0; i < 5; ++i) EXPECT_LE(timeline::inputs_list(damaged, i).size(), damaged.size());
}

}  // namespace
}  // namespace gpubench
