"""Numbers as JavaScript prints them, which is how a raw key format writes them.

Guarantees: `number_of_text(text_of_number(n)) == n`, and the text is that of JavaScript's `String(n)`. A number that a
double can't hold exactly in its shortest decimal form is refused, because its text would stand for another one.

Format: the shortest digits that identify the double; plain from 1e-6 up to 1e21, else with an exponent (`1.5e+21`).
"""

from __future__ import annotations

import re
from decimal import Decimal

from ..errors import ValueRefused
from ..table.values import Value

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?(e[+-][0-9]{1,3})?")


def text_of_number(value: Value) -> str:
    """The text of an int or Decimal. Raises ValueRefused for what no double holds."""
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise ValueRefused(f"not a valid number: it is a {type(value).__name__}", fix="give a number")
    exact = Decimal(value)
    if not exact.is_finite():
        raise ValueRefused("not a valid number: it is not finite", fix="give a number")
    shortest = Decimal(repr(float(exact)))
    if shortest != exact:
        raise ValueRefused(
            "not a valid number: it has more digits than JavaScript's numbers hold", fix="round it, or declare a bigint"
        )
    return _printed(shortest)


def number_of_text(text: str) -> int | Decimal | None:
    """The number of a text, int when whole; None when it is no number."""
    if not _NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else number


def _printed(number: Decimal) -> str:
    if not number:
        return "0"
    sign, all_digits, exponent = number.as_tuple()
    digits = "".join(map(str, all_digits)).lstrip("0")
    point = len(digits) + int(exponent)
    digits = digits.rstrip("0")
    prefix = "-" if sign else ""
    if len(digits) <= point <= 21:
        return prefix + digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{prefix}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{prefix}0.{'0' * -point}{digits}"
    mantissa = digits[0] + (f".{digits[1:]}" if digits[1:] else "")
    return f"{prefix}{mantissa}e{point - 1:+d}"
