set -x
B=$PWD/build-gpu
cmake -S . -B $B -G Ninja -DCMAKE_BUILD_TYPE=Release -DGPUBENCH_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90 -DGPUBENCH_TESTS=ON >/dev/null && cmake --build $B 2>&1 | tail -2
python3 .tune/nvml.py
ctest --test-dir $B -L gpu 2>&1 | tail -15
$B/tests/truth/timing_truth > $OUT/timing.md; tail -60 $OUT/timing.md
export XDG_CACHE_HOME=$(mktemp -d)
time $B/gpubench --calibrate --quiet
( cd $OUT; time $B/gpubench --color=never --out=run.json > sweep.txt 2>sweep.err; tail -5 sweep.err )
# ten processes
for i in 0 1 2 3 4 5 6 7 8 9; do ( cd $OUT; $B/gpubench --quiet --time=device --filter='^(softmax|reduction|copy|gemm_fp32)/' --out=ten$i.json ) ; done
