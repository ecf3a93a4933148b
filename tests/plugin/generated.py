# SPDX-License-Identifier: GPL-2.0-or-later
"""The version 2 captures that captures/generate writes."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../captures/generate'))
# pylint: disable=wrong-import-position
import sample
import v2
from dialects import DIALECTS

data = v2.data


def conversations():
    """Name of the format, packets, lines as `rpcrdma decode --json` has to print them."""
    for name in list(DIALECTS)[::sample.EVERY]:
        yield (name, *v2.generate(name))


def captures():
    for name, packets, _ in conversations():
        yield name, packets
