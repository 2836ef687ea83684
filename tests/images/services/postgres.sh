#!/bin/sh
# Create the database of POSTGRES_USER, POSTGRES_PASSWORD and POSTGRES_DB the first time, then run the server with the arguments.
set -eu
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
if [ ! -e "$PGDATA/PG_VERSION" ]; then
    umask 077
    printf %s "$POSTGRES_PASSWORD" >/tmp/password
    initdb -U "$POSTGRES_USER" --auth-local=trust --auth-host=scram-sha-256 --pwfile=/tmp/password --encoding=UTF8 --locale=C.UTF-8 -D "$PGDATA"
    rm /tmp/password
    echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
    echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -D "$PGDATA" postgres
fi
exec postgres -D "$PGDATA" -c 'listen_addresses=*' -c unix_socket_directories=/var/run/postgresql "$@"
