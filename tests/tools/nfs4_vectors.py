#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Random values of every NFSv4 operation, encoded from the XDR of an RFC.

usage: nfs4_vectors.py FILE.x,FILE.x [SEED [PER]] > nfs4_vectors.def

FILE.x are the code components of RFC 7863 (NFSv4.2; it holds 4.0 and 4.1) and RFC 8276. Each line of the output is
VECTOR(table, number, what, instance, "hex"): the arguments, or the results, of one operation, to be
stepped over to their exact end by the tables of codec/upper, which were not made from this file.
"""
import random
import re
import struct
import sys


def tokens(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"^%.*$|//.*$", " ", text, flags=re.M)
    return re.findall(r"[A-Za-z_][A-Za-z0-9_]*|-?0x[0-9A-Fa-f]+|-?[0-9]+|[{}()\[\]<>;:,=*]", text)


# What the RFCs take from RFC 5531 without writing it down.
PRELUDE = """
const AUTH_NONE = 0; const AUTH_SYS = 1; const RPCSEC_GSS = 6;
struct authsys_parms { unsigned int stamp; string machinename<255>; unsigned int uid;
                       unsigned int gid; unsigned int gids<16>; };
"""
# RFC 8276 names its operations in prose only.
XATTR = {72: "GETXATTR4", 73: "SETXATTR4", 74: "LISTXATTRS4", 75: "REMOVEXATTR4"}


class Xdr:
    def __init__(self, text):
        self.t, self.i = tokens(text), 0
        self.const, self.types = {"TRUE": 1, "FALSE": 0}, {}
        while self.i < len(self.t):
            self.definition()

    def peek(self):
        return self.t[self.i]

    def take(self, want=None):
        tok = self.t[self.i]
        assert want is None or tok == want, (tok, want, self.t[self.i - 8:self.i + 4])
        self.i += 1
        return tok

    def value(self, tok):
        return self.const[tok] if tok in self.const else int(tok, 0)

    def definition(self):
        kind = self.take()
        if kind == "program":
            depth = 0
            while True:
                tok = self.take()
                depth += (tok == "{") - (tok == "}")
                if tok == ";" and depth == 0:
                    return
        if kind == "const":
            name = self.take()
            self.take("=")
            self.const[name] = self.value(self.take())
        elif kind == "typedef":
            name, decl = self.declaration()
            self.types[name] = decl
        else:
            name = self.take()
            self.types[name] = {"enum": self.enum, "struct": self.struct, "union": self.union}[kind]()
        self.take(";")

    def enum(self):
        values = []
        self.take("{")
        while True:
            name = self.take()
            self.take("=")
            self.const[name] = self.value(self.take())
            values.append(self.const[name])
            if self.take() == "}":
                return ("enum", values)
            if self.peek() == "}":
                self.take()
                return ("enum", values)

    def struct(self):
        fields = []
        self.take("{")
        while self.peek() != "}":
            fields.append(self.declaration()[1])
            self.take(";")
        self.take("}")
        return ("struct", fields)

    def union(self):
        self.take("switch")
        self.take("(")
        disc = self.declaration()[1]
        self.take(")")
        self.take("{")
        arms, default = {}, None
        while self.peek() != "}":
            labels = []
            while self.peek() in ("case", "default"):
                labels.append(self.take_label())
            decl = self.declaration()[1]
            self.take(";")
            for label in labels:
                if label is None:
                    default = decl
                else:
                    arms[label] = decl
        self.take("}")
        return ("union", disc, arms, default)

    def take_label(self):
        if self.take() == "default":
            self.take(":")
            return None
        value = self.value(self.take())
        self.take(":")
        return value

    def declaration(self):
        if self.peek() == "void":
            self.take()
            return None, ("void",)
        base = self.take()
        if base == "unsigned":
            base = self.take() if self.peek() in ("int", "hyper") else "int"
        elif base in ("struct", "enum") and self.peek() != "{":
            base = self.take()
        if base in ("enum", "struct") or base == "union":
            base = {"enum": self.enum, "struct": self.struct, "union": self.union}[base]()
        if self.peek() == "*":
            self.take()
            return self.take(), ("optional", base)
        name = self.take() if re.match(r"[A-Za-z_]", self.peek()) else None
        if self.peek() == "[":
            self.take()
            n = self.value(self.take())
            self.take("]")
            return name, ("fixed", base, n)
        if self.peek() == "<":
            self.take()
            limit = None if self.peek() == ">" else self.value(self.take())
            self.take(">")
            return name, ("variable", base, limit)
        return name, ("plain", base)


class Encoder:
    def __init__(self, xdr, rng):
        self.x, self.r = xdr, rng

    def word(self, value):
        return struct.pack(">I", value & 0xffffffff)

    def bytes(self, n):
        return self.r.randbytes(n) + bytes(-n % 4)

    def base(self, base, depth):
        if isinstance(base, tuple):
            return self.type(base, depth)
        if base in ("hyper", "uint64_t", "int64_t"):
            return self.r.randbytes(8)
        if base in ("int", "uint32_t", "int32_t"):
            return self.r.randbytes(4)
        if base == "bool":
            return self.word(self.r.randrange(2))
        return self.type(self.x.types[base], depth)

    def type(self, t, depth):
        kind = t[0]
        if kind == "void":
            return b""
        if kind == "plain":
            return self.base(t[1], depth)
        if kind == "enum":
            return self.word(self.r.choice(t[1]))
        if kind == "struct":
            return b"".join(self.type(f, depth) for f in t[1])
        if kind == "fixed":
            return self.bytes(t[2]) if t[1] == "opaque" else b"".join(
                self.base(t[1], depth) for _ in range(t[2]))
        if kind == "variable":
            if t[1] in ("opaque", "string"):
                n = self.r.randrange(min(t[2] or 10, 10) + 1)
                return self.word(n) + self.bytes(n)
            n = self.r.randrange(min(t[2] or 2, 2) + 1)
            return self.word(n) + b"".join(self.base(t[1], depth + 1) for _ in range(n))
        if kind == "optional":
            if depth > 2 or not self.r.randrange(2):
                return self.word(0)
            return self.word(1) + self.base(t[1], depth + 1)
        if kind == "union":
            others = [v for v in self.values(t[1]) if v not in t[2]] if t[3] else []
            choice = self.r.choice(list(t[2]) * 2 + ([None] if others else []))
            if choice is None:
                return self.word(self.r.choice(others)) + self.type(t[3], depth)
            return self.word(choice) + self.type(t[2][choice], depth)
        raise AssertionError(kind)

    def values(self, t):
        while t[0] == "plain":
            if t[1] == "bool":
                return [0, 1]
            if t[1] in ("uint32_t", "int", "int32_t"):
                return list(range(64))
            t = self.x.types[t[1]]
        assert t[0] == "enum", t
        return t[1]


def main():
    text = "".join(open(f).read() for f in sys.argv[1].split(","))
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    per = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    x = Xdr(PRELUDE + text)
    for number, name in XATTR.items():
        x.types["nfs_argop4"][2][number] = ("plain", name + "args")
        x.types["nfs_resop4"][2][number] = ("plain", name + "res")
    out = Encoder(x, random.Random(seed))
    for table, args, results in (("operation", "nfs_argop4", "nfs_resop4"),
                                 ("callback", "nfs_cb_argop4", "nfs_cb_resop4")):
        for what, union in (("arguments", args), ("results", results)):
            for number, decl in sorted(x.types[union][2].items()):
                seen = set()
                for _ in range(per * 8):
                    data = out.type(decl, 0)
                    if data in seen or len(seen) >= per:
                        continue
                    seen.add(data)
                    print('VECTOR(%s, %d, %s, "%s")' % (table, number, what, data.hex()))


if __name__ == "__main__":
    main()
