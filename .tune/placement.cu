// does a 2-5 us kernel's time depend on where its buffers lie?
#include <cuda_runtime.h>
#include <cstdio>
#include <vector>
#include "bench/gpu.h"
#include "bench/sampler.h"
#include "bench/devices.h"
#include "gpubench/vectors.h"
#include "statistics/statistics.h"
using namespace gpubench;
__global__ void scale(const float4* x, float4* y, size_t n){ size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x; if(i<n){float4 v=x[i]; v.x*=2; y[i]=v;} }
int main(){
  auto gpu=bench::open_gpu(bench::gpus().front());
  for(size_t n: {size_t(16384),size_t(131072),size_t(1<<20),size_t(1<<22)}){
    std::vector<DeviceVector<float>> xs,ys;
    for(int k=0;k<8;k++){xs.emplace_back(n);ys.emplace_back(n);}
    for(int round=0;round<2;round++){ printf("n=%zu:",n);
    for(int k=0;k<8;k++){
      auto batch=[&](cudaStream_t s,std::int64_t e){for(std::int64_t i=0;i<e;i++) scale<<<(n/4+255)/256,256,0,s>>>((const float4*)xs[k].data(),(float4*)ys[k].data(),n/4);};
      auto t=gpu->device_timing(batch); bench::SamplingOptions o; 
      auto s=bench::AdaptiveSampler(o).sample(*t.clock);
      printf(" %.3f",1e6*statistics::median(s.seconds));
    } printf("\n");}
  }
}
