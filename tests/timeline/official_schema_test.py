#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What we write for Perfetto, read by its official schema (PyPI perfetto). Arguments: trace_figures, a trace."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

try:
    from google.protobuf.unknown_fields import UnknownFieldSet
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent
except ImportError:
    print("skipped: no Python package 'perfetto'")
    sys.exit(77)

FIGURES, TRACE = sys.argv[1:3]


def unknown(message):
    """The number of fields that the schema does not have, at any depth."""
    count = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for one in [value] if hasattr(value, "ListFields") else value:
            count += unknown(one)
    return count


class OfficialSchema(unittest.TestCase):
    def test_all_is_known_in_order_and_closed(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "trace.perfetto-trace"
            subprocess.run([FIGURES, "--write", TRACE, str(file)], check=True)
            trace = Trace()
            trace.ParseFromString(file.read_bytes())
        self.assertEqual(unknown(trace), 0)
        tracks, names, last, open_slices = set(), {}, {}, {}
        flows, begun, counters = {}, 0, 0
        for packet in trace.packet:
            sequence = packet.trusted_packet_sequence_id
            self.assertNotEqual(sequence, 0)
            for text in packet.interned_data.event_names:
                names[sequence, text.iid] = text.name
            if packet.HasField("track_descriptor"):
                tracks.add(packet.track_descriptor.uuid)
            if not packet.HasField("track_event"):
                continue
            event = packet.track_event
            self.assertIn(event.track_uuid, tracks)
            self.assertGreaterEqual(packet.timestamp, last.get(sequence, 0))
            last[sequence] = packet.timestamp
            if event.type == TrackEvent.TYPE_SLICE_BEGIN:
                begun += 1
                self.assertTrue(names[sequence, event.name_iid])
                open_slices[event.track_uuid] = open_slices.get(event.track_uuid, 0) + 1
            elif event.type == TrackEvent.TYPE_SLICE_END:
                open_slices[event.track_uuid] -= 1
                self.assertGreaterEqual(open_slices[event.track_uuid], 0)
            elif event.type == TrackEvent.TYPE_COUNTER:
                counters += 1
            for flow in list(event.flow_ids) + list(event.terminating_flow_ids):
                flows[flow] = flows.get(flow, 0) + 1
        self.assertGreater(begun, 50)
        self.assertGreater(counters, 10)
        self.assertEqual(set(open_slices.values()), {0})
        self.assertGreater(len(flows), 40)
        self.assertGreaterEqual(min(flows.values()), 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
