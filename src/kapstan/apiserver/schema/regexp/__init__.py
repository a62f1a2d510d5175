"""Regular expressions as Go understands them, matched in linear time."""

from kapstan.apiserver.schema.regexp.program import Regexp, compile_regexp
from kapstan.apiserver.schema.regexp.syntax import InvalidRegexp

__all__ = ("InvalidRegexp", "Regexp", "compile_regexp")
