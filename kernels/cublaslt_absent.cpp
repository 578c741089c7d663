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

GemmPlan::GemmPlan(const CublasLt& library, NumberFormat, std::int64_t, const void*, const void*, void*, cudaStream_t,
                   const Options&) {
  throw CudaError(library.reason());
}
GemmPlan::GemmPlan(const CublasLt& library, NumberFormat type, std::int64_t n, const void* a, const void* b, void* c,
                   cudaStream_t stream)
    : GemmPlan(library, type, n, a, b, c, stream, Options{}) {}
GemmPlan::~GemmPlan() = default;
GemmPlan::GemmPlan(GemmPlan&&) noexcept = default;
GemmPlan& GemmPlan::operator=(GemmPlan&&) noexcept = default;
void GemmPlan::run(cudaStream_t) const {}
void GemmPlan::run(const void*, const void*, void*, cudaStream_t) const {}
std::string GemmPlan::description() const { return ""; }

}  // namespace gpubench::kernels
