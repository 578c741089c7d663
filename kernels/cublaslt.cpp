// SPDX-License-Identifier: Apache-2.0
#include "kernels/cublaslt.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "bench/cuda/check.h"
#include "gpubench/vectors.h"

namespace gpubench::kernels {

/// The functions used, each under the name it has in the library. The library stays loaded until the program ends: it
/// registers code with the CUDA runtime that must not go away under a live context.
struct CublasLt::Library {
  explicit Library(const std::vector<std::string>& files);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  /// True when the file is a cuBLASLt with all functions and gave a handle; else `why` says what was wrong.
  bool open(const std::string& file, std::string& why);
  void check(cublasStatus_t status, const char* call) const;

  std::string reason;
  cublasLtHandle_t handle = nullptr;

  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtGetVersion) get_version = nullptr;
  decltype(&cublasLtGetStatusString) status_string = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) get_heuristic = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
};

namespace {

std::vector<std::string> usual_files() {
  const std::vector<std::string> names = {"libcublasLt.so.13", "libcublasLt.so.12"};
  std::vector<std::string> files = names;
  const auto add_folder = [&](const std::string& folder) {
    for (const auto& name : names) files.emplace_back(folder).append("/lib64/").append(name);
  };
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* folder = std::getenv(variable); folder != nullptr && *folder != '\0') add_folder(folder);
  add_folder("/usr/local/cuda");
  return files;
}

}  // namespace

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
  if (handle != nullptr) destroy(handle);
}

bool CublasLt::Library::open(const std::string& file, std::string& why) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const text = dlerror();
    why = text != nullptr ? text : file;
    return false;
  }
  bool complete = true;
  const auto load = [&]<class Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  load(create, "cublasLtCreate");
  load(destroy, "cublasLtDestroy");
  load(get_version, "cublasLtGetVersion");
  load(status_string, "cublasLtGetStatusString");
  load(desc_create, "cublasLtMatmulDescCreate");
  load(desc_destroy, "cublasLtMatmulDescDestroy");
  load(layout_create, "cublasLtMatrixLayoutCreate");
  load(layout_destroy, "cublasLtMatrixLayoutDestroy");
  load(preference_create, "cublasLtMatmulPreferenceCreate");
  load(preference_destroy, "cublasLtMatmulPreferenceDestroy");
  load(preference_set, "cublasLtMatmulPreferenceSetAttribute");
  load(get_heuristic, "cublasLtMatmulAlgoGetHeuristic");
  load(matmul, "cublasLtMatmul");
  if (!complete) {
    why = file + " lacks a function that gpubench needs";
    return false;
  }
  if (const cublasStatus_t status = create(&handle); status != CUBLAS_STATUS_SUCCESS) {
    why = file + ": cublasLtCreate failed: " + status_string(status);
    handle = nullptr;
    (void)cudaGetLastError();
    return false;
  }
  return true;
}

void CublasLt::Library::check(cublasStatus_t status, const char* call) const {
  if (status != CUBLAS_STATUS_SUCCESS) throw CudaError(std::string(call) + " failed: " + status_string(status));
}

std::size_t element_bytes(GemmType type) { return type == GemmType::fp32 ? 4 : 2; }

CublasLt::CublasLt() : library_(std::make_shared<Library>(usual_files())) {}
CublasLt::CublasLt(std::initializer_list<std::string> files)
    : library_(std::make_shared<Library>(std::vector<std::string>(files))) {}

const std::string& CublasLt::reason() const { return library_->reason; }

std::string CublasLt::version() const {
  if (!library_->reason.empty()) return "";
  // 13.1.0 is 130100, 12.6.4 is 120604: major x 10000 + minor x 100 + patch since version 12.
  const auto number = library_->get_version();
  return std::to_string(number / 10000) + "." + std::to_string(number / 100 % 100) + "." + std::to_string(number % 100);
}

namespace {

cudaDataType_t data_type(GemmType type) {
  switch (type) {
    case GemmType::fp16:
      return CUDA_R_16F;
    case GemmType::bf16:
      return CUDA_R_16BF;
    case GemmType::fp32:
      break;
  }
  return CUDA_R_32F;
}

struct EventPair {
  EventPair() {
    GPUBENCH_CUDA_CHECK(cudaEventCreate(&start));
    if (const cudaError_t error = cudaEventCreate(&stop); error != cudaSuccess) {
      (void)cudaEventDestroy(start);
      check_cuda(error, "cudaEventCreate");
    }
  }
  ~EventPair() {
    (void)cudaEventDestroy(start);
    (void)cudaEventDestroy(stop);
  }
  EventPair(const EventPair&) = delete;
  EventPair& operator=(const EventPair&) = delete;

  cudaEvent_t start = nullptr;
  cudaEvent_t stop = nullptr;
};

}  // namespace

/// Descriptors, algorithm and workspace. cuBLASLt is column-major: with each row-major matrix read as its transpose,
/// C^T = B^T A^T is the product of the same memory with A and B exchanged.
struct GemmPlan::Plan {
  Plan(std::shared_ptr<const CublasLt::Library> opened, const void* first, const void* second, void* result)
      : library(std::move(opened)), a(first), b(second), c(result) {
    if (!library->reason.empty()) throw CudaError(library->reason);
  }
  ~Plan() {
    if (preference != nullptr) library->preference_destroy(preference);
    if (layout != nullptr) library->layout_destroy(layout);
    if (operation != nullptr) library->desc_destroy(operation);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  /// Makes the descriptors; apart from the constructor, so that the destructor frees those made before one that fails.
  void describe(GemmType type, std::int64_t n) {
    const auto size = static_cast<std::uint64_t>(n);
    library->check(library->desc_create(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    library->check(library->layout_create(&layout, data_type(type), size, size, n), "cublasLtMatrixLayoutCreate");
    library->check(library->preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  }
  void propose(const Options& options);
  void choose(const Options& options, cudaStream_t stream);
  /// Seconds of one product; negative when the algorithm is refused.
  double time(const cublasLtMatmulAlgo_t& candidate, const EventPair& events, cudaStream_t stream) const;
  cublasStatus_t run(const cublasLtMatmulAlgo_t& which, cudaStream_t stream) const {
    return run(which, a, b, c, stream);
  }
  cublasStatus_t run(const cublasLtMatmulAlgo_t& which, const void* first, const void* second, void* result,
                     cudaStream_t stream) const {
    const float one = 1.0F;
    const float zero = 0.0F;
    return library->matmul(library->handle, operation, &one, second, layout, first, layout, &zero, result, layout,
                           result, layout, &which, const_cast<std::byte*>(workspace.data()), workspace.size(), stream);
  }

  std::shared_ptr<const CublasLt::Library> library;
  const void* a;
  const void* b;
  void* c;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatrixLayout_t layout = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  DeviceVector<std::byte> workspace;
  std::vector<cublasLtMatmulHeuristicResult_t> proposals;
  cublasLtMatmulAlgo_t algorithm{};
  std::size_t chosen = 0;
  std::string version;
};

void GemmPlan::Plan::propose(const Options& options) {
  const std::size_t limit = options.workspace_bytes;
  library->check(library->preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &limit, sizeof(limit)),
                 "cublasLtMatmulPreferenceSetAttribute");
  proposals.resize(static_cast<std::size_t>(options.candidates));
  int found = 0;
  library->check(library->get_heuristic(library->handle, operation, layout, layout, layout, layout, preference,
                                        options.candidates, proposals.data(), &found),
                 "cublasLtMatmulAlgoGetHeuristic");
  proposals.resize(static_cast<std::size_t>(found));
  std::erase_if(proposals, [](const auto& proposal) { return proposal.state != CUBLAS_STATUS_SUCCESS; });
  if (proposals.empty()) throw CudaError("cuBLASLt has no algorithm for this matrix product on this GPU");
  std::size_t needed = 0;
  for (const auto& proposal : proposals) needed = std::max(needed, proposal.workspaceSize);
  workspace = DeviceVector<std::byte>(needed);
}

double GemmPlan::Plan::time(const cublasLtMatmulAlgo_t& candidate, const EventPair& events, cudaStream_t stream) const {
  const auto measure = [&](int repeats) {
    GPUBENCH_CUDA_CHECK(cudaEventRecord(events.start, stream));
    for (int i = 0; i < repeats; ++i)
      if (run(candidate, stream) != CUBLAS_STATUS_SUCCESS) return -1.0;
    GPUBENCH_CUDA_CHECK(cudaEventRecord(events.stop, stream));
    GPUBENCH_CUDA_CHECK(cudaEventSynchronize(events.stop));
    float milliseconds = 0.0F;
    GPUBENCH_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, events.start, events.stop));
    return static_cast<double>(milliseconds) * 1e-3 / repeats;
  };
  const double first = measure(1);  // loads the kernel, too
  if (first < 0.0) return first;
  const double again = measure(1);
  return measure(static_cast<int>(std::clamp(0.5e-3 / again, 1.0, 20.0)));
}

void GemmPlan::Plan::choose(const Options& options, cudaStream_t stream) {
  const EventPair events;
  double best = 0.0;
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    std::this_thread::sleep_for(std::chrono::duration<double>(options.rest_seconds));
    const double seconds = time(proposals[i].algo, events, stream);
    if (seconds < 0.0) {
      (void)cudaGetLastError();
      continue;
    }
    if (best == 0.0 || seconds < best) {
      best = seconds;
      chosen = i;
    }
  }
  if (best == 0.0) throw CudaError("cuBLASLt refused every algorithm it proposed for this matrix product");
  algorithm = proposals[chosen].algo;
}

GemmPlan::GemmPlan(const CublasLt& library, GemmType type, std::int64_t n, const void* a, const void* b, void* c,
                   cudaStream_t stream, const Options& options)
    : plan_(std::make_unique<Plan>(library.library_, a, b, c)) {
  plan_->describe(type, n);
  plan_->version = library.version();
  plan_->propose(options);
  plan_->choose(options, stream);
}
GemmPlan::GemmPlan(const CublasLt& library, GemmType type, std::int64_t n, const void* a, const void* b, void* c,
                   cudaStream_t stream)
    : GemmPlan(library, type, n, a, b, c, stream, Options{}) {}
GemmPlan::~GemmPlan() = default;
GemmPlan::GemmPlan(GemmPlan&&) noexcept = default;
GemmPlan& GemmPlan::operator=(GemmPlan&&) noexcept = default;

void GemmPlan::run(cudaStream_t stream) const {
  plan_->library->check(plan_->run(plan_->algorithm, stream), "cublasLtMatmul");
}

void GemmPlan::run(const void* a, const void* b, void* c, cudaStream_t stream) const {
  plan_->library->check(plan_->run(plan_->algorithm, a, b, c, stream), "cublasLtMatmul");
}

std::string GemmPlan::description() const {
  return "algorithm " + std::to_string(plan_->chosen + 1) + " of " + std::to_string(plan_->proposals.size()) +
         ", cuBLASLt " + plan_->version;
}

}  // namespace gpubench::kernels
