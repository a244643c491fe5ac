"""Uses of a client whose entities have names of its own types, right ones and wrong ones."""

from __future__ import annotations

from client import Between, Client, Client_, ClientKey_, Page_, Prefix

client = Client("http://127.0.0.1")


def shown(one: Client_, two: ClientKey_, three: Page_) -> str:
    """Properties of records."""
    return one["list"] + two["clientKeyId"] + three["title"]


def right() -> None:
    """What is as it has to be."""
    client.answers.get("p", "yes", 3)
    client.pages.by_filter(clientId="c", filter_=Between(3), filter={"state": "open", "filter": 5})
    client.pages.by_filter2(filter_=3, num=Between(None, 5))
    client.pages.by_state(state="done", title=Prefix("a"))
    client.pages.by_made(made=Between("2025-01-01"))
    client.pages.by_made(made="2025-01-01", title=Prefix("a"))
    client.clients.by_country(address_country_code="NO", address_city=Prefix("O"))
    print(client.clients.create({"address": {"country": {"code": "NO"}}}).record["address"])


def wrong() -> None:
    """What is not."""
    client.answers.get("p", "yes")  # wrong: the number is a part of the key
    client.answers.get("p", "yes", "3")  # wrong: the number is a number
    client.answers.get("p", "maybe", 3)  # wrong: there is no such record
    client.pages.by_made(made=Prefix("2025"))  # wrong: a descending property has no prefix
    client.pages.by_state(state="shut")  # wrong: there is no such state
    client.pages.by_filter(clientId="c", filter={"state": "shut"})  # wrong: nor here
    client.pages.by_filter(clientId="c", filter={"eq": 5})  # wrong: there is no such property
    client.clients.by_country(address_city="Oslo")  # wrong: the index needs the country
    client.pages.by_state().before(client.pages.by_state().page().prev_token)  # wrong: it may be none
    print(client.problems)  # wrong: there is no such entity


def private(one: Client_) -> None:
    """A property that is never shown."""
    print(one["secret"])  # wrong: it is never shown
