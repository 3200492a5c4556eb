"""robots.txt as RFC 9309 reads it: the group of our name or of all, the longest rule wins.

The standard library's parser takes the first rule instead and knows no wildcards, which most
files in the field rely on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

OUR_NAME = "deskwork"
MAX_BYTES = 512_000


@dataclass(frozen=True)
class _Rule:
    allows: bool
    pattern: str

    def matches(self, path: str) -> bool:
        ends = self.pattern.endswith("$")
        parts = self.pattern.removesuffix("$").split("*")
        at = 0
        for index, part in enumerate(parts):
            if index == 0:
                if not path.startswith(part):
                    return False
                at = len(part)
            elif ends and index == len(parts) - 1:
                return len(path) - len(part) >= at and path.endswith(part)
            else:
                found = path.find(part, at)
                if found < 0:
                    return False
                at = found + len(part)
        return not ends or at == len(path)


def may_fetch(text: str, path: str, name: str = OUR_NAME) -> bool:
    """Whether the rules let us fetch a path (with its query). An empty file allows everything."""
    best_length, best = -1, True
    path = unquote(path) or "/"
    for rule in _rules(text, name):
        length = len(rule.pattern)
        if (length > best_length or (length == best_length and rule.allows)) and rule.matches(path):
            best_length, best = length, rule.allows
    return best


def _rules(text: str, name: str) -> list[_Rule]:
    """The rules of all groups for our name; of those for everybody where there is none."""
    ours, everybody = list[_Rule](), list[_Rule]()
    named = False
    agents = list[str]()
    in_agents = False
    for line in text.lstrip("\ufeff").splitlines():
        key, colon, value = line.partition("#")[0].partition(":")
        key, value = key.strip().lower(), value.strip()
        if not colon:
            continue
        if key == "user-agent":
            if not in_agents:
                agents = []
            agents.append(re.split(r"[/\s]", value.lower())[0])
            in_agents = True
            named |= agents[-1] == name
        elif key in ("allow", "disallow"):
            in_agents = False
            if value:
                rule = _Rule(key == "allow", unquote(value))
                if name in agents:
                    ours.append(rule)
                if "*" in agents:
                    everybody.append(rule)
    return ours if named else everybody
