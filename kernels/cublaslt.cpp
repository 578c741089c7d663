// SPDX-License-Identifier: Apache-2.0
#include "kernels/cublaslt.h"

#include "gpubench/vectors.h"

#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "core/statistics/statistics.h"
#include "gpu/cuda/handles.h"
#include "gpu/libraries.h"

namespace gpubench::kernels {

// clang-format off
#define GPUBENCH_CUBLASLT_FUNCTIONS(each) \
  each(cublasLtCreate) each(cublasLtDestroy) each(cublasLtGetVersion) each(cublasLtGetStatusString) \
  each(cublasLtMatmulDescCreate) each(cublasLtMatmulDescDestroy) each(cublasLtMatmulDescSetAttribute) \
  each(cublasLtMatrixLayoutCreate) each(cublasLtMatrixLayoutDestroy) each(cublasLtMatmulPreferenceCreate) \
  each(cublasLtMatmulPreferenceDestroy) each(cublasLtMatmulPreferenceSetAttribute) \
  each(cublasLtMatmulAlgoGetHeuristic) each(cublasLtMatmul)
// clang-format on

/// The functions used, each under the name it has in the library. The library stays loaded until the program ends: it
/// registers code with the CUDA runtime that must not go away under a live context.
struct CublasLt::Library {
  explicit Library(const std::vector<std::string>& files);
  ~Library();
  Library& operator=(Library&&) = delete;  ///< not copied, not moved

  /// True when the file is a cuBLASLt with all functions and gave a handle; else `why` says what was wrong.
  bool open(const std::string& file, std::string& why);
  void check(cublasStatus_t status, const char* call) const;

  std::string reason;
  cublasLtHandle_t handle = nullptr;

#define GPUBENCH_MEMBER(function) decltype(&::function) function = nullptr;  // NOLINT(bugprone-macro-parentheses)
  GPUBENCH_CUBLASLT_FUNCTIONS(GPUBENCH_MEMBER)
#undef GPUBENCH_MEMBER
};

/// Calls a function of the library. Throws CudaError, as Library::check does.
#define GPUBENCH_CUBLASLT_CALL(library, function, ...) (library).check((library).function(__VA_ARGS__), #function)

CublasLt::Library::Library(const std::vector<std::string>& files) {
  std::string first_why;
  for (const auto& file : files) {
    std::string why;
    if (open(file, why)) return;
    if (first_why.empty()) first_why = why;
  }
  reason = "cuBLASLt cannot be used: " + first_why +
           "; install the CUDA toolkit's libcublas or add its folder to LD_LIBRARY_PATH";
}

CublasLt::Library::~Library() {
  if (handle != nullptr) cublasLtDestroy(handle);
}

bool CublasLt::Library::open(const std::string& file, std::string& why) {
  void* const library = bench::open_library({file}, why);
  if (library == nullptr) return false;
  bool complete = true;
  const auto load = [&]<class Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
#define GPUBENCH_LOAD(function) load(function, #function);
  GPUBENCH_CUBLASLT_FUNCTIONS(GPUBENCH_LOAD)
#undef GPUBENCH_LOAD
  if (!complete) {
    why = file + " lacks a function that gpubench needs";
    return false;
  }
  if (const cublasStatus_t status = cublasLtCreate(&handle); status != CUBLAS_STATUS_SUCCESS) {
    why = file + ": cublasLtCreate failed: " + cublasLtGetStatusString(status);
    handle = nullptr;
    bench::clear_error();
    return false;
  }
  return true;
}

void CublasLt::Library::check(cublasStatus_t status, const char* call) const {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw CudaError(std::string(call) + " failed: " + cublasLtGetStatusString(status));
}

CublasLt::CublasLt()
    : library_(std::make_shared<Library>(bench::library_files({"libcublasLt.so.13", "libcublasLt.so.12"}, {"lib64"}))) {
}
CublasLt::CublasLt(std::initializer_list<std::string> files)
    : library_(std::make_shared<Library>(std::vector<std::string>(files))) {}

const std::string& CublasLt::reason() const { return library_->reason; }

std::string CublasLt::version() const {
  if (!library_->reason.empty()) return "";
  // 13.1.0 is 130100, 12.6.4 is 120604: major x 10000 + minor x 100 + patch since version 12.
  const auto number = library_->cublasLtGetVersion();
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

namespace {

struct Types {
  cudaDataType_t factor;
  cudaDataType_t result;
  cudaDataType_t scale;
  cublasComputeType_t compute;
};

Types types_of(NumberFormat type) {
  using enum NumberFormat;
  if (type == fp64) return {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
  if (type == tf32) return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
  if (type == fp16) return {CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  if (type == bf16) return {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  if (type == fp8) return {CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  if (type == int8) return {CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I};
  if (type == int32) throw CudaError("cuBLASLt has no matrix product of INT32 factors");
  return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F};
}

/// 0 or 1 in the type that a product's scale factors have.
const void* scale_of(cudaDataType_t type, bool one) {
  static constexpr float floats[] = {0.0F, 1.0F};
  static constexpr double doubles[] = {0.0, 1.0};
  static constexpr std::int32_t integers[] = {0, 1};
  if (type == CUDA_R_64F) return doubles + one;
  return type == CUDA_R_32I ? static_cast<const void*>(integers + one) : floats + one;
}

}  // namespace

/// Descriptors, algorithm and workspace. cuBLASLt is column-major: with each row-major matrix read as its transpose,
/// C^T = B^T A^T is the product of the same memory with A and B exchanged, and of C = A B^T it is C^T = B A^T, where B
/// is the transpose of what its memory reads as.
struct GemmPlan::Plan {
  Plan(std::shared_ptr<const CublasLt::Library> opened, const void* first, const void* second, void* result)
      : library(std::move(opened)), a(first), b(second), c(result) {
    if (!library->reason.empty()) throw CudaError(library->reason);
  }
  ~Plan() {
    if (preference != nullptr) library->cublasLtMatmulPreferenceDestroy(preference);
    if (layout != nullptr) library->cublasLtMatrixLayoutDestroy(layout);
    if (result_layout != nullptr) library->cublasLtMatrixLayoutDestroy(result_layout);
    if (operation != nullptr) library->cublasLtMatmulDescDestroy(operation);
  }
  Plan& operator=(Plan&&) = delete;  ///< not copied, not moved

  /// Makes the descriptors; apart from the constructor, so that the destructor frees those made before one that fails.
  void describe(NumberFormat type, std::int64_t n) {
    const auto size = static_cast<std::uint64_t>(n);
    const Types types = types_of(type);
    scale = types.scale;
    GPUBENCH_CUBLASLT_CALL(*library, cublasLtMatmulDescCreate, &operation, types.compute, types.scale);
    if (takes_columns(type)) set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    if (type == NumberFormat::fp8) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1});
    GPUBENCH_CUBLASLT_CALL(*library, cublasLtMatrixLayoutCreate, &layout, types.factor, size, size, n);
    GPUBENCH_CUBLASLT_CALL(*library, cublasLtMatrixLayoutCreate, &result_layout, types.result, size, size, n);
    GPUBENCH_CUBLASLT_CALL(*library, cublasLtMatmulPreferenceCreate, &preference);
  }
  template <class T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    GPUBENCH_CUBLASLT_CALL(*library, cublasLtMatmulDescSetAttribute, operation, attribute, &value, sizeof(value));
  }
  void propose();
  void choose();
  /// Products by this algorithm, ready to be launched at once; absent when it is refused.
  [[nodiscard]] std::optional<bench::GraphExec> products(const cublasLtMatmulAlgo_t& candidate, int count,
                                                         Stream stream) const;
  cublasStatus_t run(const cublasLtMatmulAlgo_t& which, Stream stream) const { return run(which, a, b, c, stream); }
  cublasStatus_t run(const cublasLtMatmulAlgo_t& which, const void* first, const void* second, void* result,
                     Stream stream) const {
    return library->cublasLtMatmul(library->handle, operation, scale_of(scale, true), second, layout, first, layout,
                                   scale_of(scale, false), result, result_layout, result, result_layout, &which,
                                   const_cast<std::byte*>(workspace.data()), workspace.size(), stream);
  }

  std::shared_ptr<const CublasLt::Library> library;
  const void* a;
  const void* b;
  void* c;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t layout = nullptr;  ///< of both factors
  cublasLtMatrixLayout_t result_layout = nullptr;
  cudaDataType_t scale = CUDA_R_32F;
  cublasLtMatmulPreference_t preference = nullptr;
  DeviceVector<std::byte> workspace;
  std::vector<cublasLtMatmulHeuristicResult_t> proposals;
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t chosen = 0;
  std::string version;
};

void GemmPlan::Plan::propose() {
  constexpr int max_proposals = 16;
  const std::size_t limit = std::size_t{64} << 20;  // of the workspace
  GPUBENCH_CUBLASLT_CALL(*library, cublasLtMatmulPreferenceSetAttribute, preference,
                         CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof(limit));
  proposals.resize(max_proposals);
  int found = 0;
  GPUBENCH_CUBLASLT_CALL(*library, cublasLtMatmulAlgoGetHeuristic, library->handle, operation, layout, layout,
                         result_layout, result_layout, preference, max_proposals, proposals.data(), &found);
  proposals.resize(static_cast<std::size_t>(found));
  std::erase_if(proposals, [](const auto& proposal) { return proposal.state != CUBLAS_STATUS_SUCCESS; });
  if (proposals.empty()) throw CudaError("cuBLASLt has no algorithm for this matrix product on this GPU");
  std::size_t needed = 0;
  for (const auto& proposal : proposals) needed = std::max(needed, proposal.workspaceSize);
  workspace = DeviceVector<std::byte>(needed);
}

std::optional<bench::GraphExec> GemmPlan::Plan::products(const cublasLtMatmulAlgo_t& candidate, int count,
                                                         Stream stream) const {
  // The first one loads the kernel, which a capture does not allow.
  if (run(candidate, stream) != CUBLAS_STATUS_SUCCESS) return std::nullopt;
  bench::wait_for(stream);
  const auto products = [&](Stream to, std::int64_t executions) {
    for (std::int64_t i = 0; i < executions; ++i) library->check(run(candidate, to), "cublasLtMatmul");
  };
  const auto graph = bench::capture(products, count, stream);
  return graph ? std::optional<bench::GraphExec>(*graph) : std::nullopt;
}

void GemmPlan::Plan::choose() {
  // In graphs, because launches by the host scatter by more than algorithms differ; in rounds, because the clock
  // drifts. What is left of the scatter must not decide: of algorithms within 2 % the one that cuBLASLt proposed first
  // is taken, so that two processes choose the same.
  constexpr int products_each = 10;
  constexpr int rounds = 5;
  constexpr double equal_within = 1.02;
  // Of the best in all rounds so far; samples scatter by some 1 %.
  constexpr double hopeless_after_one_round = 1.2;
  constexpr double hopeless_from = 1.06;
  // After some 10 ms of products a GPU at its power limit lowers its clock, and the first candidate would look fastest.
  constexpr double rest_seconds = 0.005;
  constexpr double long_seconds = 0.2e-3;  // one product is then enough of a sample, and heats the chip
  struct Candidate {
    std::size_t proposal;
    bench::GraphExec graph;
    int products;
    std::vector<double> seconds;
  };
  std::optional<bench::OwnedStream> own;  // the default stream cannot be captured
  Stream stream = bench::working_stream();
  if (stream == nullptr) stream = own.emplace().get();
  bench::CudaEventTimer timer(stream);
  const auto seconds_of = [&](const bench::GraphExec& graph) { return timer.seconds([&] { graph.launch(stream); }); };
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    auto one = products(proposals[i].algo, 1, stream);
    if (!one) {
      bench::clear_error();
      continue;
    }
    (void)seconds_of(*one);
    if (seconds_of(*one) >= long_seconds) {
      candidates.push_back({i, std::move(*one), 1, {}});
    } else if (auto several = products(proposals[i].algo, products_each, stream)) {
      (void)seconds_of(*several);
      candidates.push_back({i, std::move(*several), products_each, {}});
    }
  }
  if (candidates.empty()) throw CudaError("cuBLASLt refused every algorithm it proposed for this matrix product");
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    for (Candidate& candidate : candidates) {
      if (candidate.products == 1) std::this_thread::sleep_for(std::chrono::duration<double>(rest_seconds));
      candidate.seconds.push_back(seconds_of(candidate.graph) / candidate.products);
      best = std::min(best, candidate.seconds.back());
    }
    const double limit = (round == 0 ? hopeless_after_one_round : hopeless_from) * best;
    std::erase_if(candidates, [&](const Candidate& c) { return *std::ranges::min_element(c.seconds) > limit; });
  }
  std::vector<double> medians;
  medians.reserve(candidates.size());
  for (const Candidate& candidate : candidates) medians.push_back(statistics::median(candidate.seconds));
  const double limit = equal_within * *std::ranges::min_element(medians);
  const auto first = std::ranges::find_if(medians, [&](double seconds) { return seconds <= limit; });
  chosen = candidates[static_cast<std::size_t>(first - medians.begin())].proposal;
  algorithm = proposals[chosen].algo;
}

GemmPlan::GemmPlan(const CublasLt& library, NumberFormat type, std::int64_t n, const void* a, const void* b, void* c,
                   Stream stream)
    : plan_(std::make_unique<Plan>(library.library_, a, b, c)) {
  plan_->describe(type, n);
  plan_->version = library.version();
  plan_->propose();
  bench::wait_for(stream);  // the matrices are there
  plan_->choose();
}
GemmPlan::~GemmPlan() = default;

void GemmPlan::run(Stream stream) const {
  plan_->library->check(plan_->run(plan_->algorithm, stream), "cublasLtMatmul");
}

void GemmPlan::run(const void* a, const void* b, void* c, Stream stream) const {
  plan_->library->check(plan_->run(plan_->algorithm, a, b, c, stream), "cublasLtMatmul");
}

std::string GemmPlan::description() const {
  return "algorithm " + std::to_string(plan_->chosen + 1) + " of " + std::to_string(plan_->proposals.size()) +
         ", cuBLASLt " + plan_->version;
}

}  // namespace gpubench::kernels

#else

namespace gpubench::kernels {  // a build whose toolkit has no cublasLt.h

struct CublasLt::Library {
  std::string reason = "built without cublasLt.h; install cuBLAS's development package and configure again";
};
struct GemmPlan::Plan {};

CublasLt::CublasLt() : library_(std::make_shared<Library>()) {}
CublasLt::CublasLt(std::initializer_list<std::string>) : CublasLt() {}
const std::string& CublasLt::reason() const { return library_->reason; }
std::string CublasLt::version() const { return ""; }

GemmPlan::GemmPlan(const CublasLt& library, NumberFormat, std::int64_t, const void*, const void*, void*, Stream) {
  throw CudaError(library.reason());
}
GemmPlan::~GemmPlan() = default;
void GemmPlan::run(Stream) const {}
void GemmPlan::run(const void*, const void*, void*, Stream) const {}
std::string GemmPlan::description() const { return ""; }

}  // namespace gpubench::kernels

#endif
