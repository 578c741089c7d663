// SPDX-License-Identifier: Apache-2.0
// What stands in for cuBLASLt in a build whose toolkit has no cublasLt.h.
#include <utility>

#include "gpubench/vectors.h"
#include "kernels/cublaslt.h"

namespace gpubench::kernels {

struct CublasLt::Library {
  std::string reason = "built without cublasLt.h; install cuBLAS's development package and configure again";
};
struct GemmPlan::Plan {};

CublasLt::CublasLt() : library_(std::make_shared<Library>()) {}
CublasLt::CublasLt(std::initializer_list<std::string>) : CublasLt() {}
const std::string& CublasLt::reason() const { return library_->reason; }
std::string CublasLt::version() const { return ""; }

GemmPlan::GemmPlan(const CublasLt& library, NumberFormat, std::int64_t, const void*, const void*, void*, cudaStream_t) {
  throw CudaError(library.reason());
}
GemmPlan::~GemmPlan() = default;
void GemmPlan::run(cudaStream_t) const {}
void GemmPlan::run(const void*, const void*, void*, cudaStream_t) const {}
std::string GemmPlan::description() const { return ""; }

}  // namespace gpubench::kernels
