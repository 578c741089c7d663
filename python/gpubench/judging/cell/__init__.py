# SPDX-License-Identifier: Apache-2.0
"""The process of a candidate. It is run as a folder, `python -I cell`, without the rest of the package."""
