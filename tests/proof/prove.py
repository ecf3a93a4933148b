# SPDX-License-Identifier: BSD-2-Clause
"""prove.py SOURCE [NAME[:FIRST-LAST]...]: runs Frama-C's Eva over codec/wire, one driver of this folder
after another (all, or those named, with other lengths than usual), and fails where an alarm is raised that
the file `alarms` does not explain, or one that it explains is raised no more. Then breaks the code in each
way that MUTATIONS has, and fails where that raises no alarm: a proof that cannot fail would show nothing.
docs/proof.md says what is shown."""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


class Proof:
    """Driver and codec files; the lengths looked at, each by itself; how many runs they are split into;
    in which functions states are kept apart (slevel, split on return), as they would be joined else."""

    def __init__(self, name, sources, last=0, runs=1, driver=None, define=None, slevel=None, split=()):
        self.name, self.sources, self.last, self.runs = name, sources.split(), last, runs
        self.driver, self.define = driver or name, define
        self.slevel, self.split = slevel or {}, split

    def command(self, source, first, last):
        define = f" -DPROOF_LIST={self.define}" if self.define else ""
        files = [os.path.join(HERE, self.driver + ".c")]
        for name in self.sources:
            local = os.path.join(HERE, name + ".c")
            files.append(local if name.startswith("any_") else os.path.join(source, "codec", name + ".c"))
        options = ["-eva-slevel", "0"]
        overall = self.slevel.get("*")
        if overall:
            options = ["-eva-slevel", str(overall)]
        functions = ",".join(f"{f}:{n}" for f, n in self.slevel.items() if f != "*")
        if functions:
            options += ["-eva-slevel-function", functions]
        if self.split:
            options += ["-eva-split-return-function", ",".join(f + ":0" for f in self.split)]
        return ["frama-c", "-no-unicode", "-machdep", "gcc_x86_64",
                f"-cpp-extra-args=-I{HERE} -I{source}/codec -DPROOF_FIRST={first} -DPROOF_LAST={last}{define}",
                "-kernel-warn-key", "annot:missing-spec=abort,typing:implicit-function-declaration=abort",
                "-warn-signed-downcast", "-warn-left-shift-negative", "-warn-right-shift-negative",
                *files, "-eva", "-eva-no-results", "-eva-no-alloc-returns-null", "-eva-alloc-builtin", "fresh",
                "-eva-split-limit", "1000", "-eva-widening-delay", "2", "-eva-widening-period", "1", *options]


OPAQUE = {"rpcrdma_read_opaque": 20, "read_count": 10}

LISTS = "any_dialect wire/chunk wire/property wire/xchar wire/xdr"
ENCODE = "any_dialect any_lists wire/message_encode wire/rpc wire/xdr wire/xchar"
WITHIN = {"rpcrdma_cursor_take": 10, "rpcrdma_read_opaque": 30, "read_count": 10, "read_read_list": 60,
          "read_chunk": 20, "main": 20}

PROOFS = [
    Proof("message", "any_dialect wire/message wire/xdr", 128, 8, slevel=OPAQUE, split=["read_count"]),
    Proof("xchar", "any_dialect wire/xchar wire/xdr wire/property", 64, 4, slevel=OPAQUE, split=["read_count"]),
    Proof("dialect", "wire/dialect wire/field wire/xchar wire/xdr wire/property", slevel={"*": 100}),
    Proof("rpc", "wire/rpc", 848, 8, slevel={"opaque_auth": 20}),
    Proof("private_data", "wire/private_data", 512, 2),
    Proof("within", "any_dialect wire/xdr", 64, 4, slevel=WITHIN,
          split=["rpcrdma_cursor_take", "read_count", "read_chunk", "rpcrdma_read_words", "rpcrdma_read_opaque"]),
    Proof("chunk", LISTS, 256, 2, "lists", "chunk"),
    Proof("read_list", LISTS, 256, 2, "lists", "read_list"),
    Proof("write_list", LISTS, 128, 4, "lists", "write_list",
          slevel={"write_step": 20}, split=["rpcrdma_write_next"]),
    Proof("properties", LISTS, 64, 4, "lists", "properties",
          slevel={"property_step": 20}, split=["rpcrdma_property_next"]),
    Proof("words", LISTS, 64, 2, "lists", "words"),
    Proof("walk", "any_dialect any_lists wire/walk wire/walk_rpc wire/field"),
    Proof("encode_message", ENCODE, 16, 2, "encode", "message"),
    Proof("encode_rpc", ENCODE, 16, 2, "encode", "rpc"),
    Proof("encode_xchar", ENCODE, 16, 2, "encode", "xchar"),
    Proof("encode_opaque", ENCODE, 16, 2, "encode", "opaque"),
]

# (proof, length, file, what stands there, what is put in its place)
MUTATIONS = [
    ("message", 8, "wire/message.c", "rpcrdma_cursor_captured(c) < COMMON_SIZE", "false"),
    ("message", 33, "wire/cursor.h", "at <= c->caplen - n", "at <= c->caplen - n + 1"),
    ("xchar", 40, "wire/xdr.c", "i < padding", "i <= padding"),
    ("dialect", 0, "wire/dialect.c", "guess < (count)", "guess <= (count)"),
    ("rpc", 60, "wire/rpc.c", "i < padding", "i <= padding"),
    ("private_data", 8, "wire/cursor.h", "at <= c->caplen - n", "at <= c->caplen"),
    ("chunk", 32, "wire/chunk.c", "(size_t)i * RPCRDMA_SEGMENT_SIZE + 4)", "(size_t)i * RPCRDMA_SEGMENT_SIZE + 13)"),
    ("read_list", 48, "wire/chunk.c", "it->index >= list->count", "it->index > list->count"),
    ("write_list", 40, "wire/chunk.c", "declared < readable ? declared : readable", "declared"),
    ("properties", 24, "wire/property.c", "length > set->wire.len - PROPERTY_HEAD - it->pos", "false"),
    ("within", 20, "wire/message.c", "RPCRDMA_READ_SEGMENT_SIZE, \"read segment\"", "8, \"read segment\""),
    ("walk", 0, "wire/walk.c", "m->flags & d->flag_tpmore ? 4 : 0", "m->flags & d->flag_tpmore ? 8 : 0"),
    ("encode_message", 8, "wire/writer.h", "n <= w->size - off ?", "n <= w->size - off + 1 ?"),
    ("encode_rpc", 8, "wire/writer.h", "off <= w->size && n", "n"),
    ("encode_xchar", 8, "wire/writer.h", "n <= w->size - off ?", "n <= w->size ?"),
    ("encode_opaque", 12, "wire/writer.h", "rpcrdma_writer_bytes(w, zeros, -n & 3)", "rpcrdma_writer_bytes(w, zeros, 4 + (-n & 3))"),
    ("words", 12, "wire/property.c", "position / 32 >= subset->count", "position / 32 > subset->count"),
]


def alarms_of(output):
    """The alarms as lines `file: what`, without line numbers, which change for other reasons."""
    found = set()
    text = re.sub(r"\n  ", " ", output)
    for line in text.splitlines():
        match = re.match(r"\[eva:alarm\] (\S+):\d+: Warning: *(.*)", line)
        if match:
            path = re.sub(r"^.*?((wire|proof)/[^/]*)$", r"\1", match.group(1))
            found.add(f"{path}: {' '.join(match.group(2).split())}")
    return found


def run(proof, source, first, last):
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        with subprocess.Popen(["nice", *proof.command(source, first, last)], stdout=log, stderr=log) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = status
        log.seek(0)
        output = log.read()
    if status or "ANALYSIS SUMMARY" not in output:
        sys.exit(f"{proof.name}: Eva came to no end\n{output[-2000:]}")
    statements = int(re.search(r"In these functions, (\d+) statements reached", output).group(1))
    return alarms_of(output), statements, usage.ru_utime + usage.ru_stime


def expected_alarms():
    expected = {}
    with open(os.path.join(HERE, "alarms"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, alarm = line.strip().split(": ", 1)
                expected.setdefault(name, set()).add(alarm)
    return expected


def prove(pool, source, names):
    """Runs the proofs; the number that did not go as expected."""
    expected, failed, jobs = expected_alarms(), 0, []
    for proof in PROOFS:
        if names and proof.name not in names:
            continue
        first, last = names.get(proof.name) or (0, proof.last)
        size = (last - first + proof.runs) // proof.runs
        jobs.append((proof, first, last, [pool.submit(run, proof, source, at, min(at + size - 1, last))
                                          for at in range(first, last + 1, size)]))
    for proof, first, last, futures in jobs:
        results = [future.result() for future in futures]
        alarms = set().union(*(result[0] for result in results))
        seconds = sum(result[2] for result in results)
        known = expected.get(proof.name, set())
        print(f"{proof.name:13} lengths {first} to {last:4}, {results[-1][1]:3} statements, {seconds:4.0f} s of CPU: "
              f"{len(alarms)} alarms" + (f", {len(alarms & known)} explained" if alarms else ""), flush=True)
        for alarm in sorted(alarms - known):
            print(f"    not explained: {alarm}")
        for alarm in sorted(known - alarms):
            print(f"    explained in `alarms`, but not raised: {alarm}")
        failed += alarms != known
    return failed


def mutate(pool, source, names):
    """Breaks the code; the number of breaks that raised no alarm beyond those expected."""
    expected, failed, jobs = expected_alarms(), 0, []
    with tempfile.TemporaryDirectory() as folder:
        for number, mutation in enumerate(MUTATIONS):
            name, length, path, old, new = mutation
            if names and name not in names:
                continue
            copy = os.path.join(folder, str(number))
            shutil.copytree(os.path.join(source, "codec"), os.path.join(copy, "codec"))
            target = os.path.join(copy, "codec", path)
            with open(target, encoding="utf-8") as file:
                text = file.read()
            if old not in text:
                sys.exit(f"{path} has no longer: {old}")
            with open(target, "w", encoding="utf-8") as file:
                file.write(text.replace(old, new))
            proof = next(proof for proof in PROOFS if proof.name == name)
            jobs.append((mutation, pool.submit(run, proof, copy, length, length)))
        for (name, _, path, old, new), future in jobs:
            alarms = future.result()[0] - expected.get(name, set())
            print(f"{name:13} {path}, `{old}` made `{new}`: {len(alarms)} alarms" if alarms else
                  f"{name:13} {path}, `{old}` made `{new}`: NOT NOTICED", flush=True)
            failed += not alarms
    return failed


def main():
    source, names = os.path.abspath(sys.argv[1]), {}
    for argument in sys.argv[2:]:
        name, _, lengths = argument.partition(":")
        names[name] = tuple(map(int, lengths.split("-"))) if lengths else None
    if not shutil.which("frama-c"):
        print("frama-c is not installed (scripts/install-deps prove)")
        return 77
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = prove(pool, source, names)
        print("The code broken on purpose:")
        failed += mutate(pool, source, names)
    print("failed" if failed else "proven")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
