# SPDX-License-Identifier: BSD-2-Clause
"""report of what the place of capture does not show: it is no fact there."""
import unittest

from conversation import ConversationTest
import rule_talk

SECOND = 10**9


class Unseen(ConversationTest):
    def slow_server(self, seconds, beside, times=1):
        """The cause, where one of 60 RPCs waited so long for its Reply; beside: others were answered meanwhile."""
        def talk(c, _):
            for number in range(60):
                c.clock.now += SECOND // 10
                c.null()
                if number % 3 or number >= 3 * times:
                    continue
                slow = c.call(rule_talk.NULL)
                for _ in range(10):
                    c.clock.now += int(seconds * SECOND) // 10
                    if beside:
                        c.null()
                c.reply(slow)
        cause, = self.report(talk)['causes']
        self.assertEqual((cause['cause'], cause['rpcs']), ('slow-server', times))
        return cause

    def test_reply_lost_before_capture(self):
        """A Reply whose first transmission was lost before the place of capture passes when it is sent again, as late as one of a
        slow server. Not if others were answered meanwhile, if many are late, or if it is later than a sender waits."""
        cause = self.slow_server(1.5, False)
        self.assertEqual(cause['confidence'], 'medium')
        self.assertNotIn('without anything being lost', cause['text'])
        self.assertIn('may have been lost before the place of capture', cause['against'])
        for of in ((1.5, True), (1.5, False, 20), (15, False)):
            with self.subTest(of=of):
                cause = self.slow_server(*of)
                self.assertEqual(cause['confidence'], 'high')
                self.assertIn('without anything being lost', cause['text'])
                self.assertNotIn('against', cause)


if __name__ == '__main__':
    unittest.main()
