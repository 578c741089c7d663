# SPDX-License-Identifier: Apache-2.0
"""gpubench trace beside HolisticTraceAnalysis, on the same traces of the ranks of one program: by rank the GPU's time, that of computation
and of communication, how much of communication runs beside computation, and who comes late.

    beside_hta.py GPUBENCH FOLDER [--late=RANK]      FOLDER: one Kineto trace for each rank; HTA is installed or on PYTHONPATH

--late: the rank that was made to be late. HTA's rule is told twice: as it is, among collectives of a hundredth of a step or more, and among
all. A rank whose collectives are all short because it comes last has none by the first.

Kernels that were launched before the recording are taken out first: HTA leaves them out. Each reads the rest. HTA cuts times to microseconds unless HTA_DISABLE_NS_ROUNDING is set, as here: a kernel of 2 us would lose
half of its time. Exit code 1: something differs by over 1 %, or gpubench or HTA's rule among all collectives names another rank than --late.
"""
import argparse
import contextlib
import gzip
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

MOST = 0.01


def of_gpubench(program, traces):
    told = {}
    for name in ("summary", "ranks"):
        told[name] = json.loads(subprocess.run([program, "trace", name, "--json", *traces], check=True, capture_output=True, text=True).stdout)
    ranks = {}
    for gpu in told["summary"]["gpus"]:
        ranks[gpu["rank"]] = {"GPU time": gpu["span_seconds"], "idle": gpu["idle_seconds"], "computation": gpu["compute_seconds"],
                              "communication beside none": gpu["busy_seconds"] - gpu["compute_seconds"],
                              "communication beside computation": gpu["communication_overlap_seconds"] / gpu["communication_seconds"]}
    return ranks, told["ranks"]


def launched_within(folder, copies):
    """Writes the traces without kernels and copies whose launch they do not have. Returns how many these were."""
    dropped = 0
    for trace in folder.glob("*.json*"):
        document = json.loads(gzip.decompress(trace.read_bytes()) if trace.suffix == ".gz" else trace.read_bytes())
        events = document["traceEvents"]
        launches = {event["args"]["correlation"] for event in events if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event.get("args", {})}
        of_gpu = "kernel", "gpu_memcpy", "gpu_memset"
        kept = [event for event in events if event.get("cat") not in of_gpu or event["args"].get("correlation") in launches]
        dropped += len(events) - len(kept)
        document["traceEvents"] = kept
        (copies / trace.name.removesuffix(".gz")).write_text(json.dumps(document))
    return dropped


def stragglers_of_hta(analysis, folder):
    """By its rule as it is, and among all collectives. It knows their kernels by old names, so that it gets these."""
    from hta.analyzers import straggler

    def among_all(events, symbols, candidates, visualize):
        collectives, metric = straggler._compute_normalized_start_time_of_significant_comm_kernels(events, symbols, visualize, min_normalized_duration=0.0)
        return straggler._get_top_k_stragglers_with_metric(collectives, metric, candidates, visualize)

    with tempfile.TemporaryDirectory() as renamed:
        for trace in folder.glob("*.json"):
            pathlib.Path(renamed, trace.name).write_text(trace.read_text().replace("ncclDevKernel", "ncclKernel"))
        traces = analysis(trace_dir=renamed, include_last_profiler_step=True)
        told = []
        for rule in ({}, {"straggler_identification_impl": among_all}):
            try:
                told += traces.get_potential_stragglers(num_candidates=1, **rule)
            except ValueError:  # nothing is left to compare
                told.append(None)
        return told


def of_hta(folder):
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    from hta.trace_analysis import TraceAnalysis

    with contextlib.redirect_stdout(io.StringIO()):
        analysis = TraceAnalysis(trace_dir=str(folder), include_last_profiler_step=True)
        parts = analysis.get_temporal_breakdown(visualize=False)
        overlaps = analysis.get_comm_comp_overlap(visualize=False)
        late = stragglers_of_hta(TraceAnalysis, folder)
    ranks = {}
    for _, row in parts.iterrows():
        ranks[int(row["rank"])] = {"GPU time": 1e-6 * row["kernel_time(us)"], "idle": 1e-6 * row["idle_time(us)"], "computation": 1e-6 * row["compute_time(us)"],
                                   "communication beside none": 1e-6 * row["non_compute_time(us)"]}
    for _, row in overlaps.iterrows():
        ranks[int(row["rank"])]["communication beside computation"] = 0.01 * row["comp_comm_overlap_pctg"]
    return ranks, late


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gpubench")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--late", type=int, metavar="RANK")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    temporary = tempfile.TemporaryDirectory()
    folder = pathlib.Path(temporary.name)
    print(f"launched before the recording: {launched_within(options.folder, folder)} kernels and copies")
    mine, waits = of_gpubench(options.gpubench, sorted(map(str, folder.glob("*.json*"))))
    theirs, late = of_hta(folder)
    worst = 0.0
    print("| rank | figure | gpubench | HTA | difference |\n|---|---|---|---|---|")
    for rank, figures in sorted(theirs.items()):
        for name, value in figures.items():
            is_share = "beside computation" in name
            difference = mine[rank][name] - value if is_share else mine[rank][name] / value - 1
            worst = max(worst, abs(difference))
            texts = [f"{100 * each:.2f} %" if is_share else f"{1e3 * each:.3f} ms" for each in (mine[rank][name], value)]
            print(f"| {rank} | {name} | {texts[0]} | {texts[1]} | {100 * difference:+.2f} {'points' if is_share else '%'} |")
    print(f"the largest difference: {100 * worst:.2f} %")
    for rank in waits["ranks"]:
        print(f"- {rank['process']}: last in {rank['entered_last']} of {rank['collectives']} collectives, kept others waiting for {1e3 * rank['kept_others_waiting_seconds']:.3f} ms")
    kept = [rank["kept_others_waiting_seconds"] for rank in waits["ranks"]]
    latest = kept.index(max(kept)) if kept else None
    print(f"late, by rank: planted {options.late}; gpubench {latest}; HTA {late[0]}, among all collectives {late[1]}")
    return 1 if worst > MOST or (options.late is not None and not latest == late[1] == options.late) else 0


if __name__ == "__main__":
    sys.exit(main())
