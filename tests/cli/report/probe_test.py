# SPDX-License-Identifier: BSD-2-Clause
"""report of TCP's probes: whether a receiver has room again, and whether it is there at all."""
import struct
import unittest

from conversation import ConversationTest
from iwarp_talk import ACK, RST, IwarpTalk
import rule_talk
import rules_iwarp

SECOND = 10**9
DATA = 8192


class Probe(ConversationTest):
    def no_room(self, c, end):
        """What it sent last says that its window is 0."""
        data = c.packets[-1].data
        c.packets[-1] = c.packets[-1]._replace(data=data[:48] + struct.pack('>H', 0) + data[50:])

    def window(self, size=0, to_server=True, answered=True, cut=False):
        """The receiver of data has no room behind a part of it. It is probed for half a minute, with so many bytes; then it has, or its
        sender gives the connection up."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            for _ in range(10):
                c.null()
            receiver, sender = (c.server, c.client) if to_server else (c.client, c.server)
            if to_server:
                chunk = c.memory.read_chunk(len(rule_talk.rpc_call(0, rule_talk.NFS, rule_talk.WRITE, c.write_arguments(DATA))), DATA)
                xid = c.call(rule_talk.WRITE, c.write_arguments(DATA), read=chunk)
                c.pull(chunk, rule_talk.data(DATA))
            else:
                chunk = c.memory.chunk(DATA)
                xid = c.read_call(DATA, write=[chunk])
                returned = c.push(chunk, rule_talk.data(DATA))
            rest = c.packets[-6:]  # three segments, and their Acks
            del c.packets[-6:]
            end = sender.psn
            sender.psn -= sum(len(one.data) - 54 for one in rest[::2])
            self.no_room(c, receiver)
            for number in range(7):
                c.clock.now += SECOND // 4 << number
                c.talk.segment(sender, rest[0].data[54:54 + size], seq=sender.psn - (size == 0))
                if answered:
                    c.talk.acknowledge(receiver)
                    self.no_room(c, receiver)
            if cut:
                c.talk.segment(sender, flags=RST | ACK)
                c.clock.now += SECOND
                one = c.beside(2)
                one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
                one.reply(one.call(rule_talk.WRITE, c.write_arguments(DATA), xid=xid, read=chunk), bytes(8))
                return
            c.talk.acknowledge(receiver)
            sender.psn = end
            c.packets += [one._replace(time_ns=c.clock.tick()) for one in rest]
            c.reply(xid, *((bytes(8),) if to_server else (c.read_results(DATA), )), **({} if to_server else {'write': [returned]}))
            c.null()
        cause, *others = self.report(talk)['causes']
        self.assertEqual(others, [])
        return cause

    def test_no_room(self):
        for arguments in ({}, {'size': 1}, {'to_server': False}):
            cause = self.window(**arguments)
            self.assertEqual((cause['cause'], cause['confidence'], cause['cost_ns'] // SECOND), ('stalled-end', 'high', 31), arguments)
            self.assertIn(f"The {'server' if arguments.get('to_server', True) else 'client'} had no room (TCP's window was 0) while data moved: 1 "
                          'RPC of 1 s or more took', cause['text'])
            self.assertNotIn('against', cause)

    def test_given_up(self):
        """A server that answers probes is there. One that does not may be down, or the path."""
        self.assertEqual(self.window(cut=True)['cause'], 'unanswered')
        cause = self.window(cut=True, answered=False)
        self.assertEqual((cause['cause'], cause['confidence']), ('connection-failed', 'high'), cause)
        self.assertRegex(cause['text'], r"The server did not answer TCP's probes, of which 7 came from [0-9.]+ s into the capture on: it was "
                         'down or stood still, or the path was')

    def test_keep_alive(self):
        """An idle connection is probed, until its end gives it up. The time without answers is what it cost."""
        for size in (0, 1):
            def talk(c, _, size=size):
                rules_iwarp.over_iwarp(c)
                for _ in range(10):
                    c.null()
                for answered in (True, True) + 9 * (False,):
                    c.clock.now += 75 * SECOND
                    c.talk.segment(c.client, bytes(size), seq=c.client.psn - 1)
                    if answered:
                        c.talk.acknowledge(c.server)
                c.talk.segment(c.client, flags=RST | ACK)
                c.clock.now += SECOND
                one = c.beside(2)
                one.talk = IwarpTalk(c.packets, one.client, one.server, c.clock)
                one.null()
            cause, = self.report(talk)['causes']
            self.assertEqual((cause['cause'], cause['cost_ns'] // SECOND), ('connection-failed', 601), cause)
            self.assertIn("The server did not answer TCP's probes, of which 9 came from 225", cause['text'])


if __name__ == '__main__':
    unittest.main()
