"""Adaptive pushout, in Python: what `adaptive-pushout` is in Rust, bit for bit."""

from wifair.scheme import Buffer, Context, Eviction, Filter, Indexes, Kind, Packet, Pick, Pool, Scheme


class AdaptivePushout(Scheme):
    """An arrival that finds the buffer full takes the place of a redundant ACK.

    Without one, a random packet of the direction goes whose active flows hold the buffer in the greater share.
    """

    needs = (
        Indexes()
        .redundant(Filter.PAPER, Pick.OLDEST)
        .picking(Pool.DATA, Pick.RANDOM)
        .picking(Pool.ACK, Pick.RANDOM)
        .stored_flows()
    )
    decides_on = (Kind.ACK, Kind.DATA)
    enqueue_when = "full"

    def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
        """Makes room for the arrival."""
        ack = buffer.pick_redundant(arrival, Pick.OLDEST)
        if ack:
            buffer.push_out(ack, Eviction.REDUNDANT, arrival)
            return
        victim = self.victim(buffer, cx)
        if victim:
            buffer.push_out(victim, Eviction.VICTIM, arrival)
        else:
            buffer.refuse(arrival)

    def victim(self, buffer: Buffer, cx: Context) -> Packet | None:
        """A random packet of the direction with the greater share; of the other if it has none."""
        up = share(buffer.stored_flows(Kind.ACK), cx.flows.up)
        down = share(buffer.stored_flows(Kind.DATA), cx.flows.down)
        first, second = (Pool.DATA, Pool.ACK) if up <= down else (Pool.ACK, Pool.DATA)
        return buffer.pick(first, Pick.RANDOM) or buffer.pick(second, Pick.RANDOM)


def share(stored: int, active: int) -> float:
    """The share of a direction's active flows that have packets stored; if none is active, what is stored counts."""
    return stored / (active or stored or 1)
