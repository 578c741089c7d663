#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Slurm's Prolog= on the nodes: a node whose GPUs are slow (1) or do not answer (2) is drained by Slurm, for a prolog that fails drains.
# All else, wrong usage or no baseline say, lets the job start. `timeout` is there for the case that even the canary hangs.
# BASELINE is the JSON of: gpubench fleet join CAMPAIGN --out=usual.json, of a campaign with --probes=brief.
baseline="${BASELINE:-/etc/gpubench/usual.json}"
line=$(timeout --signal=KILL 70 gpubench fleet canary --max-seconds=60 --baseline="$baseline" ${CANARY_OPTIONS:-} 2>&1)
code=$?
logger -t gpubench "$line" 2>/dev/null || true
case $code in
  1 | 2 | 137) echo "print $line"; exit 1 ;;
  *) exit 0 ;;
esac
