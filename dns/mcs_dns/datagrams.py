"""UDP on one socket: many datagrams a system call where Linux has recvmmsg and sendmmsg, else one at a time.

Taking a packet in and giving one back costs a Python process more than finding the answer; 64 of them a call share
that cost. Both ways do the same, and the tests run them alike. What a packet is answered with is left to the caller.
"""

import asyncio
import ctypes
import errno
import socket
import sys
from collections.abc import Callable
from typing import Any, cast

Respond = Callable[[bytes], bytes | None]
"""The response to a packet, at most MAX_RESPONSE bytes; None for none. Never raises."""

BATCH = 64
MAX_RESPONSE = 4096

_BUFFERED = 4 * 2**20
"""What the socket should hold while the loop is busy with a change, in bytes; the kernel may allow less."""

_LARGEST = 65536
_PACKET_SLOT, _RESPONSE_SLOT = _LARGEST + 64, MAX_RESPONSE + 64
"""From one packet to the next: a cache line more than a power of two, or all would compete for the same lines."""

_ADDRESS = 28
"""Bytes of the largest address (sockaddr_in6)."""


class _Vector(ctypes.Structure):
    """struct iovec."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class _Header(ctypes.Structure):
    """struct msghdr."""

    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("vectors", ctypes.c_void_p),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class _Message(ctypes.Structure):
    """struct mmsghdr."""

    _fields_ = (("header", _Header), ("length", ctypes.c_uint))


CAN_BATCH = (
    sys.platform == "linux" and ctypes.sizeof(_Message) == 64 and hasattr(ctypes.CDLL(None), "recvmmsg")
)
"""Whether this platform can take the fast way: 64-bit Linux, whose structures these are."""


class BatchedDatagrams:
    """Answers the datagrams of a bound, non-blocking socket, up to BATCH of them whenever it is readable.

    What the kernel does not take is dropped, as anything in the network may be: the client asks again.
    """

    def __init__(self, bound: socket.socket, respond: Respond) -> None:
        self._socket = bound
        self._respond = respond
        libc = ctypes.CDLL(None, use_errno=True)
        self._receive, self._send = libc.recvmmsg, libc.sendmmsg
        self._send.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_int)
        self._receive.argtypes = (*self._send.argtypes, ctypes.c_void_p)
        names = ctypes.create_string_buffer(BATCH * _ADDRESS)
        received, sent = (
            ctypes.create_string_buffer(BATCH * size) for size in (_PACKET_SLOT, _RESPONSE_SLOT)
        )
        name_length = 16 if bound.family == socket.AF_INET else _ADDRESS
        self._incoming, incoming_vectors = _messages(names, name_length, received)
        self._outgoing, outgoing_vectors = _messages(names, name_length, sent)
        self._memory = (names, received, sent, incoming_vectors, outgoing_vectors)
        self._names = [ctypes.addressof(names) + slot * _ADDRESS for slot in range(BATCH)]

    async def start(self) -> None:
        """Begin answering, on the running loop."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFERED)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFERED)
        asyncio.get_running_loop().add_reader(self._socket.fileno(), self._batch_answering())

    def close(self) -> None:
        """Answer no more."""
        asyncio.get_running_loop().remove_reader(self._socket.fileno())
        self._socket.close()

    def _batch_answering(self) -> Callable[[], None]:
        """A function that answers one batch; its variables are local since they are all it costs besides `respond`."""
        descriptor, receive, respond, send = (
            self._socket.fileno(),
            self._receive,
            self._respond,
            self._send_all,
        )
        _, received_bytes, sent_bytes, _, outgoing_vectors = self._memory
        received, sent = memoryview(received_bytes).cast("B"), memoryview(sent_bytes).cast("B")
        packet_slots = [received[start : start + _LARGEST] for start in range(0, len(received), _PACKET_SLOT)]
        message_4, message_8 = ctypes.sizeof(_Message) // 4, ctypes.sizeof(_Message) // 8
        lengths = memoryview(self._incoming).cast("B").cast("I")[_Message.length.offset // 4 :: message_4]
        receivers = memoryview(self._outgoing).cast("B").cast("Q")[::message_8]
        response_lengths = memoryview(outgoing_vectors).cast("B").cast("Q")[1::2]
        incoming, names = ctypes.addressof(self._incoming), self._names

        def answer_batch() -> None:
            count = receive(descriptor, incoming, BATCH, socket.MSG_DONTWAIT, None)
            if count <= 0:
                return
            answered = start = 0
            for slot, length, name in zip(packet_slots, lengths[:count].tolist(), names, strict=False):
                response = respond(slot[:length].tobytes())
                if response is None:
                    continue
                length = len(response)
                sent[start : start + length] = response
                response_lengths[answered] = length
                receivers[answered] = name
                answered += 1
                start += _RESPONSE_SLOT
            if answered:
                send(descriptor, answered)

        return answer_batch

    def _send_all(self, descriptor: int, count: int) -> None:
        """Send the first `count` responses; one that cannot be delivered does not keep the others."""
        at, first = ctypes.addressof(self._outgoing), 0
        while first < count:
            sent = self._send(descriptor, at + first * ctypes.sizeof(_Message), count - first, 0)
            if sent < 0:
                if ctypes.get_errno() in (errno.EAGAIN, errno.ENOBUFS):
                    return
                sent = 1
            first += sent


def _messages(names: Any, name_length: int, buffer: Any) -> tuple[Any, Any]:
    """Headers of a batch whose messages lie in `buffer` one after the other, and the vectors that they point to."""
    slot_size = ctypes.sizeof(buffer) // BATCH
    vectors, messages = (_Vector * BATCH)(), (_Message * BATCH)()
    for slot in range(BATCH):
        vectors[slot].base = ctypes.addressof(buffer) + slot * slot_size
        vectors[slot].length = slot_size
        header = messages[slot].header
        header.name = ctypes.addressof(names) + slot * _ADDRESS
        header.name_length = name_length
        header.vectors = ctypes.addressof(vectors) + slot * ctypes.sizeof(_Vector)
        header.vector_count = 1
    return messages, vectors


class SingleDatagrams(asyncio.DatagramProtocol):
    """Answers the datagrams of a bound socket one at a time, as every platform can."""

    def __init__(self, bound: socket.socket, respond: Respond) -> None:
        self._socket = bound
        self._respond = respond
        self._transport: asyncio.DatagramTransport | None = None

    async def start(self) -> None:
        """Begin answering, on the running loop."""
        await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, sock=self._socket)

    def close(self) -> None:
        """Answer no more."""
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A cast, since uvloop's transports are not of asyncio's classes.
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str | Any, int]) -> None:
        response = self._respond(data)
        if response is not None and self._transport is not None:
            self._transport.sendto(response, addr)

    def error_received(self, exc: Exception) -> None:
        """An earlier response could not be delivered: nothing to do, the client asks again."""


def datagrams(
    bound: socket.socket, respond: Respond, *, batched: bool = CAN_BATCH
) -> BatchedDatagrams | SingleDatagrams:
    """The fastest way that this platform has, or the one that was asked for; it owns the socket."""
    return BatchedDatagrams(bound, respond) if batched else SingleDatagrams(bound, respond)
