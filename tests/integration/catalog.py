"""What a database holds, as its own catalog says it: what `alembic check` compares, and what it skips."""

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import psycopg
from sqlalchemy import Connection, NullPool, create_engine, text

Catalog = dict[str, str]
"""The definition of each thing by its kind and name, as the server writes it."""

ALEMBICS_OWN = ("alembic_version", "alembic_version_pkc")

QUERIES = {
    "column": """
        select c.relname, a.attname,
            concat_ws(' ', format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'not null' end,
                'identity ' || nullif(a.attidentity::text, ''),
                'generated ' || nullif(a.attgenerated::text, ''),
                'default ' || pg_get_expr(d.adbin, d.adrelid), 'collate ' || l.collname)
        from pg_attribute a
        join pg_class c on c.oid = a.attrelid and c.relkind in ('r', 'p', 'v', 'm')
        left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        left join pg_collation l on l.oid = a.attcollation
        where c.relnamespace = 'public'::regnamespace and a.attnum > 0 and not a.attisdropped""",
    "constraint": """
        select c.relname, k.conname,
            concat_ws(' ', pg_get_constraintdef(k.oid), case when not k.convalidated then 'unchecked' end)
        from pg_constraint k
        join pg_class c on c.oid = k.conrelid
        where c.relnamespace = 'public'::regnamespace and k.contype <> 'n'""",
    "index": """
        select c.relname, '',
            concat_ws(' ', pg_get_indexdef(i.indexrelid), case when not i.indisvalid then 'broken' end)
        from pg_index i
        join pg_class c on c.oid = i.indexrelid
        where c.relnamespace = 'public'::regnamespace""",
    "relation": """
        select c.relname, '', concat_ws(' ', c.relkind::text, c.relpersistence::text, c.reloptions::text)
        from pg_class c
        where c.relnamespace = 'public'::regnamespace""",
    "trigger": """
        select t.tgrelid::regclass::text, t.tgname, pg_get_triggerdef(t.oid)
        from pg_trigger t
        where not t.tgisinternal""",
    "function": """
        select p.oid::regprocedure::text, '', p.prosrc
        from pg_proc p
        where p.pronamespace = 'public'::regnamespace""",
    "type": """
        select t.typname, '', t.typtype::text
        from pg_type t
        where t.typnamespace = 'public'::regnamespace and t.typtype in ('e', 'd', 'r')""",
    "extension": "select extname, '', extversion from pg_extension",
}
"""For each kind of thing: what it belongs to, its name there, and its definition."""


def read_catalog(db: Connection) -> Catalog:
    """Everything in the database that somebody defined, but Alembic's own table."""
    return {
        f"{kind} {owner} {name}".strip(): definition
        for kind, query in QUERIES.items()
        for owner, name, definition in db.execute(text(query))
        if owner not in ALEMBICS_OWN
    }


def differences(one: Catalog, other: Catalog) -> list[str]:
    """What the two hold differently, a line each."""
    return [
        f"{name}: {one.get(name)!r} against {other.get(name)!r}"
        for name in sorted(one.keys() | other.keys())
        if one.get(name) != other.get(name)
    ]


@contextmanager
def connected(database_url: str) -> Iterator[Connection]:
    """A connection for one look or one change; committed at the end, then closed."""
    with create_engine(database_url, poolclass=NullPool).begin() as connection:
        yield connection


@contextmanager
def new_database(server_url: str) -> Iterator[str]:
    """The address of an empty database of its own; gone at the end, whoever is still connected."""
    name = f"test_{uuid4().hex}"
    with psycopg.connect(server_url, autocommit=True) as server:
        server.execute(f"create database {name} template template0")
        try:
            yield f"{server_url.rpartition('/')[0]}/{name}"
        finally:
            server.execute(f"drop database {name} with (force)")
