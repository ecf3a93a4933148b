#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""rules.py OUT [RULE...]: for each rule of `rpcrdma check` two captures:

OUT/RULE/breaks.pcap   breaks that rule, and no other but those that go with it by their nature
OUT/RULE/nearly.pcap   comes closest to it without breaking it

Where there are several ways to break a rule, those after the first are in OUT/RULE-2, OUT/RULE-3 ... Both are
RoCEv2, Ethernet, nanoseconds; iWARP's rules are iWARP."""
import argparse
import os

import rule_talk
# each adds its cases
import rules_capture  # noqa: F401 pylint: disable=unused-import
import rules_header  # noqa: F401 pylint: disable=unused-import
import rules_iwarp  # noqa: F401 pylint: disable=unused-import
import rules_nfs4  # noqa: F401 pylint: disable=unused-import
import rules_packet  # noqa: F401 pylint: disable=unused-import
import rules_rpc  # noqa: F401 pylint: disable=unused-import
import rules_transport  # noqa: F401 pylint: disable=unused-import
import rules_v2  # noqa: F401 pylint: disable=unused-import
import rules_v2_messages  # noqa: F401 pylint: disable=unused-import
import rules_versions  # noqa: F401 pylint: disable=unused-import
import rules_whole  # noqa: F401 pylint: disable=unused-import
# pylint: disable=wrong-import-order
import pcap


def packets_of(function, breaks, **hosts):
    conversation = rule_talk.Conversation(**hosts)
    packets = function(conversation, breaks)
    return conversation.packets if packets is None else packets


def write(path, function, breaks):
    pcap.write(path, packets_of(function, breaks))


def main():
    known = {rule for _, (rule, *_) in rule_talk.named()}
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('out', metavar='OUT')
    options.add_argument('wanted', metavar='RULE', nargs='*')
    given = options.parse_args()
    for rule in set(given.wanted) - known:
        options.error(f'{rule}: no rule that has captures')
    for name, (rule, function, _, _) in rule_talk.named():
        if given.wanted and rule not in given.wanted:
            continue
        folder = os.path.join(given.out, name)
        os.makedirs(folder, exist_ok=True)
        for name, breaks in (('breaks', True), ('nearly', False)):
            write(os.path.join(folder, name + '.pcap'), function, breaks)


if __name__ == '__main__':
    main()
