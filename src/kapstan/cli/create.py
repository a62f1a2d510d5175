"""`kapstan create`: add kinds, controllers and webhooks to a project."""

from __future__ import annotations

from pathlib import Path

import click

from kapstan.cli.scaffolding import gvk_options, make_option, regenerate, switch, tell
from kapstan.scaffold import commands
from kapstan.scaffold.project import DEPLOY_IMAGE, DeployImage

__all__ = ("create",)

_EXAMPLES = """\b
Examples:
  kapstan create api --group cache --version v1alpha1 --kind Memcached
  kapstan create webhook --group cache --version v1alpha1 --kind Memcached --defaulting --programmatic-validation
"""

_API_EXAMPLES = """\b
Examples:
  kapstan create api --group cache --version v1alpha1 --kind Memcached
  kapstan create api --group cache --version v1alpha1 --kind Memcached --resource --controller
  kapstan create api --group cache --version v1 --kind Memcached --resource --controller=false
  kapstan create api --group apps --version v1 --kind Deployment --resource=false --controller
  kapstan create api --group cache --version v1alpha1 --kind Memcached --plugins deploy-image/v1-alpha \\
    --image memcached:1.6 --image-container-command "memcached,--memory-limit=64,-o,modern,-v" \\
    --image-container-port 11211 --run-as-user 1001
"""

_WEBHOOK_EXAMPLES = """\b
Examples:
  kapstan create webhook --group cache --version v1alpha1 --kind Memcached --defaulting --programmatic-validation
  kapstan create webhook --group cache --version v1alpha1 --kind Memcached --conversion --spoke v1
  kapstan create webhook --group core --version v1 --kind Pod --programmatic-validation
"""

_PLUGINS = ("deploy-image/v1-alpha", DEPLOY_IMAGE)


@click.group(epilog=_EXAMPLES)
def create() -> None:
    """Add kinds, controllers and webhooks to a project."""


@create.command(epilog=_API_EXAMPLES)
@gvk_options
@switch("--resource", default=None, help="Define the kind.  [asked if not given]")
@switch("--controller", default=None, help="Make a controller for it.  [asked if not given]")
@click.option("--plural", default="", help="The plural, if Kubernetes would guess wrong.")
@switch("--namespaced", default=True, help="Objects of the kind are in namespaces.")
@click.option("--plugins", type=click.Choice(_PLUGINS), help="Make a complete operator that runs an image.")
@click.option("--image", default="", help="With deploy-image: the image.")
@click.option("--image-container-command", default="", metavar="A,B,...", help="With deploy-image: the command.")
@click.option("--image-container-port", default="", metavar="PORT", help="With deploy-image: the port it listens on.")
@click.option("--run-as-user", default="", metavar="UID", help="With deploy-image: the user it runs as.")
@switch("--force", default=False, help="Write files of the kind anew, even if they were changed.")
@make_option
def api(
    group: str,
    version: str,
    kind: str,
    resource: bool | None,
    controller: bool | None,
    plural: str,
    namespaced: bool,
    plugins: str | None,
    image: str,
    image_container_command: str,
    image_container_port: str,
    run_as_user: str,
    force: bool,
    make: bool,
) -> None:
    """Add a kind, its controller, or both."""
    root = Path.cwd()
    commands.check_place(root, group, version, kind)  # worth knowing before any question
    options = DeployImage(
        image=image,
        container_command=image_container_command,
        container_port=image_container_port,
        run_as_user=run_as_user,
    )
    deployed = _deployed(plugins, options)
    outcome = commands.create_api(
        root,
        group,
        version,
        kind,
        resource=_asked("Create Resource", "--resource", resource, deployed is not None),
        controller=_asked("Create Controller", "--controller", controller, deployed is not None),
        plural=plural,
        namespaced=namespaced,
        image=deployed,
        force=force,
    )
    tell(outcome)
    if make:
        regenerate(root)
    click.echo("\nNext: edit the types and the controller, then make manifests test")


@create.command(epilog=_WEBHOOK_EXAMPLES)
@gvk_options
@switch("--defaulting", default=False, help="Fill in what users leave out.")
@switch("--programmatic-validation", default=False, help="Refuse what makes no sense.")
@switch("--conversion", default=False, help="Convert between the versions of the kind.")
@click.option("--spoke", default="", metavar="V1,V2,...", help="With --conversion: the other versions.")
@switch("--force", default=False, help="Write files of the kind anew, even if they were changed.")
@make_option
def webhook(
    group: str,
    version: str,
    kind: str,
    defaulting: bool,
    programmatic_validation: bool,
    conversion: bool,
    spoke: str,
    force: bool,
    make: bool,
) -> None:
    """Add webhooks to a kind: what the API server asks before it writes, and to convert."""
    root = Path.cwd()
    outcome = commands.create_webhook(
        root,
        group,
        version,
        kind,
        defaulting=defaulting,
        validation=programmatic_validation,
        conversion=conversion,
        spoke=[part.strip() for part in spoke.split(",") if part.strip()],
        force=force,
    )
    tell(outcome)
    if make:
        regenerate(root)
    click.echo("\nNext: write the webhook, then make manifests test")


def _deployed(plugin: str | None, options: DeployImage) -> DeployImage | None:
    if plugin is None:
        if any((options.image, options.container_command, options.container_port, options.run_as_user)):
            raise click.UsageError("The options about an image need --plugins deploy-image/v1-alpha.")
        return None
    if not options.image:
        raise click.UsageError("deploy-image needs --image.")
    return options


def _asked(question: str, flag: str, answer: bool | None, implied: bool) -> bool:
    """What a flag says, or a plugin implies, or the user answers."""
    if answer is not None or implied:
        return implied if answer is None else answer
    try:
        return click.confirm(question, prompt_suffix=" ", default=None)
    except click.Abort:
        raise click.UsageError(f"Nobody answers: say {flag} or {flag}=false.") from None
