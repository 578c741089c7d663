// SPDX-License-Identifier: Apache-2.0
// Products with sparse matrices by cuSPARSE, 64 entries a row: columns at random, or in a band.
#include <cusparse.h>

#include "common.h"

namespace libraries {
namespace {

constexpr std::int64_t row_entries = 64;

__global__ void fill_rows(std::int32_t* offsets, std::int32_t* columns, std::int64_t rows, bool banded) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i <= rows) offsets[i] = static_cast<std::int32_t>(i * row_entries);
  if (i >= rows * row_entries) return;
  const std::int64_t row = i / row_entries;
  const std::int64_t entry = i % row_entries;
  const std::int64_t stride = rows / row_entries;  // one column in each stretch: sorted, none twice
  const std::int64_t first = max(std::int64_t{0}, min(row - row_entries / 2, rows - row_entries));
  columns[i] = static_cast<std::int32_t>(banded ? first + entry
                                                : entry * stride + hash(static_cast<std::uint32_t>(i)) %
                                                                       static_cast<std::uint32_t>(stride));
}

/// A x of one vector, or A B of `width` columns that lie row by row.
void multiply(State& state, std::int64_t width) {
  const auto rows = state.range(0);
  const auto entries = rows * row_entries;
  auto offsets = state.device_vector<std::int32_t>(rows + 1, gpubench::none);
  auto columns = state.device_vector<std::int32_t>(entries, gpubench::none);
  auto values = state.device_vector<float>(entries);
  auto x = state.device_vector<float>(rows * width);
  auto y = state.device_vector<float>(rows * width);
  fill_rows<<<blocks_for(entries), threads>>>(offsets.data(), columns.data(), rows, state.text("columns") == "banded");
  wait_for_setup();
  state.reads(entries * 8 + rows * 4 + rows * width * 4);
  state.writes(rows * width * 4);
  state.flops(gpubench::fp32, 2 * entries * width);
  if (width == 1 && state.text("columns") == "random") random_reads(state, entries, x.bytes());

  Owned<cusparseHandle_t, cusparseDestroy> handle;
  LIBRARIES_CHECK(cusparseCreate(&handle.handle));
  Owned<cusparseSpMatDescr_t, cusparseDestroySpMat> a;
  LIBRARIES_CHECK(cusparseCreateCsr(&a.handle, rows, rows, entries, offsets.data(), columns.data(), values.data(),
                                    CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  const float one = 1.0F;
  const float zero = 0.0F;
  constexpr auto plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  std::size_t bytes = 0;
  const auto on = [&](cudaStream_t stream) {
    handle.on(stream, [&] { LIBRARIES_CHECK(cusparseSetStream(handle.handle, stream)); });
  };
  if (width == 1) {
    Owned<cusparseDnVecDescr_t, cusparseDestroyDnVec> from;
    Owned<cusparseDnVecDescr_t, cusparseDestroyDnVec> to;
    LIBRARIES_CHECK(cusparseCreateDnVec(&from.handle, rows, x.data(), CUDA_R_32F));
    LIBRARIES_CHECK(cusparseCreateDnVec(&to.handle, rows, y.data(), CUDA_R_32F));
    const auto call = [&](auto function, auto* workspace) {
      LIBRARIES_CHECK(function(handle.handle, plain, &one, a.handle, from.handle, &zero, to.handle, CUDA_R_32F,
                               CUSPARSE_SPMV_ALG_DEFAULT, workspace));
    };
    call(cusparseSpMV_bufferSize, &bytes);
    auto workspace = state.device_vector<char>(static_cast<std::int64_t>(bytes) + 1, gpubench::none);
    call(cusparseSpMV_preprocess, workspace.data());
    LIBRARIES_CHECK(cudaDeviceSynchronize());
    state.measure([&](cudaStream_t stream) {
      on(stream);
      call(cusparseSpMV, workspace.data());
    });
    return;
  }
  Owned<cusparseDnMatDescr_t, cusparseDestroyDnMat> from;
  Owned<cusparseDnMatDescr_t, cusparseDestroyDnMat> to;
  LIBRARIES_CHECK(cusparseCreateDnMat(&from.handle, rows, width, width, x.data(), CUDA_R_32F, CUSPARSE_ORDER_ROW));
  LIBRARIES_CHECK(cusparseCreateDnMat(&to.handle, rows, width, width, y.data(), CUDA_R_32F, CUSPARSE_ORDER_ROW));
  const auto call = [&](auto function, auto* workspace) {
    LIBRARIES_CHECK(function(handle.handle, plain, plain, &one, a.handle, from.handle, &zero, to.handle, CUDA_R_32F,
                             CUSPARSE_SPMM_CSR_ALG2, workspace));
  };
  call(cusparseSpMM_bufferSize, &bytes);
  auto workspace = state.device_vector<char>(static_cast<std::int64_t>(bytes) + 1, gpubench::none);
  call(cusparseSpMM_preprocess, workspace.data());
  LIBRARIES_CHECK(cudaDeviceSynchronize());
  state.measure([&](cudaStream_t stream) {
    on(stream);
    call(cusparseSpMM, workspace.data());
  });
}

void cusparse_spmv(State& state) { multiply(state, 1); }
GPU_BENCHMARK_TEXTS(cusparse_spmv, columns, random, banded)
    ->ArgName("rows")
    ->Arg(1024)
    ->Arg(64 * kibi)
    ->Arg(mebi)
    ->Arg(4 * mebi);
void cusparse_spmm(State& state) { multiply(state, state.range(1)); }
GPU_BENCHMARK_TEXTS(cusparse_spmm, columns, random, banded)
    ->ArgNames({"rows", "width"})
    ->Args({1024, 16})
    ->Args({64 * kibi, 64})
    ->Args({mebi, 32});

}  // namespace
}  // namespace libraries
