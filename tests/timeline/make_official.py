#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes kept/official.perfetto-trace by the official schema (PyPI perfetto): make_official.py FILE"""
import sys
import zlib

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

trace = Trace()
BEGIN, END, INSTANT, COUNTER = TrackEvent.TYPE_SLICE_BEGIN, TrackEvent.TYPE_SLICE_END, TrackEvent.TYPE_INSTANT, TrackEvent.TYPE_COUNTER


def packet(sequence=1, **fields):
    one = trace.packet.add()
    one.trusted_packet_sequence_id = sequence
    for name, value in fields.items():
        setattr(one, name, value)
    return one


def event(kind, track, time, sequence=1, clock=0, name=None, iid=0, flows=(), ends=()):
    one = packet(sequence, timestamp=time)
    if clock:
        one.timestamp_clock_id = clock
    one.track_event.type = kind
    one.track_event.track_uuid = track
    if name:
        one.track_event.name = name
    if iid:
        one.track_event.name_iid = iid
        one.sequence_flags = 2
    one.track_event.flow_ids.extend(flows)
    one.track_event.terminating_flow_ids.extend(ends)
    return one


def clock(snapshot, number, time, incremental=False, unit=0):
    one = snapshot.clocks.add()
    one.clock_id, one.timestamp = number, time
    if incremental:
        one.is_incremental = True
    if unit:
        one.unit_multiplier_ns = unit


event(BEGIN, 10, 1, sequence=7, iid=99)  # its texts were lost
snapshot = packet(sequence_flags=1).clock_snapshot
clock(snapshot, 6, 1_000_000)
clock(snapshot, 1, 1_790_857_026_001_000_000)
clock(snapshot, 3, 400_000)
clock(snapshot, 64, 1000, incremental=True, unit=1000)
described = packet().track_descriptor
described.uuid, described.process.pid, described.process.process_name = 1, 4711, "train (rank 2)"
described = packet().track_descriptor
described.uuid, described.parent_uuid, described.thread.pid, described.thread.tid, described.thread.thread_name = 10, 1, 4711, 4712, "worker"
described = packet().track_descriptor
described.uuid, described.parent_uuid, described.name = 11, 1, "cuda:0 stream 7"
described = packet().track_descriptor
described.uuid, described.parent_uuid, described.name = 12, 1, "power"
described.counter.unit_name, described.counter.unit_multiplier, described.counter.is_incremental = "mW", 10, True
interned = packet().interned_data
text = interned.event_names.add()
text.iid, text.name = 1, "interned \u00e4"
text = interned.event_categories.add()
text.iid, text.name = 1, "launch"

event(BEGIN, 10, 2_000_000, name="outer")
launch = event(BEGIN, 10, 2_000_100, iid=1, flows=[5])
launch.track_event.category_iids.append(1)
event(END, 10, 2_000_300)
event(INSTANT, 10, 2_000_400, name="now")
event(END, 10, 1_500_000, clock=3)  # monotonic: 2 100 000
kernel = event(BEGIN, 11, 2_050_000, name="saxpy", ends=[5])
kernel.track_event.categories.append("kernel")
event(END, 11, 2_060_000)
event(BEGIN, 11, 1100, clock=64, name="in units").track_event.categories.append("kernel")  # 2100 us: 1 000 000 + 1 100 000
event(END, 11, 5, clock=64)
for value, time in ((3, 2_000_000), (-1, 2_000_500)):
    one = event(COUNTER, 12, time)
    one.track_event.counter_value = value

inner = Trace()
one = inner.packet.add()
one.trusted_packet_sequence_id, one.timestamp = 1, 3_000_000
one.track_event.type, one.track_event.track_uuid, one.track_event.name = BEGIN, 10, "packed, never ends"
packet().compressed_packets = zlib.compress(inner.SerializeToString())

with open(sys.argv[1], "wb") as file:
    file.write(trace.SerializeToString())
