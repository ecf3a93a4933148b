# SPDX-License-Identifier: BSD-2-Clause
"""decode --json against the kernels' trace: every message on the wire is one the kernels traced, every
one traced is on the wire, and all that both tell agrees."""
from collections import defaultdict

from kernel import handle

TRACED_KEYS = ('xid', 'version', 'direction', 'sender', 'type', 'header_length', 'payload_length',
               'credits', 'read', 'write', 'reply', 'error')


def differences(message, expected):
    """What of `expected` the message does not say, as readable lines."""
    out = []
    for key in TRACED_KEYS:
        if key in expected and message.get(key) != expected[key]:
            out.append(f'{key}: the kernel has {expected[key]}, decode {message.get(key)}')
    for key, value in expected.get('server', {}).items():
        if message.get(key) != value:
            out.append(f'{key}: the server has {value}, decode {message.get(key)}')
    for key, value in expected.get('rpc', {}).items():
        if key in message.get('rpc', {}) or key != 'name':
            if message.get('rpc', {}).get(key) != value:
                out.append(f"rpc.{key}: the kernel has {value}, decode {message.get('rpc')}")
    return out


class Comparison:
    def __init__(self, trace, messages):
        self.complaints = []
        self.trace = trace
        self.frames = defaultdict(list)  # what is on the wire and not yet accounted for
        for message in messages:
            client = message.get('src' if message.get('sender') == 'client' else 'dst')
            key = client, message.get('sender'), message.get('direction'), message.get('xid')
            self.frames[key].append(message)
        for client in trace.clients:
            self.forward(client)
            self.reverse(client)
        for left in self.frames.values():
            for message in left:
                self.complain(f"frame {message['frame']}: not in the kernels' trace: {message}")

    def complain(self, text):
        self.complaints.append(text)

    def take(self, client, sender, direction, xid):
        """The messages of one kind, XID and client; they are accounted for from here on."""
        out = []
        for address in client.addresses:
            out += self.frames.pop((address, sender, direction, handle(xid)), [])
        return sorted(out, key=lambda message: message['frame'])

    def pair(self, what, messages, candidates):
        """Each message with a traced one that agrees, each traced one used once."""
        candidates = list(candidates)
        for message in messages:
            scored = sorted(((differences(message, one), number) for number, one in enumerate(candidates)),
                            key=lambda pair: len(pair[0]))
            if not scored:
                return
            for line in scored[0][0]:
                self.complain(f"frame {message['frame']}: {what} {message['xid']}: {line}")
            candidates.pop(scored[0][1])

    def forward(self, client):
        for xid, traced in client.calls.items():
            calls = self.take(client, 'client', 'call', xid)
            least, most = client.sendings(xid)
            if not max(least, len(client.requests(xid))) <= len(calls) <= most:
                self.complain(f'Call {handle(xid)}: traced {most} times, {most - least} of them may have '
                              f'been lost, {len(calls)} on the wire')
            expected = [client.expected_call(one) for one in traced]
            if sum('server' in one for one in expected) < len(client.requests(xid)):
                self.complain(f'Call {handle(xid)}: the server has other chunks than the client')
            self.pair('Call', calls, expected)

            replies = self.take(client, 'server', 'reply', xid)
            taken, untaken = client.replies[xid], client.untaken(xid)
            if not len(taken) <= len(replies) <= len(taken) + len(untaken):
                self.complain(f'Reply {handle(xid)}: traced {len(taken)} times, and {len(untaken)} by the server '
                              f'alone, {len(replies)} on the wire')
            self.pair('Reply', replies, [client.expected_reply(one, traced[-1]) for one in taken + untaken])
            for message, one in zip(replies[-len(taken):], taken):
                asked = calls[-1].get('credits', 0) if calls else 0
                if client.granted(message.get('credits', 0), asked) != one['credits']:
                    self.complain(f"frame {message['frame']}: Reply {handle(xid)}: credits "
                                  f"{message.get('credits')}, the client took {one['credits']}, "
                                  f"having asked for {asked}")
            self.invalidation(client, xid, replies)

    def invalidation(self, client, xid, replies):
        """A server thread's sends are traced with the XID of the last Call it read: its answer, and the
        reverse-direction Calls it happens to make afterwards, which invalidate nothing."""
        traced = client.invalidated(xid)
        told = [int(message.get('invalidate', '0'), 16) for message in replies]
        others = [one for one in traced if one == 0]
        if sorted(filter(None, traced)) != sorted(filter(None, told)) or \
                len(told) > len(traced) or (len(told) < len(traced) and
                                            len(traced) - len(told) > sum(client.reverse_calls.values())):
            self.complain(f'Reply {handle(xid)}: the server invalidated {[handle(one) for one in traced]}, '
                          f'decode says {[handle(one) for one in told]} ({len(others)} without)')

    def reverse(self, client):
        for xid, count in client.reverse_calls.items():
            calls = self.take(client, 'server', 'call', xid)
            replies = self.take(client, 'client', 'reply', xid)
            if len(calls) != count or len(replies) != client.reverse_replies[xid]:
                self.complain(f'reverse direction {handle(xid)}: traced {count} and '
                              f'{client.reverse_replies[xid]}, {len(calls)} and {len(replies)} on the wire')
            for message in calls:
                # RFC 8167 section 4.1: Linux sends no chunks in the reverse direction
                for line in differences(message, {'version': 1, 'type': 'RDMA_MSG', 'header_length': 28,
                                                  'read': [], 'write': [], 'reply': [],
                                                  'rpc': {'direction': 'call', 'program': 0x40000000,
                                                          'version': 1}}):
                    self.complain(f"frame {message['frame']}: reverse Call {handle(xid)}: {line}")
            for message, one in zip(replies, client.requests(xid)):
                for line in differences(message, {'version': one['vers'], 'credits': one['credits'],
                                                  'type': one['proc'], 'header_length': one['hdrlen'],
                                                  'read': [], 'write': [], 'reply': []}):
                    self.complain(f"frame {message['frame']}: reverse Reply {handle(xid)}: {line}")
