"""Who may install: each on a server that has never seen dotq's roles."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from dotq._migrate import MigrationError, migrate, status
from migrate.support import Cluster, Tree

ROLES = ("dotq_owner", "dotq_producer", "dotq_worker", "dotq_operator", "dotq_reader")


def grants(cluster: Cluster, database: str, *statements: str) -> None:
    """Run statements as the superuser; {} is the database."""
    cluster.execute(*(statement.replace("{}", database) for statement in statements), dbname=database)


@pytest.mark.parametrize("schema", ["dotq", "My Schema"])
def test_createrole_and_create_are_enough(cluster: Cluster, schema: str) -> None:
    database = cluster.database()
    grants(cluster, database, "create role deployer login createrole", "grant create on database {} to deployer")
    with cluster.connect(database, "deployer") as connection:
        assert migrate(connection, schema=schema).applied
        assert migrate(connection, schema=schema).applied == ()
        now = status(connection, schema)
        assert (now.state, now.migrations[0].applied_by) == ("current", "deployer")
        row = connection.execute("select current_user, pg_has_role('dotq_owner', 'USAGE')").fetchone()
        if connection.info.server_version >= 160000:
            assert row == ("deployer", False), "the login must not own things by mere membership"
    with cluster.connect(database) as connection:
        flags = connection.execute(
            "select distinct rolcanlogin, rolsuper, rolcreaterole, rolbypassrls from pg_roles where rolname = any(%s)",
            (list(ROLES),),
        ).fetchall()
        assert flags == [(False, False, False, False)]


def test_roles_made_beforehand_are_enough_without_createrole(cluster: Cluster) -> None:
    database = cluster.database()
    grants(cluster, database, "create role deployer login", "grant create on database {} to deployer")
    with cluster.connect(database, "deployer") as connection:
        with pytest.raises(MigrationError, match="deployer may not create the roles that dotq needs") as caught:
            migrate(connection)
        assert caught.value.sqlstate == "JQ014"
        cure = (caught.value.hint or "").removeprefix("Have an administrator run: ")
        assert [cure.count(f"create role {role} ") for role in ROLES] == [1] * 5
        cluster.execute(cure)
        assert migrate(connection).applied
        assert status(connection).state == "current"


def test_the_missing_right_is_named_with_its_cure(cluster: Cluster) -> None:
    database = cluster.database()
    grants(cluster, database, "create role deployer login", *(f"create role {role}" for role in ROLES))
    with cluster.connect(database, "deployer") as connection:
        for words in (
            "deployer may not act as dotq_owner",
            f"may not create schema dotq in database {database}",
        ):
            with pytest.raises(MigrationError, match=words) as caught:
                migrate(connection)
            assert caught.value.sqlstate == "JQ014"
            cluster.execute((caught.value.hint or "").removeprefix("Have an administrator run: "), dbname=database)
        assert migrate(connection).applied


def test_schema_public_needs_its_owner_or_a_grant(cluster: Cluster) -> None:
    database = cluster.database()
    grants(cluster, database, "create role deployer login createrole", "create role boss login")
    with cluster.connect(database, "deployer") as connection:
        with pytest.raises(MigrationError, match="deployer may not let dotq_owner create objects") as caught:
            migrate(connection, schema="public")
        assert caught.value.sqlstate == "JQ014"
        grants(cluster, database, "alter database {} owner to deployer")
        assert migrate(connection, schema="public").applied
    with cluster.connect(database, "boss") as connection:
        may = connection.execute("select has_schema_privilege('public', 'USAGE')").fetchone()
        assert may == (True,), "others must keep their use of the schema"
        with pytest.raises(MigrationError, match="may not read the ledger") as caught:
            status(connection, "public")
        assert caught.value.sqlstate == "42501"


def test_an_installer_that_acts_as_another_role_is_followed(cluster: Cluster) -> None:
    database = cluster.database()
    grants(
        cluster,
        database,
        "create role deployers createrole",
        "grant create on database {} to deployers",
        "create role alice login",
        "grant deployers to alice",
        "alter role alice set role deployers",
    )
    with cluster.connect(database, "alice") as connection:
        assert connection.execute("select current_user").fetchone() == ("deployers",)
        assert migrate(connection).applied
        assert status(connection).migrations[0].applied_by == "alice"
        assert connection.execute("select current_user").fetchone() == ("deployers",)


def test_two_databases_installing_at_once_share_the_roles(cluster: Cluster, tree: Tree) -> None:
    databases = [cluster.database() for _ in range(4)]
    connections = [cluster.connect(name) for name in databases]
    with ThreadPoolExecutor(len(connections)) as pool:
        reports = list(pool.map(lambda connection: migrate(connection, root=tree.root), connections))
    assert [len(report.applied) for report in reports] == [1] * 4
    for connection in connections:
        assert status(connection, root=tree.root).state == "current"
        connection.close()


def test_the_loser_of_the_race_for_a_role_goes_on(cluster: Cluster, tree: Tree) -> None:
    database = cluster.database()
    with cluster.connect("postgres") as other, cluster.connect(database) as connection:
        other.autocommit = False
        other.execute("create role dotq_owner nologin")
        with pytest.raises(MigrationError, match="is creating role dotq_owner") as caught:
            migrate(connection, root=tree.root, wait_timeout="100ms")
        assert caught.value.sqlstate == "55P03"
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(migrate, connection, root=tree.root)
            cluster.wait_until_blocked(connection.info.backend_pid)
            other.commit()
            assert waiting.result(timeout=30).applied


def test_an_owner_with_all_rights_is_refused(cluster: Cluster, tree: Tree) -> None:
    database = cluster.database()
    cluster.execute("create role dotq_owner superuser")
    with cluster.connect(database) as connection:
        with pytest.raises(MigrationError, match="dotq_owner is a superuser") as caught:
            migrate(connection, root=tree.root)
        assert caught.value.sqlstate == "JQ014"
        cluster.execute((caught.value.hint or "").removeprefix("Run: "))
        assert migrate(connection, root=tree.root).applied


def test_planted_functions_on_the_installers_path_are_not_called(cluster: Cluster, tree: Tree) -> None:
    database = cluster.database()
    grants(
        cluster,
        database,
        "create schema evil",
        "create table evil.called (who text)",
        "create function evil.set_config(text, text, boolean) returns text language sql"
        " as 'insert into evil.called values (current_user) returning who'",
        "create function evil.clock_timestamp() returns timestamptz language sql"
        " as 'insert into evil.called values (current_user) returning pg_catalog.now()'",
        "grant all on schema evil to public",
        "grant all on evil.called to public",
        "alter database {} set search_path = evil, pg_catalog",
    )
    with cluster.connect(database) as connection:
        migrate(connection, root=tree.root)
        assert status(connection, root=tree.root).state == "current"
        assert connection.execute("select count(*) from evil.called").fetchone() == (0,)
