"""User and environment variables of an image, as a spec contains them."""

from __future__ import annotations

from envbuilder.core.names import LARGEST_ID, account_name
from envbuilder.core.yaml.fields import Fields
from envbuilder.lock.spec_values import User, variable_name

_ORDINARY = "images run as an ordinary user"


def account(fields: Fields, default: User | None = None) -> User:
    """Read a user; every field is required unless there is a default."""
    return User(
        name=fields.value("name", account_name, fallback="app", default=default.name if default else None),
        uid=fields.integer("uid", default.uid if default else None, least=1, most=LARGEST_ID, why=_ORDINARY),
        gid=fields.integer("gid", default.gid if default else None, least=1, most=LARGEST_ID, why=_ORDINARY),
    )


def variables(fields: Fields, name: str) -> tuple[tuple[str, str], ...]:
    """Read environment variables, sorted by name."""
    pairs = fields.pairs(name, str)
    for variable, _ in pairs:
        try:
            variable_name(variable)
        except ValueError as error:
            fields.fault_at(f"{name}.{variable}", str(error))
    return tuple(sorted(pairs))
