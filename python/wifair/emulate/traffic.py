"""The generator of `wifair emulate --test`: `python -P -m wifair.emulate.traffic`, started by process 1 of the run.

It opens the flows of a plan between real sockets: greedy transfers over the kernel's TCP, streams of datagrams over UDP, UDP echoes,
documents that curl loads. One process has the sockets of all hosts: a socket belongs to the network namespace in which it was made.
`TCP_INFO` is read every 10 ms.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import selectors
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

CLONE_NEWNET = 0x40000000
FIRST_PORT = 6000
CHUNK = bytes(1 << 16)
# The head of each datagram: number, and time of sending in nanoseconds.
STAMP = struct.Struct("!IQ")
# struct tcp_info (linux/tcp.h) up to tcpi_total_retrans, and the positions of the fields used.
TCP_INFO = struct.Struct("8B24I")
_RTT, _SSTHRESH, _CWND, _RETRANS = 8 + 15, 8 + 17, 8 + 18, 8 + 23


@contextmanager
def within(tid: int) -> Iterator[None]:
    """Switches the calling thread to the network namespace of a thread of process 1."""
    libc = ctypes.CDLL(None, use_errno=True)
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    other = os.open(f"/proc/1/task/{tid}/ns/net", os.O_RDONLY)
    try:
        for namespace in (other, own):
            if libc.setns(namespace, CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "setns")
            if namespace == other:
                yield
    finally:
        libc.setns(own, CLONE_NEWNET)
        os.close(own)
        os.close(other)


class Loop:
    """An event loop for ready sockets and timed calls."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.calls: list[tuple[float, int, Callable[[], None]]] = []
        self.count = 0

    def at(self, when: float, call: Callable[[], None]) -> None:
        """Calls at a time of `time.monotonic`."""
        import heapq

        self.count += 1
        heapq.heappush(self.calls, (when, self.count, call))

    def watch(self, file: socket.socket | int, events: int, call: Callable[[], None]) -> None:
        """Calls whenever the file is ready."""
        self.selector.register(file, events, call)

    def run(self, end: float) -> None:
        """Runs until `end`."""
        import heapq

        while (now := time.monotonic()) < end:
            while self.calls and self.calls[0][0] <= now:
                heapq.heappop(self.calls)[2]()
            until = min(self.calls[0][0], end) if self.calls else end
            for key, _ in self.selector.select(max(0.0, until - time.monotonic())):
                key.data()


def stream_socket(flow: dict[str, Any]) -> socket.socket:
    """A socket with the flow's TCP options. Accepted connections inherit those of a listening socket."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setblocking(False)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, flow["congestion_control"].encode())
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, flow["mss_bytes"])
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_WINDOW_CLAMP, flow["window_bytes"])
    if flow["dscp"]:
        made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, flow["dscp"] << 2)
    return made


class Greedy:
    """A greedy TCP transfer from one host to another."""

    def __init__(self, loop: Loop, flow: dict[str, Any], port: int, begin: float) -> None:
        self.loop, self.flow, self.port, self.begin = loop, flow, port, begin
        self.received = 0
        # Time in seconds, cwnd and ssthresh in segments, smoothed RTT in microseconds, retransmissions, bytes received.
        self.samples: list[tuple[float, int, int, int, int, int]] = []
        with within(flow["to_tid"]):
            self.listener = stream_socket(flow)
        self.listener.bind((flow["to_ipv4"], port))
        self.listener.listen(1)
        with within(flow["from_tid"]):
            self.sender = stream_socket(flow)
        loop.watch(self.listener, selectors.EVENT_READ, self.accept)
        loop.at(begin + flow["start_s"], self.start)

    def start(self) -> None:
        """Opens the connection."""
        self.sender.connect_ex((self.flow["to_ipv4"], self.port))
        self.loop.watch(self.sender, selectors.EVENT_WRITE, self.send)
        self.sample()

    def accept(self) -> None:
        """Accepts the connection at the other end."""
        self.receiver, _ = self.listener.accept()
        self.receiver.setblocking(False)
        self.loop.selector.unregister(self.listener)
        self.loop.watch(self.receiver, selectors.EVENT_READ, self.receive)

    def send(self) -> None:
        """Fills the socket's buffer."""
        with suppress(BlockingIOError):
            self.sender.send(CHUNK)

    def receive(self) -> None:
        """Empties the socket's buffer."""
        with suppress(BlockingIOError):
            self.received += len(self.receiver.recv(1 << 20))

    def sample(self) -> None:
        """Reads `TCP_INFO`."""
        now = time.monotonic()
        info = TCP_INFO.unpack(self.sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO.size))
        sampled = (info[_CWND], info[_SSTHRESH], info[_RTT], info[_RETRANS])
        self.samples.append((now - self.begin, *sampled, self.received))
        self.loop.at(now + 0.01, self.sample)


class Datagrams:
    """Datagrams at constant intervals; with `echo` the other end returns them."""

    def __init__(self, loop: Loop, flow: dict[str, Any], port: int, begin: float) -> None:
        self.loop, self.flow, self.begin = loop, flow, begin
        self.sent = self.received = 0
        self.delays_ms: list[tuple[float, float]] = []
        self.next = begin + flow["start_s"]
        self.far = (flow["to_ipv4"], port)
        with within(flow["to_tid"]):
            self.receiver = self.socket()
        self.receiver.bind(self.far)
        with within(flow["from_tid"]):
            self.sender = self.socket()
        loop.watch(self.receiver, selectors.EVENT_READ, self.receive)
        if flow["echo"]:
            loop.watch(self.sender, selectors.EVENT_READ, self.hear)
        loop.at(self.next, self.send)

    def socket(self) -> socket.socket:
        """A socket with the flow's code point."""
        made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, self.flow["dscp"] << 2)
        return made

    def send(self) -> None:
        """Sends the next datagram."""
        stamp = STAMP.pack(self.sent & 0xFFFFFFFF, time.monotonic_ns())
        with suppress(BlockingIOError):
            self.sender.sendto(stamp.ljust(self.flow["payload_bytes"], b"\0"), self.far)
            self.sent += 1
        self.next += self.flow["interval_s"]
        self.loop.at(self.next, self.send)

    def receive(self) -> None:
        """Receives a datagram, and returns it with `echo`."""
        with suppress(BlockingIOError):
            datagram, source = self.receiver.recvfrom(2048)
            if self.flow["echo"]:
                self.receiver.sendto(datagram, source)
            else:
                self.note(datagram)

    def hear(self) -> None:
        """Receives an echo."""
        with suppress(BlockingIOError):
            self.note(self.sender.recv(2048))

    def note(self, datagram: bytes) -> None:
        """Records a datagram's one-way delay, or round-trip time with `echo`."""
        self.received += 1
        now = time.monotonic_ns()
        self.delays_ms.append((now * 1e-9 - self.begin, (now - STAMP.unpack_from(datagram)[1]) * 1e-6))


class Web:
    """Documents over HTTP, one after the other. curl loads the parts of a document in parallel, each over a new connection."""

    def __init__(self, loop: Loop, flow: dict[str, Any], port: int, begin: float) -> None:
        self.loop, self.flow, self.begin, self.port = loop, flow, begin, port
        self.draw = random.Random(flow["draws"])
        self.documents: list[dict[str, Any]] = []
        with within(flow["from_tid"]):
            self.listener = stream_socket(flow)
        self.listener.bind((flow["from_ipv4"], port))
        self.listener.listen(256)
        loop.at(begin + flow["start_s"], self.load)

    def load(self) -> None:
        """Starts loading the next document."""
        flow = self.flow
        if flow["count"] == len(self.documents):
            return
        steps = (flow["max_bytes"] - flow["min_bytes"]) // flow["step_bytes"]
        size = flow["min_bytes"] + self.draw.randint(0, steps) * flow["step_bytes"]
        shares = [size // flow["connections"]] * flow["connections"]
        shares[-1] += size % flow["connections"]
        url = f"http://{flow['from_ipv4']}:{self.port}"
        line = ["curl", "--silent", "--noproxy", "*", "--write-out", "%{size_download} %{time_total}\\n"]
        line += ["--parallel", "--parallel-immediate", "--parallel-max", str(len(shares))]
        for share in shares:
            line += ["--output", "/dev/null", f"{url}/{share}"]
        self.documents.append({"start_s": time.monotonic() - self.begin, "bytes": size, "seconds": None})
        with within(flow["to_tid"]):
            # With --parallel some versions show a meter whatever --silent says.
            self.curl = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.ends = os.pidfd_open(self.curl.pid)
        self.loop.watch(self.ends, selectors.EVENT_READ, self.loaded)

    def loaded(self) -> None:
        """Records the document's end, successful or not, and schedules the next after the think time."""
        self.loop.selector.unregister(self.ends)
        os.close(self.ends)
        said, _ = self.curl.communicate()
        parts = [line.split() for line in said.splitlines()]
        document = self.documents[-1]
        if self.curl.returncode == 0 and sum(int(size) for size, _ in parts) == document["bytes"]:
            document["seconds"] = max(float(seconds) for _, seconds in parts)
        mean_s = self.flow["think_mean_s"]
        self.loop.at(time.monotonic() + (self.draw.expovariate(1 / mean_s) if mean_s else 0.0), self.load)


def main() -> None:
    """Runs `traffic.json` of the run's folder and writes the measurements to `measured.json`."""
    folder = Path(os.environ["WIFAIR_RUN"])
    wanted = json.loads((folder / "traffic.json").read_text(encoding="utf-8"))
    threads = {host["name"]: host for host in json.loads((folder / "hosts.json").read_text(encoding="utf-8"))}
    warmup_s, duration_s = wanted["warmup_s"], wanted["duration_s"]
    loop, begin = Loop(), time.monotonic() + 0.1
    flows: list[Greedy | Datagrams | Web] = []
    kinds: dict[str, type[Greedy | Datagrams | Web]] = {"greedy": Greedy, "web": Web}
    for number, flow in enumerate(wanted["flows"]):
        for end in ("from", "to"):
            host = threads[flow[end]]
            flow |= {f"{end}_tid": host["tid"], f"{end}_ipv4": host["ipv4"]}
        flows.append(kinds.get(flow["kind"], Datagrams)(loop, flow, FIRST_PORT + number, begin))
    listeners = [flow.listener for flow in flows if isinstance(flow, Web)]
    if listeners:
        numbers = [listener.fileno() for listener in listeners]
        subprocess.Popen([sys.executable, "-P", "-m", "wifair.emulate.documents", *map(str, numbers)], pass_fds=numbers)
    loop.run(begin + warmup_s)
    before = [(getattr(flow, "received", 0), getattr(flow, "sent", 0)) for flow in flows]
    loop.run(begin + warmup_s + duration_s)
    rows = []
    for number, (flow, (received, sent)) in enumerate(zip(flows, before, strict=True)):
        row: dict[str, Any] = {key: flow.flow[key] for key in ("label", "kind", "group", "direction")}
        row["port"] = FIRST_PORT + number
        if isinstance(flow, Web):
            row["documents"] = [document for document in flow.documents if document["start_s"] >= warmup_s]
        elif isinstance(flow, Greedy):
            used = flow.sender.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
            if used != flow.flow["congestion_control"]:
                raise RuntimeError(f"the kernel used {used} in place of {flow.flow['congestion_control']}")
            row |= {"goodput_mbps": (flow.received - received) * 8e-6 / duration_s, "tcp_info": flow.samples}
        else:
            delays = sorted(delay for at, delay in flow.delays_ms if at >= warmup_s)
            row |= {"sent": flow.sent - sent, "received": flow.received - received, "delays_ms": delays}
        rows.append(row)
    (folder / "measured.json").write_text(json.dumps(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
