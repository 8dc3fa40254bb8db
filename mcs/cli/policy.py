"""`--policy FILE`: what members may do, read from a YAML file. What it means is left to `mcs.membership.policy`."""

from pathlib import Path

import yaml

from mcs.cli.problems import UserMistakeError
from mcs.membership.policy import PolicyError, parse_policy
from mcs.model.policy import DEFAULT_POLICY, Policy


def read_policy(file: Path | None) -> Policy:
    """The policy in `file`, the default one without a file. Raises UserMistakeError."""
    if file is None:
        return DEFAULT_POLICY
    try:
        return parse_policy(yaml.safe_load(file.read_text()))
    except OSError as error:
        raise UserMistakeError(f"--policy {file} cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        problem = " ".join(str(error).split())
        raise UserMistakeError(f"--policy {file} is no YAML: {problem}") from error
    except PolicyError as error:
        raise UserMistakeError(f"--policy {file}: {error}") from error
