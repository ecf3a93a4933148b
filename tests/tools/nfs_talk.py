# SPDX-License-Identifier: BSD-2-Clause
"""A client and a server that talk NFSv3 and NFSv4 about names and file handles; no data moves."""
import struct

import pcap
import talk

AUTH_NONE = bytes(8)
ATTRIBUTES = struct.pack('>6I', 1, 1, 0o644, 1, 1000, 1000) + bytes(64)  # post_op_attr
CHANGE = struct.pack('>I', 1) + bytes(16)                                  # change_info4


def words(*values):
    return struct.pack(f'>{len(values)}I', *values)


def opaque(data):
    return words(len(data)) + data + bytes(-len(data) % 4)


def handle(number):
    return bytes([number]) * 28


class Nfs:
    """One connection. A file handle is a number here."""

    def __init__(self, server='192.0.2.1', out=None, clock=None, qpn=33):
        self.out = [] if out is None else out
        self.talk = talk.Talk(self.out, talk.End('192.0.2.11', qpn, 1000), talk.End(server, qpn + 32, 5000),
                              clock or talk.Clock())
        self.talk.connect(0x01064e51)
        self.xid = 0x100

    def rpc(self, version, procedure, arguments, results):
        self.xid += 1
        header = words(self.xid, 1, 32, 0, 0, 0, 0)
        self.talk.send(self.talk.client, header + words(self.xid, 0, 2, 100003, version, procedure) + AUTH_NONE * 2 +
                       arguments)
        self.talk.send(self.talk.server, header + words(self.xid, 1, 0) + AUTH_NONE + words(0) + results)

    def save(self, path):
        pcap.write(path, self.out)
        return path

    # NFSv3
    def lookup(self, directory, name, found=None):
        self.rpc(3, 3, opaque(handle(directory)) + opaque(name), words(2) + ATTRIBUTES if found is None else
                 words(0) + opaque(handle(found)) + ATTRIBUTES * 2)

    def create(self, directory, name, made):
        self.rpc(3, 8, opaque(handle(directory)) + opaque(name) + bytes(28),
                 words(0, 1) + opaque(handle(made)) + ATTRIBUTES + bytes(4) + ATTRIBUTES)

    def read(self, file):
        self.rpc(3, 6, opaque(handle(file)) + struct.pack('>QI', 0, 8),
                 words(0) + ATTRIBUTES + words(8, 1) + opaque(b'12345678'))

    def rename(self, directory, name, to, new_name):
        self.rpc(3, 14, opaque(handle(directory)) + opaque(name) + opaque(handle(to)) + opaque(new_name),
                 words(0) + (bytes(4) + ATTRIBUTES) * 2)

    def link(self, file, directory, name, status=0):
        self.rpc(3, 15, opaque(handle(file)) + opaque(handle(directory)) + opaque(name),
                 words(status) + ATTRIBUTES + bytes(4) + ATTRIBUTES)

    def remove(self, directory, name, status=0):
        self.rpc(3, 12, opaque(handle(directory)) + opaque(name), words(status) + bytes(4) + ATTRIBUTES)

    # NFSv4: each operation is its number, its arguments, its results or its status where it fails
    def compound(self, *operations):
        results = []
        for number, _, result in operations:
            failed = isinstance(result, int)
            results.append(words(number, result) if failed else words(number, 0) + result)
            if failed:
                break
        last = operations[len(results) - 1][2]
        self.rpc(4, 1, opaque(b'') + words(0, len(operations)) + b''.join(words(n) + args for n, args, _ in operations),
                 words(last if isinstance(last, int) else 0) + opaque(b'') + words(len(results)) + b''.join(results))


ROOT, SAVE, RESTORE, LOOKUPP = (24, b'', b''), (32, b'', b''), (31, b'', b''), (16, b'', b'')
READ = (25, bytes(16) + struct.pack('>QI', 0, 8), words(1) + opaque(b'12345678'))


def putfh(number):
    return 22, opaque(handle(number)), b''


def getfh(number):
    return 10, b'', opaque(handle(number))


def look(name, result=b''):
    return 15, opaque(name), result


def rename(name, new_name, result=CHANGE * 2):
    return 29, opaque(name) + opaque(new_name), result


def link(name, result=CHANGE):
    return 11, opaque(name), result


def remove(name, result=CHANGE):
    return 28, opaque(name), result
