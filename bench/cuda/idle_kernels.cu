// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>

#include <algorithm>
#include <map>

#include "bench/cuda/check.h"
#include "bench/cuda/idle_kernels.h"
#include "gpubench/vectors.h"
#include "statistics/statistics.h"

namespace gpubench::bench {
namespace {

/// Returns the cycles that have passed: a few more than asked for.
__device__ __forceinline__ long long wait(long long cycles) {
  const long long start = clock64();
  long long now = start;
  while (now - start < cycles) now = clock64();
  return now - start;
}

__global__ void idle_kernel(long long cycles) { wait(cycles); }

__global__ void idle_noting_kernel(long long cycles, unsigned long long* longest) {
  const auto waited = static_cast<unsigned long long>(wait(cycles));
  if (threadIdx.x % 32 == 0) atomicMax(longest, waited);
}

std::uint64_t count_of(dim3 extent) { return static_cast<std::uint64_t>(extent.x) * extent.y * extent.z; }

/// The driver's own functions, without linking libcuda: libraries load kernels that the runtime does not know.
template <class Function>
Function driver_function(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  GPUBENCH_CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result));
  if (result != cudaDriverEntryPointSuccess) throw CudaError(std::string("the driver has no ") + name);
  return reinterpret_cast<Function>(function);
}

void check_driver(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS)
    throw CudaError(std::string(call) + " failed: driver error " + std::to_string(static_cast<int>(result)));
}

LaunchShape shape_of(cudaGraphNode_t node) {
  static const auto get_params = driver_function<decltype(&cuGraphKernelNodeGetParams)>("cuGraphKernelNodeGetParams");
  static const auto get_attribute =
      driver_function<decltype(&cuGraphKernelNodeGetAttribute)>("cuGraphKernelNodeGetAttribute");
  CUDA_KERNEL_NODE_PARAMS params = {};
  check_driver(get_params(node, &params), "cuGraphKernelNodeGetParams");
  LaunchShape shape;
  shape.grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
  shape.block = {params.blockDimX, params.blockDimY, params.blockDimZ};
  shape.shared_bytes = params.sharedMemBytes;
  CUlaunchAttributeValue value = {};
  if (get_attribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value) == CUDA_SUCCESS && value.clusterDim.x > 0)
    shape.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
  return shape;
}

std::vector<cudaGraphNode_t> nodes_of(cudaGraph_t graph) {
  std::size_t count = 0;
  GPUBENCH_CUDA_CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  if (count > 0) GPUBENCH_CUDA_CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
  return nodes;
}

struct Edges {
  std::map<cudaGraphNode_t, std::vector<cudaGraphNode_t>> after;
  bool programmatic = false;
};

Edges edges_of(cudaGraph_t graph) {
  std::size_t count = 0;
#if CUDART_VERSION >= 13000
  GPUBENCH_CUDA_CHECK(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &count));
#else
  GPUBENCH_CUDA_CHECK(cudaGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &count));
#endif
  std::vector<cudaGraphNode_t> from(count);
  std::vector<cudaGraphNode_t> to(count);
  std::vector<cudaGraphEdgeData> data(count);
  if (count > 0) {
#if CUDART_VERSION >= 13000
    GPUBENCH_CUDA_CHECK(cudaGraphGetEdges(graph, from.data(), to.data(), data.data(), &count));
#else
    GPUBENCH_CUDA_CHECK(cudaGraphGetEdges_v2(graph, from.data(), to.data(), data.data(), &count));
#endif
  }
  Edges edges;
  for (std::size_t i = 0; i < count; ++i) {
    edges.after[from[i]].push_back(to[i]);
    edges.programmatic = edges.programmatic || data[i].type == cudaGraphDependencyTypeProgrammatic;
  }
  return edges;
}

void add_content(cudaGraph_t graph, GraphContent& content);

void add_node(cudaGraphNode_t node, GraphContent& content) {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  GPUBENCH_CUDA_CHECK(cudaGraphNodeGetType(node, &type));
  if (type == cudaGraphNodeTypeKernel) {
    content.kernels.push_back(shape_of(node));
  } else if (type == cudaGraphNodeTypeGraph) {
    cudaGraph_t child = nullptr;
    GPUBENCH_CUDA_CHECK(cudaGraphChildGraphNodeGetGraph(node, &child));
    add_content(child, content);
  } else if (type != cudaGraphNodeTypeEmpty) {
    ++content.other_nodes;
  }
}

/// Follows the chain from the node that none comes before; anything but a chain is entangled.
void add_content(cudaGraph_t graph, GraphContent& content) {
  const auto nodes = nodes_of(graph);
  const auto edges = edges_of(graph);
  if (edges.programmatic) content.entangled = "its kernels overlap by programmatic dependent launch";
  std::size_t roots = 0;
  GPUBENCH_CUDA_CHECK(cudaGraphGetRootNodes(graph, nullptr, &roots));
  const bool chain = roots <= 1 && std::all_of(edges.after.begin(), edges.after.end(),
                                               [](const auto& entry) { return entry.second.size() == 1; });
  if (!chain) {
    content.entangled = "its nodes run side by side";
    for (const auto node : nodes) add_node(node, content);
    return;
  }
  if (roots == 0) return;
  cudaGraphNode_t node = nullptr;
  GPUBENCH_CUDA_CHECK(cudaGraphGetRootNodes(graph, &node, &roots));
  while (node != nullptr) {
    add_node(node, content);
    const auto next = edges.after.find(node);
    node = next == edges.after.end() ? nullptr : next->second.front();
  }
}

}  // namespace

GraphContent content_of(cudaGraph_t graph) {
  GraphContent content;
  add_content(graph, content);
  return content;
}

LaunchShape one_block_each(const LaunchShape& shape) {
  int device = 0;
  int multiprocessors = 0;
  GPUBENCH_CUDA_CHECK(cudaGetDevice(&device));
  GPUBENCH_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const auto most = static_cast<std::uint64_t>(multiprocessors);
  if (count_of(shape.grid) <= most) return shape;
  LaunchShape result = shape;
  const auto cluster = static_cast<unsigned>(count_of(shape.cluster));
  result.cluster = {cluster, 1, 1};
  result.grid = {std::max(static_cast<unsigned>(most) / cluster, 1U) * cluster, 1, 1};
  return result;
}

namespace {

template <class... Arguments>
void launch(void (*kernel)(Arguments...), const LaunchShape& shape, cudaStream_t stream, Arguments... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  cudaLaunchAttribute attribute = {};
  if (count_of(shape.cluster) > 1) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = shape.cluster.x;
    attribute.val.clusterDim.y = shape.cluster.y;
    attribute.val.clusterDim.z = shape.cluster.z;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  if (shape.shared_bytes > 48U * 1024U)
    GPUBENCH_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                             static_cast<int>(shape.shared_bytes)));
  GPUBENCH_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, arguments...));
}

}  // namespace

void launch_idle(const LaunchShape& shape, long long cycles, cudaStream_t stream) {
  launch(idle_kernel, shape, stream, cycles);
}

double overstay_cycles(const LaunchShape& shape, long long cycles, cudaStream_t stream) {
  constexpr int launches = 9;
  DeviceVector<unsigned long long> longest(launches);
  GPUBENCH_CUDA_CHECK(cudaMemsetAsync(longest.data(), 0, longest.bytes(), stream));
  for (int i = 0; i < launches; ++i) launch(idle_noting_kernel, shape, stream, cycles, longest.data() + i);
  GPUBENCH_CUDA_CHECK(cudaStreamSynchronize(stream));
  std::vector<double> over;
  for (const auto waited : longest.to_host()) over.push_back(static_cast<double>(waited) - static_cast<double>(cycles));
  return statistics::median(over);
}

}  // namespace gpubench::bench
