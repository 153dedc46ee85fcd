"""Makes the database of the embedded Airflow ready, in one process: its tables, roles and first user.

    python prepare.py ROLES USER < password

`airflow db migrate`, `roles import` and `users create` do the same in 60 s of CPU, where this takes 10: each imports
all of Airflow, and `roles import` builds its web application once for each line of ROLES (provider FAB 3.10). A role
that is there gets the permissions that it lacks. Prints CREATED when the user was made.
"""

import json
import sys
from pathlib import Path

from airflow.providers.fab.auth_manager.cli_commands.utils import get_application_builder
from airflow.utils.db import upgradedb

CREATED = "The first user was made."


def prepare(roles: Path, user: str, password: str) -> bool:
    """Whether the user was made: who is there keeps the password. Running it again changes nothing."""
    upgradedb()
    permissions: dict[str, list[tuple[str, str]]] = {}
    for line in json.loads(roles.read_text(encoding="utf-8")):
        permissions.setdefault(line["name"], []).extend((each, line["resource"]) for each in line["action"].split(","))
    with get_application_builder() as application:
        people = application.sm
        people.bulk_sync_roles([{"role": name, "perms": perms} for name, perms in permissions.items()])
        if people.find_user(user):
            return False
        address = f"{user}@localhost.invalid"
        if not people.add_user(user, "SuperFastPTS", user, address, people.find_role("Admin"), password):
            raise SystemExit(f"Airflow's first user {user} could not be made.")
    return True


if __name__ == "__main__":
    if prepare(Path(sys.argv[1]), sys.argv[2], sys.stdin.readline().rstrip("\n")):
        print(CREATED)
