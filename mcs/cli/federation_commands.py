"""The commands about what is federated, as the command line offers them. Each imports what it needs when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from mcs.cli.member_commands import SYSTEM_NAMESPACE, DryRun, HostContext, Kubeconfig

# Hidden, for typer would describe them as "<str>"; the usage line shows them all the same.
Type = Annotated[str, typer.Argument(metavar="TYPE", hidden=True)]
Name = Annotated[str, typer.Argument(metavar="NAME", hidden=True)]
MaybeType = Annotated[str | None, typer.Argument(metavar="TYPE", hidden=True)]
MaybeName = Annotated[str | None, typer.Argument(metavar="NAME", hidden=True)]
ObjectNamespace = Annotated[
    str, typer.Option("--namespace", "-n", metavar="NAME", help="The namespace of the object.")
]
SystemNamespace = Annotated[
    str, typer.Option("--system-namespace", metavar="NAME", help="Where type configurations are.")
]
Members = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="CONTEXT",
        help="Kubeconfig context of a member to give the right to. Repeatable.",
    ),
]
FederatedGroup = Annotated[str, typer.Option(metavar="GROUP", help="API group of the federated kind.")]


def enable(
    type_: Type,
    host_context: HostContext = None,
    context: Members = None,
    kubeconfig: Kubeconfig = None,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NAME", help="Where type configurations are.")
    ] = SYSTEM_NAMESPACE,
    version: Annotated[
        str,
        typer.Option(metavar="VERSION", help="Version of the type. Default: the one its API server prefers."),
    ] = "",
    federated_group: FederatedGroup = "types.kubefed.io",
    federated_version: Annotated[
        str, typer.Option(metavar="VERSION", help="Version of the federated kind.")
    ] = "v1beta1",
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="yaml", help="Print definition and configuration only."),
    ] = None,
    dry_run: DryRun = False,
) -> None:
    """Federate a type: define its federated kind in the host, and have objects of that propagated to the members.

    TYPE is deployments.apps, deployments, Deployment or deploy, for example. What members must allow is printed as a
    ClusterRole, or applied in those that --context names.
    """
    from mcs.cli.enabling import EnableOptions, enable_type

    enable_type(
        type_,
        EnableOptions(
            namespace=namespace,
            version=version,
            federated_group=federated_group,
            federated_version=federated_version,
        ),
        host_context=host_context,
        members=context or (),
        kubeconfig=kubeconfig,
        output=output,
        dry_run=dry_run,
    )


def disable(
    type_: Type,
    delete_crd: Annotated[
        bool,
        typer.Option(
            "--delete-crd", help="Delete the federated kind, too; refused while there are objects of it."
        ),
    ] = False,
    host_context: HostContext = None,
    kubeconfig: Kubeconfig = None,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NAME", help="Where type configurations are.")
    ] = SYSTEM_NAMESPACE,
    dry_run: DryRun = False,
) -> None:
    """End the propagation of a type. What was propagated stays in the members, and is managed by nobody any more."""
    from mcs.cli.disabling import disable_type

    disable_type(
        type_,
        namespace=namespace,
        delete_definition=delete_crd,
        host_context=host_context,
        kubeconfig=kubeconfig,
        dry_run=dry_run,
    )


def federate(
    type_: MaybeType = None,
    name: MaybeName = None,
    namespace: ObjectNamespace = "default",
    contents: Annotated[
        bool, typer.Option("--contents", "-c", help="With a namespace: also what people have put into it.")
    ] = False,
    enable_type: Annotated[
        bool, typer.Option("--enable-type", "-t", help="Enable the types that are not yet.")
    ] = False,
    skip_api_resources: Annotated[
        str,
        typer.Option("--skip-api-resources", "-s", metavar="TYPES", help="Left out of --contents, as a,b,c."),
    ] = "",
    filename: Annotated[
        Path | None,
        typer.Option(
            "--filename",
            "-f",
            metavar="FILE",
            help="Print what the objects of a file become; - is standard input.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="yaml", help="Print the objects, and write nothing."),
    ] = None,
    host_context: HostContext = None,
    kubeconfig: Kubeconfig = None,
    system_namespace: SystemNamespace = SYSTEM_NAMESPACE,
    dry_run: DryRun = False,
) -> None:
    """Have an object of the host made in all members, by the federated object that takes its place.

    The object itself stays as it is; what each cluster decides for itself is left out of the template.
    """
    from mcs.cli.federating import FederateOptions, federate_file, federate_object
    from mcs.cli.problems import WrongOptionError

    if output not in (None, "yaml"):
        raise WrongOptionError(f"--output {output} is not yaml")
    if filename is not None:
        if type_ is not None or contents or enable_type:
            raise WrongOptionError(
                "--filename says all that there is; leave TYPE, NAME and the other options away"
            )
        federate_file(filename)
        return
    if type_ is None or name is None:
        raise WrongOptionError("name the object: mcs federate TYPE NAME, or a file: mcs federate -f FILE")
    federate_object(
        type_,
        name,
        FederateOptions(
            namespace=namespace,
            system_namespace=system_namespace,
            contents=contents,
            enable_type=enable_type,
            skipped=tuple(filter(None, skip_api_resources.split(","))),
            as_yaml=output is not None,
        ),
        host_context=host_context,
        kubeconfig=kubeconfig,
        dry_run=dry_run,
    )


orphaning_deletion = typer.Typer(
    name="orphaning-deletion",
    help="Whether members keep what a deleted object made.",
    no_args_is_help=True,
)


@orphaning_deletion.command("enable", short_help="It stays in the members.")
def enable_orphaning(
    type_: Type,
    name: Name,
    namespace: ObjectNamespace = "default",
    host_context: HostContext = None,
    kubeconfig: Kubeconfig = None,
    system_namespace: SystemNamespace = SYSTEM_NAMESPACE,
    dry_run: DryRun = False,
) -> None:
    """Have what a federated object made stay in the members when it is deleted, managed by nobody."""
    _orphan("enable", type_, name, namespace, host_context, kubeconfig, system_namespace, dry_run)


@orphaning_deletion.command("disable", short_help="It goes from the members.")
def disable_orphaning(
    type_: Type,
    name: Name,
    namespace: ObjectNamespace = "default",
    host_context: HostContext = None,
    kubeconfig: Kubeconfig = None,
    system_namespace: SystemNamespace = SYSTEM_NAMESPACE,
    dry_run: DryRun = False,
) -> None:
    """Have what a federated object made go from the members when it is deleted; so it is at first."""
    _orphan("disable", type_, name, namespace, host_context, kubeconfig, system_namespace, dry_run)


@orphaning_deletion.command("status", short_help="Print Enabled or Disabled.")
def orphaning_status(
    type_: Type,
    name: Name,
    namespace: ObjectNamespace = "default",
    host_context: HostContext = None,
    kubeconfig: Kubeconfig = None,
    system_namespace: SystemNamespace = SYSTEM_NAMESPACE,
) -> None:
    """Print Enabled when what it made stays in the members, else Disabled."""
    _orphan("status", type_, name, namespace, host_context, kubeconfig, system_namespace, False)


def _orphan(
    verb: str,
    type_: str,
    name: str,
    namespace: str,
    host_context: str | None,
    kubeconfig: list[Path] | None,
    system_namespace: str,
    dry_run: bool,
) -> None:
    from mcs.cli.disabling import orphaning

    orphaning(
        verb,
        type_,
        name,
        namespace=namespace,
        system_namespace=system_namespace,
        host_context=host_context,
        kubeconfig=kubeconfig,
        dry_run=dry_run,
    )


migrate = typer.Typer(name="migrate", help="Take over from another federation.", no_args_is_help=True)


@migrate.command(short_help="Report what changes, and take over.")
def kubefed(
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Make the host ready; KubeFed's controller must be stopped.")
    ] = False,
    host_context: HostContext = None,
    kubeconfig: Kubeconfig = None,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NAME", help="KubeFed's namespace in the host.")
    ] = SYSTEM_NAMESPACE,
    dry_run: DryRun = False,
) -> None:
    """Report what would change for the clusters of a KubeFed host, and with --adopt make it ready to be taken over.

    No pod restarts: members are only read, and objects are taken over as they are.
    """
    from mcs.cli.migrating import migrate_kubefed

    migrate_kubefed(
        namespace=namespace, adopt=adopt, host_context=host_context, kubeconfig=kubeconfig, dry_run=dry_run
    )


def add_to(app: typer.Typer) -> None:
    """Offer the commands."""
    app.command(short_help="Federate a type.")(enable)
    app.command(short_help="Federate a type no longer.")(disable)
    app.command(short_help="Have an object made in all members.")(federate)
    app.add_typer(orphaning_deletion)
    app.add_typer(migrate)
