"""Which file, context, cluster and user are meant, and what users are told when that is not clear."""

import base64
from pathlib import Path
from typing import Any

import pytest
import yaml

from mcs.kube.config import connect, connect_in_cluster, environment_proxy
from mcs.kube.errors import ConfigError
from mcs.kube.kubeconfig import choose_context, default_files, with_data_as_files


def config(
    *names: str,
    current: str | None = None,
    cluster: dict[str, Any] | None = None,
    user: dict[str, Any] | None = None,
) -> str:
    """A kubeconfig with a context, cluster and user for each name."""
    document: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": n, "cluster": {"server": f"https://{n}:6443", **(cluster or {})}} for n in names
        ],
        "users": [{"name": f"{n}-user", "user": user or {"token": f"token-of-{n}"}} for n in names],
        "contexts": [{"name": n, "context": {"cluster": n, "user": f"{n}-user"}} for n in names],
    }
    if current:
        document["current-context"] = current
    return yaml.safe_dump(document)


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_named_context_goes_before_the_current_one(tmp_path: Path) -> None:
    file = written(tmp_path, "config", config("east", "west", current="east"))
    assert choose_context([file], "west").cluster["server"] == "https://west:6443"
    assert choose_context([file], None).user == {"token": "token-of-east"}


def test_a_file_is_parsed_once_for_all_of_its_contexts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"member-{number}" for number in range(50)]
    file = written(tmp_path, "config", config(*names))
    parsed: list[str] = []
    load = yaml.load

    def noted(text: str, Loader: type[yaml.SafeLoader]) -> Any:  # noqa: N803
        parsed.append(text)
        return load(text, Loader)

    monkeypatch.setattr(yaml, "load", noted)
    servers = [choose_context([file], name).cluster["server"] for name in names]
    assert (servers, len(parsed)) == ([f"https://{name}:6443" for name in names], 1)


def test_a_changed_file_is_parsed_again(tmp_path: Path) -> None:
    file = written(tmp_path, "config", config("east", current="east"))
    assert choose_context([file], None).user == {"token": "token-of-east"}
    written(tmp_path, "config", config("east", current="east", user={"token": "rotated"}))
    assert choose_context([file], None).user == {"token": "rotated"}


def test_what_becomes_of_a_chosen_context_does_not_reach_the_next(tmp_path: Path) -> None:
    file = written(tmp_path, "config", config("east", user={"exec": {"command": "aws", "args": ["one"]}}))
    choose_context([file], "east").user["exec"]["args"].append("two")
    assert choose_context([file], "east").user["exec"]["args"] == ["one"]


def test_the_first_file_wins(tmp_path: Path) -> None:
    first = written(tmp_path, "first", config("east", current="east"))
    second = written(
        tmp_path, "second", config("east", "west", current="west", user={"token": "of the second file"})
    )
    chosen = choose_context([first, second], None)
    assert (chosen.name, chosen.file, chosen.user) == ("east", first, {"token": "token-of-east"})
    assert choose_context([first, second], "west").user == {"token": "of the second file"}


def test_a_context_may_use_cluster_and_user_of_other_files(tmp_path: Path) -> None:
    contexts = {"contexts": [{"name": "mixed", "context": {"cluster": "west", "user": "east-user"}}]}
    files = [
        written(tmp_path, "contexts", yaml.safe_dump(contexts)),
        written(tmp_path, "east", config("east")),
        written(tmp_path, "west", config("west")),
    ]
    chosen = choose_context(files, "mixed")
    assert (chosen.cluster["server"], chosen.user["token"]) == ("https://west:6443", "token-of-east")


def test_paths_are_relative_to_the_file_they_stand_in(tmp_path: Path) -> None:
    written(tmp_path, "deep/pki/ca.crt", "")
    written(tmp_path, "deep/token", "")
    plugin = {"command": "./plugin", "apiVersion": "client.authentication.k8s.io/v1"}
    text = config(
        "east", cluster={"certificate-authority": "pki/ca.crt"}, user={"tokenFile": "token", "exec": plugin}
    )
    chosen = choose_context([written(tmp_path, "deep/config", text)], "east")
    assert chosen.cluster["certificate-authority"] == str(tmp_path / "deep/pki/ca.crt")
    assert chosen.user["tokenFile"] == str(tmp_path / "deep/token")
    assert chosen.user["exec"]["command"] == str(tmp_path / "deep/plugin")


def test_a_plugin_without_a_slash_is_searched_for(tmp_path: Path) -> None:
    file = written(tmp_path, "config", config("east", user={"exec": {"command": "aws"}}))
    assert choose_context([file], "east").user["exec"]["command"] == "aws"


def test_a_context_without_user_is_anonymous(tmp_path: Path) -> None:
    document = yaml.safe_load(config("east"))
    del document["contexts"][0]["context"]["user"]
    assert choose_context([written(tmp_path, "config", yaml.safe_dump(document))], "east").user == {}


EXEC = {"command": "x", "apiVersion": "client.authentication.k8s.io/v1"}


@pytest.mark.parametrize(
    ("mistake", "text", "context", "told"),
    [
        ("empty file", "", "east", "is empty"),
        ("only a comment", "# nothing\n", "east", "is empty"),
        ("no YAML", "a: [1,\nb: }", "east", "is not YAML"),
        ("a list", "- a\n", "east", "is not a kubeconfig"),
        ("clusters of the wrong shape", "clusters: {a: b}\n", "east", r"is not a kubeconfig: .*\$\.clusters"),
        ("a cluster without content", "clusters: [{name: a}]\n", "east", r"is not a kubeconfig: .*`cluster`"),
        ("unknown context", config("east"), "west", r"no such context .*there are: east"),
        ("no current context", config("east"), None, r"no current-context is set; .*there are: east"),
        ("current context unknown", config("east", current="gone"), None, "context 'gone'"),
        ("no contexts at all", "kind: Config\n", "east", "there are: none"),
        (
            "cluster missing",
            "contexts: [{name: east, context: {cluster: c, user: u}}]\n",
            "east",
            "its cluster 'c' is not defined",
        ),
        (
            "user missing",
            "clusters: [{name: c, cluster: {server: 'https://x'}}]\n"
            "contexts: [{name: east, context: {cluster: c, user: u}}]\n",
            "east",
            "its user 'u' is not defined",
        ),
        (
            "no server",
            config("east", cluster={"server": None}),
            "east",
            "server must be an http or https URL",
        ),
        *(
            (
                f"server {server}",
                config("east", cluster={"server": server}),
                "east",
                "must be an http or https URL",
            )
            for server in (5, "https://", "https://h:99999", "https://[::1")
        ),
        *(
            (
                f"cluster with {field} {value!r}",
                config("east", cluster={field: value}),
                "east",
                rf"\$\.{field}",
            )
            for field, value in (
                ("certificate-authority", 5),
                ("tls-server-name", ["h"]),
                ("insecure-skip-tls-verify", "false"),
            )
        ),
        *(
            (f"user with {field} {value!r}", config("east", user={field: value}), "east", rf"\$\.{field}")
            for field, value in (
                ("token", ["t"]),
                ("tokenFile", 5),
                ("password", 5),
                ("auth-provider", "gcp"),
                ("exec", "aws"),
                ("exec", {"command": 5}),
                ("exec", {"command": "x", "args": "y"}),
                ("exec", {"command": "x", "env": [{"nme": "y"}]}),
            )
        ),
        ("server without scheme", config("east", cluster={"server": "h:6443"}), "east", "not 'h:6443'"),
        (
            "socks proxy",
            config("east", cluster={"proxy-url": "socks5://p"}),
            "east",
            "proxy-url .* not supported",
        ),
        (
            "CA file missing",
            config("east", cluster={"certificate-authority": "no.crt"}),
            "east",
            "no.crt does not",
        ),
        (
            "token file missing",
            config("east", user={"tokenFile": "no"}),
            "east",
            "tokenFile .*/no does not exist",
        ),
        ("impersonation", config("east", user={"as": "root", "token": "t"}), "east", "impersonation"),
        ("exec without command", config("east", user={"exec": {"args": []}}), "east", "names no command"),
    ],
)
def test_a_mistake_is_told_with_its_file(
    tmp_path: Path, mistake: str, text: str, context: str | None, told: str
) -> None:
    file = written(tmp_path, "config", text)
    with pytest.raises(ConfigError, match=told) as raised:
        choose_context([file], context)
    assert str(file) in str(raised.value), mistake


@pytest.mark.parametrize(
    ("mistake", "text", "told"),
    [
        (
            "CA not base64",
            config("e", cluster={"certificate-authority-data": "!!"}),
            "authority-data is not base64",
        ),
        ("CA no PEM", config("e", cluster={"certificate-authority-data": "aGFsbG8="}), "cannot be loaded"),
        ("key is none", config("e", user={"client-certificate-data": "aGFsbG8="}), "cannot be loaded"),
        (
            "plugin not installed",
            config("e", user={"exec": {**EXEC, "command": "no-such-plugin"}}),
            "install it or",
        ),
        (
            "plugin not installed, with hint",
            config(
                "e", user={"exec": {**EXEC, "command": "no-such-plugin", "installHint": "brew install it"}}
            ),
            "brew install it",
        ),
        ("plugin asks", config("e", user={"exec": {**EXEC, "interactiveMode": "Always"}}), "ask a person"),
    ],
)
async def test_a_mistake_is_told_before_anything_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: str, text: str, told: str
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(private))
    file = written(tmp_path, "config", text)
    with pytest.raises(ConfigError, match=told) as raised:
        await connect([file], "e")
    assert f"file {file}, context 'e'" in str(raised.value), mistake
    assert list(private.iterdir()) == []


async def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"file .*/nowhere: does not exist"):
        await connect([tmp_path / "nowhere"], None)


async def test_without_any_configuration_the_user_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ConfigError, match="set KUBECONFIG"):
        await connect(None, None, environ={})


@pytest.mark.parametrize(
    ("setting", "expected"),
    [("", ("home/.kube/config",)), ("a:missing:b", ("a", "b")), ("b", ("b",)), (":a:", ("a",))],
)
def test_which_files_are_read_by_default(tmp_path: Path, setting: str, expected: tuple[str, ...]) -> None:
    for name in ("a", "b", "home/.kube/config"):
        written(tmp_path, name, "")
    paths = ":".join(str(tmp_path / part) if part else "" for part in setting.split(":"))
    files = default_files({"KUBECONFIG": paths}, tmp_path / "home", ":")
    assert files == tuple(tmp_path / name for name in expected)


def test_a_kubeconfig_list_of_missing_files_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="none of them exists"):
        default_files({"KUBECONFIG": f"{tmp_path}/x:{tmp_path}/y"}, tmp_path, ":")


def test_data_becomes_private_files(tmp_path: Path) -> None:
    file = written(tmp_path, "config", config("east", cluster={"server": "https://x"}))
    chosen = choose_context([file], "east")
    data = base64.b64encode(b"the key").decode()
    part = with_data_as_files(
        {"client-key-data": data[:4] + "\n" + data[4:], "token": "t"}, tmp_path, "user", chosen
    )
    path = Path(part.pop("client-key"))
    assert (part, path.read_bytes()) == ({"token": "t"}, b"the key")
    assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({}, "this is no pod"),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "this is no pod"),
        (
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"},
            "let the pod mount its token",
        ),
    ],
)
def test_outside_a_pod_there_is_no_service_account(
    tmp_path: Path, environ: dict[str, str], told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        connect_in_cluster(folder=tmp_path, environ=environ)


PROXY = {"HTTPS_PROXY": "http://proxy:3128"}


@pytest.mark.parametrize(
    ("server", "environ", "expected"),
    [
        ("https://api.east", {}, None),
        ("https://api.east", PROXY, "http://proxy:3128"),
        ("https://api.east", {"https_proxy": "proxy:3128"}, "http://proxy:3128"),
        ("http://api.east", PROXY, None),
        ("https://api.east", {**PROXY, "NO_PROXY": "other, api.east"}, None),
        ("https://api.east", {**PROXY, "NO_PROXY": ".east"}, None),
        ("https://api.east", {**PROXY, "NO_PROXY": "*.east"}, None),
        ("https://api.east", {**PROXY, "NO_PROXY": "east"}, None),
        ("https://east", {**PROXY, "NO_PROXY": ".east"}, "http://proxy:3128"),
        ("https://apieast", {**PROXY, "NO_PROXY": "east"}, "http://proxy:3128"),
        ("https://api.east", {**PROXY, "NO_PROXY": "*"}, None),
        ("https://api.east:6443", {**PROXY, "NO_PROXY": "api.east:443"}, "http://proxy:3128"),
        ("https://api.east:6443", {**PROXY, "NO_PROXY": "api.east:6443"}, None),
        ("https://10.96.0.1", {**PROXY, "NO_PROXY": "10.96.0.0/12"}, None),
        ("https://10.112.0.1", {**PROXY, "NO_PROXY": "10.96.0.0/12"}, "http://proxy:3128"),
        ("https://[fd00::1]:443", {**PROXY, "NO_PROXY": "fd00::/8"}, None),
        ("https://127.0.0.1:6443", PROXY, None),
        ("https://localhost:6443", PROXY, None),
    ],
)
def test_which_proxy_the_environment_prescribes(
    server: str, environ: dict[str, str], expected: str | None
) -> None:
    assert environment_proxy(server, environ) == expected
