# SPDX-License-Identifier: BSD-2-Clause
"""report of the steps in which iWARP sets up a connection: TCP's opening, MPA's Request, its Reply."""
import unittest

from conversation import ConversationTest
import rules_iwarp

SECOND = 10**9
SYN, SYN_ACK, REQUEST, REPLY = 0, 1, 3, 5  # where they are in what is said


class Opening(ConversationTest):
    def causes(self, slow, pause_ns, repeated=0, filtered=False):
        """So long before that step, in which what is before it came again so often."""
        def talk(c, _):
            rules_iwarp.over_iwarp(c)
            c.begin()
            shift_ns = 0
            said, c.packets[:] = list(c.packets), []
            for at, one in enumerate(said):
                if at == slow:
                    for n in range(repeated):
                        c.packets.append(said[SYN]._replace(time_ns=said[SYN].time_ns + pause_ns * (n + 1) // (repeated + 1)))
                    shift_ns = pause_ns
                if not (filtered and at < REQUEST):
                    c.packets.append(one._replace(time_ns=one.time_ns + shift_ns))
            c.clock.now += shift_ns
            for _ in range(5):
                c.null()
            c.talk.disconnect()
        return self.report(talk)['causes']

    def one(self, words, against, frame, *arguments, **more):
        cause, = self.causes(*arguments, **more)
        self.assertEqual((cause['cause'], cause['confidence'], cause['frame']), ('connection-failed', 'medium', frame), cause)
        self.assertIn('Connection 1 took 4.4 s to be set up: ' + words, cause['text'])
        self.assertIn(against, cause['against'])
        self.assertAlmostEqual(cause['cost_ns'], 4.4 * SECOND, delta=SECOND / 10)

    def test_request_late(self):
        """It was lost before the place of capture, or the client was slow."""
        self.one("the client's MPA Request passed 4.4 s after TCP was open.", 'the client may have been slow to send it', 2,
                 REQUEST, 4400000000)

    def test_reply_late(self):
        self.one("the server's Reply to the client's MPA Request came no sooner.", 'the server may have been slow to answer', 4,
                 REPLY, 4400000000)

    def test_opening_late(self):
        """TCP asks again and again: MPA's Reply is not to blame."""
        self.one("the server answered the client's SYN after 4.4 s.", 'its answers were lost', 1, SYN_ACK, 4400000000, repeated=2)

    def test_soon(self):
        for step in (SYN_ACK, REQUEST, REPLY):
            self.assertEqual(self.causes(step, 900000000), [])

    def test_not_captured(self):
        """The capture begins with MPA's Request."""
        self.assertEqual(self.causes(REQUEST, 4400000000, filtered=True), [])

    def test_other_connection(self):
        """What was opened a minute before the Request was another connection of the same ports."""
        self.assertEqual(self.causes(REQUEST, 61 * SECOND), [])


if __name__ == '__main__':
    unittest.main()
