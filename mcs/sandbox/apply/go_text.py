"""JSON values as the messages of an API server print them, which is how Go prints them."""

from typing import Any


def go_text(value: Any) -> str:
    """The value in the format `%v`: `map[a:1 b:[x y]]`, with sorted names."""
    match value:
        case dict():
            return "map[" + " ".join(f"{name}:{go_text(value[name])}" for name in sorted(value)) + "]"
        case list():
            return "[" + " ".join(map(go_text, value)) + "]"
        case bool():
            return str(value).lower()
        case None:
            return "<nil>"
        case _:
            return f"{value}"
