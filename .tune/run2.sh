B=$PWD/build-gpu
cmake -S . -B $B -G Ninja -DCMAKE_BUILD_TYPE=Release -DGPUBENCH_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90 -DGPUBENCH_TESTS=ON >/dev/null && cmake --build $B 2>&1 | tail -2
g++ -v 2>/dev/null; LIBS="$B/bench/libgpubench_bench.a $B/statistics/libgpubench_statistics.a"
nvcc -std=c++20 -O2 -arch=sm_90 -I. -Iinclude .tune/placement.cu $LIBS -lbenchmark -lfmt -lgomp -ldl -o /tmp/placement && /tmp/placement && echo again && /tmp/placement
time $B/gpubench --list >/dev/null
time $B/gpubench --device=cuda:0 --filter='^copy/n:1024/' --quiet --calibration=docs/results/h200/calibration.json
export XDG_CACHE_HOME=$(mktemp -d)
time $B/gpubench --calibrate --quiet
( cd $OUT; time $B/gpubench --color=never --out=run.json > sweep.txt 2>sweep.err; tail -5 sweep.err )
for i in 0 1 2 3 4; do ( cd $OUT; $B/gpubench --quiet --filter='^(softmax|reduction|gemm_fp32)/' --out=ten$i.json 2>/dev/null) ; done
ctest --test-dir $B -L gpu --timeout 60 2>&1 | sort -k7 -t' ' | grep -E "sec|tests passed|Fail" | awk '{print $(NF-1), $0}' | sort -rn | head -12
