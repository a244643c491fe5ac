"""The limits of DynamoDB that a stored item must keep to: its size, and the range keys that are properties themselves.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import KeyTooLong, RecordTooLarge, ValueRefused
from ..keys.key_format import KeyFormat
from ..table.values import MAX_ITEM_BYTES, MAX_RANGE_KEY_BYTES, Item, to_attribute_value, value_bytes
from ..values.refused_parts import refused_place
from .property import Property


def check_raw_keys(properties: Iterable[Property], key_format: KeyFormat, item: Item) -> None:
    """Check the properties whose attributes are range keys. Raises ValueRefused or KeyTooLong naming the property."""
    for each in properties:
        value = item.get(each.stored)
        if isinstance(value, (str, bytes)):
            size = value_bytes(value)
            if not size:
                raise ValueRefused("a range key can't be empty", where=each.stored, fix="leave it out")
            if size > MAX_RANGE_KEY_BYTES:
                message = f"a range key would have {size} bytes, {MAX_RANGE_KEY_BYTES} are possible"
                raise KeyTooLong(message, where=each.stored, fix="shorten the value")
        elif value is not None and each.codec is not None:
            try:
                key_format.hashed_text(each.codec, value)
            except ValueRefused as error:
                error.where = error.where or each.stored
                raise


def check_size(item: Item, reserve: int) -> None:
    """Check that an item can be stored and leaves `reserve` bytes. Raises ValueRefused or RecordTooLarge naming the
    attribute."""
    limit = MAX_ITEM_BYTES - reserve
    size = sum(map(len, item))
    for name, value in item.items():
        if type(value) is str and value.isascii():
            size += len(value)
            continue
        try:
            to_attribute_value(value)
        except ValueRefused as error:
            error.where = error.where or refused_place(name, value, to_attribute_value)
            raise
        size += value_bytes(value)
    if size > limit:
        largest = max(item, key=lambda name: value_bytes(item[name]))
        message = (
            f"the record has {size} bytes, {limit} are possible"
            f" ({reserve} bytes of 400 KB are kept free for a move to more shards)"
        )
        raise RecordTooLarge(message, where=largest, fix="shorten it; it is the largest")
