# SPDX-License-Identifier: BSD-2-Clause
"""rpcs where a message of TCP came again, and its receiver says that it has it twice."""
import json
import struct
import unittest

from conversation import ConversationTest
import rule_talk
import rules_iwarp

SECOND = 10**9


class Twice(ConversationTest):
    def test_reply_had_arrived(self):
        """TCP: a Reply comes again after 0.3 s and is acknowledged then; a D-SACK right behind says that the first had arrived. The
        RPC waited for neither."""
        def talk(c, said):
            rules_iwarp.over_iwarp(c)
            for number in range(60):
                if number != 30:
                    c.null()
                    continue
                xid = c.call(rule_talk.NULL)
                begin = c.server.psn
                c.reply(xid)
                acknowledgement = c.packets.pop()
                c.clock.now += SECOND * 3 // 10
                c.packets.append(c.packets[-1]._replace(time_ns=c.clock.tick()))
                c.clock.now += SECOND // 20
                c.packets.append(acknowledgement._replace(time_ns=c.clock.tick()))
                if said:
                    c.talk.segment(c.client, options=struct.pack('>BBBBII', 1, 1, 5, 10, begin, c.server.psn), ip_id=1)

        for said in (True, False):
            path = self.captured(lambda c, _, said=said: talk(c, said))
            rpcs = [json.loads(line) for line in self.run_command('rpcs', '--json', path).splitlines()]
            again, = (rpc for rpc in rpcs if rpc['reply_delivery']['transmissions'] == 2)
            self.assertEqual(again['latency_ns'] > SECOND // 4, not said)
            self.assertEqual(again.get('stalled_ns', 0) > 0, not said)
            self.assertLess(max(rpc['latency_ns'] for rpc in rpcs if rpc is not again), SECOND // 100)


if __name__ == '__main__':
    unittest.main()
