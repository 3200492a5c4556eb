"""The secrets of deliveries, looked up on the machine that delivers; never recorded."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from deskwork.tasks.delivery.parcel import Refused
from deskwork.tasks.delivery.targets import Secret, Target, secrets_of
from deskwork.tools.errors import WrongUse


async def reveal(secret: Secret) -> str:
    """The value of a secret. Raises `Refused` that names it where it is missing."""
    if secret.env:
        value = os.environ.get(secret.env, "")
        if not value:
            raise Refused(
                f"The environment variable {secret.env} is not set here.",
                "Set it for whoever delivers: your shell, or the worker (`deskwork down` and "
                "`deskwork up` after setting it).",
            )
        return value
    from prefect.blocks.system import Secret as Block

    try:
        block: Any = await Block.aload(secret.block)
    except ValueError:
        raise Refused(
            f"There is no Prefect Secret block {secret.block!r}.",
            "Make it in the UI under Blocks, or by `prefect block create secret`.",
        ) from None
    return str(block.get())


def check_here(targets: Iterable[Target]) -> None:
    """Raise `WrongUse` for a variable that is not set, before a run that this process makes."""
    for target in targets:
        for secret in secrets_of(target):
            if secret.env and not os.environ.get(secret.env):
                raise WrongUse(
                    f"The environment variable {secret.env} is not set; the delivery "
                    f"({target}) needs it.",
                    f"Set it, as in `export {secret.env}=...`, or name a Prefect Secret block.",
                )
