// SPDX-License-Identifier: Apache-2.0
#include "kernels/probes/cuda_compute.h"

namespace gpubench::probes {
namespace {

/// Results in a clock; a multiply-add is one.
struct VectorRow {
  int capability;  ///< 10 major + minor
  int fp64, fp32, half, bfloat, int32, special;
};
constexpr VectorRow vector_rows[] = {
    {70, 32, 64, 128, 0, 64, 16},    {75, 2, 64, 128, 0, 64, 16},      {80, 32, 64, 256, 128, 64, 16},
    {86, 2, 128, 128, 128, 64, 16},  {87, 2, 128, 256, 128, 64, 16},   {89, 2, 128, 128, 128, 64, 16},
    {90, 64, 128, 256, 256, 64, 16}, {100, 64, 128, 256, 256, 64, 16}, {120, 2, 128, 128, 128, 64, 16}};

struct TensorRow {
  int capability;
  int fp64, tf32, half, fp8, int8;  ///< FLOPs in a clock
};
constexpr TensorRow tensor_rows[] = {{75, 0, 0, 1024, 0, 2048},         {80, 128, 1024, 2048, 0, 4096},
                                     {86, 0, 512, 1024, 0, 2048},       {89, 0, 512, 1024, 2048, 2048},
                                     {90, 256, 2048, 4096, 8192, 8192}, {100, 128, 4096, 8192, 16384, 16384}};

template <class Row, std::size_t N>
const Row* find(const Row (&rows)[N], int major, int minor) {
  for (const Row& row : rows)
    if (row.capability == 10 * major + minor) return &row;
  return nullptr;
}

}  // namespace

int vector_limit(VectorOperation operation, int major, int minor) {
  const VectorRow* const row = find(vector_rows, major, minor);
  if (row == nullptr) return 0;
  switch (operation) {
    case VectorOperation::fp64:
      return 2 * row->fp64;
    case VectorOperation::fp32:
      return 2 * row->fp32;
    case VectorOperation::fp16:
      return 2 * row->half;
    case VectorOperation::bf16:
      return 2 * row->bfloat;
    case VectorOperation::int32:
      // Blackwell merged its integer lanes with the floating-point ones; the table does not yet tell their rate.
      return row->capability >= 100 ? 0 : 2 * row->int32;
    case VectorOperation::exp2:
    case VectorOperation::rsqrt:
    case VectorOperation::sin:
      return row->special;
    case VectorOperation::division:
      break;
  }
  return 0;
}

int tensor_limit(NumberFormat type, int major, int minor) {
  const TensorRow* const row = find(tensor_rows, major, minor);
  if (row == nullptr) return 0;
  switch (type) {
    case NumberFormat::fp64:
      return row->fp64;
    case NumberFormat::tf32:
      return row->tf32;
    case NumberFormat::fp16:
      return row->half;
    case NumberFormat::bf16:
      return row->capability >= 80 ? row->half : 0;
    case NumberFormat::fp8:
      return row->fp8;
    case NumberFormat::int8:
      return row->int8;
    case NumberFormat::fp32:
    case NumberFormat::int32:
      break;
  }
  return 0;
}

int local_bytes_limit(int major, int) { return major >= 7 ? 128 : 0; }

}  // namespace gpubench::probes
