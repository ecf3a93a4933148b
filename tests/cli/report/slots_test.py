# SPDX-License-Identifier: BSD-2-Clause
"""report of clients whose NFSv4.1 session has too few slots (RFC 8881 section 2.10.6.1), and what rpcs says of slots."""
import json
import unittest

from conversation import ConversationTest, pass_by
from session_slots import MS, Batches
import rules_nfs4


class Slots(ConversationTest):
    def few(self, talk):
        return [one for one in self.report(talk)['causes'] if one['cause'] == 'few-slots']

    def test_few(self):
        """Two slots: whatever the time passes with."""
        one, = self.few(Batches(2, MS, 5 * MS))
        self.assertEqual((one['confidence'], one['connection']), ('high', 1))
        self.assertAlmostEqual(one['cost_ns'] / MS, 20 * 7, -1)
        self.assertRegex(one['text'], r'The NFSv4.1 session of connection 1 ran out of slots: its 2 slots were all in use for 9\d.\d % of '
                         r'the time in use, 20 times over 1 ms; the server grants no more of 64\.')

    def test_more_are_granted(self):
        """Of two slots of three, and of two that are in use for half a millisecond, nobody waits."""
        self.assertEqual(self.few(Batches(2, MS, 5 * MS, allowed=3)), [])
        self.assertEqual(self.few(Batches(2, MS // 8, MS // 4)), [])

    def test_one_slot(self):
        one, = self.few(Batches(1, MS, 5 * MS))
        self.assertEqual(one['confidence'], 'medium')
        self.assertIn('its 1 slot was in use for', one['text'])
        self.assertEqual(one['against'], 'a client that has one Call at a time looks the same')

    def test_many_slots(self):
        """More would carry more over a long way; at a slow server they would wait."""
        one, = self.few(Batches(30, 10 * MS, MS))
        self.assertEqual(one['confidence'], 'medium')
        self.assertEqual(self.few(Batches(30, MS, 20 * MS)), [])
        self.assertIn(', all slots of an NFSv4.1 session were in use 20 times',
                      ' '.join(self.run_command('report', self.path).split()))

    def test_slow_server(self):
        one, = self.few(Batches(4, MS, 300 * MS))
        self.assertEqual(one['confidence'], 'medium')
        self.assertIn('with more slots more of them may wait', one['against'])

    def test_hung(self):
        """Nothing was answered for a second and more: that is no lack of slots."""
        self.assertEqual(self.few(Batches(2, MS, 1200 * MS)), [])

    def test_no_set_up(self):
        """SEQUENCE's results say how many slots there are; who asked for so few is not known."""
        batches = Batches(2, MS, 5 * MS)

        def talk(c, breaks):
            del breaks
            for seqid in range(7, 27):
                batches.round(c, seqid, range(2))
        one, = self.few(talk)
        self.assertRegex(one['text'], r'19 times over 1 ms\.$')

    def test_two_connections(self):
        """A session that two connections carry is told once, with the time of both."""
        batches = Batches(2, MS, 5 * MS)

        def talk(c, _):
            rules_nfs4.create_session(c, slots=4)
            other = c.beside(2)
            batches.allowed = 4
            for seqid in range(1, 21):
                xids = [(one, slot, rules_nfs4.call(one, seqid, slot, 3)) for one, slot in
                        ((c, 0), (c, 1), (other, 2), (other, 3))[::1 if seqid % 2 else -1]]
                pass_by(c, 5 * MS)
                for one, slot, xid in xids:
                    rules_nfs4.answer(one, xid, seqid, slot, 3)
        one, = self.few(talk)
        self.assertAlmostEqual(one['cost_ns'] / MS, 20 * 5, -1)
        self.assertIn('its 4 slots were all in use', one['text'])

    def test_rpcs(self):
        path = self.captured(Batches(2, MS, 5 * MS, times=3))
        rows = [json.loads(row) for row in self.run_command('rpcs', '--json', path).splitlines()]
        self.assertNotIn('slot', rows[0])  # CREATE_SESSION
        self.assertEqual([(row['slot'], row['slots_in_use'], row['slots']) for row in rows[1:]], [(0, 1, 2), (1, 2, 2)] * 3)
        full = [row.get('slots_full_ns', 0) for row in rows[1:]]
        self.assertEqual(full[::2], [0] * 3)
        for ns in full[1::2]:
            self.assertAlmostEqual(ns / MS, 7, 0)
        self.assertEqual(len(self.run_command('rpcs', '--json', '--where', 'slots_full_ns > 6ms', path).splitlines()), 3)
        table = self.run_command('export', '--ndjson', '-', '--tables', 'rpcs', path).splitlines()
        self.assertEqual([json.loads(row).get('slots_full_ns', 0) for row in table][1:], full)


if __name__ == '__main__':
    unittest.main()
