# SPDX-License-Identifier: BSD-2-Clause
"""Version 1 conversations in which one rule of `rpcrdma check` is broken, or nearly. Each case is a function of
a Conversation and of whether to break the rule; everything else in it is as well-behaved peers do it."""
import collections
import struct

from script import FILE_HANDLE, NFS, Segments, rpc_call, rpc_reply
# pylint: disable=wrong-import-order
import cm
import dialects
import roce
from talk import Clock, End, Talk

CLIENT, SERVER, PORT = '192.0.2.11', '192.0.2.1', 20049
NULL, GETATTR, LOOKUP, READLINK, READ, WRITE, SYMLINK, READDIR = 0, 1, 3, 5, 6, 7, 10, 16
ATTRIBUTES = struct.pack('>IIIII', 1, 0o644, 1, 1000, 1000) + bytes(64)
MSG, NOMSG, MSGP, DONE, ERROR = range(5)
ERR_VERS, ERR_CHUNK = 1, 2

CASES = []


def case(rule, *companions, near=()):
    """The decorated function makes the pair of captures of `rule`. companions: the other warnings and errors
    that go with it by their nature; near: those that the capture that nearly breaks it still has."""
    def add(function):
        CASES.append((rule, function, frozenset(companions), frozenset(near)))
        return function
    return add


def named():
    """Each case by a name of its own: its rule's, and a number where there are several."""
    seen = collections.Counter()
    for one in CASES:
        seen[one[0]] += 1
        yield one[0] if seen[one[0]] == 1 else f'{one[0]}-{seen[one[0]]}', one


def private_data(version=1, flags=1, send=3, receive=3):
    return struct.pack('>IBBBB', 0xf6ab0e18, version, flags, send, receive)


def opaque(content):
    return struct.pack('>I', len(content)) + content + bytes(-len(content) % 4)


def data(length, seed=0):
    return bytes((seed + at * 7) & 0xFF for at in range(length))


def header(xid, kind=MSG, version=1, credit=32, read=(), write=(), reply=None):
    out = struct.pack('>IIII', xid, version, credit, kind)
    out += dialects.read_list(read) + dialects.write_list(write)
    return out + (struct.pack('>I', 0) if reply is None else struct.pack('>I', 1) + dialects.chunk(reply))


class Conversation:
    """A client and a server over RoCEv2; what it says is in .packets. hosts: their addresses."""

    def __init__(self, packets=None, private=(private_data(), private_data(flags=0)), number=1, clock=None,
                 set_up=True, hosts=(CLIENT, SERVER)):
        self.packets = [] if packets is None else packets
        self.clock = clock or Clock()
        self.hosts = hosts
        self.talk = Talk(self.packets, End(hosts[0], 0x20 + number, 0x100 * number),
                         End(hosts[1], 0x40 + number, 0x1000 * number), self.clock)
        self.client, self.server = self.talk.client, self.talk.server
        self.memory = Segments(0x1000 * number)
        self.xid = 0x52000000 + 0x1000 * number
        self.private, self.ready = private, not set_up

    def beside(self, number):
        """Another connection of the same hosts, in the same capture."""
        return Conversation(self.packets, number=number, clock=self.clock, hosts=self.hosts)

    def begin(self):
        if not self.ready:
            self.ready = True
            self.talk.connect(cm.IP_SERVICE | PORT, self.private)

    def next_xid(self):
        self.xid += 1
        return self.xid

    def say(self, sender, content, invalidate=None):
        self.begin()
        return self.talk.send(sender, content, invalidate=invalidate)

    def call(self, procedure, arguments=b'', xid=None, sender=None, program=NFS, payload=None, **fields):
        """A Call of NFS version 3; fields: header()'s. Returns its XID."""
        xid = self.next_xid() if xid is None else xid
        body = rpc_call(xid, program, procedure, arguments) if payload is None else payload
        self.say(sender or self.client, header(xid, **fields) + (b'' if fields.get('kind') == NOMSG else body))
        return xid

    def reply(self, xid, results=b'', sender=None, invalidate=None, payload=None, **fields):
        fields.setdefault('credit', 16)
        body = rpc_reply(xid, results) if payload is None else payload
        self.say(sender or self.server, header(xid, **fields) + (b'' if fields.get('kind') == NOMSG else body),
                 invalidate)

    def error(self, xid, code, *words, sender=None, version=1):
        self.say(sender or self.server, struct.pack(f'>{5 + len(words)}I', xid, version, 16, ERROR, code, *words))

    # -- whole RPCs ---------------------------------------------------------------------------------

    def not_ready(self, captured):
        """For the Call said last no Receive was posted: it and its Ack come again. Or only the Nak was captured."""
        call, ack = self.packets[-2:]
        self.packets[-2:] = [call] if captured else []
        self.talk.packet(self.server, roce.ACK, self.client.psn - 1,
                         extension=struct.pack('>I', 0x2E << 24 | self.server.msn))
        if captured:
            self.packets += [one._replace(time_ns=self.clock.tick()) for one in (call, ack)]

    def acknowledge_late(self, *resent_ns, late_ns=0, acks=1):
        """The end that was sent the last packet but its Ack stands still: the packet comes again after each of these pauses, and
        is acknowledged late_ns behind that, so often."""
        ack, last = self.packets.pop(), self.packets[-1]
        for pause_ns in resent_ns:
            self.clock.now += pause_ns
            self.packets.append(last._replace(time_ns=self.clock.tick()))
        self.clock.now += late_ns
        self.packets += [ack._replace(time_ns=self.clock.tick()) for _ in range(acks)]

    def silent_adapter(self, silent=True, acks=1):
        """A Call is acknowledged and the next one comes again after 2 s. The server's host answers neither for 50 s more, and then
        both; or the second at once (silent=False)."""
        second = 10**9
        xid = self.call(NULL)
        other, ack = self.call(NULL), self.packets.pop()
        self.clock.now += 2 * second
        self.packets.append(self.packets[-1]._replace(time_ns=self.clock.tick()))
        if not silent:
            self.packets.append(ack._replace(time_ns=self.clock.tick()))
            self.reply(other)
        self.clock.now += 50 * second
        self.reply(xid)
        if silent:
            self.packets += [ack._replace(time_ns=self.clock.tick()) for _ in range(acks)]
            self.reply(other)

    def null(self, **fields):
        self.reply(self.call(NULL, **fields))

    def getattr(self, sender=None, **fields):
        xid = self.call(GETATTR, FILE_HANDLE, sender=sender, **fields)
        self.reply(xid, bytes(4) + ATTRIBUTES)
        return xid

    def pull(self, segments, content, reader=None):
        for one in segments:
            part, content = content[:one['length']], content[one['length']:]
            self.talk.read(reader or self.server, int(one['handle'], 16), int(one['offset'], 16), part)

    def push(self, segments, content):
        returned = []
        for one in segments:
            part, content = content[:one['length']], content[one['length']:]
            if part:
                self.talk.write(self.server, int(one['handle'], 16), int(one['offset'], 16), part)
            returned.append({**one, 'length': len(part)})
        return returned

    def write_arguments(self, length):
        return FILE_HANDLE + struct.pack('>QIII', 0, length, 2, length)

    def written(self, xid, length, **fields):
        self.reply(xid, struct.pack('>IIIII', 0, 0, 0, length, 2) + bytes(8), **fields)

    def write(self, lengths=(4096,), position=None, pulled=True):
        """A WRITE with its data in a Read chunk, and its Reply."""
        length = sum(lengths)
        arguments = self.write_arguments(length)
        at = len(rpc_call(0, NFS, WRITE, arguments)) if position is None else position
        chunk = self.memory.read_chunk(at, *lengths)
        xid = self.call(WRITE, arguments, read=chunk)
        if pulled:
            self.pull(chunk, data(length))
        self.written(xid, length)

    def read_call(self, count, **fields):
        return self.call(READ, FILE_HANDLE + struct.pack('>QI', 0, count), **fields)

    def read_results(self, length, content=b''):
        return struct.pack('>IIIII', 0, 0, length, 1, length) + content

    def read(self, lengths=(4096,), length=None):
        """A READ with its data in a Write chunk, and its Reply."""
        length = sum(lengths) if length is None else length
        chunk = self.memory.chunk(*lengths)
        xid = self.read_call(sum(lengths), write=[chunk])
        returned = self.push(chunk, data(length))
        self.reply(xid, self.read_results(length), write=[returned])
