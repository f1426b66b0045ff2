#!/bin/sh
# Start a throw-away PostgreSQL that asks for the password in DOTQ_TEST_PASSWORD.
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
data=/var/lib/postgresql/dotq-test
run="setpriv --reuid=postgres --regid=postgres --init-groups"

umask 077
password=$(mktemp)
printf '%s' "$DOTQ_TEST_PASSWORD" > "$password"
mkdir -p "$data" /var/run/postgresql
chown postgres:postgres "$data" "$password" /var/run/postgresql
$run "$bin/initdb" --pgdata="$data" --username=postgres --pwfile="$password" --auth=scram-sha-256 \
    --no-locale --encoding=UTF8 --no-sync > /dev/null
rm "$password"
echo 'host all all all scram-sha-256' >> "$data/pg_hba.conf"
unset DOTQ_TEST_PASSWORD
exec $run "$bin/postgres" -D "$data" -c 'listen_addresses=*' -c max_connections=200 \
    -c fsync=off -c synchronous_commit=off -c full_page_writes=off \
    -c idle_in_transaction_session_timeout=90s -c statement_timeout=120s
