// SPDX-License-Identifier: Apache-2.0
#include "profile/injection/listened_calls.h"

#include <cupti_driver_cbid.h>
#include <cupti_nvtx_cbid.h>
#include <nvtx3/nvToolsExt.h>

#include <array>
#include <string_view>

namespace gpubench::profile {
namespace {

/// What the driver is called with, as CUPTI's generated_cuda_meta.h has it; that header does not compile by itself.
struct LaunchCall {  ///< cuLaunchKernel, cuLaunchCooperativeKernel
  CUfunction f;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
};
struct LaunchExCall {  ///< cuLaunchKernelEx
  const CUlaunchConfig* config;
  CUfunction f;
};

#define GPUBENCH_BOTH(name, what) \
  {CUPTI_DRIVER_TRACE_CBID_##name, DriverCall::what}, { CUPTI_DRIVER_TRACE_CBID_##name##_ptsz, DriverCall::what, true }
constexpr auto all_calls = std::to_array<ListenedCall>({
    GPUBENCH_BOTH(cuLaunchKernel, launch),
    GPUBENCH_BOTH(cuLaunchKernelEx, launch_ex),
    GPUBENCH_BOTH(cuLaunchCooperativeKernel, launch),
    GPUBENCH_BOTH(cuStreamBeginCapture, begin_capture),
    GPUBENCH_BOTH(cuStreamBeginCapture_v2, begin_capture),
    GPUBENCH_BOTH(cuStreamBeginCaptureToGraph, begin_capture),
    GPUBENCH_BOTH(cuStreamEndCapture, end_capture),
    GPUBENCH_BOTH(cuGraphInstantiateWithParams, instantiate),
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate, DriverCall::instantiate},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiate_v2, DriverCall::instantiate},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphInstantiateWithFlags, DriverCall::instantiate},
    GPUBENCH_BOTH(cuGraphLaunch, launch_graph),
    {CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2, DriverCall::end_context},
    {CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset, DriverCall::end_context},
    {CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2, DriverCall::end_context},
    {CUPTI_DRIVER_TRACE_CBID_cuProfilerStart, DriverCall::start_profiler},
    {CUPTI_DRIVER_TRACE_CBID_cuProfilerStop, DriverCall::stop_profiler},
});
#undef GPUBENCH_BOTH

constexpr auto all_ranges = std::to_array<CUpti_CallbackId>(
    {CUPTI_CBID_NVTX_nvtxRangePushA, CUPTI_CBID_NVTX_nvtxRangePushW, CUPTI_CBID_NVTX_nvtxRangePushEx,
     CUPTI_CBID_NVTX_nvtxRangePop, CUPTI_CBID_NVTX_nvtxDomainRangePushEx, CUPTI_CBID_NVTX_nvtxDomainRangePop});

/// What NVTX is called with, as CUPTI's generated_nvtx_meta.h has it.
struct NvtxPushExCall {
  const nvtxEventAttributes_t* attributes;
};
struct NvtxDomainPushExCall {
  nvtxDomainHandle_t domain;
  NvtxPushExCall core;
};

template <class Character>
RangeName named(const Character* text) {
  return text == nullptr ? RangeName{} : range_name(std::basic_string_view<Character>(text));
}

std::uint64_t number_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

RangeName name_of(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr) return {};
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII: return named<char>(attributes->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE: return named<wchar_t>(attributes->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED: {
      const std::uint64_t number = number_of(attributes->message.registered);
      return {number, number};
    }
    default: return {};
  }
}

}  // namespace

std::span<const ListenedCall> listened_calls() { return all_calls; }
std::span<const CUpti_CallbackId> listened_ranges() { return all_ranges; }

std::optional<Launch> launch_of(const ListenedCall& call, const CUpti_CallbackData& data, const RangePath& path) {
  Launch launch;
  launch.context = data.context;
  launch.name = data.symbolName;
  launch.correlation = data.correlationId;
  launch.ranges = path.number();
  launch.alike = path.alike();
  launch.per_thread_stream = call.per_thread_stream;
  const auto take = [&](CUfunction function, const auto& how) {
    launch.function = function;
    launch.stream = how.hStream;
    launch.shape = {how.gridDimX,  how.gridDimY,  how.gridDimZ,      how.blockDimX,
                    how.blockDimY, how.blockDimZ, how.sharedMemBytes};
    return launch;
  };
  if (call.what == DriverCall::launch) {
    const auto& parameters = *static_cast<const LaunchCall*>(data.functionParams);
    return take(parameters.f, parameters);
  }
  const auto& parameters = *static_cast<const LaunchExCall*>(data.functionParams);
  if (call.what != DriverCall::launch_ex || parameters.config == nullptr) return std::nullopt;
  return take(parameters.f, *parameters.config);
}

void follow(RangePath& path, CUpti_CallbackId call, const void* parameters) {
  const void* const what = static_cast<const CUpti_NvtxData*>(parameters)->functionParams;
  switch (call) {
    case CUPTI_CBID_NVTX_nvtxRangePushA: return path.push(0, named(*static_cast<const char* const*>(what)));
    case CUPTI_CBID_NVTX_nvtxRangePushW: return path.push(0, named(*static_cast<const wchar_t* const*>(what)));
    case CUPTI_CBID_NVTX_nvtxRangePushEx:
      return path.push(0, name_of(static_cast<const NvtxPushExCall*>(what)->attributes));
    case CUPTI_CBID_NVTX_nvtxRangePop: return path.pop(0);
    case CUPTI_CBID_NVTX_nvtxDomainRangePushEx: {
      const auto& push = *static_cast<const NvtxDomainPushExCall*>(what);
      return path.push(number_of(push.domain), name_of(push.core.attributes));
    }
    case CUPTI_CBID_NVTX_nvtxDomainRangePop: return path.pop(number_of(*static_cast<const nvtxDomainHandle_t*>(what)));
    default: return;
  }
}

}  // namespace gpubench::profile
