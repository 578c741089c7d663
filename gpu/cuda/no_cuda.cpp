// SPDX-License-Identifier: Apache-2.0
// CUDA's row in a build without its toolkit.
#include "gpu/cuda/cuda_backend.h"

namespace gpubench::bench {
namespace {

struct NoCuda final : Backend {
  [[nodiscard]] std::string_view prefix() const override { return gpu_prefix; }
  [[nodiscard]] std::string why_none() const override { return "gpubench was built without CUDA"; }
};

}  // namespace

const Backend& cuda_backend() {
  static const NoCuda backend;
  return backend;
}

}  // namespace gpubench::bench
