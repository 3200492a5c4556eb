"""Which rows of which tables a query's rows come from: the query itself is asked for them too.

A query over plain tables gets one column more for each of them, its row numbers: as they are, or
gathered into a list where the query groups. Where that can't be (DISTINCT, UNION, subqueries, CTEs)
the tables alone are known.
"""

from __future__ import annotations

import copy
import json
from typing import Any

PREFIX = "__rows_of_"


def variants(tree: dict[str, Any], tables: set[str]) -> list[str]:
    """Trees with columns of origin, as JSON, the likeliest first; none where there can be none.

    ``tree`` is what DuckDB's ``json_serialize_sql`` gives; ``tables`` are names in lower case.
    """
    try:
        (statement,) = tree["statements"]
        node = statement["node"]
        if node["type"] != "SELECT_NODE" or node["cte_map"]["map"]:
            return []
        if any(modifier["type"] == "DISTINCT_MODIFIER" for modifier in node["modifiers"]):
            return []
        names = list(_base_tables(node["from_table"]))
        grouping = node["aggregate_handling"] == "FORCE_AGGREGATES" or node["group_expressions"]
    except (KeyError, TypeError, ValueError):  # another version's tree
        return []
    if not names or any(table.lower() not in tables for table, _ in names):
        return []
    forms = [True] if grouping else [False, True]
    return [_with_columns(tree, names, gathered) for gathered in forms]


def _base_tables(node: dict[str, Any]) -> list[tuple[str, str]]:
    """Table and alias of every table of a FROM. Raises `ValueError` for anything else in it."""
    if node["type"] == "BASE_TABLE":
        return [(node["table_name"], node["alias"] or node["table_name"])]
    if node["type"] == "JOIN" and node["join_type"] in ("INNER", "LEFT", "RIGHT", "OUTER"):
        return [*_base_tables(node["left"]), *_base_tables(node["right"])]
    raise ValueError(node["type"])


def _with_columns(tree: dict[str, Any], names: list[tuple[str, str]], gathered: bool) -> str:
    changed = copy.deepcopy(tree)
    selected = changed["statements"][0]["node"]["select_list"]
    for table, alias in names:
        column: dict[str, Any] = {
            "class": "COLUMN_REF",
            "type": "COLUMN_REF",
            "alias": "",
            "column_names": [alias, "_row"],
        }
        if gathered:
            column = {
                "class": "FUNCTION",
                "type": "FUNCTION",
                "alias": "",
                "function_name": "list",
                "schema": "",
                "catalog": "",
                "children": [column],
                "arguments": [{"name": "", "expression": column}],
                "qualified_name": {"path": ["list"]},
                "filter": None,
                "order_bys": {"type": "ORDER_MODIFIER", "orders": []},
                "distinct": False,
                "is_operator": False,
                "export_state": False,
                "is_legacy_function_call": False,
            }
        selected.append({**column, "alias": PREFIX + table.lower()})
    return json.dumps(changed)
