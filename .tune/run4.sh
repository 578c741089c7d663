B=$PWD/build-gpu; D=$OUT; t0=$SECONDS
step() { echo "== [$((SECONDS-t0)) s] $*"; }
cmake -S . -B $B -G Ninja -DCMAKE_BUILD_TYPE=Release -DGPUBENCH_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES=90 -DGPUBENCH_TESTS=ON > /tmp/cfg 2>&1; cmake --build $B -- -k 0 > /tmp/b.log 2>&1; grep -E "error|FAILED" /tmp/b.log | head
step gpu tests
ctest --test-dir $B -L gpu -E "truth|cuda_calibrate|WholeCalib" --timeout 100 --output-on-failure > $D/ctest.txt 2>&1; grep -E "Failure|tests passed|\*\*\*" -A4 $D/ctest.txt | cut -c1-200 | head -70
step counting cost
$B/tests/truth/counter_cost > $D/counting.md 2>&1; tail -5 $D/counting.md
export XDG_CACHE_HOME=$(mktemp -d)
$B/gpubench --calibrate --quiet
step agreement
./scripts/ncu-agreement.sh $B > $D/agreement.md 2>$D/agreement.err; cat $D/agreement.md; tail -3 $D/agreement.err
step caches
for s in warm cold; do ( cd $D; $B/gpubench --quiet --cache=$s --metrics=core --filter='^(copy|triad|softmax|saxpy)/' --out=cache-$s.json ) 2>&1 | tail -3; done
python3 scripts/cache_table.py $D/cache-warm.json $D/cache-cold.json > $D/cache.md; head -60 $D/cache.md
step flops
( cd $D; $B/gpubench --quiet --check --metrics=core,flops --out=counted.json ) 2>&1 | tail -12
step truth
$B/tests/truth/timing_truth > $D/timing.md; grep "| [12] | [12] |\|| 132" $D/timing.md | cut -d'|' -f2-7 | head -40
python3 tests/truth/process_spread.py $B/tests/truth/timing_truth > $D/processes.md; tail -28 $D/processes.md
step end
