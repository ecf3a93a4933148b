# SPDX-License-Identifier: BSD-2-Clause
"""connections --json against the kernels' trace: who connected to whom with which QP numbers or ports,
and the inline thresholds that the client's kernel settled on."""
import re

END = r'\[?([^\s\]]+)\]?:(\d+)'  # the kernel writes [address]:port for IPv6
LINE = re.compile(rf'{END} -> {END} neg send/recv=(\d+)/(\d+)')
QP = re.compile(rf'src={END} dst={END} .*qp_type=RC .*qp_num=(\d+) rc=0')


def queue_pairs(role):
    """(address, port, peer's address, peer's port) -> QP number."""
    found = {}
    for _, event, text in role['cm']:
        if event == 'cm_qp_create' and (match := QP.search(text)):
            found[match[1], int(match[2]), match[3], int(match[4])] = int(match[5])
    return found


def expected(trace):
    """One entry for each connection that was established, in no particular order."""
    out = []
    at_server = queue_pairs(trace.server)
    for client in trace.clients:
        at_client = queue_pairs(client.role)
        for connection in client.role['connections']:
            here, port, there, service, send, receive = LINE.match(connection['text']).groups()
            ends = here, int(port), there, int(service)
            out.append({'client': here, 'server': there, 'client_port': int(port),
                        'server_port': int(service), 'client_qpn': at_client[ends],
                        'server_qpn': at_server[ends[2:] + ends[:2]],
                        'threshold': {'call': int(send), 'reply': int(receive)}})
    return out


def compare(trace, connections, messages, spans=None):
    """Complaints about the lines of connections --json; messages are those of decode --json, spans
    (where the wire was read a second time) the frames that each connection has."""
    complaints = []

    def keys(connection):
        ends = ('client_qpn', 'server_qpn') if 'client_qpn' in connection else \
            ('client_port', 'server_port')
        return ('client', 'server', *ends, 'threshold')

    left = expected(trace)
    for connection in connections:
        number = connection.get('connection')
        said = {key: connection.get(key) for key in keys(connection)}
        for one in left:
            if said == {key: one[key] for key in said}:
                left.remove(one)
                break
        else:
            complaints.append(f'connection {number}: not in the kernels\' trace: {said}')
        counted = [message for message in messages if message['connection'] == number]
        facts = {'version': 1, 'paired_by': 'cm', 'messages': len(counted)}
        for key, value in facts.items():
            if connection.get(key) != value:
                complaints.append(f'connection {number}: {key} is {connection.get(key)}, not {value}')
        if spans:
            first, last, closed = spans.get(number, (0, 0, 0))
            if connection.get('first_frame') != first or \
                    not last <= connection.get('last_frame', 0) <= max(last, closed):
                complaints.append(f"connection {number}: frames {connection.get('first_frame')} to "
                                  f"{connection.get('last_frame')}, not {first} to {last} or {closed}")
                continue
        for message in counted:
            if not connection['first_frame'] <= message['frame'] <= connection['last_frame']:
                complaints.append(f"connection {number}: frame {message['frame']} is outside of it")
            ends = {message['src'], message['dst']}
            if ends != {connection.get('client'), connection.get('server')}:
                complaints.append(f"connection {number}: frame {message['frame']} is between {ends}")
    complaints += [f'no such connection: {one}' for one in left]
    numbers = [connection.get('connection', 0) for connection in connections]
    # numbered by their beginning, told at their end
    if sorted(numbers) != list(range(1, len(numbers) + 1)):
        complaints.append(f'connections are numbered {numbers}')
    return complaints
