# SPDX-License-Identifier: BSD-2-Clause
"""Of the cases that are asked alike: all, and under sanitizers, which take ten times as long, some."""
import os

EVERY = int(os.environ.get('RPCRDMA_EVERY', '1'))
