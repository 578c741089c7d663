// SPDX-License-Identifier: Apache-2.0
// A program that profiles itself: matrix products of cuBLAS, kernels of its own, allocations. It prints what each range
// of it costs on the GPU, what its timer saw, and where its memory is.
//
//   example_profile_program [FILE.csv|FILE.json]
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <gpubench/profile.h>

#include <cstdio>
#include <cstdlib>

namespace {

namespace profile = gpubench::profile;

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s failed: %s\n", what, cudaGetErrorString(cudaGetLastError()));
  std::exit(1);
}
#define CHECK(call) check((call) == decltype(call)(0), #call)

constexpr int size = 2048;  // of square matrices
constexpr int threads = 256;
constexpr std::int64_t count = std::int64_t{size} * size;
constexpr auto blocks = static_cast<unsigned>((count + threads - 1) / threads);

__global__ void fill(float* x, std::int64_t n, float value) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) x[i] = value + 1e-6F * static_cast<float>(i % 1000);
}

__global__ void gelu(const float* x, float* y, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 0.5F * x[i] * (1.0F + tanhf(0.79788456F * (x[i] + 0.044715F * x[i] * x[i] * x[i])));
}

/// A 3 x 3 convolution with equal weights; edges repeat.
__global__ void convolution(const float* x, float* y, int n) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int row = static_cast<int>(blockIdx.y);
  if (column >= n) return;
  float sum = 0.0F;
  for (int i = -1; i <= 1; ++i)
    for (int j = -1; j <= 1; ++j)
      sum += x[std::int64_t{min(max(row + i, 0), n - 1)} * n + min(max(column + j, 0), n - 1)];
  y[std::int64_t{row} * n + column] = sum / 9.0F;
}

/// The max of each 2 x 2.
__global__ void pooling(const float* x, float* y, int n) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const std::int64_t row = blockIdx.y;
  if (column >= n / 2) return;
  const float* at = x + 2 * row * n + 2 * column;
  y[row * (n / 2) + column] = fmaxf(fmaxf(at[0], at[1]), fmaxf(at[n], at[n + 1]));
}

__global__ void reduction(const float* x, float* sum, std::int64_t n) {
  float mine = 0.0F;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += static_cast<std::int64_t>(gridDim.x) * blockDim.x)
    mine += x[i];
  for (int lane = 16; lane > 0; lane /= 2) mine += __shfl_down_sync(0xffffffffU, mine, lane);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

class Network {
 public:
  Network(cudaStream_t stream, profile::Profiler& profiler) : stream_(stream), profiler_(profiler) {
    CHECK(cublasCreate(&cublas_));
    CHECK(cublasSetStream(cublas_, stream_));
    const profile::Range range("allocate", profile::RangeType::memory);
    allocate("weights", &weights_);
    allocate("input", &input_);
    allocate("hidden", &hidden_);
    allocate("output", &output_);
    fill<<<blocks, threads, 0, stream_>>>(weights_, count, 0.001F);
    fill<<<blocks, threads, 0, stream_>>>(input_, count, 0.5F);
  }
  ~Network() {
    for (float* memory : {weights_, input_, hidden_, output_}) (void)cudaFree(memory);
    (void)cublasDestroy(cublas_);
  }
  Network& operator=(Network&&) = delete;  ///< not copied, not moved

  void forward() {
    GPUBENCH_PROFILE_FUNCTION();
    {
      const profile::Range range("gemm");
      const auto scope = profiler_.profile_kernel("gemm", stream_);
      const float one = 1.0F;
      const float zero = 0.0F;
      CHECK(cublasSgemm(cublas_, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, weights_, size, input_, size, &zero,
                        hidden_, size));
    }
    const profile::Range range("activation");
    const auto scope = profiler_.profile_kernel("gelu", stream_);
    gelu<<<blocks, threads, 0, stream_>>>(hidden_, output_, count);
  }

  void images() {
    const profile::Range range("convolution and pooling");
    const dim3 grid(size / threads, size);
    convolution<<<grid, threads, 0, stream_>>>(input_, hidden_, size);
    pooling<<<dim3((size / 2 + threads - 1) / threads, size / 2), threads, 0, stream_>>>(hidden_, output_, size);
  }

  void sum() {
    const profile::Range range("reduction");
    CHECK(cudaMemsetAsync(hidden_, 0, sizeof(float), stream_));
    reduction<<<512, threads, 0, stream_>>>(output_, hidden_, count);
  }

 private:
  void allocate(const char* name, float** memory) {
    CHECK(cudaMalloc(memory, count * sizeof(float)));
    profiler_.track(name, *memory, {size, size});
  }

  cudaStream_t stream_;
  profile::Profiler& profiler_;
  cublasHandle_t cublas_ = nullptr;
  float *weights_ = nullptr, *input_ = nullptr, *hidden_ = nullptr, *output_ = nullptr;
};

}  // namespace

int main(int arguments, char** texts) {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
    std::puts("This example needs a GPU, and CUDA shows none.");
    return 77;
  }
  std::fputs(profile::enable().text().c_str(), stdout);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  profile::Profiler profiler;
  {
    Network network(stream, profiler);
    for (int step = 0; step < 20; ++step) {
      const profile::Range range("step");
      network.forward();
      network.images();
      network.sum();
    }
    CHECK(cudaStreamSynchronize(stream));
    profile::print_ranges();
    profile::print_memory_activity();
    std::puts(profiler.full_report().c_str());
  }
  CHECK(cudaGetLastError());
  CHECK(cudaStreamDestroy(stream));
  if (arguments < 2) return 0;
  const std::string why = profile::write_ranges(texts[1]);
  if (!why.empty()) std::fprintf(stderr, "%s\n", why.c_str());
  return why.empty() ? 0 : 1;
}
