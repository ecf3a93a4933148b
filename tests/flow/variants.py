# SPDX-License-Identifier: BSD-2-Clause
"""variants.py MESSAGE_LIST RECORDINGS...: each recording as it is, and with less of it: no CM exchange,
packets dropped, the beginning cut off, sliced. Without the CM exchange every message is the same. With
less, what is said of a message that was said before is the same or left out, never different; no
message comes twice; messages come in the order of the capture unless packets are missing. Exit 77:
no recording."""
import json
import os
import subprocess
import sys

VALUES = ("sender", "direction", "reverse", "credits", "version", "type", "header_length",
          "invalidate", "reply", "program", "procedure", "src_qpn")
LISTS = ("read", "write")  # sliced: those wholly captured


def run(tool, path, *options):
    out = subprocess.run([tool, *options, path], check=True, capture_output=True, text=True).stdout
    records = [json.loads(line) for line in out.splitlines()]
    return [r for r in records if "record" not in r]


def prefix(part, whole):
    """A sliced list of chunks or segments: some leave out segments of the last chunk."""
    if len(part) > len(whole):
        return False
    for a, b in zip(part, whole):
        if a != b and not (isinstance(a, list) and a == b[:len(a)]):
            return False
    return True


def differs(a, b):
    for key in VALUES:
        if key in a and key in b and a[key] not in ("unknown", b[key]):
            if key == "reply" and prefix(a[key], b[key]):
                continue
            return key
    for key in LISTS:
        if key in a and key in b and not prefix(a[key], b[key]):
            return key
    return None


def same(tool, path, whole):
    got = run(tool, path, "-n")
    strip = lambda m: {k: v for k, v in m.items() if k != "connection"}
    if [strip(m) for m in got] != [strip(m) for m in whole]:
        return "without the CM exchange the messages differ"
    return None


def less(tool, path, whole, options):
    # sender: behind a loss of TCP, a Call can be complete by the very packet that brings its Reply
    key_of = lambda m: (m["frame"], m.get("xid"), m["first"], m.get("sender"))
    known = {key_of(m): m for m in whole}
    got = run(tool, path, *options)
    seen = set()
    for m in got:
        key = key_of(m)
        if key in seen:
            return f"frame {m['frame']} twice"
        seen.add(key)
        if key in known:
            what = differs(m, known[key])
            if what:
                return f"frame {m['frame']}: {what}: {m.get(what)}, was {known[key].get(what)}"
    if len(got) < len(whole) // 4:
        return f"only {len(got)} of {len(whole)} messages"
    if "-d" not in options and any(b["frame"] < a["frame"] for a, b in zip(got, got[1:])):
        return "out of order"
    return None


def main():
    tool = sys.argv[1]
    failed = ran = 0
    for top in sys.argv[2:]:
        for name in sorted(os.listdir(top)):
            path = os.path.join(top, name, "capture.pcap")
            if not os.path.exists(path) or not os.path.exists(os.path.join(top, name,
                                                                           "truth.json")):
                continue
            ran += 1
            whole = run(tool, path)
            results = {"-n": same(tool, path, whole)}
            for options in (["-d", "50"], ["-d", "7"], ["-n", "-d", "50"], ["-k", "100"],
                            ["-s", "128"], ["-n", "-s", "128"], ["-s", "100", "-d", "30"]):
                results[" ".join(options)] = less(tool, path, whole, options)
            for options, fault in results.items():
                if fault:
                    failed += 1
                    print(f"{name} {options}: {fault}")
    sys.exit(77 if ran == 0 else 1 if failed else 0)


main()
