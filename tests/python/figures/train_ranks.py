# SPDX-License-Identifier: Apache-2.0
"""Training on several GPUs, by DDP or FSDP: six transformer layers of width 1024, 30 steps.

    torchrun --nproc-per-node=4 train_ranks.py ddp [--trace=DIR] [--late=RANK --late-by=gpu --late-ms=20] [--whole]

--trace: steps 20 to 25 are in a range "traced", and PyTorch's profiler writes DIR/rank-N.json.gz of them, for tests/timeline/beside_hta.py.
--late: this rank has more to do before each step's backward pass: its host sleeps, or its GPU has a kernel that only waits.
--whole: one collective for the whole model in place of one a layer, so that each takes over a hundredth of a step, which HTA asks for.
"""
import argparse
import contextlib
import os
import pathlib
import time

import torch
import torch.distributed as dist
from torch import nn

STEPS, FIRST_TRACED, TRACED = 30, 20, 6


def cycles_a_second():
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    for _ in range(2):
        start.record()
        torch.cuda._sleep(50_000_000)
        end.record()
        torch.cuda.synchronize()
    return 50_000_000 / (1e-3 * start.elapsed_time(end))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("how", choices=("ddp", "fsdp"))
    parser.add_argument("--trace", type=pathlib.Path)
    parser.add_argument("--late", type=int, metavar="RANK")
    parser.add_argument("--late-by", choices=("host", "gpu"), default="host")
    parser.add_argument("--late-ms", type=float, default=20.0)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--whole", action="store_true")
    options = parser.parse_args()
    rank = int(os.environ["RANK"])
    torch.cuda.set_device(rank)
    device = torch.device("cuda", rank)
    dist.init_process_group("nccl", device_id=device)
    torch.manual_seed(1)
    layers = [nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True, device=device) for _ in range(6)]
    if options.how == "fsdp":
        from torch.distributed.fsdp import fully_shard
        for layer in [] if options.whole else layers:
            fully_shard(layer)
        model = fully_shard(nn.Sequential(*layers))
    else:
        model = nn.parallel.DistributedDataParallel(nn.Sequential(*layers), device_ids=[rank], bucket_cap_mb=1000 if options.whole else None)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    x = torch.randn(options.batch, 256, 1024, device=device)
    late_cycles = int(1e-3 * options.late_ms * cycles_a_second()) if options.late == rank and options.late_by == "gpu" else 0

    def step():
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = model(x).square().mean()
        if options.late == rank and options.late_by == "host":
            time.sleep(1e-3 * options.late_ms)
        if late_cycles:
            torch.cuda._sleep(late_cycles)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    profiler = contextlib.nullcontext()
    if options.trace:
        options.trace.mkdir(parents=True, exist_ok=True)
        profiler = torch.profiler.profile(schedule=torch.profiler.schedule(wait=FIRST_TRACED - 2, warmup=2, active=TRACED, repeat=1),
                                          on_trace_ready=lambda done: done.export_chrome_trace(str(options.trace / f"rank-{rank}.json.gz")))
    times = []
    with profiler as recording:
        for i in range(STEPS):
            start = time.perf_counter()
            if i == FIRST_TRACED:
                torch.cuda.synchronize()
                torch.cuda.nvtx.range_push("traced")
            step()
            if i == FIRST_TRACED + TRACED - 1:
                torch.cuda.synchronize()
                torch.cuda.nvtx.range_pop()
            if recording:
                recording.step()
            times.append(time.perf_counter() - start)
    torch.cuda.synchronize()
    if rank == 0:
        print(f"{options.how}: {1e3 * sorted(times)[STEPS // 2]:.2f} ms a step")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
