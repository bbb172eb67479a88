"""The one language of rules and schemas: a grammar, its tree, its printer."""

from sqrl._language.names import name_text
from sqrl._language.parser import parse, parse_formula
from sqrl._language.printer import number_text, to_text

__all__ = ["name_text", "number_text", "parse", "parse_formula", "to_text"]
