"""One statement that reads: what is looked at before the database itself refuses to write."""

from __future__ import annotations

import re

from deskwork.tools.errors import ToolError

_IGNORED = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(\w*)\$.*?\$\1\$", re.S
)
_WRITES = re.compile(
    r"\b(insert|update|delete|merge|truncate|drop|alter|create|grant|revoke|copy|call|do|attach|"
    r"detach|pragma|vacuum|reindex|set|reset|begin|commit|rollback|savepoint|listen|notify|lock|"
    r"prepare|execute|into)\b",
    re.I,
)
_OUTSIDE = re.compile(
    r"\b(pg_read_\w+|pg_ls_\w+|pg_stat_file|lo_\w+|dblink\w*|pg_terminate_backend|"
    r"pg_cancel_backend|pg_sleep\w*|set_config|pg_reload_conf|pg_rotate_logfile|pg_advisory\w*|"
    r"query_to_xml\w*|pg_switch_wal|pg_create_\w+|nextval|setval|load_extension|readfile|writefile|"
    r"fts3_tokenizer)\s*\(",
    re.I,
)


def checked(sql: str) -> str:
    """The statement without a semicolon at its end. Raises `ToolError` for any other than one
    SELECT or WITH, and for functions that reach out of the database.
    """
    text = sql.strip().rstrip(";").strip()
    bare = _IGNORED.sub(" ", text)
    if not re.match(r"\s*(?:\(\s*)*(?:select|with|values)\b", bare, re.I) or ";" in bare:
        raise ToolError("Only one SELECT statement can be asked.", "WITH may begin it.")
    if found := _WRITES.search(bare):
        raise ToolError(
            f"{found[1].upper()} can't stand in a query: the database is read only.",
            "Put a column of that name into double quotes.",
        )
    quoted = re.sub(r'"(\w+)"', r"\1", text)
    if found := _OUTSIDE.search(bare) or _OUTSIDE.search(quoted):
        raise ToolError(f"The function {found[1]} can't be called from here.")
    return text
