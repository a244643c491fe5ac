"""Uses of a collection of two entities and of filters; a type checker refuses those that are marked."""

from __future__ import annotations

from client import Between, Client, Prefix

client = Client("http://127.0.0.1")


def ids(client: Client) -> list[str]:
    """What a customer has paid, bills and visits."""
    paid = client.customer_history(
        customer="ann", made=Between(1_700_000_000_002), reverse=True, limit=2, filter={"paid": True}
    )
    return [each["record"]["billId"] if each["entity"] == "bill" else each["record"]["visitId"] for each in paid]


def large(client: Client) -> list[str]:
    """The bills of a customer that are not small."""
    return [each["billId"] for each in client.bills.by_time(customer="ann", filter={"amount": Between(5, 7)})]


def in_towns(client: Client) -> list[str]:
    """The visits of a town."""
    return [each["visitId"] for each in client.visits.every(filter={"shop": Prefix("O"), "customer": "ann"})]


client.customer_history(made=Between(1))  # wrong: the index needs the customer
client.customer_history(customer="ann", shop="Oslo")  # wrong: the index has no shop
client.customer_history(customer="ann", filter={"shop": "Oslo"})  # wrong: bills have no shop
client.customer_history(customer="ann", made=Prefix("1"))  # wrong: a time has no prefix
client.bills.by_time(customer="ann", filter={"amont": 5})  # wrong: there is no such property
client.bills.by_time(customer="ann", filter={"amount": "much"})  # wrong: an amount is a number
client.bills.by_time(customer="ann", filter={"amount": Prefix("5")})  # wrong: a number has no prefix
for one in client.customer_history(customer="ann"):
    print(one["record"]["shop"])  # wrong: it may be a bill
