B=$PWD/build-gpu
cmake -S . -B $B -G Ninja -DCMAKE_BUILD_TYPE=Release -DGPUBENCH_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90 -DGPUBENCH_TESTS=ON > /tmp/cfg 2>&1 && cmake --build $B 2>&1 | grep -E "error|FAILED|warning: |\[[0-9]+/[0-9]+\] Linking CXX executable gpubench" | head
ctest --test-dir $B -L gpu --timeout 100 --output-on-failure > $OUT/ctest.txt 2>&1; grep -E "Failed|tests passed|Failure" -A6 $OUT/ctest.txt | tail -60
export XDG_CACHE_HOME=$(mktemp -d)
$B/gpubench --calibrate=full --color=never --out=$OUT/full.json > $OUT/full.txt 2>$OUT/full.err; cat $OUT/full.err | head; 
time $B/gpubench --calibrate --quiet
( cd $OUT; time $B/gpubench --color=never --out=run.json > sweep.txt 2>sweep.err; tail -5 sweep.err )
python3 tests/truth/process_spread.py $B/tests/truth/timing_truth > $OUT/processes.md; cat $OUT/processes.md | tail -30
