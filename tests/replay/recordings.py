"""The recorded answers of a real API server, and the command that records them again.

    python -m tests.replay.recordings https://127.0.0.1:6443 CA_FILE TOKEN [SEQUENCE...]

The server must be fresh: kube-apiserver 1.34 with `--authorization-mode=RBAC`,
`--service-cluster-ip-range=10.100.0.0/16,fd00:10:100::/112`, `--disable-admission-plugins=ServiceAccount`, no
controller manager, and the token of a user of system:masters.
"""

import asyncio
import json
import sys
from pathlib import Path

from tests.replay.replayer import Answers, Server, replay, server_at
from tests.replay.sequences import HERE, all_sequences

FOLDER = HERE / "recorded"


def recorded(folder: Path = FOLDER) -> dict[str, Answers]:
    """The recorded answers by sequence name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


async def record(server: Server, names: list[str]) -> None:
    """Replays the named sequences (all, when none is named) and writes their answers."""
    for sequence in all_sequences():
        if names and sequence.name not in names:
            continue
        answers = await replay(sequence, server)
        text = json.dumps(answers, indent=1, sort_keys=True, ensure_ascii=False)
        (FOLDER / f"{sequence.name}.json").write_text(text + "\n")
        print(f"{sequence.name}: {len(answers)} answers")


if __name__ == "__main__":
    asyncio.run(record(server_at(*sys.argv[1:4]), sys.argv[4:]))
