#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""credits_test.py RPCRDMA: captures made to show one finding each, version 1 and 2, and captures that
lack something. rpcrdma credits must find that and nothing else."""
import os
import sys
import tempfile
from collections import Counter

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
# pylint: disable=wrong-import-position
import pcap
import tool
from credit_talk import Mount, private_data
from talk import Clock

CASES = []


def case(*rules, options=(), **expected):
    """The function makes a capture that has these findings, and whose first direction has these
    values; a name with __ looks into an object."""
    def add(function):
        CASES.append((function, Counter(rules), options, expected))
        return function
    return add


# -- version 1 ------------------------------------------------------------------------------------------

def opened(out, credits=128, granted=64, **kwargs):
    mount = Mount(out, **kwargs)
    mount.ask(1, credits=credits)
    mount.wait(1)
    mount.answer(1, credits=granted)
    return mount


@case(calls=6, replies=6, unanswered=0, in_flight__max=4, bound_by='requested', violations=0,
      limit__last=4, at_limit_ns=lambda ns: 8_000_000 <= ns < 8_100_000,
      stalls=lambda all: len(all) == 2 and all[0]['ended_by'] == 'reply')
def within(out):
    mount = opened(out, 4)
    mount.ask(2, 3, 4, 5, credits=4)
    mount.wait(5)
    mount.answer(4)
    mount.wait(1)
    mount.ask(6, credits=4)
    mount.wait(3)
    mount.answer(2, 3, 5, 6)


@case(bound_by='granted', limit__last=2, granted__changes=0,
      verdict=lambda text: text.startswith('client asks for 128, server grants 2, at the limit 9'))
def bound_by_grant(out):
    mount = opened(out, granted=2)
    mount.ask(2, 3)
    mount.wait(20)
    mount.answer(2, 3, credits=2)


@case(bound_by='granted', granted__changes=1, granted__max=8,
      stalls=lambda all: all[0]['ended_by'] == 'grant')
def stall_ends_by_grant(out):
    """A Reply to a Call from before: it answers nothing, and grants more."""
    mount = opened(out, granted=2)
    mount.ask(2, 3)
    mount.wait(20)
    mount.answer(1, credits=8)
    mount.answer(2, 3, credits=8)


@case('credit-overrun', violations=1, in_flight__max=3)
def overrun(out):
    mount = opened(out, granted=2)
    mount.ask(2, 3, 4)
    mount.answer(2, 3, 4, credits=2)


@case('credit-first-call', violations=1)
def first_call(out):
    mount = Mount(out)
    mount.ask(1, 2)
    mount.answer(1, 2)


@case('credit-zero', violations=1, granted__min=0, limit__min=1)
def zero(out):
    mount = opened(out, granted=0)
    mount.ask(2)
    mount.answer(2)


@case('credit-shrink', violations=0, granted__last=2, granted__changes=1)
def shrink(out):
    """8 in flight, and a grant of 2: what is sent before its Ack is no violation."""
    mount = opened(out)
    mount.ask(*range(10, 18))
    mount.answer(10, credits=2, acked=False)
    mount.ask(20)
    mount.acknowledge(mount.client)
    mount.answer(*range(11, 18), 20, credits=2)


@case('credit-shrink', 'credit-overrun', violations=1)
def shrink_ignored(out):
    mount = opened(out)
    mount.ask(*range(10, 18))
    mount.answer(10, credits=2)
    mount.ask(20)
    mount.answer(*range(11, 18), 20, credits=2)


@case('credit-rnr', rnr_naks=2, violations=0, findings=lambda all: 'XID 0x00000bad' in all[0]['text'])
def rnr(out):
    mount = opened(out)
    mount.ask(0xBAD)
    psn = mount.client.psn - 1
    mount.rnr(mount.server, psn)
    mount.wait(1)
    mount.rnr(mount.server, psn)
    mount.answer(0xBAD)


@case('credit-rnr', rnr_naks=1, findings=lambda all: 'XID 0x00000bad' in all[0]['text'])
def rnr_in_the_middle(out):
    """The Nak comes before the last packet of the Send it is about."""
    mount = opened(out, private=(private_data(4096, 4096), private_data(4096, 4096)))
    mount.ask(0xBAD, padding=2000)
    nak = len(out)
    mount.rnr(mount.server, mount.client.psn - 3)
    out.insert(nak - 2, out.pop(nak))
    mount.answer(0xBAD)


@case('inline-threshold', violations=0)
def threshold(out):
    mount = opened(out, private=(private_data(4096, 4096), private_data(4096, 1024)))
    mount.ask(2, padding=1200)
    mount.answer(2)


@case('inline-threshold')
def default_threshold(out):
    """No private data: 1024 bytes."""
    mount = opened(out)
    mount.ask(2, padding=1200)
    mount.answer(2)


@case('credit-lost', unanswered=2, stalls=lambda all: all[0]['ended_by'] == 'disconnect')
def lost_at_limit(out):
    mount = opened(out, granted=2)
    mount.ask(2, 3)
    mount.wait(5)
    mount.disconnect()


@case('credit-lost', unanswered=2, calls=3, stalls=lambda all: all[0]['ended_by'] == 'disconnect',
      second__calls=2, second__unanswered=0)
def lost_unseen(out):
    """No disconnect is seen; the Calls come again on a new connection."""
    mount = opened(out, granted=2)
    mount.ask(2, 3)
    mount.wait(5000)
    again = Mount(out, 18, mount.clock)
    again.ask(2)
    again.answer(2)
    again.ask(3)
    again.answer(3)


@case(replies=2, unanswered=0, granted__last=32, in_flight__max=1)
def refused(out):
    mount = opened(out)
    mount.ask(2)
    mount.refuse(2, 32)
    mount.refuse(77, 1)  # nobody asked: whose credits these are is not known (RFC 8167 4.1)


@case(calls=2, retransmitted=1, in_flight__max=1, unanswered=0)
def retransmitted(out):
    mount = opened(out)
    mount.ask(2)
    mount.ask(2)
    mount.answer(2)
    mount.answer(2)  # answers nothing, and takes nothing away


@case(direction='forward', in_flight__max=3, calls=4, second__direction='reverse', second__in_flight__max=2,
      second__calls=3, second__requested__last=8, second__granted__last=2, second__bound_by='granted')
def reverse(out):
    """The same XIDs in both directions at once: two accounts."""
    mount = opened(out)
    mount.ask(1, credits=8, end=mount.server)
    mount.answer(1, credits=2, end=mount.client)
    mount.ask(2, 3, 4)
    mount.ask(2, 3, credits=8, end=mount.server)
    mount.wait(2)
    mount.answer(2, 3, credits=2, end=mount.client)
    mount.answer(2, 3, 4)


# -- what a capture may lack ----------------------------------------------------------------------------

@case(in_flight=None, requested__last=128, granted=None, violations=0, at_limit_ns=0,
      verdict=lambda text: 'only one direction' in text)
def only_calls(out):
    mount = Mount(out, connect=False)
    mount.ask(*range(1, 400), acked=False)


@case(in_flight=None, granted__last=64, requested=None, violations=0)
def only_replies(out):
    mount = Mount(out, connect=False)
    mount.answer(*range(1, 400), acked=False)


@case('packets-lost', 'packets-lost', violations=0, settled=True, replies_not_captured=2, unanswered=0,
      in_flight__max=4)
def replies_missing(out):
    mount = opened(out, granted=4)
    mount.ask(2, 3, 4, 5)
    mount.answer(2, credits=4)
    del out[-2:]
    mount.answer(3, credits=4)
    mount.ask(6, 7)
    mount.answer(4, 5, 6, 7, credits=4)
    mount.ask(8)
    mount.answer(8, credits=4)
    del out[-2:]
    for xid in range(20, 60):
        mount.ask(xid)
        mount.wait(100)
        mount.answer(xid, credits=4)


@case(settled=True, violations=0, replies_to_earlier=2, unsettled_ns=lambda ns: ns > 0,
      in_flight__max=4, limit__last=4)
def begun_late(out):
    mount = opened(out, granted=4)
    mount.ask(2, 3)
    out.clear()
    mount.ask(4)
    mount.answer(2, 3, credits=4)
    mount.wait(2)
    mount.ask(5, 6, 7)
    mount.answer(4, 5, 6, 7, credits=4)


@case(clock_set_back=True, in_flight__max=2, measured_ns=lambda ns: ns < 60_000_000_000, violations=0)
def clock_set_back(out):
    mount = opened(out)
    mount.ask(2)
    mount.clock.now -= 3600 * 10**9
    mount.ask(3)
    mount.wait(10)
    mount.answer(2, 3)


@case(requested__last=0xFFFFFFFF, granted__last=0xFFFFFFFF, limit__last=0xFFFFFFFF, bound_by='neither')
def most_credits(out):
    mount = opened(out, 0xFFFFFFFF, 0xFFFFFFFF)
    mount.ask(2, 3, credits=0xFFFFFFFF)
    mount.answer(2, 3, credits=0xFFFFFFFF)


@case(unanswered=1, settled=True)
def no_reply(out):
    mount = opened(out)
    mount.ask(2, 3)
    mount.answer(3)


# -- version 2 by version 1's rules -----------------------------------------------------------------------

@case('credit-overrun', options=('--dialect', 'cel-08'), calls=4, violations=1, in_flight__max=3)
def cel_overrun(out):
    mount = opened(out, granted=2, version=2)
    mount.ask(2, 3, 4)
    mount.answer(2, 3, 4, credits=2)


# -- version 2's counters -----------------------------------------------------------------------------------

def opened2(out, takes=4):
    """The client sends 1; the server, which has received it, takes so many more."""
    mount = Mount(out)
    mount.ask2(1, 32)
    mount.wait(1)
    mount.answer2(1, 1 + takes)
    mount.acknowledge(mount.client)
    return mount


@case(messages=5, limit__last=9, remaining__min=0, remaining__last=4, in_flight__max=4, bound_by='granted',
      violations=0, sender='client', second__sender='server', second__messages=2, second__bound_by='neither',
      stalls=lambda all: len(all) == 1 and all[0]['ended_by'] == 'grant')
def counted(out):
    mount = opened2(out)
    for xid in range(2, 6):
        mount.ask2(xid, 33)
    mount.wait(3)
    mount.answer2(2, 5 + 4)


@case('credit-count-overrun', violations=1, remaining__last=2, remaining__min=0)
def count_overrun(out):
    mount = opened2(out)
    for xid in range(2, 7):
        mount.ask2(xid, 33)
    mount.answer2(2, 8)


@case('credit-count-first', violations=1)
def count_first(out):
    mount = Mount(out)
    mount.ask2(1, 32)
    mount.ask2(2, 32)
    mount.answer2(1, 6)


@case('credit-count-range', violations=1, limit__max=5, limit__last=5, remaining__last=3)
def count_range(out):
    mount = opened2(out)
    mount.ask2(2, 33)
    mount.answer2(2, 0xFFFFFFFF)


@case('credit-count-shrink', violations=0, limit__last=3)
def count_shrink(out):
    mount = opened2(out)
    for xid in range(2, 6):
        mount.ask2(xid, 33)
    mount.answer2(2, 3)
    mount.acknowledge(mount.client)


@case(violations=0, stalls=lambda all: all[0]['ended_by'] == 'grant',
      at_limit_ns=lambda ns: 7_000_000 <= ns < 7_100_000, remaining__min=0, remaining__last=2,
      busy_ns=lambda ns: ns >= 8_000_000)
def count_zero(out):
    """A grant of zero is allowed; RDMA2_GRANT ends the wait."""
    mount = opened2(out, 0)
    mount.wait(7)
    mount.grant2(mount.server, 3 + 1)
    mount.ask2(2, 34)


@case(violations=0, messages=6)
def count_grant_beyond(out):
    """One RDMA2_GRANT beyond the limit."""
    mount = opened2(out)
    for xid in range(2, 6):
        mount.ask2(xid, 33)
    mount.grant2(mount.client, 40)
    mount.answer2(2, 11)


@case('credit-count-overrun', violations=1, messages=7)
def count_grants_beyond(out):
    mount = opened2(out)
    for xid in range(2, 6):
        mount.ask2(xid, 33)
    mount.grant2(mount.client, 40)
    mount.grant2(mount.client, 40)
    mount.answer2(2, 11)


@case('credit-rnr', rnr_naks=1)
def count_rnr(out):
    mount = opened2(out)
    mount.ask2(2, 33)
    mount.rnr(mount.server, mount.client.psn - 1)
    mount.answer2(2, 6)


@case('credit-count-lost', stalls=lambda all: all[0]['ended_by'] == 'disconnect')
def count_lost(out):
    mount = opened2(out)
    for xid in range(2, 6):
        mount.ask2(xid, 33)
    mount.wait(2)
    mount.disconnect()


@case(reading='received', violations=0, advertised__received__max=4, advertised__received__min=4)
def reads_received(out):
    mount = opened2(out)
    for xid in range(2, 40, 2):
        mount.ask2(xid, 40 + xid)
        mount.ask2(xid + 1, 40 + xid)
        mount.answer2(xid, xid + 1 + 4)


@case(reading='sent', second__reading='received', advertised__sent__max=32, advertised__sent__min=32)
def reads_sent(out):
    """As section 4.2.1 is written: from the messages that the server has sent."""
    mount = Mount(out)
    mount.ask2(1, 32)
    mount.answer2(1, 0 + 32)
    for number in range(1, 20):
        mount.grant2(mount.server, number + 32)
    mount.ask2(2, 20 + 32)


@case(reading='undecided', violations=0, second__reading='undecided')
def reads_either(out):
    mount = Mount(out)
    for number in range(20):
        mount.ask2(number + 1, number + 32)
        mount.answer2(number + 1, number + 1 + 32)


@case(settled=False, violations=0, remaining=None, in_flight__max=3, reading='received')
def count_begun_late(out):
    mount = opened2(out)
    out.clear()
    for xid in range(2, 40, 3):
        for one in range(3):
            mount.ask2(xid + one, 40)
        mount.answer2(xid, xid + 2 + 4)


def values(result):
    """All values by name, the second direction's with second__ before it."""
    out = {}

    def add(prefix, value):
        out[prefix] = value
        if isinstance(value, dict):
            for key, one in value.items():
                add(f'{prefix}__{key}', one)

    connections = result['connections']
    for direction in connections[0]['directions'][:1]:
        for key, value in direction.items():
            add(key, value)
    rest = connections[0]['directions'][1:] + [one for other in connections[1:] for one in other['directions']]
    for direction in rest[:1]:
        for key, value in direction.items():
            add('second__' + key, value)
    out['findings'] = [one for connection in connections for one in connection.get('findings', [])]
    return out


def judge(command, folder, function, rules, options, expected):
    packets = []
    path = os.path.join(folder, function.__name__ + '.pcap')
    function(packets)
    pcap.write(path, packets)
    said = 'clock of the capture was set back' if function.__name__ == 'clock_set_back' else None
    (result,), _ = command.lines('credits', path, *options, said=said)
    found = values(result)
    seen = Counter(one['rule'] for one in found['findings'] if one['rule'] not in ('dialect-undecided',))
    where = function.__name__
    if seen != rules:
        yield f'{where}: findings {dict(seen)}, not {dict(rules)}: {found["findings"]}'
    for name, want in expected.items():
        value = found.get(name)
        if not (want(value) if callable(want) else value == want):
            yield f'{where}: {name} is {value}, not {"as it should be" if callable(want) else want}'
    for one in (one for connection in result['connections'] for one in connection['directions']):
        if not one['at_limit_ns'] <= one['busy_ns'] <= one['measured_ns']:
            yield f"{where}: at the limit {one['at_limit_ns']}, busy {one['busy_ns']}, in all {one['measured_ns']}"
    violations = sum(one['violations'] for connection in result['connections'] for one in connection['directions'])
    serious = any(one['severity'] != 'note' for one in found['findings'])
    if violations and not serious:
        yield f'{where}: {violations} violations, and none is told'
    if serious:
        command.lines('check', path, *options, status=1)


def main():
    command = tool.Tool(sys.argv[1])
    only = set(sys.argv[2:])
    complaints = []
    with tempfile.TemporaryDirectory() as folder:
        for one in CASES:
            if only and one[0].__name__ not in only:
                continue
            try:
                complaints += judge(command, folder, *one)
            except tool.Failure as failure:
                complaints.append(f'{one[0].__name__}: {failure}')
    for line in complaints:
        print(line)
    print(f'{len(CASES)} captures, {len(complaints)} disagreements')
    sys.exit(bool(complaints))


if __name__ == '__main__':
    main()
