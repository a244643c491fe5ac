"""Sample data: generated records for a service, the same on every machine.

User service: 5,000 users of several languages and scripts and their e-mails. Identities, names, telephone numbers and
addresses come from a fixed seed; times are counted back from the midnight (UTC) that begins a given day, so that "the
last 30 days" has an answer on the day when it was made. Users share beneficiaries (most have about a dozen, one has
hundreds), about one in seven has no telephone, about one in four has more than one e-mail. The first user, with a
fixed time, is the one that the documentation follows by name.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

from services.user_service import Email, User, canonical_name
from shardweave import Entity

from .names import LOCALES
from .seeded_random import Chance

SEED = 20_240_921
USERS = 5_000
BENEFICIARIES = 400
DAYS = 300

_DAY_MS = 24 * 60 * 60 * 1000
_DOMAINS = ("example.com", "example.org", "example.net", "mail.example", "post.example")

FIRST_USER = User(
    user_id="wf5yU_5f63gqauSOLpP5O",
    created=1_726_880_933_000,
    updated=1_726_880_933_000,
    beneficiary_id="JCcwi4vyqwMJdaBwbjLG3",
    first_name="Jason",
    first_name_canonical="jason",
    last_name="Williscroft",
    last_name_canonical="williscroft",
    phone="17739999999",
)


FIRST_EMAILS = (
    Email(email="jason@example.com", user_id=FIRST_USER.user_id, created=FIRST_USER.created),
    Email(email="jason.williscroft@example.org", user_id=FIRST_USER.user_id, created=FIRST_USER.created + 7 * _DAY_MS),
)


def user_service_records(day: dt.date, count: int = USERS) -> Iterator[Entity]:
    """So many users, each followed by the user's e-mails."""
    chance = Chance(SEED)
    end = int(dt.datetime.combine(day, dt.time(), dt.UTC).timestamp() * 1000)
    beneficiaries = [FIRST_USER.beneficiary_id, *(chance.identifier() for _ in range(BENEFICIARIES - 1))]
    yield FIRST_USER
    yield from FIRST_EMAILS
    for number in range(1, count):
        user = _user(chance, beneficiaries, end)
        yield user
        yield from _emails(chance, user, number, end)


def _user(chance: Chance, beneficiaries: Sequence[str], end: int) -> User:
    locale = chance.one_of(LOCALES)
    created = end - 1 - chance.skewed(DAYS * _DAY_MS)
    first, last = chance.one_of(locale.given), chance.one_of(locale.family)
    digits = "".join(str(chance.below(10)) for _ in range(9))
    user_id = chance.identifier()
    updated = created + chance.skewed(end - created)
    return User(
        user_id=user_id,
        created=created,
        updated=updated,
        beneficiary_id=beneficiaries[chance.skewed(len(beneficiaries))],
        first_name=first,
        first_name_canonical=canonical_name(first),
        last_name=last,
        last_name_canonical=canonical_name(last),
        phone=locale.country_code + digits if chance.below(7) else None,
    )


def _emails(chance: Chance, user: User, number: int, end: int) -> Iterator[Email]:
    """One address, for one in four users a second, for one in sixteen a third."""
    count = 1 + (chance.below(4) == 0) * (1 + (chance.below(4) == 0))
    for position in range(count):
        local = f"{user.first_name_canonical}.{user.last_name_canonical}.{number}"
        domain = _DOMAINS[(number + position) % len(_DOMAINS)]
        later = chance.skewed(end - user.created) if position else 0
        yield Email(email=f"{local}@{domain}", user_id=user.user_id, created=user.created + later)
