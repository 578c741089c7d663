// SPDX-License-Identifier: Apache-2.0
// What cuBLASLt's loader says without the library; needs no GPU.
#include "kernels/cublaslt.h"

#include <gtest/gtest.h>

#include "gpubench/vectors.h"
#include "tests/matchers.h"

namespace gpubench::kernels {
namespace {

TEST(CublasLt, AMissingLibraryGivesAReason) {
  const CublasLt library({"libthere-is-none.so.1"});
  EXPECT_THAT(library.reason(), HasSubstr("libthere-is-none.so.1"));
  EXPECT_THAT(library.reason(), HasSubstr("LD_LIBRARY_PATH"));
  EXPECT_EQ(library.version(), "");
}

TEST(CublasLt, AForeignLibraryGivesAReason) {
  EXPECT_THAT(CublasLt({"libm.so.6"}).reason(), HasSubstr("lacks a function"));
}

TEST(CublasLt, NoPlanWithoutTheLibrary) {
  const CublasLt library({"libthere-is-none.so.1"});
  EXPECT_THROW(GemmPlan(library, NumberFormat::bf16, 64, nullptr, nullptr, nullptr, nullptr), CudaError);
}

TEST(CublasLt, Bytes) {
  EXPECT_EQ(bytes_of(NumberFormat::fp32), 4U);
  EXPECT_EQ(bytes_of(NumberFormat::fp64), 8U);
  EXPECT_EQ(bytes_of(NumberFormat::int8), 1U);
  EXPECT_EQ(result_bytes(NumberFormat::int8), 4U);
  EXPECT_EQ(result_bytes(NumberFormat::fp8), 2U);
  EXPECT_EQ(result_bytes(NumberFormat::bf16), 2U);
  EXPECT_EQ(bytes_of(NumberFormat::bf16), 2U);
  EXPECT_EQ(bytes_of(NumberFormat::fp16), 2U);
}

}  // namespace
}  // namespace gpubench::kernels
