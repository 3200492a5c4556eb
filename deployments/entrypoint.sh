#!/bin/sh
# Secrets come as files: where NAME_FILE is set, NAME becomes what the file holds. Only the names
# below, as others that end in _FILE belong to other programs (AWS_WEB_IDENTITY_TOKEN_FILE).
# Then the command runs in this process's place, so that it gets the signals.
set -eu
for name in \
    DESKWORK_MODEL_KEY DESKWORK_DATABASE_URL DESKWORK_BRAVE_KEY DESKWORK_TAVILY_KEY \
    PREFECT_API_AUTH_STRING PREFECT_SERVER_API_AUTH_STRING \
    PREFECT_SERVER_DATABASE_CONNECTION_URL PREFECT_SERVER_DOCKET_URL PREFECT_REDIS_MESSAGING_URL
do
    eval "file=\${${name}_FILE:-}"
    [ -n "$file" ] || continue
    if [ ! -r "$file" ]; then
        echo "The secret file $file, named by ${name}_FILE, can't be read. Mount it, readable for user $(id -u)." >&2
        exit 2
    fi
    value=$(cat "$file")
    export "$name=$value"
    unset "${name}_FILE"
done
exec "$@"
