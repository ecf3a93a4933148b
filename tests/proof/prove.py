# SPDX-License-Identifier: BSD-2-Clause
"""prove.py SOURCE [NAME[:FIRST-LAST]...]: runs Frama-C's Eva and WP over codec/, as far as docs/proof.md says, one driver
of this folder after another (all, or those named, with other lengths than usual), and fails where an alarm is raised that
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


FRAMA_C = ["frama-c", "-no-unicode", "-c11", "-machdep", "gcc_x86_64",
           "-kernel-warn-key", "annot:missing-spec=abort,typing:implicit-function-declaration=abort",
           "-warn-signed-downcast", "-warn-left-shift-negative", "-warn-right-shift-negative"]


def file_of(source, name):
    """A file of codec/, or of cli/ where its name begins so."""
    return os.path.join(source, name if name.startswith("cli/") else os.path.join("codec", name))


class Proof:
    """Driver and codec files; the lengths looked at, each by itself (last None: any, at once); how many
    runs they are split into, and longer lengths looked at besides; in which functions states are kept
    apart (slevel, split on return), as they would be joined else."""

    any_cursor = False

    def __init__(self, name, sources, last=None, runs=1, driver=None, define=None, slevel=None, split=(), longer=(),
                 inline=(), recursion=0):
        self.name, self.sources, self.last, self.runs, self.longer = name, sources.split(), last, runs, longer
        self.driver, self.define = driver or name, define
        self.slevel, self.split, self.inline, self.recursion = slevel or {}, split, inline, recursion

    def sources_of_codec(self):
        return [name for name in self.sources if not name.startswith("any_")]

    def command(self, source, first, last):
        define = f" -DPROOF_LIST={self.define}" if self.define else ""
        if self.sources[:1] == ["any_layer"]:
            define += " -DPROOF_LAYER" + "".join(f" -DPROOF_OF_{os.path.basename(name)}" for name in self.sources[1:])
        files = [os.path.join(HERE, self.driver + ".c")]
        for name in self.sources:
            local = os.path.join(HERE, name + ".c")
            files.append(local if name.startswith("any_") else file_of(source, name + ".c"))
        include = [f"-I{HERE}", f"-I{source}/codec", f"-I{source}/cli"]
        if self.any_cursor:
            include[:0] = [f"-I{HERE}/any_cursor", "-include wire/cursor.h"] # headers that say "../wire/cursor.h", too
        options = ["-eva-slevel", "0"]
        overall = self.slevel.get("*")
        if overall:
            options = ["-eva-slevel", str(overall)]
        functions = ",".join(f"{f}:{n}" for f, n in self.slevel.items() if f != "*")
        if functions:
            options += ["-eva-slevel-function", functions]
        if self.recursion:
            options += ["-eva-unroll-recursive-calls", str(self.recursion)]
        if self.inline:
            options += ["-inline-calls", ",".join(self.inline)]
        if self.split:
            options += ["-eva-split-return-function", ",".join(f + ":0" for f in self.split)]
        return [*FRAMA_C, f"-cpp-extra-args={' '.join(include)} -DPROOF_FIRST={first or 0} -DPROOF_LAST={last or 0}{define}",
                *files, "-eva", "-eva-no-results", "-eva-no-alloc-returns-null", "-eva-alloc-builtin", "fresh",
                "-eva-split-limit", "1000", "-eva-widening-delay", "2", "-eva-widening-period", "1", *options]


class AnyLength(Proof):
    """A decoder with the cursor of any_cursor/: for every length at once."""

    any_cursor = True

    def __init__(self, define, sources, **more):
        super().__init__("any_" + define, sources, driver="any_length", define=define, **more)


class Layer(Proof):
    """Likewise a file of net/packet, and others that it needs; the layers in all others may do anything."""

    any_cursor = True

    def __init__(self, name, sources, **more):
        super().__init__("layer_" + name, "any_layer " + sources + " net/packet/layer", driver="layer", define=name,
                         split=["rpcrdma_cursor_take"], **more)


class Operation(Proof):
    """What is behind the BTH, by single lengths."""

    def __init__(self, name, sources, last, **more):
        super().__init__("operation_" + name, "any_layer " + sources + " net/packet/layer net/packet/opcode", last,
                         driver="operation", define=name, **more)


class Stream(Proof):
    """What reads XDR's items, which a text describes: recursion as deep as that nests."""

    any_cursor = True

    def __init__(self, define, sources, **more):
        super().__init__(define, sources, driver="compound", define=define, recursion=8, **more)


class Contracts(Proof):
    """What functions promise by the ACSL contracts of a driver, for every state at once: WP, not Eva. What
    one prover gives up the other may do. What they call has a contract of its own."""

    def __init__(self, name, functions, model="Typed"):
        super().__init__(name, "")
        self.functions, self.model = functions.split(), model

    def command(self, source, first, last):
        return [*FRAMA_C, f"-cpp-extra-args=-I{HERE} -I{source}/codec -I{source}/cli",
                os.path.join(HERE, self.driver + ".c"), "-wp", "-wp-rte", "-wp-model", self.model, "-wp-prover", "z3,cvc4",
                "-wp-par", "1", "-wp-steps", "20000000", "-wp-timeout", "60", "-wp-fct", first or ",".join(self.functions)]


# What Frama-C is told of the code: file, the line before which it is told, the annotation.
ANNOTATIONS = [
    # each of the four lengths by itself
    ("wire/rpc.c", '    pad = rpcrdma_cursor_take(c, padding, "RPC auth padding");', "//@ split padding;"),
    ("wire/xdr.c", "    const uint8_t *p = rpcrdma_cursor_take(c, padding, what);", "//@ split padding;"),
    ("wire/chunk.c", "    for (uint32_t i = 0; i < chunk->count; i++)", "//@ loop assigns i, length;"),
    # each size of a tag, each place, each opcode, each length of padding
    ("net/packet/tag.c", '    tag = rpcrdma_cursor_take(&l->c, bytes, "tag");', "//@ split bytes;"),
    ("net/packet/tunnel.c", "    for (size_t n = 0; n <= MOST; n += 4) {", "//@ loop unroll 4;"),
    ("net/packet/tunnel.c", "        header = rpcrdma_cursor_peek(&l->c, bytes);", "//@ split bytes;"),
    ("base/internet_sum.h", "    for (; n >= 2; p += 2, n -= 2)", "//@ loop unroll 30;"),
    ("net/packet/bth.c", "    opcode = &rpcrdma_opcodes[bth[0]];", "//@ split bth[0];"),
    ("net/packet/bth.c", "    if (left < opcode->bytes + pad + RPCRDMA_ICRC_BYTES &&", "//@ split pad;"),
    ("net/packet/bth.c", "    opcode = &rpcrdma_opcodes[p[PLAIN_BTH]];", "//@ split p[PLAIN_BTH];"),
    ("net/packet/plain.c", "    opcode = &rpcrdma_opcodes[bth[0]];", "//@ split bth[0];"),
    ("net/packet/plain.c", "    if (RPCRDMA_SELDOM(op->flags & SETS_MORE))", "//@ split data;"),
    ("net/packet/bth.c", "    if (net->icrc_true && net->give_icrc && plain && opcode->kind <= RPCRDMA_OP_ATOMIC &&",
     "//@ split data;"),
]

# Calls by which a layer comes to itself: in their place is one to a layer of another file, any of which stands for all
# (any_layer.c). What it comes to is looked at as an entry of its own.
RECURSION = [
    ("net/packet/ip.c", "        return rpcrdma_layer_ip(l);"),
    ("net/packet/link.c", "            return rpcrdma_layer_ethernet(l);"),
    ("net/packet/link.c", "    return link_layer(l, type);"),
]

OPAQUE = {"rpcrdma_read_opaque": 20, "read_count": 10}
MESSAGE = {**OPAQUE, "rpcrdma_message_plain": 20, "rpcrdma_message_decode": 20,
           "rpcrdma_message_decode_any": 20}

RPC = {"opaque_auth": 20, "rpcrdma_plain_call_header": 20, "rpcrdma_plain_call": 20}

# The bytes of a word (rpcrdma_get_be32) are put together by Eva, in any_....
CURSOR = """rpcrdma_cursor_init rpcrdma_cursor_fail rpcrdma_cursor_left rpcrdma_cursor_captured rpcrdma_cursor_limit rpcrdma_cursor_peek
    rpcrdma_cursor_take rpcrdma_cursor_u8 rpcrdma_cursor_be16 rpcrdma_cursor_be32 rpcrdma_cursor_be64
    rpcrdma_cursor_skip rpcrdma_cursor_sub"""
ITEMS = """get_segment rpcrdma_chunk_segment rpcrdma_chunk_length rpcrdma_read_next rpcrdma_write_next set_number
    set_opaque interpret rpcrdma_property_next rpcrdma_words_get rpcrdma_subset_has"""

LISTS = "any_dialect wire/chunk wire/property wire/xchar wire/xdr"
ENCODE = "any_dialect any_lists wire/message_encode wire/rpc wire/xdr wire/xchar"
WITHIN = {"rpcrdma_cursor_take": 10, "rpcrdma_read_opaque": 30, "read_count": 10, "read_read_list": 60,
          "read_chunk": 20, "main": 20}
GIVE = {"rpcrdma_cursor_take": 10, "rpcrdma_layer_address_again": 10, "give": 2000}
CM = {"rpcrdma_cursor_take": 10, "field": 10, "be32": 10, "be24": 10, "rpcrdma_layer_cm": 1000}
STEP = {"step_group": 300, "step_union": 300, "rpcrdma_grammar_arm": 300, "rpcrdma_grammar_end": 300,
        "rpcrdma_grammar_number": 50, "main": 100, "step_array": 20, "step_list": 20, "rpcrdma_xdr_step": 20}

PROOFS = [
    Proof("message", "any_dialect wire/message wire/xdr", 128, 8, slevel=MESSAGE, split=["read_count", "rpcrdma_message_plain"],
          longer=[(1021, 1024), (4093, 4096), (65533, 65536)]),
    Proof("xchar", "any_dialect wire/xchar wire/xdr wire/property", 64, 4, slevel=OPAQUE, split=["read_count"]),
    AnyLength("message", "any_dialect wire/message wire/xdr", slevel=MESSAGE, split=["read_count", "rpcrdma_message_plain"]),
    AnyLength("xchar", "any_dialect wire/xchar wire/xdr wire/property", slevel=OPAQUE, split=["read_count"]),
    AnyLength("rpc", "wire/rpc", slevel=RPC, split=["rpcrdma_plain_call_header"]),
    AnyLength("private_data", "wire/private_data"),
    Contracts("cursor", CURSOR),
    Contracts("items", ITEMS),
    Contracts("readers", "read_chunk read_count rpcrdma_read_words"),
    Contracts("skim", "strides_run strides_key strides_learn strides_next skim_kept skim_is_bulk skim_record skim_block", model="Typed+Cast"),
    Proof("dialect", "wire/dialect wire/field wire/xchar wire/xdr wire/property", slevel={"*": 100}),
    Proof("rpc", "wire/rpc", 848, 8, slevel=RPC, split=["rpcrdma_plain_call_header"]),
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
    Stream("operations", "any_xdr upper/compound upper/body upper/names upper/nfs4 upper/eligible upper/binding",
           slevel={"operations": 20, "rpcrdma_compound_next": 20}, split=["rpcrdma_compound_next"]),
    Stream("steps", "any_compound upper/xdr_grammar upper/body upper/nfs4 upper/names upper/eligible upper/binding", last=75,
           runs=8, slevel={**STEP, "steps": 400}),
    Stream("binding", "any_compound upper/xdr_grammar upper/body upper/nfs4 upper/names upper/eligible upper/binding",
           slevel={**STEP, "binding": 400, "find": 50}),
    Proof("ddp", "net/iwarp/ddp", 24, 2, longer=[(47, 48)],
          slevel={"main": 50, "one": 20, "rpcrdma_ddp_plausible": 20, "rpcrdma_ddp": 20, "untagged": 50, "tagged": 20},
          split=["rpcrdma_ddp_plausible"]),
    Layer("link", "net/packet/link net/packet/tag"),
    Layer("ip", "net/packet/ip"),
    Layer("tunnel", "net/packet/tunnel"),
    Layer("ib", "net/packet/ib"),
    Layer("unreachable", "net/packet/unreachable", slevel={"unreachable": 20, "rpcrdma_unreachable_note": 20, "undelivered": 20, "rpcrdma_layer_address_again": 10}),
    Layer("neighbour", "net/packet/neighbour net/packet/claim", slevel={"note": 20, "rpcrdma_neighbour_note_ipv6": 20, "rpcrdma_layer_address_again": 10}),
    Operation("bth", "net/packet/bth", 16, runs=6, longer=[(28, 29), (43, 44)], slevel=GIVE,
              split=["rpcrdma_cursor_take"]),
    Operation("plain", "net/packet/bth", 56, runs=4, slevel=GIVE),
    Operation("many", "net/packet/plain", 72, runs=4, slevel={"rpcrdma_plain_many": 2000, "before_samples": 20, "make": 2000, "more": 50, "give_icrc": 50}),
    Operation("cm", "net/packet/cm", 48, runs=2, longer=[(170, 173), (262, 265)], slevel=CM,
              split=["rpcrdma_cursor_take", "field"], inline=["decode", "request", "private_data"]),
]

# (proof, length or function, file, what stands there, what is put in its place)
MUTATIONS = [
    ("message", 8, "wire/message.c", "if (!p) {", "if (false) {"),
    ("message", 33, "wire/cursor.h", "at <= c->caplen - n", "at <= c->caplen - n + 1"),
    ("message", 4096, "wire/cursor.h", "at <= c->caplen - n", "at <= c->caplen - n + 1"),
    ("any_message", None, "wire/message.c", "_take(c, COMMON_SIZE,", "_take(c, COMMON_SIZE - 8,"),
    ("any_message", None, "wire/message.c", "peek(&c, 8)", "peek(&c, 4)"),
    ("any_message", None, "wire/message.c", "get_be32(code)", "get_be32(c.base)"),
    ("any_xchar", None, "wire/xdr.c", "i < padding", "i <= padding"),
    ("any_rpc", None, "wire/rpc.c", "enum { BYTES = 16 }", "enum { BYTES = 8 }"),
    ("any_rpc", None, "wire/plain.h", "BODY = RPCRDMA_PLAIN_CRED + RPCRDMA_PLAIN_AUTH", "BODY = RPCRDMA_PLAIN_CRED"),
    ("any_rpc", None, "wire/plain.h", "RPCRDMA_PLAIN_RESULTS, \"RPC header\"", "RPCRDMA_PLAIN_ACCEPT_STAT, \"RPC header\""),
    ("any_private_data", None, "wire/private_data.c", "rpcrdma_cursor_be32(&c, ", "rpcrdma_get_be32(c.base); (void)("),
    ("any_xchar", None, "wire/xdr.c", "out->wire = c->base + c->off;", "out->wire = c->base + c->off++;"),
    ("cursor", "rpcrdma_cursor_take", "wire/cursor.h", "at <= c->caplen - n", "at <= c->caplen - n + 1"),
    ("cursor", "rpcrdma_cursor_peek", "wire/cursor.h", "n <= c->caplen - c->off", "n <= c->caplen"),
    ("cursor", "rpcrdma_cursor_skip", "wire/cursor.h", "n > c->len - c->off", "false"),
    ("readers", "read_chunk", "wire/message.c", "chunk->declared < captured ?", "true ?"),
    ("readers", "rpcrdma_read_words", "wire/xdr.c", "out->declared < captured ?", "true ?"),
    ("skim", "strides_next", "cli/source/bytes/strides.h", "key % STRIDES_KNOWN", "key"),
    ("skim", "strides_next", "cli/source/bytes/strides.h", "records++ % STRIDES_AHEAD", "records++ % (STRIDES_AHEAD + 1)"),
    ("skim", "skim_is_bulk", "cli/source/bytes/skim_own.h", "UDP = 34, BTH = 42", "UDP = 34, BTH = 56"),
    ("skim", "skim_block", "cli/source/bytes/skim_own.h", "caplen > size - PACKET_LEAST", "caplen > size"),
    ("items", "rpcrdma_read_next", "wire/chunk.c", "it->index >= list->count", "it->index > list->count"),
    ("items", "rpcrdma_write_next", "wire/chunk.c", "declared < readable ? declared : readable", "declared"),
    ("items", "rpcrdma_property_next", "wire/property.c", "length > set->wire.len - PROPERTY_HEAD - it->pos", "false"),
    ("items", "rpcrdma_subset_has", "wire/property.c", "position / 32 >= subset->count", "position / 32 > subset->count"),
    ("xchar", 40, "wire/xdr.c", "i < padding", "i <= padding"),
    ("dialect", None, "wire/dialect.c", "guess < (count)", "guess <= (count)"),
    ("rpc", 60, "wire/rpc.c", "i < padding", "i <= padding"),
    ("private_data", 8, "wire/cursor.h", "at <= c->caplen - n", "at <= c->caplen"),
    ("chunk", 32, "wire/chunk.c", "(size_t)i * RPCRDMA_SEGMENT_SIZE + 4)", "(size_t)i * RPCRDMA_SEGMENT_SIZE + 13)"),
    ("read_list", 48, "wire/chunk.c", "it->index >= list->count", "it->index > list->count"),
    ("write_list", 40, "wire/chunk.c", "declared < readable ? declared : readable", "declared"),
    ("properties", 24, "wire/property.c", "length > set->wire.len - PROPERTY_HEAD - it->pos", "false"),
    ("within", 20, "wire/message.c", "RPCRDMA_READ_SEGMENT_SIZE, \"read segment\"", "8, \"read segment\""),
    ("walk", None, "wire/walk.c", "m->flags & d->flag_tpmore ? 4 : 0", "m->flags & d->flag_tpmore ? 8 : 0"),
    ("walk", None, "wire/walk.c", "count == 0 && wire &&", "count == 0 &&"),
    ("encode_message", 8, "wire/writer.h", "n <= w->size - off ?", "n <= w->size - off + 1 ?"),
    ("encode_rpc", 8, "wire/writer.h", "off <= w->size && n", "n"),
    ("encode_xchar", 8, "wire/writer.h", "n <= w->size - off ?", "n <= w->size ?"),
    ("encode_opaque", 12, "wire/writer.h", "rpcrdma_writer_bytes(w, zeros, -n & 3)", "rpcrdma_writer_bytes(w, zeros, 4 + (-n & 3))"),
    ("layer_link", None, "net/packet/link.c", '14, "Ethernet header"', '13, "Ethernet header"'),
    ("layer_link", None, "net/packet/tag.c", "        return 6 + 2;", "        return 1;"),
    ("layer_ip", None, "net/packet/ip.c", 'IPV6_BYTES, "GRH"', 'IPV4_BYTES, "GRH"'),
    ("layer_tunnel", None, "net/packet/tunnel.c", "peek(&l->c, n + 14)", "peek(&l->c, n + 13)"),
    ("layer_ib", None, "net/packet/ib.c", 'LRH_BYTES, "LRH"', '4, "LRH"'),
    ("layer_unreachable", None, "net/packet/unreachable.c", 'IPV6_BYTES : IPV4_BYTES, more', 'IPV4_BYTES : IPV4_BYTES, more'),
    ("layer_unreachable", None, "net/packet/unreachable.c", "if (all->n < RPCRDMA_UNREACHABLES)", "if (all->n <= RPCRDMA_UNREACHABLES)"),
    ("layer_neighbour", None, "net/packet/neighbour.c", "ARP_BYTES = 28", "ARP_BYTES = 27"),
    ("layer_neighbour", None, "net/packet/neighbour.c", "ND_BYTES = 24", "ND_BYTES = 23"),
    ("layer_neighbour", None, "net/packet/claim.c", "all->n_changes == RPCRDMA_CLAIMS", "all->n_changes > RPCRDMA_CLAIMS"),
    ("operation_bth", 14, "net/packet/bth.c", "data <= caplen", "off <= caplen"),
    ("operation_plain", 48, "net/packet/bth.c", "caplen >= icrc + RPCRDMA_ICRC_BYTES", "true"),
    ("operation_many", 60, "net/packet/plain.c", "data > caplen", "false"),
    ("operation_many", 66, "net/packet/plain.c", "packet->caplen >= icrc + RPCRDMA_ICRC_BYTES", "true"),
    ("operation_cm", 40, "net/packet/cm.c", "off + n <= m->caplen", "off <= m->caplen"),
    ("operations", None, "upper/compound.c", "rpcrdma_cursor_peek(in, 4) : NULL", "in->base + in->off : NULL"),
    ("steps", 25, "upper/xdr_grammar.c", "x->chunk >= r->n_chunks", "x->chunk > r->n_chunks"),
    ("binding", None, "upper/binding.c", "i < reduction->n_chunks", "i <= reduction->n_chunks"),
    ("ddp", 18, "net/iwarp/ddp.c", "if (ulpdu->caplen < header) {", "if (false) {"),
    ("ddp", 20, "net/iwarp/ddp.c", "opcode >= RDMAP_OPCODES ||", ""),
    ("words", 12, "wire/property.c", "position / 32 >= subset->count", "position / 32 > subset->count"),
]


def alarms_of(output):
    """The alarms as lines `file: what`, without line numbers, which change for other reasons."""
    found = set()
    text = re.sub(r"\n  ", " ", output)
    for line in text.splitlines():
        match = re.match(r"\[eva:alarm\] (\S+):\d+: Warning: *(.*)", line)
        if match:
            path = re.sub(r"^.*?((wire|net/packet|net/iwarp|base|upper|nfs|source|proof)/[^/]*)$", r"\1", match.group(1))
            found.add(f"{path}: {' '.join(match.group(2).split())}")
    for goal, answer in re.findall(r"\[wp\] \[[^]]*\] Goal (\S+)(?: : (\w+))?", text):
        if answer != "Valid":
            found.add(f"{goal}: not proved")
    return found


def moved_by_hand(source, files):
    """Where files but cursor.h write where a cursor stands, or what it has: any_cursor/ would hide it."""
    found = set()
    for name in files:
        with open(file_of(source, name + ".c"), encoding="utf-8") as file:
            text = file.read()
        cursors = "|".join(set(re.findall(r"struct rpcrdma_cursor \*?(\w+)[,;) ]", text)) or {"c"})
        field = rf"\b(?:{cursors})(?:->|\.)(?:base|off|caplen|len)\b"
        for match in re.finditer(rf"(?:&|\+\+|--){field}|{field}\s*(?:\+\+|--|(?:<<|>>|[-+*/%&|^])?=(?!=))", text):
            found.add(f"{name}.c: a cursor moved by hand: {match.group()}")
    return found


def run(proof, source, first, last):
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        with subprocess.Popen(["nice", *proof.command(source, first, last)], stdout=log, stderr=log) as child:
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = status
        log.seek(0)
        output = log.read()
    alarms = alarms_of(output) | (moved_by_hand(source, proof.sources_of_codec()) if proof.any_cursor else set())
    reached = re.search(r"In these functions, (\d+) statements reached", output)
    goals = re.search(r"Proved goals: +(\d+) / (\d+)", output)
    if status or not (reached or goals) or goals and not alarms and goals.group(1) != goals.group(2):
        sys.exit(f"{proof.name}: Frama-C came to no end\n{output[-2000:]}")
    shown = f"{reached.group(1)} statements" if reached else f"{goals.group(2)} goals"
    return alarms, shown, usage.ru_utime + usage.ru_stime


def annotated(source, folder):
    """A copy of the sources with ANNOTATIONS, and without _Static_assert, which this Frama-C does not know."""
    for part in ("codec", "cli"):
        shutil.copytree(os.path.join(source, part), os.path.join(folder, part))
    for where, _, names in os.walk(folder):
        for name in names:
            if name.endswith((".c", ".h")):
                target = os.path.join(where, name)
                with open(target, encoding="utf-8") as file:
                    text = file.read()
                with open(target, "w", encoding="utf-8") as file:
                    file.write(re.sub(r"(?ms)^_Static_assert\(.*?\);$", "", text))
    for path, line, annotation in ANNOTATIONS:
        target = file_of(folder, path)
        with open(target, encoding="utf-8") as file:
            text = file.read()
        if text.count(line + "\n") != 1:
            sys.exit(f"{path} has no longer, or more than once: {line}")
        with open(target, "w", encoding="utf-8") as file:
            file.write(text.replace(line + "\n", f"    {annotation}\n{line}\n"))
    for path, line in RECURSION:
        target = file_of(folder, path)
        with open(target, encoding="utf-8") as file:
            text = file.read()
        if text.count(line + "\n") != 1:
            sys.exit(f"{path} has no longer, or more than once: {line}")
        with open(target, "w", encoding="utf-8") as file:
            file.write(text.replace(line, line[:len(line) - len(line.lstrip())] + "return rpcrdma_layer_vxlan(l);"))
    return folder


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
        if proof.last is None:
            jobs.append((proof, "any length", [pool.submit(run, proof, source, None, None)]))
            continue
        asked = names.get(proof.name)
        for first, last in [asked] if asked else [(0, proof.last), *proof.longer]:
            size = (last - first + proof.runs) // proof.runs
            jobs.append((proof, f"{first} to {last}", [pool.submit(run, proof, source, at, min(at + size - 1, last))
                                                       for at in range(first, last + 1, size)]))
    for proof, lengths, futures in jobs:
        results = [future.result() for future in futures]
        alarms = set().union(*(result[0] for result in results))
        seconds = sum(result[2] for result in results)
        known = expected.get(proof.name, set())
        print(f"{proof.name:16} {lengths:14} {results[-1][1]:14} {seconds:4.0f} s of CPU: "
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
            for part in ("codec", "cli"):
                shutil.copytree(os.path.join(source, part), os.path.join(copy, part))
            target = file_of(copy, path)
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
            print(f"{name:16} {path}, `{old}` made `{new}`: {len(alarms)} alarms" if alarms else
                  f"{name:16} {path}, `{old}` made `{new}`: NOT NOTICED", flush=True)
            failed += not alarms
    return failed


def main():
    source, names = os.path.abspath(sys.argv[1]), {}
    for argument in sys.argv[2:]:
        name, _, lengths = argument.partition(":")
        names[name] = tuple(map(int, lengths.split("-"))) if lengths else None
    missing = [tool for tool in ("frama-c", "why3", "z3", "cvc4") if not shutil.which(tool)]
    if missing:
        print(f"not installed: {' '.join(missing)} (scripts/install-deps prove)")
        return 77
    processors = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(processors) as pool:
        os.environ["WHY3CONFIG"] = os.path.join(folder, "why3.conf") # where WP finds the provers
        subprocess.run(["why3", "config", "detect"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        source = annotated(source, os.path.join(folder, "annotated"))
        failed = prove(pool, source, names)
        print("The code broken on purpose:")
        failed += mutate(pool, source, names)
    print("failed" if failed else "proven")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
