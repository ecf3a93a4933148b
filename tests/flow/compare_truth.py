# SPDX-License-Identifier: BSD-2-Clause
"""compare_truth.py MESSAGE_LIST RECORDINGS...: what flow/ says of each RoCE recording against what
the kernels traced. Exit 77 (skipped) where there is no recording."""
import collections
import json
import os
import subprocess
import sys


def run(tool, path, *options):
    out = subprocess.run([tool, *options, path], check=True, capture_output=True, text=True).stdout
    records = [json.loads(line) for line in out.splitlines()]
    return [r for r in records if "record" not in r], [r for r in records if "record" in r]


def segments(chunk):
    return tuple((s["length"], s["offset"], s["handle"]) for s in chunk)


def call_key(m):
    return (m["xid"], m["header_length"],
            tuple((s["position"], s["length"], s["offset"], s["handle"]) for s in m["read"]),
            tuple(segments(c) for c in m["write"]), segments(m.get("reply", [])))


def nested(traced):
    """The kernel traces segments; a chunk boundary it does not tell."""
    return tuple(tuple(s) for s in traced)


def check(tool, folder):
    path = os.path.join(folder, "capture.pcap")
    with open(os.path.join(folder, "truth.json"), encoding="utf-8") as f:
        truth = json.load(f)
    messages, others = run(tool, path)
    client = truth["roles"]["client"]
    forward = [m for m in messages if not m.get("reverse")]
    calls = collections.Counter(
        (m["xid"], m["header_length"],
         tuple((s["position"], s["length"], s["offset"], s["handle"]) for s in m["read"]),
         tuple(s for c in m["write"] for s in segments(c)), segments(m.get("reply", [])))
        for m in forward if m["direction"] == "call")
    traced = collections.Counter(
        (c["xid"], c["hdrlen"], nested(c["read"]), nested(c["write"]), nested(c["reply"]))
        for role in truth["roles"].values() for c in role["calls"])
    replies = collections.Counter((m["xid"]) for m in forward
                                  if m["direction"] == "reply")
    traced_replies = collections.Counter((r["xid"])
                                         for role in truth["roles"].values()
                                         for r in role["replies"])
    connections = [o for o in others if o["record"] == "connection"]
    findings = collections.Counter(o["findings"][0]["rule"] for o in others
                                   if o["record"] == "finding")
    for m in messages:
        findings.update(f["rule"] for f in m["findings"])
    unknown = sum(m["direction"] == "unknown" or m["sender"] == "unknown" for m in messages)
    print(f"{os.path.basename(folder)}: {len(messages)} messages, {len(connections)} connections "
          f"(traced {sum(len(r['connections']) for r in truth['roles'].values())}), "
          f"unknown {unknown}, findings {dict(findings)}")
    for name, a, b in (("calls", traced, calls), ("replies", traced_replies, replies)):
        if a - b:
            print(f"  {name} traced and not seen: {sum((a - b).values())}", list((a - b))[:2])
        if b - a:
            print(f"  {name} seen and not traced: {sum((b - a).values())}", list((b - a))[:2])
    reverse = [m for m in messages if m.get("reverse")]
    traced_reverse = sum(len(r["callbacks"]) for r in truth["roles"].values())
    if reverse or traced_reverse:
        print(f"  reverse: {len(reverse)} messages, callbacks traced {traced_reverse}")
    return calls == traced


def main():
    tool, folders = sys.argv[1], sys.argv[2:]
    for top in folders:
        for name in sorted(os.listdir(top)):
            if name.startswith("roce") or name.startswith("iwarp"):
                check(tool, os.path.join(top, name))


main()
