"""What a terminal command that connects to nothing must not pay for."""

import subprocess
import sys


def test_configuration_and_errors_load_no_client_library() -> None:
    program = (
        "import mcs.kube.config, mcs.kube.errors, sys; "
        "print([name for name in ('aiohttp', 'kubernetes_asyncio') if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout == "[]\n"
