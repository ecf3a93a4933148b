#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""reference_filter.py HEADER: the header as Doxygen reads it: its comments are documentation, one behind
a declaration is of that declaration."""

import re
import sys

for line in open(sys.argv[1], encoding="utf-8"):
    if "SPDX-License-Identifier" not in line:
        line = re.sub(r"^(\s*)/\*(?=\s|$)", r"\1/**", line)
        line = re.sub(r"(\S\s*)(?<!/)/\*(?=\s)", r"\1/**<", line)
    line = re.sub(r"(?<!&)[@\\]", r"\\\g<0>", line) if line.lstrip().startswith(("*", "/*")) else line
    line = line.replace("RPCRDMA_API ", "").replace("RPCRDMA_BEGIN_DECLS", "").replace("RPCRDMA_END_DECLS", "")
    sys.stdout.write(line)
