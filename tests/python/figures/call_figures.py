#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the calls of docs/results/h100.md: GPUProfiler's time of each beside a plain loop. Needs a GPU, torchvision and transformers.
With --deviating SECONDS it starts none after so long, and prints those alone that are off by over 2 % and 0.3 us, and how many are not.
With --hundred it prints how long a hundred further profiles of ten small operators take, how near each is to loops before and after, and its
stages: what parts of a profile take of that, and what each clock adds. With --stages those alone; with --where what functions of Python take."""
import collections
import itertools
import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.profiler import ProfilerActivity, profile

from gpubench import _core, harness, regime
from gpubench.regime import GPUProfiler

BF16 = torch.bfloat16


def tensor(*shape, dtype=torch.float32):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def whole(limit, *shape):
    return torch.randint(0, limit, shape, device="cuda")


def operators():
    """Name, function, arguments."""
    attention = [tensor(4, 16, 1024, 64, dtype=BF16) for _ in range(3)]
    small = [tensor(1, 1, 64, 64, dtype=BF16) for _ in range(3)]
    yield "add 8 x 8", torch.add, tensor(8, 8), tensor(8, 8)
    yield "gelu 1 M", F.gelu, tensor(2**20)
    yield "softmax 1024 x 1024", torch.softmax, tensor(1024, 1024), -1
    yield "matmul 512 BF16", torch.matmul, tensor(512, 512, dtype=BF16), tensor(512, 512, dtype=BF16)
    yield "matmul 4096 BF16", torch.matmul, tensor(4096, 4096, dtype=BF16), tensor(4096, 4096, dtype=BF16)
    yield "matmul 2048 FP32", torch.matmul, tensor(2048, 2048), tensor(2048, 2048)
    yield "add 64 M", torch.add, tensor(2**26), tensor(2**26)
    yield "relu 256 M", torch.relu, tensor(2**28)
    yield "cos 16 M", torch.cos, tensor(2**24)
    yield "layer_norm 4096 x 1024", F.layer_norm, tensor(4096, 1024), (1024,)
    yield "layer_norm 65536 x 1024", F.layer_norm, tensor(65536, 1024), (1024,)
    yield "conv2d 32 x 64 x 56 x 56", F.conv2d, tensor(32, 64, 56, 56, dtype=BF16), tensor(64, 64, 3, 3, dtype=BF16)
    yield "conv2d 1 x 3 x 32 x 32", F.conv2d, tensor(1, 3, 32, 32), tensor(8, 3, 3, 3)
    yield "attention 4 x 16 x 1024", F.scaled_dot_product_attention, *attention
    yield "attention 1 x 1 x 64", F.scaled_dot_product_attention, *small
    yield "sum 64 M", torch.sum, tensor(2**26)
    yield "sum 1 K", torch.sum, tensor(1024)
    yield "cumsum 16 M", torch.cumsum, tensor(2**24), 0
    yield "sort 1 M", torch.sort, tensor(2**20)
    yield "topk 1 M", torch.topk, tensor(2**20), 16
    yield "embedding 8192", F.embedding, whole(50000, 8192), tensor(50000, 1024)
    yield "index_select 256 K", torch.index_select, tensor(2**20, 64), 0, whole(2**20, 2**18)
    yield "cat 2 x 4 M", torch.cat, [tensor(2**22), tensor(2**22)]
    yield "transpose 8192", lambda x: x.t().contiguous(), tensor(8192, 8192)
    yield "bmm 64 x 32 x 32", torch.bmm, tensor(64, 32, 32), tensor(64, 32, 32)
    yield "einsum 128 x 256 x 256", lambda a, b: torch.einsum("bij,bjk->bik", a, b), tensor(128, 256, 256), tensor(128, 256, 256)
    yield "batch_norm 64 x 256 x 28", F.batch_norm, tensor(64, 256, 28, 28), torch.zeros(256, device="cuda"), torch.ones(256, device="cuda")
    yield "nonzero 1 M (waits)", torch.nonzero, tensor(2**20) > 0
    yield "sum().item() 16 M (waits)", lambda x: x.sum().item(), tensor(2**24)
    yield "cross_entropy 8192 x 32000", F.cross_entropy, tensor(8192, 32000), whole(32000, 8192)


def models():
    """Likewise, in evaluation."""
    import torchvision.models as vision
    import transformers as text
    for name, batch in (("resnet18", 1), ("resnet50", 64), ("efficientnet_b0", 8), ("vit_b_16", 16), ("mobilenet_v3_small", 1), ("convnext_tiny", 32)):
        yield f"{name}, batch {batch}", getattr(vision, name)().cuda().eval(), tensor(batch, 3, 224, 224)
    gpt2 = text.GPT2LMHeadModel(text.GPT2Config(n_layer=6)).to("cuda", BF16).eval()
    yield "GPT-2, 6 layers, 1 x 64", lambda ids: gpt2(ids, use_cache=False).logits, whole(50257, 1, 64)
    yield "GPT-2, 6 layers, 16 x 1024", lambda ids: gpt2(ids, use_cache=False).logits, whole(50257, 16, 1024)
    bert = text.BertModel(text.BertConfig()).to("cuda", BF16).eval()
    yield "BERT, 32 x 512", lambda ids: bert(ids).last_hidden_state, whole(30000, 32, 512)
    config = text.LlamaConfig(hidden_size=1024, intermediate_size=2816, num_hidden_layers=8, num_attention_heads=16)
    llama = text.LlamaForCausalLM(config).to("cuda", BF16).eval()
    yield "Llama, 8 layers, 4 x 256", lambda ids: llama(ids, use_cache=False).logits, whole(32000, 4, 256)


def loop_seconds(call, rounds=7, seconds=0.05):
    """Of one call in a plain loop: the median of several loops."""
    for _ in range(10):
        call()
    torch.cuda.synchronize()
    start = time.perf_counter()
    call()
    torch.cuda.synchronize()
    count = max(4, min(20000, int(seconds / max(time.perf_counter() - start, 3e-6))))
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) / count)
    return statistics.median(times)


def busy_seconds(call, calls=10):
    """Of one call the time in which the GPU works, by PyTorch's profiler."""
    with profile(activities=[ProfilerActivity.CUDA]) as recorded:
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
    spans = sorted((each.time_range.start, each.time_range.end) for each in recorded.events()
                   if each.device_type == torch.autograd.DeviceType.CUDA)
    busy = end = 0.0
    for first, last in spans:
        busy += max(0.0, last - max(first, end))
        end = max(end, last)
    return busy * 1e-6 / calls


def measured(profiler, rows, until=float("inf")):
    """Of each the loops before and after, and what is told."""
    for name, function, *arguments in rows:
        if time.monotonic() > until:
            return
        def call(function=function, arguments=arguments):
            return function(*arguments)
        before, told, after = loop_seconds(call), profiler.profile_operation(function, *arguments), loop_seconds(call)
        yield name, call, told, before * 1e6, after * 1e6


def deviating(profiler, until):
    rows = well = 0
    for name, _, told, before, after in measured(profiler, itertools.chain(operators(), models()), until):
        rows += 1
        us, low, high = told["runtime_ms"] * 1e3, min(before, after), max(before, after)
        if any(abs(us - loop) <= max(0.02 * loop, 0.3) for loop in (before, after, (before + after) / 2)) or low <= us <= high:
            well += 1
        else:
            print(f"{name}: {us:.1f} us beside loops of {before:.1f} and {after:.1f} ({told['regime']})", flush=True)
    print(f"{well} of {rows} within 2 % or 0.3 us of a loop, or between the two")


def small_operators():
    """Name, function, arguments; a few microseconds each."""
    yield "add 8 x 8", torch.add, tensor(8, 8), tensor(8, 8)
    yield "mul 64", torch.mul, tensor(64), tensor(64)
    yield "relu 4 K", torch.relu, tensor(4096)
    yield "sum 1 K", torch.sum, tensor(1024)
    yield "cat 2 x 256", torch.cat, [tensor(256), tensor(256)]
    yield "gelu 1 M", F.gelu, tensor(2**20)
    yield "softmax 1024 x 1024", torch.softmax, tensor(1024, 1024), -1
    yield "layer_norm 256 x 256", F.layer_norm, tensor(256, 256), (256,)
    yield "bmm 64 x 32 x 32", torch.bmm, tensor(64, 32, 32), tensor(64, 32, 32)
    yield "matmul 512 BF16", torch.matmul, tensor(512, 512, dtype=BF16), tensor(512, 512, dtype=BF16)


def load():
    """Of the host, in words."""
    return "load of the host over 1, 5 and 15 minutes {:.1f}, {:.1f}, {:.1f}".format(*os.getloadavg()) + f" on {len(os.sched_getaffinity(0))} cores"


def hundred(profiler, rounds=10):
    rows = list(small_operators())
    milliseconds_of(profiler, rows, 1)  # the first one sets up
    all_took = milliseconds_of(profiler, rows, rounds)
    tenths = statistics.quantiles(all_took, n=10)
    print(f"{len(all_took)} profiles, one after the other: {sum(all_took) * 1e-3:.2f} s; median {statistics.median(all_took):.2f} ms, "
          f"p90 {tenths[-1]:.2f} ms, least {min(all_took):.2f} ms; {load()}\n\n"
          "| operator | ms a profile, each | interval meets loops | off from them, us | within 2 %, 0.3 us or between them | samples | verdicts |\n|---|---|---:|---|---:|---|---|")
    for name, function, *arguments in rows:
        took, off, samples, verdicts, held, well = [], [], [], [], 0, 0
        def call(function=function, arguments=arguments):
            return function(*arguments)
        for _ in range(rounds):
            before, start = loop_seconds(call, rounds=3, seconds=0.01), time.perf_counter()
            told = profiler.profile_operation(function, *arguments)
            took.append(1e3 * (time.perf_counter() - start))
            low, high = sorted(1e6 * each for each in (before, loop_seconds(call, rounds=3, seconds=0.01)))
            us, (from_us, to_us) = told["runtime_ms"] * 1e3, (each * 1e3 for each in told["runtime_ms_interval"])
            held += from_us <= high and low <= to_us
            off.append(max(low - us, us - high, 0.0) * (1 if us > high else -1))
            well += abs(off[-1]) <= max(0.02 * low, 0.3)
            samples.append(max(each["seconds"]["count"] for each in profiler.last_run[0].data["measurement"]["timings"] if each.get("seconds")))
            verdicts.append(f"{told['regime'].split('_')[0].lower()} {told['confidence'] or 0:.2f}")
        print(f"| {name} | {' '.join(f'{each:.1f}' for each in took)} | {held} | {' '.join(f'{each:+.1f}' for each in off)} | {well} | {' '.join(map(str, samples))} | "
              f"{', '.join(sorted(set(verdicts)))} |", flush=True)
    print()
    stages(profiler, rounds)


class Stages:
    """Seconds of functions, by name, and how often they were called."""

    def __init__(self):
        self.seconds, self.counts = collections.Counter(), collections.Counter()

    def timed(self, name, function):
        def call(*arguments, **keywords):
            start = time.perf_counter()
            try:
                return function(*arguments, **keywords)
            finally:
                self.seconds[name] += time.perf_counter() - start
                self.counts[name] += 1
        return call

    def put_in(self, owner, attribute, name):
        setattr(owner, attribute, self.timed(name, getattr(owner, attribute)))


def milliseconds_of(profiler, rows, rounds):
    """Of each profile."""
    took = []
    for _ in range(rounds):
        for _, function, *arguments in rows:
            start = time.perf_counter()
            profiler.profile_operation(function, *arguments)
            took.append(1e3 * (time.perf_counter() - start))
    return took


def milliseconds_each(profiler, rows, rounds):
    return statistics.mean(milliseconds_of(profiler, rows, rounds))


def pieces():
    """What single steps of a profile cost the host here, in microseconds: name, function."""
    x, stream, pool = tensor(8, 8), torch.cuda.Stream(), torch.cuda.MemPool()
    graphs = {}

    def capture(count):
        graph = graphs[count] = torch.cuda.CUDAGraph()
        with torch.cuda.stream(stream):
            graph.capture_begin(capture_error_mode="thread_local")
            for _ in range(count):
                torch.add(x, x)
            graph.capture_end()

    def pooled():
        with torch.cuda.use_mem_pool(pool):
            pass

    def waited():
        torch.add(x, x)
        torch.cuda.synchronize()

    yield "call of add 8 x 8", lambda: torch.add(x, x)
    yield "the same, and the wait for it", waited
    yield "cudaDeviceSynchronize of nothing", torch.cuda.synchronize
    yield "cudaMemGetInfo", torch.cuda.mem_get_info
    yield "memory_stats", torch.cuda.memory_stats_as_nested_dict
    yield "use_mem_pool, in and out", pooled
    yield "ExternalStream and set_stream", lambda: torch.cuda.set_stream(torch.cuda.ExternalStream(stream.cuda_stream))
    yield "back to the default stream", lambda: torch.cuda.set_stream(torch.cuda.default_stream())
    for count in (1, 3, 23, 50):
        yield f"capture and instantiation, {count} calls", lambda count=count: capture(count)
        yield f"replay of those {count}", lambda count=count: graphs[count].replay()


def stages(profiler, rounds=10):
    """Of a hundred profiles of `small_operators`: what parts take, what each clock adds, and what single steps cost."""
    rows = list(small_operators())
    milliseconds_each(profiler, rows, 1)  # the first one sets up
    plain = milliseconds_each(profiler, rows, rounds)
    given = harness._TIMES
    by_clocks = {}
    for clocks in ("stream,device", "stream,device,graph", "stream,device,call", given, "stream,device", given):
        harness._TIMES = clocks
        by_clocks.setdefault(clocks, []).append(milliseconds_each(profiler, rows, rounds))
    harness._TIMES = given
    seen = Stages()
    for owner, attribute, name in ((GPUProfiler, "_once", "first call, watched"), (regime, "run", "run"), (_core, "register", "register"),
                                   (_core, "run", "engine"), (harness.State, "measure", "timing"), (GPUProfiler, "_profile", "dictionary"),
                                   (harness, "_reserved_bytes", "memory_stats")):
        seen.put_in(owner, attribute, name)
    frameworks, settled = harness._frameworks, harness.settled

    @harness.contextmanager
    def timed_frameworks(on_gpu, timed=True, own=None):
        start = time.perf_counter()
        with frameworks(on_gpu, timed, own) as prepare:
            if not timed:
                yield prepare
                return
            seen.seconds["frameworks, in"] += time.perf_counter() - start
            yield seen.timed("changes of stream and pool", prepare)
            start = time.perf_counter()
        seen.seconds["frameworks, out"] += time.perf_counter() - start

    harness._frameworks = timed_frameworks
    harness.settled = lambda function, on_gpu: seen.timed("calls", settled(function, on_gpu))
    observed = milliseconds_each(profiler, rows, rounds)
    count = rounds * len(rows)
    each = collections.Counter({name: 1e3 * seconds / count for name, seconds in seen.seconds.items()})
    times = {name: number / count for name, number in seen.counts.items()}
    inside = sum(each[name] for name in ("calls", "changes of stream and pool", "frameworks, in", "frameworks, out"))
    print(f"{plain:.2f} ms a profile, {observed:.2f} while its parts are timed; {load()}. Each, ms:\n\n| part | ms | how often |\n|---|---:|---:|")
    for name, value in (("first call, watched", each["first call, watched"]),
                        ("engine, but for timing: options, ceilings, verdict", each["engine"] - each["timing"]),
                        ("run in Python, but for the engine", each["run"] - each["engine"]),
                        ("dictionary of the profile", each["dictionary"]),
                        ("calls, captured ones too", each["calls"]),
                        ("changes of stream and pool", each["changes of stream and pool"]),
                        ("streams and pool, in and out (some of it memory_stats)", each["frameworks, in"] + each["frameworks, out"]),
                        ("memory_stats", each["memory_stats"]),
                        ("rest of timing: graphs, waits, driver, samples", each["timing"] - inside)):
        number = times.get(name.split(",")[0])
        print(f"| {name} | {value:.2f} | {'' if number is None else format(number, '.0f')} |")
    print("\n| clocks | ms a profile, twice or once |\n|---|---|")
    for clocks, values in by_clocks.items():
        print(f"| {clocks} | {', '.join(f'{value:.2f}' for value in values)} |")
    print("\n| step | us, median of 50 |\n|---|---:|")
    for name, function in pieces():
        function()
        torch.cuda.synchronize()
        took = []
        for _ in range(50):
            start = time.perf_counter()
            function()
            took.append(1e6 * (time.perf_counter() - start))
        torch.cuda.synchronize()
        print(f"| {name} | {statistics.median(took):.1f} |", flush=True)


def where(profiler, rounds=10):
    """What Python sees of the same hundred."""
    import cProfile
    import pstats
    rows = list(small_operators())
    for _, function, *arguments in rows:
        profiler.profile_operation(function, *arguments)
    with cProfile.Profile() as seen:
        for _ in range(rounds):
            for _, function, *arguments in rows:
                profiler.profile_operation(function, *arguments)
    pstats.Stats(seen).sort_stats("tottime").print_stats(30)


def main():
    profiler = GPUProfiler("cuda:0", verbose=False)
    with torch.no_grad():
        if "--hundred" in sys.argv:
            return hundred(GPUProfiler("cuda:0", verbose=False, metrics=None))
        if "--stages" in sys.argv:
            return stages(GPUProfiler("cuda:0", verbose=False, metrics=None))
        if "--where" in sys.argv:
            return where(GPUProfiler("cuda:0", verbose=False, metrics=None))
        if "--deviating" in sys.argv:
            return deviating(profiler, time.monotonic() + float(sys.argv[-1]))
        print("| call | loop before, after, us | `runtime_ms`, us | off by | graph | device | GPU busy | verdict | confidence |\n|---|---|---|---|---|---|---|---|---|")
        for name, call, told, before, after in list(measured(profiler, [*operators(), *models()])):  # PyTorch's profiler comes last: it changes a process for good
            us = [None if each is None else each * 1e3 for each in (told["runtime_ms"], told["graph_ms"], told["device_ms"])]
            loop = 0.5 * (before + after)
            texts = ["-" if each is None else f"{each:.1f}" for each in us]
            print(f"| {name} | {before:.1f}, {after:.1f} | {texts[0]} | {100 * (us[0] / loop - 1):+.1f} % | {texts[1]} | {texts[2]} | "
                  f"{busy_seconds(call) * 1e6:.1f} | {told['regime']} {told['limiter']} | {'-' if told['confidence'] is None else format(told['confidence'], '.2f')} |", flush=True)


if __name__ == "__main__":
    main()
