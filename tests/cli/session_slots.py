# SPDX-License-Identifier: BSD-2-Clause
"""A conversation that uses all slots of an NFSv4.1 session, for the *_test.py here and below."""
from conversation import pass_by
import rules_nfs4

MS = 10**6


class Batches:
    """Calls that use all slots at once, one batch after the other: way_ns each way, server_ns in between."""

    def __init__(self, slots, way_ns, server_ns, times=20, allowed=None):
        self.slots, self.way_ns, self.server_ns, self.times, self.allowed = slots, way_ns, server_ns, times, allowed or slots

    def said(self, c, say, slots):
        """What `say` says of each slot, and the Acks of it way_ns later."""
        kept, acks = [], []
        for slot in slots:
            kept.append(say(slot))
            acks.append(c.packets.pop())
        pass_by(c, self.way_ns)
        c.packets += [ack._replace(time_ns=c.clock.tick()) for ack in acks]
        return kept

    def round(self, c, seqid, slots):
        highest = self.allowed - 1
        xids = self.said(c, lambda slot: rules_nfs4.call(c, seqid, slot, highest=max(slots), credit=64), slots)
        pass_by(c, self.server_ns)
        self.said(c, lambda slot: rules_nfs4.answer(c, xids[slot - slots[0]], seqid, slot, highest, credit=64), slots)

    def __call__(self, c, _):
        rules_nfs4.create_session(c, slots=self.allowed)
        for seqid in range(1, self.times + 1):
            self.round(c, seqid, range(self.slots))
