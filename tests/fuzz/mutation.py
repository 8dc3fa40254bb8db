"""Changes that keep an input close to DNS, which those of single bytes seldom do.

A label that grows by one byte needs another length before it and another byte in it; a record more needs another count.
Pure: chance comes in as a Random.
"""

from __future__ import annotations

from random import Random

_LENGTHS = (0, 1, 15, 62, 63, 64, 65, 127, 191, 192, 255)
_TYPES = (1, 2, 5, 6, 12, 15, 16, 28, 33, 41, 43, 65, 250, 251, 252, 255, 65280)
_RECORDS = (
    b"\0\0\x29\x04\xd0\0\0\0\0\0\0",
    b"\0\0\x29\x10\0\0\0\x80\0\0\x0c\0\x0a\0\x08" + bytes(8),
    b"\0\0\x29\x02\0\0\1\0\0\0\0",
    b"\xc0\x0c\0\1\0\1\0\0\0\5\0\4\x0a\0\0\1",
)
_SECTIONS = (6, 8, 10)
"""Where a header counts the records of a section."""


def mutated_packet(data: bytes, chance: Random) -> bytes:
    """An input of one packet with one or two changes to its name, type, records, header or end."""
    mode, packet = data[:1] or b"\0", bytearray(data[1:])
    for _ in range(chance.choice((1, 1, 2))):
        if len(packet) < 17:
            packet = bytearray(12) + b"\3web\0\0\1\0\1"
            packet[5] = 1
        _CHANGES[chance.randrange(len(_CHANGES))](packet, chance)
    return mode + bytes(packet)


def mutated_stream(data: bytes, chance: Random) -> bytes:
    """An input of several frames with one of them changed, left out, sent twice, or of another length than it says."""
    mode, sent = data[:1] or b"\0", data[1:]
    frames = _frames(sent) or [b""]
    at = chance.randrange(len(frames))
    match chance.randrange(6):
        case 0:
            frames.insert(at, frames[at])
        case 1:
            del frames[at]
        case 2:
            claimed = chance.choice((0, 1, 11, 12, len(frames[at]) + 1, max(0, len(frames[at]) - 1), 65535))
            frames[at : at + 1] = []
            return mode + b"".join(map(_framed, frames)) + claimed.to_bytes(2) + sent[-20:]
        case _:
            frames[at] = mutated_packet(b"\0" + frames[at], chance)[1:]
    return mode + b"".join(map(_framed, frames))


def _frames(sent: bytes) -> list[bytes]:
    frames = []
    at = 0
    while at + 2 <= len(sent):
        end = at + 2 + int.from_bytes(sent[at : at + 2])
        frames.append(sent[at + 2 : end])
        at = end
    return frames


def _framed(packet: bytes) -> bytes:
    return len(packet).to_bytes(2) + packet


def _labels(packet: bytearray) -> list[int]:
    """Where the labels of the question's name begin; at least one, which may be the root."""
    found = [12]
    while found[-1] < len(packet) and 0 < packet[found[-1]] < 192:
        found.append(found[-1] + 1 + packet[found[-1]])
    return found[:-1] or found


def _change_label(packet: bytearray, chance: Random) -> None:
    """Make a label as long as its new length says."""
    at = chance.choice(_labels(packet))
    end = at + 1 + packet[at]
    length = chance.choice(
        (*_LENGTHS, chance.randrange(64), max(0, packet[at] - 1), min(255, packet[at] + 1))
    )
    packet[at:end] = bytes((length,)) + (bytes(packet[at + 1 : end]) + b"x" * length)[:length]


def _change_labels(packet: bytearray, chance: Random) -> None:
    """Leave a label out, or say it again and again."""
    at = chance.choice(_labels(packet))
    end = at + 1 + packet[at]
    packet[at:end] = bytes(packet[at:end]) * chance.choice((0, 2, 2, 3, 20, 130))


def _change_type(packet: bytearray, chance: Random) -> None:
    labels = _labels(packet)
    end = labels[-1] + 1 + packet[labels[-1]] if labels[-1] < len(packet) else len(packet)
    packet[end + 1 : end + 3] = chance.choice(_TYPES).to_bytes(2)


def _add_record(packet: bytearray, chance: Random) -> None:
    at = chance.choice(_SECTIONS)
    packet[at + 1] = (packet[at + 1] + 1) % 256
    packet += chance.choice(_RECORDS)


def _change_header(packet: bytearray, chance: Random) -> None:
    packet[chance.randrange(12)] = chance.choice((0, 1, 2, 9, 255, chance.randrange(256)))


def _cut(packet: bytearray, chance: Random) -> None:
    del packet[chance.randrange(max(0, len(packet) - 24), len(packet)) :]


def _change_byte(packet: bytearray, chance: Random) -> None:
    packet[chance.randrange(len(packet))] = chance.randrange(256)


_CHANGES = (
    _change_label,
    _change_label,
    _change_labels,
    _change_type,
    _add_record,
    _change_header,
    _cut,
    _change_byte,
)
