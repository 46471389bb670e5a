# ruff: noqa: E501, SIM905 - tables of words
"""Words for actions in the names of tools, and names of arguments to narrow an action."""

PARTS = frozenset(
    "offset limit start end start_line end_line line_start line_end from to lines range view_range page "
    "page_number pages start_index end_index max_length head tail cursor section sheet cell selector depth "
    "cells".split()
)
"""Arguments that choose a part of the subject."""

READS = frozenset(
    "get read view open cat fetch show load find search list ls lookup look query scrape crawl browse visit "
    "retrieve download check describe inspect grep glob tree count calculate summarize extract stat info status "
    "preview head tail".split()
)
WRITES = frozenset(
    "write edit update delete remove create insert replace patch append put move rename modify cancel send add "
    "apply save upload push merge overwrite truncate drop alter rm mv mkdir touch exchange return assign close "
    "transfer submit".split()
)
SOMETIMES_WRITES = frozenset("book order post set record log commit copy cp run execute change".split())
"""Verbs that are also nouns; counted if a name has no other verb."""

READ_METHODS = frozenset({"get", "head", "options"})
SAME_READING = frozenset(
    "get read view open cat fetch show load scrape crawl browse visit retrieve download".split()
)
"""Verbs that show the same thing of a path or an address."""

LISTING = frozenset({"list", "ls", "tree", "glob", "dir"})
CALLERS = frozenset("tool tools call execute invoke function mcp run use".split())
INNER_NAMES = ("tool_name", "tool", "function_name", "function", "name")
INNER_ARGUMENTS = (
    "params",
    "parameters",
    "arguments",
    "args",
    "input",
    "tool_input",
    "tool_args",
    "tool_arguments",
)
"""Arguments for the call inside a tool that calls other tools."""

PLACES = frozenset(
    "repo repository owner org organization host hostname server bucket project project_id workspace database container "
    "drive site account tenant registry namespace".split()
)
"""Arguments for the place of a path; the same path in another place is another thing, also for a change."""

SAYING_NOTHING = frozenset(
    "description explanation reason rationale justification purpose thought thoughts security_risk timeout timeout_ms timeout_s "
    "timeout_seconds".split()
)
"""Arguments without influence on the content read."""

NEUTRAL = SAME_READING | frozenset(
    "file files content contents page pages web website site url link text document the a of from "
    "by tool fs filesystem mcp raw data resource".split()
)
"""Words of tools that show a path or an address unchanged; any further word means other content."""

ABOUT = frozenset({"info", "stat", "status", "metadata", "exists", "size"})
