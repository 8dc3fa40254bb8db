"""What nslookup prints, read as the official conformance suite reads it: addresses and SRV records."""

from __future__ import annotations

import re

from tests.real.conformance.suite import Driver, Member, require

# "Name:\thello.…" and on the next line "Address: 10.244.0.52"; the server's own address has no Name before it.
_ADDRESS = re.compile(r"Name:.*\s*Address:\s*(.*)")
# "…\tservice = 0 100 42 hello.…": priority, weight, port, target.
_SRV = re.compile(r"=\s*\d+\s+\d+\s+(\d+)\s+([A-Za-z0-9.-]+)")


async def resolves_to(driver: Driver, member: Member, name: str, wanted: set[str]) -> None:
    """Return when the name has exactly these addresses in the request pod of the cluster."""

    def verify(output: str) -> None:
        found = sorted(each.strip() for each in _ADDRESS.findall(output))
        require(found == sorted(wanted), f"{name} has the addresses {found}, not {sorted(wanted)}")

    await driver.says(member, f"nslookup {name}.", verify)


async def srv_records(driver: Driver, member: Member, name: str) -> list[tuple[int, str]]:
    """Port and target, without its final dot, of the name's SRV records, once there are any."""

    def verify(output: str) -> list[tuple[int, str]]:
        found = [(int(port), target.removesuffix(".")) for port, target in _SRV.findall(output)]
        require(found, f"{name} has no SRV records")
        return found

    return await driver.says(member, f"nslookup -type=SRV {name}.", verify)
