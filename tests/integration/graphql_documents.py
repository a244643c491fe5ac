"""Random documents of GraphQL over people, pets and visits, each with the answer that it must have.

A document is made as a tree, from which both its text and, by looking at every record, its answer are written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

Record = Mapping[str, Any]
Records = Mapping[str, list[dict[str, Any]]]

PROPERTIES = {
    "person": ("personId", "name", "age", "city", "friendId", "petIds"),
    "pet": ("petId", "kind", "ownerId"),
    "visit": ("personId", "code", "day", "note", "petIds"),
}
RELATIONS = {
    "person": {"friend": ("person", "friendId"), "pets": ("pet", "petIds")},
    "pet": {"owner": ("person", "ownerId")},
    "visit": {"person": ("person", "personId"), "pets": ("pet", "petIds")},
}
TYPES = {"person": "Person", "pet": "Pet", "visit": "Visit"}
ID = {"person": "personId", "pet": "petId"}
NUMBERS = ("age", "day")


def made_records(chance: Random) -> Records:
    """Some records, of which some lead nowhere."""

    def some(prefix: str, most: int) -> str:
        return f"{prefix}{chance.randrange(most)}"

    def pets() -> list[str]:
        return [some("t", 12) for _ in range(chance.randrange(4))]

    people = []
    for number in range(20):
        person = {
            "personId": f"p{number}",
            "name": chance.choice(("Ann", "Anna", "Bob", "Cid")),
            "city": chance.choice(("Rome", "Oslo")),
            "petIds": pets(),
        }
        more = {"age": chance.randrange(3), "friendId": some("p", 25)}
        people.append({**person, **{name: value for name, value in more.items() if chance.random() < 0.8}})
    owned = [{"petId": f"t{n}", "kind": chance.choice(("cat", "dog")), "ownerId": some("p", 25)} for n in range(10)]
    visits = []
    for person, code in [(person, code) for person in range(3) for code in range(6)]:
        visit = {"personId": f"p{person}", "code": f"v{code}{person}", "day": chance.randrange(3), "petIds": pets()}
        visits.append({**visit, **({"note": some("n", 3)} if chance.random() < 0.7 else {})})
    return {"person": people, "pet": owned, "visit": visits}


@dataclass
class Document:
    """A document in the making. `variables` are those that it takes, with their types."""

    chance: Random
    records: Records
    fragments: list[str] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)

    def random(self) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """Its text, its variables and the data that it is answered with."""
        texts, expected = [], {}
        for number in range(self.chance.randint(1, 3)):
            kind = self.chance.choice((self._person, self._people, self._by_city, self._visits, self._visit, self._day))
            text, value = kind()
            key = f"r{number}"
            texts.append(f"{key}: {text}")
            expected[key] = value
        declared = ", ".join(f"${name}: {kind}" for name, kind in self.types.items())
        begin = f"query({declared}) " if declared else ""
        return begin + "{ " + " ".join(texts) + " } " + " ".join(self.fragments), self.variables, expected

    # -- roots

    def _person(self) -> tuple[str, Any]:
        name = f"p{self.chance.randrange(24)}"
        found = [each for each in self.records["person"] if each["personId"] == name]
        text, answer = self._selection("person", 3)
        return f"person(id: {self._value(name, 'ID!')}) {text}", answer(found[0]) if found else None

    def _visit(self) -> tuple[str, Any]:
        number = self.chance.randrange(4)
        person, code = f"p{number}", f"v{self.chance.randrange(7)}{number}"
        found = [each for each in self.records["visit"] if each["personId"] == person]
        sort = ""
        if self.chance.random() < 0.5:
            found = [each for each in found if each["code"] == code]
            sort = f", sort: {self._value(code, 'String')}"
        text, answer = self._selection("visit", 2)
        found.sort(key=lambda each: each["code"])
        return f"visit(id: {self._value(person, 'ID!')}{sort}) {text}", answer(found[-1]) if found else None

    def _people(self) -> tuple[str, Any]:
        condition, test = self._condition("personId", ("p1", "p10", "p15", "p2", "p5"))
        found = sorted(filter(test, self.records["person"]), key=lambda each: each["personId"])
        return self._page("people", "person", [condition], found)

    def _by_city(self) -> tuple[str, Any]:
        city = self.chance.choice(("Rome", "Oslo", "Bonn"))
        condition, test = self._condition("name", ("Ann", "Anna", "B", "Bob"))
        found = [each for each in self.records["person"] if each["city"] == city and test(each)]
        found.sort(key=lambda each: (each["name"], each["personId"]))
        return self._page("peopleByCity", "person", [f"city: {self._value(city, 'String!')}", condition], found)

    def _visits(self) -> tuple[str, Any]:
        person = f"p{self.chance.randrange(4)}"
        condition, test = self._condition("code", ("v1", "v10", "v31", "v5"))
        condition = condition.partition("{")[2].rpartition("}")[0]
        found = [each for each in self.records["visit"] if each["personId"] == person and test(each)]
        found.sort(key=lambda each: each["code"])
        return self._page("visitsById", "visit", [f"id: {self._value(person, 'ID!')}", condition], found)

    def _day(self) -> tuple[str, Any]:
        day = self.chance.randrange(4)
        found = [each for each in self.records["visit"] if each["day"] == day]
        found.sort(key=lambda each: each["code"])
        return self._page("visitsByDay", "visit", [f"day: {self._value(day, 'Long!')}"], found, filtered=False)

    def _page(
        self, name: str, entity: str, arguments: list[str], found: list[dict[str, Any]], *, filtered: bool = True
    ) -> tuple[str, Any]:
        reverse, limit = self.chance.random() < 0.5, self.chance.choice((None, 1, 2, 5))
        if filtered and self.chance.random() < 0.6:
            text, test = self._filter(entity, 2)
            found = [each for each in found if test(each)]
            arguments = [*arguments, f"filter: {text}"]
        if reverse:
            found = found[::-1]
            arguments = [*arguments, f"reverse: {self._value(True, 'Boolean')}"]
        shown = found
        if limit is not None:
            shown = found[:limit]
            arguments = [*arguments, f"limit: {self._value(limit, 'Int')}"]
        text, answer = self._selection(entity, 2)
        given = ", ".join(filter(None, arguments))
        page = {"items": [answer(each) for each in shown], "complete": True}
        return f"{name}{f'({given})' if given else ''} {{ items {text} complete }}", page

    # -- conditions

    def _condition(self, name: str, values: tuple[str, ...]) -> tuple[str, Callable[[Record], bool]]:
        low, high = sorted(self.chance.choices(values, k=2))
        kind = self.chance.randrange(5)
        if kind == 0:
            return f"{name}: {{eq: {self._value(low, 'String')}}}", lambda each: each[name] == low
        if kind == 1:
            text = low[: self.chance.randint(1, 2)]
            return f"{name}: {{prefix: {self._value(text, 'String')}}}", lambda each: each[name].startswith(text)
        if kind == 2:
            given = f"from: {self._value(low, 'String')}, to: {self._value(high, 'String')}"
            return f"{name}: {{{given}}}", lambda each: low <= each[name] <= high
        if kind == 3:
            return f"{name}: {{from: {self._value(low, 'String')}}}", lambda each: low <= each[name]
        return "", lambda each: True

    def _filter(self, entity: str, depth: int) -> tuple[str, Callable[[Record], bool]]:
        kind = self.chance.randrange(4 if depth else 1)
        if kind == 1:
            inner, negated = self._filter(entity, depth - 1)
            return f"{{not: {inner}}}", lambda each: not negated(each)
        if kind > 1:
            parts = [self._filter(entity, depth - 1) for _ in range(2)]
            word, joined = ("and", all) if kind == 2 else ("or", any)
            text = ", ".join(text for text, _ in parts)
            return f"{{{word}: [{text}]}}", lambda each: joined(test(each) for _, test in parts)
        return self._test(entity)

    def _test(self, entity: str) -> tuple[str, Callable[[Record], bool]]:
        name = self.chance.choice([each for each in PROPERTIES[entity] if each not in (ID.get(entity), "code")])
        if name == "petIds":
            pet = f"t{self.chance.randrange(12)}"
            return f'{{petIds: {{contains: "{pet}"}}}}', lambda each: pet in each["petIds"]
        if self.chance.random() < 0.3:
            there = self.chance.random() < 0.5
            return f"{{{name}: {{exists: {json.dumps(there)}}}}}", lambda each: (each.get(name) is not None) == there
        value: Any = self.chance.randrange(3) if name in NUMBERS else self.chance.choice(("Ann", "Rome", "p3", "n1"))
        word = self.chance.choice(("eq", "ne", "lt", "ge", "in"))
        given = f"[{json.dumps(value)}]" if word == "in" else json.dumps(value)

        def holds(each: Record) -> bool:
            found = each.get(name)
            if found is None:
                return word == "ne"
            compared = {"eq": found == value, "ne": found != value, "lt": found < value, "ge": found >= value}
            return compared.get(word, found == value)

        return f"{{{name}: {{{word}: {given}}}}}", holds

    # -- what is asked for

    def _selection(self, entity: str, depth: int) -> tuple[str, Callable[[Record], dict[str, Any]]]:
        texts: list[str] = []
        fields: dict[str, Callable[[Record], Any]] = {}
        for number in range(self.chance.randint(1, 3)):
            name = self.chance.choice(PROPERTIES[entity])
            key = self.chance.choice((name, f"a{number}"))
            shown, text = self._included(name if key == name else f"{key}: {name}")
            texts.append(text)
            if shown:
                fields[key] = _property(name)
        for number in range(self.chance.randrange(3) if depth else 0):
            name = self.chance.choice(tuple(RELATIONS[entity]))
            target, by = RELATIONS[entity][name]
            inner, answer = self._selection(target, depth - 1)
            texts.append(f"b{number}: {name} {inner}")
            fields[f"b{number}"] = self._related(target, by, answer)
        text = " ".join(["__typename", *texts])
        fields["__typename"] = lambda each: TYPES[entity]
        if self.chance.random() < 0.2:
            number = len(self.fragments)
            self.fragments.append("")
            self.fragments[number] = f"fragment f{number} on {TYPES[entity]} {{ {text} }}"
            text = f"...f{number}"
        elif self.chance.random() < 0.2:
            text = f"... on {TYPES[entity]} {{ {text} }}"
        return f"{{ {text} }}", lambda each: {key: read(each) for key, read in fields.items()}

    def _included(self, text: str) -> tuple[bool, str]:
        if self.chance.random() < 0.8:
            return True, text
        word, said = self.chance.choice(("skip", "include")), self.chance.random() < 0.5
        return said == (word == "include"), f"{text} @{word}(if: {self._value(said, 'Boolean!')})"

    def _related(self, target: str, by: str, answer: Callable[[Record], Any]) -> Callable[[Record], Any]:
        held = {each[ID[target]]: each for each in self.records[target]}

        def read(each: Record) -> Any:
            if by == "petIds":
                return [answer(held[name]) for name in each[by] if name in held]
            found = held.get(each.get(by))
            return None if found is None else answer(found)

        return read

    def _value(self, value: Any, kind: str) -> str:
        """A value as a literal or as a variable."""
        if self.chance.random() < 0.5:
            return json.dumps(value)
        name = f"v{len(self.variables)}"
        self.variables[name], self.types[name] = value, kind
        return f"${name}"


def _property(name: str) -> Callable[[Record], Any]:
    return lambda each: each.get(name)
