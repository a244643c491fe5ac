"""Generated properties: building them from an item, and parsing them back.

Format (delimiters of the `ordered` key format):
    hashKey                 user!1                          token ! shard suffix
    hashKey, partitioned    orderTracking!3 |orderId#order-123
    rangeKey                userId#wf5yU_5f63gqauSOLpP5O
    sharded generated       user!1 |beneficiaryId#JCcwi4vyqwMJdaBwbjLG3    the record's shard, or one of the key's own
    unsharded generated     firstNameCanonical#jason |created#1726880933000

Guarantees: the attributes are a pure function of the stored item and the shard suffix; parsing returns the original
values; different values never give the same key; a sharded property is absent if an element is missing; a missing
element of an unsharded property is its bare name. Keys over DynamoDB's limits are refused with the property's name.

Cost: compiled once an entity, see `compiled_keys`. Building encodes each element once, however many properties use it,
without reflection and look-ups of declarations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import cast

from ..errors import KeyTooLong, ValueRefused
from ..table.values import MAX_HASH_KEY_BYTES, MAX_RANGE_KEY_BYTES, Item, Value
from ..values.codecs import StringCodec
from .compiled_keys import compiled, own_shards
from .key_design import Element, Generated, KeyDesign
from .key_format import KeyFormat
from .sharding import MAX_SUFFIX, SUFFIX, Shard, ShardMap

RESERVE_BYTES = MAX_SUFFIX
"""The bytes reserved in every sharded property, so that a record can always move to a wider shard space."""

_HASH_LIMIT = MAX_HASH_KEY_BYTES - RESERVE_BYTES

_is_plain = re.compile('["-~]+').fullmatch
"""Matches a text of which no character is escaped."""

_Texts = list[str | None]


class EntityKeys:
    """Builds and parses one entity's generated properties."""

    def __init__(self, design: KeyDesign) -> None:
        self.design = design
        self.format = design.key_format
        self.prefix = design.token + design.key_format.shard_delimiter
        self._is_head = re.compile(re.escape(self.prefix) + SUFFIX).fullmatch
        self._writes_codecs = self.format.ordered and not (self.format.raw_values or self.format.raw_timestamps)
        hashed_sharded = [Generated(design.hash_name, design.partition, sharded=True)] if design.partition else []
        self._sharded = hashed_sharded + [each for each in design.generated if each.sharded]
        self._unsharded = [each for each in design.generated if not each.sharded]
        self._shard_text = _shard_text_builder(design)
        self._build_step_by_step = _builder(self)
        self._build_plain = compiled(design, self._sharded, self._unsharded, self._shard_text)
        self.reserve_bytes = RESERVE_BYTES * len({design.hash_name, *(each.name for each in self._sharded)})
        self.names = tuple(dict.fromkeys([design.hash_name, design.range_name, *(g.name for g in design.generated)]))

    # -- where a record is

    def shard_text(self, item: Item) -> str:
        """The text whose hash decides the shard. Raises ValueRefused naming a missing or unusable property."""
        return self._shard_text(item)

    def shard(self, item: Item, shard_map: ShardMap) -> Shard:
        """The record's shard under a map."""
        space = (shard_map.sole or shard_map.generation_of(self.timestamp(item))).space
        return Shard(space, self.format.hash(self._shard_text(item)) % space.shards if space.chars else 0)

    def timestamp(self, item: Item) -> int:
        """The record's creation time, which determines its generation; zero for an entity without a timestamp."""
        name = self.design.timestamp
        if name is None:
            return 0
        value = item.get(name)
        if type(value) is int:
            return value
        if value is None:
            raise ValueRefused("the timestamp property is missing", where=name, fix="give the record its created time")
        try:
            return int(value)
        except (TypeError, ValueError):
            raise ValueRefused("the timestamp property must be a number", where=name, fix="give epoch time") from None

    # -- building

    def build(self, item: Item, shard_map: ShardMap) -> dict[str, Value]:
        """Every generated attribute of the record, without absent ones."""
        generation = shard_map.sole or shard_map.generation_of(self.timestamp(item))
        try:
            built = self._build_plain(item, generation.space)
        except (ValueRefused, TypeError):
            built = None
        return self.build_step_by_step(item, self.shard(item, shard_map)) if built is None else built

    def build_in(self, item: Item, shard: Shard) -> dict[str, Value]:
        """As `build`, in a given shard."""
        try:
            built = self._build_plain(item, shard)
        except (ValueRefused, TypeError):
            built = None
        return self.build_step_by_step(item, shard) if built is None else built

    def build_step_by_step(self, item: Item, shard: Shard) -> dict[str, Value]:
        """Like `build_in`, slower, with exact errors."""
        return self._build_step_by_step(item, shard)

    def primary_key(self, item: Item, suffix: str) -> dict[str, Value]:
        """The primary key from only the identity's properties, in a given shard."""
        design = self.design
        range_key = self.join(design.sort, item) if design.sort else design.token
        return {
            design.hash_name: self.hash_key(suffix, design.partition, item),
            design.range_name: _checked(range_key, MAX_RANGE_KEY_BYTES, design.range_name, self.format),
        }

    def hash_key(self, suffix: str, elements: tuple[Element, ...], item: Item) -> str:
        """A hash key, the table's or a generated one's, with every element present."""
        parts = [self.prefix + suffix]
        parts += [self.element_text(element, item) for element in elements]
        return _checked(self.format.element_delimiter.join(parts), _HASH_LIMIT, self.design.hash_name, self.format)

    def hash_keys(self, suffixes: Sequence[str], elements: tuple[Element, ...], item: Item) -> list[str]:
        """`hash_key` in each of some shards."""
        rest = "".join(self.format.element_delimiter + self.element_text(element, item) for element in elements)
        hash_name = self.design.hash_name
        return [_checked(self.prefix + suffix + rest, _HASH_LIMIT, hash_name, self.format) for suffix in suffixes]

    def join(self, elements: tuple[Element, ...], item: Item) -> str:
        """The text of some elements, all present."""
        return self.format.element_delimiter.join(self.element_text(element, item) for element in elements)

    def element_text(self, element: Element, item: Item) -> str:
        """One `name#value`."""
        value = element.value_in(item) if element.path else item.get(element.name)
        if value is None:
            raise ValueRefused("the property is missing", where=element.name, fix="give it a value")
        return f"{element.name}{self.format.value_delimiter}{self.encode(element, value)}"

    def encode(self, element: Element, value: Value) -> str:
        """The text of an element's value."""
        codec = element.codec
        try:
            if self._writes_codecs:
                if codec.safe:
                    return codec.encode(value)
                if type(codec) is StringCodec and type(value) is str and _is_plain(value):
                    return value
            return self.format.encode(element.codec, value)
        except ValueRefused as error:
            raise _placed(error, element.name) from None

    # -- parsing

    def parse(self, generated: Generated, text: str) -> dict[str, Value]:
        """The element values of a generated property; a missing element is left out. Raises ValueRefused for a text
        that was not built for it."""
        parts = text.split(self.format.element_delimiter)
        if generated.sharded:
            head = parts.pop(0)
            if self._is_head(head) is None:
                raise ValueRefused("the key belongs to another entity", where=generated.name, fix="check the key")
        values = self.parse_elements(generated.name, generated.elements, parts)
        if generated.sharded and len(values) < len(generated.elements) and not self.format.missing_as_empty:
            raise ValueRefused("a sharded key has every element", where=generated.name, fix="check the key")
        return values

    def parse_range_key(self, text: str) -> dict[str, Value]:
        """The identity's values in a table's range key. Raises ValueRefused for an invalid text."""
        design = self.design
        if not design.sort:
            if text != design.token:
                raise ValueRefused("the key has other elements", where=design.range_name, fix="check the key")
            return {}
        return self.parse(Generated(design.range_name, design.sort, sharded=False), text)

    def parse_elements(self, where: str, elements: tuple[Element, ...], parts: list[str]) -> dict[str, Value]:
        """The values of `name#value` parts."""
        if len(parts) != len(elements):
            raise ValueRefused("the key has another number of elements", where=where, fix="check the key")
        values: dict[str, Value] = {}
        for element, part in zip(elements, parts, strict=True):
            name, found, value = part.partition(self.format.value_delimiter)
            if name != element.name or (self.format.missing_as_empty and not found):
                raise ValueRefused("the key has other elements", where=where, fix="check the key")
            if found and not (self.format.missing_as_empty and not value):
                values[name] = self._decoded(element, value)
        return values

    def _decoded(self, element: Element, text: str) -> Value:
        try:
            return self.format.decode(element.codec, text)
        except ValueRefused as error:
            raise _placed(error, element.name) from None

    def identity_in(self, item: Item) -> dict[str, Value]:
        """The values in the primary key of a stored item. Raises ValueRefused for an invalid key."""
        design = self.design
        parts = str(item[design.hash_name]).split(self.format.element_delimiter)
        values = self.parse_elements(design.hash_name, design.partition, parts[1:])
        return values | self.parse_range_key(str(item[design.range_name]))

    def fault_in(self, item: Item) -> str:
        """The fault of a stored item's primary key: `another_entity`, or `wrong_key` if its properties give another
        key; empty if it is correct, or if the item was not read completely."""
        design, delimiter = self.design, self.format.element_delimiter
        hash_key = item.get(design.hash_name)
        if hash_key is None:
            return ""
        head, *_ = str(hash_key).split(delimiter, 1)
        if self._is_head(head) is None:
            return "another_entity"
        for element in (*design.partition, *design.sort):
            if (element.value_in(item) if element.path else item.get(element.name)) is None:
                return ""
        try:
            expected = delimiter.join([head, *(self.element_text(element, item) for element in design.partition)])
            range_key = self.join(design.sort, item) or design.token
        except (ValueRefused, TypeError):
            return "wrong_key"
        return "" if (hash_key, item.get(design.range_name, range_key)) == (expected, range_key) else "wrong_key"

    def faults_in(self, items: Sequence[Item]) -> list[str]:
        """`fault_in` of each item."""
        return [self.fault_in(item) for item in items]

    def suffix_of_key(self, hash_key: str) -> str:
        """The shard suffix in a hash key, generated or the table's own."""
        return hash_key.removeprefix(self.prefix).partition(self.format.element_delimiter)[0]


def _shard_text_builder(design: KeyDesign) -> Callable[[Item], str]:
    """The builder of the text to hash: a single property's own text, or the key text of several, which is
    unambiguous."""
    key_format, elements = design.key_format, design.shard_by
    if len(elements) == 1:
        (element,) = elements
        name, codec, path = element.name, element.codec, element.path

        def single(item: Item) -> str:
            value = element.value_in(item) if path else item.get(name)
            if value is None:
                raise ValueRefused("the property decides the shard and is missing", where=name, fix="give it a value")
            try:
                return key_format.hashed_text(codec, value)
            except ValueRefused as error:
                raise _placed(error, name) from None

        return single

    def several(item: Item) -> str:
        texts = []
        for element in elements:
            value = element.value_in(item)
            if value is None:
                raise ValueRefused("the property decides the shard and is missing", where=element.name, fix="give it")
            try:
                texts.append(key_format.encode(element.codec, value))
            except ValueRefused as error:
                raise _placed(error, element.name) from None
        return key_format.element_delimiter.join(texts)

    return several


def _builder(keys: EntityKeys) -> Callable[[Item, Shard], dict[str, Value]]:
    """The step-by-step builder: every distinct element is encoded once, then joined, with the place for errors."""
    design, key_format = keys.design, keys.format
    slots: dict[tuple[str, bool], int] = {}
    steps: list[tuple[Element, str, Callable[[Value], str]]] = []
    for element in [*design.sort, *(e for each in [*keys._sharded, *keys._unsharded] for e in each.elements)]:
        if element.slot not in slots:
            slots[element.slot] = len(steps)
            label = element.name + key_format.value_delimiter
            steps.append((element, label, partial(key_format.encode, element.codec)))
    prefix, hash_name, range_name = keys.prefix, design.hash_name, design.range_name
    delimiter, token = key_format.element_delimiter, design.token
    sort = [(slots[element.slot], element.name) for element in design.sort]
    sharded = [
        (each.name, each.shards, [(slots[element.slot], element.name) for element in each.elements])
        for each in keys._sharded
    ]
    spread = own_shards(keys._sharded)
    unsharded = [_unsharded_builder(keys, each, slots) for each in keys._unsharded]

    def build(item: Item, shard: Shard) -> dict[str, Value]:
        texts: _Texts = []
        for element, label, encode in steps:
            value = element.value_in(item)
            if value is None:
                texts.append(None)
                continue
            try:
                texts.append(label + encode(value))
            except ValueRefused as error:
                raise _placed(error, element.name) from None
        base = prefix + shard.suffix
        bases = {None: base} | {most: prefix + shard.suffix_within(0, most) for most in spread}
        for position, name in sort:
            if texts[position] is None:
                raise ValueRefused("the property identifies the record and is missing", where=name, fix="give it")
        range_key = delimiter.join([cast(str, texts[position]) for position, _ in sort]) or token
        built: dict[str, Value] = {hash_name: base, range_name: _range_text(range_key, range_name, key_format)}
        for generated, most, elements in sharded:
            parts = [texts[position] for position, _ in elements]
            if None not in parts:
                text = delimiter.join([bases[most], *cast("list[str]", parts)])
                built[generated] = text if len(text) < 500 else _checked(text, _HASH_LIMIT, generated, key_format)
            elif generated == hash_name:
                missing = elements[parts.index(None)][1]
                raise ValueRefused("the property is of the partition and is missing", where=missing, fix="give it")
        for generated, build_text in unsharded:
            text_or_none = build_text(texts)
            if text_or_none is not None:
                built[generated] = _range_text(text_or_none, generated, key_format)
        return built

    return build


def _unsharded_builder(
    keys: EntityKeys, generated: Generated, slots: dict[tuple[str, bool], int]
) -> tuple[str, Callable[[_Texts], str | None]]:
    """The name of an unsharded property, and the function for its text, which returns None if the record has none."""
    key_format = keys.format
    bare = key_format.value_delimiter if key_format.missing_as_empty else ""
    elements = [(slots[element.slot], element.name + bare) for element in generated.elements]
    join = key_format.element_delimiter.join

    def always(texts: _Texts) -> str | None:
        return join([texts[position] or missing for position, missing in elements])

    hints = keys.design.hints
    needed = [slots[element.slot] for element in generated.elements if element.name not in hints]
    if not key_format.missing_as_empty or not needed:
        return generated.name, always
    return generated.name, lambda texts: always(texts) if any(texts[position] for position in needed) else None


def _range_text(text: str, key: str, key_format: KeyFormat) -> str:
    return text if len(text) < 256 else _checked(text, MAX_RANGE_KEY_BYTES, key, key_format)


def _checked(text: str, limit: int, key: str, key_format: KeyFormat) -> str:
    """The text of a key within its limit. The error of a too long key names its longest property."""
    size = len(text.encode())
    if size > limit:
        free = f" ({RESERVE_BYTES} bytes are kept free for a move to more shards)" if limit == _HASH_LIMIT else ""
        message = f"the key {key} would have {size} bytes, {limit} are possible{free}"
        raise key_too_long(message, text, key_format)
    return text


def key_too_long(message: str, text: str, key_format: KeyFormat) -> KeyTooLong:
    """The error of a too long key, which names its longest property."""
    parts = [part.partition(key_format.value_delimiter) for part in text.split(key_format.element_delimiter)]
    longest, _, _ = max(parts, key=lambda part: len(part[2].encode()))
    return KeyTooLong(message, where=longest, fix="shorten the value; it is the longest in the key")


def _placed(error: ValueRefused, where: str) -> ValueRefused:
    """The error with a place, unless it already has one."""
    error.where = error.where or where
    return error
