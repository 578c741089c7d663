# SPDX-License-Identifier: Apache-2.0
"""How candidates are judged."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Callable, Mapping

from .. import _core
from .device import Device
from .process import Limits


@dataclass
class Settings:
    """Of a judge."""

    time_budget: float = 5.0  #: seconds of timing a candidate at most, unless its rounds have too few blocks then
    #: Processes of each side that are timed: the same program is faster in one process than in another. None: 5 on a GPU, where they start at once, else 3
    rounds: int | None = None
    min_blocks: int = 2  #: of each round
    narrow: float = 0.01  #: half of the interval of the speed-up's logarithm that is enough
    cold: bool = True
    jobs: int = 1  #: candidates checked at once
    records: bool = True  #: whether a process more of each side is recorded on a GPU
    limits: Limits = field(default_factory=Limits)
    device: Callable[[], Device] = Device  #: the GPU
    calibration: Mapping[str, Any] | None = None  #: None: the stored one of the device


def stored_calibration(device: str) -> tuple[Mapping[str, Any] | None, str]:
    """The ceilings of a device in the cache, or why there are none."""
    try:
        text, why = _core.stored_calibration(device)
    except _core.Error as error:
        return None, str(error)
    if text is not None:
        return json.loads(text), ""
    return None, f"there is no calibration of {device} ({why}): gpubench --calibrate --device={device} measures one"
