# SPDX-License-Identifier: Apache-2.0
"""The types of the task, as submissions import them."""
from typing import Any

input_t = output_t = Any
