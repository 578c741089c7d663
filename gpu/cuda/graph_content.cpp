// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>

#include <algorithm>
#include <limits>
#include <map>

#include "core/model/measurement.h"
#include "gpu/cuda/cuda_gpu.h"
#include "gpu/cuda/handles.h"

namespace gpubench::bench {
namespace {

void check_driver(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS)
    throw CudaError(std::string(call) + " failed: driver error " + std::to_string(static_cast<int>(result)));
}

/// The driver takes a context's function and a library's kernel alike.
CUfunction function_of(const CUDA_KERNEL_NODE_PARAMS& params) {
  return params.func != nullptr ? params.func : reinterpret_cast<CUfunction>(params.kern);
}

std::optional<int> local_bytes(const CUDA_KERNEL_NODE_PARAMS& params) {
  static const auto get_attribute = driver_function<decltype(&cuFuncGetAttribute)>("cuFuncGetAttribute");
  int bytes = 0;
  const CUresult result = get_attribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function_of(params));
  return result == CUDA_SUCCESS && bytes >= 0 ? std::optional(bytes) : std::nullopt;
}

std::optional<int> blocks_per_multiprocessor(const CUDA_KERNEL_NODE_PARAMS& params) {
  static const auto occupancy = driver_function<decltype(&cuOccupancyMaxActiveBlocksPerMultiprocessor)>(
      "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  const auto threads = static_cast<int>(params.blockDimX * params.blockDimY * params.blockDimZ);
  int blocks = 0;
  const CUresult result = occupancy(&blocks, function_of(params), threads, params.sharedMemBytes);
  return result == CUDA_SUCCESS && blocks > 0 ? std::optional(blocks) : std::nullopt;
}

GraphKernel kernel_of(cudaGraphNode_t node) {
  static const auto get_params = driver_function<decltype(&cuGraphKernelNodeGetParams)>("cuGraphKernelNodeGetParams");
  static const auto get_attribute =
      driver_function<decltype(&cuGraphKernelNodeGetAttribute)>("cuGraphKernelNodeGetAttribute");
  CUDA_KERNEL_NODE_PARAMS params = {};
  check_driver(get_params(node, &params), "cuGraphKernelNodeGetParams");
  GraphKernel kernel;
  LaunchShape& shape = kernel.shape;
  shape.grid = {params.gridDimX, params.gridDimY, params.gridDimZ};
  shape.block = {params.blockDimX, params.blockDimY, params.blockDimZ};
  shape.shared_bytes = params.sharedMemBytes;
  CUlaunchAttributeValue value = {};
  if (get_attribute(node, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value) == CUDA_SUCCESS && value.clusterDim.x > 0)
    shape.cluster = {value.clusterDim.x, value.clusterDim.y, value.clusterDim.z};
  kernel.blocks_per_multiprocessor = blocks_per_multiprocessor(params);
  kernel.local_bytes = local_bytes(params);
  return kernel;
}

cudaMemoryType memory_of(const void* pointer) {
  cudaPointerAttributes attributes = {};
  const bool known = cudaPointerGetAttributes(&attributes, pointer) == cudaSuccess;
  if (!known) (void)cudaGetLastError();  // memory that CUDA does not know is the host's
  return known ? attributes.type : cudaMemoryTypeUnregistered;
}

/// A copy's kind by where its two ends lie, under the name that activity records give it.
std::string_view name_of_copy(const cudaMemcpy3DParms& copy) {
  if (copy.kind == cudaMemcpyDefault) {
    const bool from_device = memory_of(copy.srcPtr.ptr) == cudaMemoryTypeDevice;
    const bool to_device = memory_of(copy.dstPtr.ptr) == cudaMemoryTypeDevice;
    if (from_device && to_device) return command_name::device_to_device;
    return from_device ? command_name::device_to_host : to_device ? command_name::host_to_device : command_name::copy;
  }
  switch (copy.kind) {
    case cudaMemcpyHostToDevice: return command_name::host_to_device;
    case cudaMemcpyDeviceToHost: return command_name::device_to_host;
    case cudaMemcpyDeviceToDevice: return command_name::device_to_device;
    default: return command_name::copy;
  }
}

KernelGroup command_of(cudaGraphNode_t node, cudaGraphNodeType type) {
  KernelGroup group;
  group.kind = type == cudaGraphNodeTypeMemcpy ? CommandKind::copy : CommandKind::fill;
  std::size_t bytes = 0;
  if (type == cudaGraphNodeTypeMemcpy) {
    cudaMemcpy3DParms copy = {};
    GPUBENCH_CUDA_CHECK(cudaGraphMemcpyNodeGetParams(node, &copy));
    group.launch.name = name_of_copy(copy);
    bytes = copy.extent.width * copy.extent.height * copy.extent.depth;  // of bytes where no array is copied
  } else {
    cudaMemsetParams fill = {};
    GPUBENCH_CUDA_CHECK(cudaGraphMemsetNodeGetParams(node, &fill));
    group.launch.name = command_name::fill;
    bytes = fill.elementSize * fill.width * fill.height;
  }
  group.bytes = static_cast<std::int64_t>(std::min<std::size_t>(bytes, std::numeric_limits<std::int64_t>::max()));
  return group;
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
#if CUDART_VERSION >= 13000
  const auto get_edges = [](auto... arguments) { return cudaGraphGetEdges(arguments...); };
#else
  const auto get_edges = [](auto... arguments) { return cudaGraphGetEdges_v2(arguments...); };
#endif
  std::size_t count = 0;
  check_cuda(get_edges(graph, nullptr, nullptr, nullptr, &count), "cudaGraphGetEdges");
  std::vector<cudaGraphNode_t> from(count);
  std::vector<cudaGraphNode_t> to(count);
  std::vector<cudaGraphEdgeData> data(count);
  if (count > 0) check_cuda(get_edges(graph, from.data(), to.data(), data.data(), &count), "cudaGraphGetEdges");
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
    content.kernels.push_back(kernel_of(node));
  } else if (type == cudaGraphNodeTypeGraph) {
    cudaGraph_t child = nullptr;
    GPUBENCH_CUDA_CHECK(cudaGraphChildGraphNodeGetGraph(node, &child));
    add_content(child, content);
  } else if (type != cudaGraphNodeTypeEmpty) {
    ++content.other_nodes;
    if (type != cudaGraphNodeTypeMemcpy && type != cudaGraphNodeTypeMemset) return;
    ++content.commands;
    content.only_command = command_of(node, type);
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
  if (!content.kernels.empty() || content.other_nodes != 1) content.only_command.reset();
  return content;
}

}  // namespace gpubench::bench
