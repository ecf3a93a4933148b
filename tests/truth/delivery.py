# SPDX-License-Identifier: BSD-2-Clause
"""rpcs --json, its times: against the client's marshal and reply, the server's decode and post_send.

The tap is at the server. What happens before a Call is sent and after its Reply is acknowledged is not on
the wire: a Call can wait in the client (for memory regions, for its send queue), a busy client takes a Reply
late. The first is known from the trace and taken off; the second is why times are compared where they are long
because of loss, and as sums."""
from statistics import median

LOSSY = ('loss', 'dup', 'reconnect')
SHARE = 0.05
BEHIND_THE_TAP = ('iwarp-loss',)  # netem on the server's ingress: 2 ms and more
IN_THE_CLIENT = 0.35  # before a Call's first packet and after a Reply's Ack, where RPCs are short: docs/delivery.md
WAITED = 0.02  # seconds before its first packet: then a Call waited in the client


def sendings(client, lines):
    """(marshalled, reply taken, transaction) of every RPC whose last sending was answered."""
    told = {}
    for line in lines:
        if line.get('direction') == 'forward' and 'latency_ns' in line:
            told.setdefault(int(line['xid'], 16), []).append(line)
    for xid, replies in client.replies.items():
        sent = [call['ts'] for call in client.calls[xid] if call['ts'] <= replies[-1]['ts']]
        if sent and xid in told:
            yield max(sent), replies[-1]['ts'], told[xid][-1]


def phases(lines):
    complaints = []
    for line in lines:
        if ('phases' in line) != ('latency_ns' in line):
            complaints.append(f'{line["xid"]}: phases without latency, or the other way round')
        elif 'phases' in line:
            parts = line['phases']
            total = sum(parts.get(key, 0) for key in ('call_ns', 'server_ns', 'data_ns', 'reply_ns', 'client_ns'))
            if total != line['latency_ns'] or min(parts.values()) < 0:
                complaints.append(f'{line["xid"]}: phases {parts} are {total}, latency {line["latency_ns"]}')
            if line['latency_ns'] != line['reply_time_ns'] - line['call_time_ns']:
                complaints.append(f'{line["xid"]}: latency is not from call_time_ns to reply_time_ns')
            if not 0 <= line['stalled_ns'] <= line['latency_ns']:
                complaints.append(f'{line["xid"]}: stalled {line["stalled_ns"]} of {line["latency_ns"]}')
            if ('stalled_by' in line) != (line['stalled_ns'] > 0):
                complaints.append(f'{line["xid"]}: stalled by nothing, or for no time')
    return complaints


def sums(client, lines):
    """Seconds that the client waited, and rpcs says; that it waited before the wire; and the RPCs."""
    rpcs = list(sendings(client, lines))
    offset = median(line['call_time_ns'] / 1e9 - sent for sent, _, line in rpcs)
    kernel = ours = waited = 0
    for sent, taken, line in rpcs:
        before = line['call_time_ns'] / 1e9 - offset - sent
        waited += before if before > WAITED else 0
        kernel += taken - sent - (before if before > WAITED else 0)
        ours += line['latency_ns'] / 1e9
    return kernel, ours, waited, rpcs


def latencies(name, client, lines):
    kernel, ours, waited, rpcs = sums(client, lines)
    print(f'{len(rpcs)} RPCs: the client {kernel:.3f} s (and {waited:.3f} s before the wire), rpcs {ours:.3f} s')
    if any(word in name for word in LOSSY):
        return [f'latencies are {ours:.3f} s, traced {kernel:.3f} s'] if abs(ours - kernel) > SHARE * kernel else []
    response = sum(line['response_ns'] for _, _, line in rpcs) / 1e9
    return [f'latencies are {ours:.3f} s, traced {kernel:.3f} s, Send to Send {response:.3f} s'] \
        if not max(response, (1 - IN_THE_CLIENT) * kernel) <= ours <= (1 + SHARE) * kernel else []


def undelivered(client, lines):
    """A Reply the client took was delivered; one that it did not take is not said to have been."""
    complaints = []
    for line in lines:
        xid = int(line['xid'], 16)
        if line.get('direction') != 'forward' or 'reply_frame' not in line or xid not in client.calls:
            continue
        state = line['reply_delivery']['state']
        if state == 'not_delivered' and len(client.calls[xid]) == 1 and client.replies[xid]:
            complaints.append(f'{line["xid"]}: Reply not delivered, and the client took it')
        if state == 'delivered' and not client.replies[xid] and xid not in client.failed:
            complaints.append(f'{line["xid"]}: Reply delivered, and the client traced none')
    return complaints


def once(events):
    """XID -> its time, of those that were traced once."""
    found = {}
    for one in events:
        found.setdefault(one['xid'], []).append(one['ts'])
    return {xid: times[0] for xid, times in found.items() if len(times) == 1}


def servers(name, trace, lines):
    """server_ns of RPCs without RDMA against svcrdma_decode_rqst to svcrdma_post_send: the adapters' work (here a
    kernel's) comes on top, so that ours is a little longer. What netem adds behind the tap is no server's time, and
    cannot be told from it."""
    requests, replies = once(trace.server['server_requests']), once(trace.server['server_replies'])
    differences = []
    for line in lines:
        xid = int(line['xid'], 16)
        if line.get('direction') == 'forward' and 'data_ns' not in line.get('phases', {'data_ns': 0}) and \
                xid in requests and xid in replies:
            differences.append(line['phases']['server_ns'] / 1e9 - (replies[xid] - requests[xid]))
    if not differences:
        return ['no RPC whose server_ns could be judged']
    middle = median(differences)
    print(f'{len(differences)} RPCs without RDMA: server_ns {1e3 * middle:.3f} ms more than the server traced (median)')
    if name in BEHIND_THE_TAP:
        return []
    return [] if -0.0002 <= middle <= 0.0015 else [f'server_ns is {1e3 * middle:.3f} ms more than the server traced']


def compare(name, trace, lines):
    complaints = phases(lines) + servers(name, trace, lines)
    for client in trace.clients:
        complaints += undelivered(client, lines)
    if len(trace.clients) == 1:
        complaints += latencies(name, trace.clients[0], lines)
    return complaints
