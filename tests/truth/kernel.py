# SPDX-License-Identifier: BSD-2-Clause
"""truth.json: what the kernels traced, put as what decode --json has to say about the wire.

The trace and the wire differ by three rules only (captures/README.md); each stands here, once:
`sendings`, `granted`, `reverse`. And `untaken`: what a client no longer traces."""
import json
import re
from collections import Counter, defaultdict

PROGRAMS = {'nfsv2': (100003, 2), 'nfsv3': (100003, 3), 'nfsv4': (100003, 4), 'nfsaclv3': (100227, 3)}


def handle(number):
    return f'0x{number:08x}'


def segment(length, offset, rkey):
    return {'handle': handle(rkey), 'length': length, 'offset': f'0x{offset:016x}'}


def read_segment(position, *rest):
    return {'position': position, **segment(*rest)}


class Trace:
    def __init__(self, path):
        with open(path, encoding='utf-8') as file:
            roles = json.load(file)['roles']
        self.server = roles.pop('server')
        self.clients = [Client(role, self.server) for role in roles.values()]


class Client:
    """One client's view, joined with what the server traced of it by XID."""

    def __init__(self, role, server):
        self.role, self.server = role, server
        text = [connection['text'] for connection in role['connections']]
        self.addresses = {line.rsplit(' -> ')[0].rsplit(':', 1)[0].strip('[]') for line in text}
        self.disconnects = [ts for ts, event, _ in role['cm'] if event == 'xprtrdma_disconnect']
        self.calls = defaultdict(list)
        for call in role['calls']:
            self.calls[call['xid']].append(call)
        self.replies = defaultdict(list)
        for reply in role['replies']:
            self.replies[reply['xid']].append(reply)
        self.reverse_calls = Counter(one['xid'] for one in role['callbacks'] if one['event'] == 'cb_call')
        self.reverse_replies = Counter(one['xid'] for one in role['callbacks'] if one['event'] == 'cb_reply')
        self.failed = {int(m[1], 16) for _, event, text in role['errors']
                       if event == 'xprtrdma_reply_hdr_err' and (m := re.search(r'xid=(\w+).* proc=4$', text))}

    def requests(self, xid):
        return [one for one in self.server['server_requests'] if one['xid'] == xid]

    def sendings(self, xid):
        """Traced sendings of a Call that must be, and that may be on the wire: one that was followed
        by the loss of its connection may have been lost with it, and was then sent again."""
        calls = sorted(self.calls[xid], key=lambda call: call['ts'])
        doubtful = 0
        for call, after in zip(calls, calls[1:]):
            doubtful += any(call['ts'] < ts < after['ts'] for ts in self.disconnects)
        return len(calls) - doubtful, len(calls)

    def untaken(self, xid):
        """Replies that the server traced, and the client did not, because its connection had ended: it sent
        the Call again."""
        taken = [reply['segs'] for reply in self.replies[xid]]
        out = []
        for reply in self.server['server_replies'] if len(self.calls[xid]) > 1 else ():
            if reply['xid'] == xid and reply['segs'] in taken:
                taken.remove(reply['segs'])
            elif reply['xid'] == xid:
                out.append(reply)
        return out

    def granted(self, on_the_wire, asked):
        """The client never believes in more credits than it asked for, nor in none."""
        return max(1, min(on_the_wire, asked))

    def expected_call(self, call):
        """The keys of a Call that both ends' traces settle."""
        whole = call['rtype'] == '*read list'
        out = {'xid': handle(call['xid']), 'version': 1, 'direction': 'call', 'sender': 'client',
               'type': 'RDMA_NOMSG' if whole else 'RDMA_MSG', 'header_length': call['hdrlen'],
               'read': [read_segment(*one) for one in call['read']],
               'write': [[segment(*one) for one in call['write']]] if call['write'] else [],
               'reply': [segment(*one) for one in call['reply']]}
        head, page, tail = call['xdr']
        if whole:
            out['payload_length'] = 0
        elif call['rtype'] == 'read list':
            # the page part moves in the chunk; its XDR padding, traced in the tail, is not sent at all
            out['payload_length'] = head + tail - -page % 4
        else:
            out['payload_length'] = head + page + tail
        program, _, procedure = (call['proc'] or '').partition(' ')
        if program in PROGRAMS and not whole:
            number, version = PROGRAMS[program]
            out['rpc'] = {'direction': 'call', 'program': number, 'version': version}
            if version != 4 or procedure == 'NULL':
                out['rpc']['name'] = procedure
        for request in self.requests(call['xid']):  # the server's trace of the same header
            if (request['read'], request['write']) == (call['read'], call['write'] + call['reply']):
                out['credits'] = request['credits']
                out['server'] = {'version': request['vers'], 'type': request['proc'],
                                 'header_length': request['hdrlen']}
        return out

    def expected_reply(self, reply, call):
        """The keys of the Reply to `call`; credits are `granted`'s business."""
        out = {'xid': handle(reply['xid']), 'version': 1, 'direction': 'reply', 'sender': 'server'}
        if reply['xid'] in self.failed:
            # RFC 8166 section 4.5.3; Linux's server sends nothing else for what it cannot answer
            out.update(type='RDMA_ERROR', error={'code': 2, 'name': 'ERR_CHUNK'}, header_length=20,
                       payload_length=0)
            return out
        segments = [segment(*one) for one in reply['segs']]
        write, chunk = segments[:len(call['write'])], segments[len(call['write']):]
        if not call['write'] and not call['reply']:
            assert not segments
        out.update(type='RDMA_NOMSG' if chunk else 'RDMA_MSG', read=[],
                   write=[write] if write else [], reply=chunk)
        # RFC 8166 section 4.3: seven words, and what each chunk adds
        out['header_length'] = 28 + (8 + 16 * len(write) if write else 0) + \
            (4 + 16 * len(chunk) if chunk else 0)
        if chunk:
            out['payload_length'] = 0
        return out

    def invalidated(self, xid):
        """Handles that the server traced as remotely invalidated by its sends about `xid`; 0: none."""
        return [one['inv_rkey'] for one in self.server['server_replies'] if one['xid'] == xid]
