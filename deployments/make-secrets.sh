#!/bin/sh
# Makes the secret files of compose.yaml in the folder `secrets` beside it: once, at random, never
# overwriting. The model's key is asked of the environment (DESKWORK_MODEL_KEY) and may be empty.
#   sh deployments/make-secrets.sh
set -eu
folder=${1:-$(dirname "$0")/secrets}
if [ -e "$folder" ]; then
    echo "$folder exists; nothing was changed. Remove it to make new secrets (with new volumes)." >&2
    exit 1
fi
umask 077
mkdir -p "$folder"
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
postgres=$(random) valkey=$(random) access=$(random) secret=$(random)
put() { printf '%s' "$2" > "$folder/$1"; }
put postgres_password "$postgres"
put deskwork_database_url "postgresql://deskwork:$postgres@postgres:5432/deskwork"
put prefect_database_url "postgresql+asyncpg://deskwork:$postgres@postgres:5432/prefect"
put valkey.conf "requirepass $valkey
appendonly yes
maxmemory-policy noeviction
"
put messaging_url "redis://default:$valkey@valkey:6379/0"
put docket_url "redis://default:$valkey@valkey:6379/1"
put prefect_auth "admin:$(random)"
put model_key "${DESKWORK_MODEL_KEY:-}"
put aws_credentials "[default]
aws_access_key_id = $access
aws_secret_access_key = $secret
"
put s3_identities.json "{\"identities\": [{\"name\": \"deskwork\", \"actions\": [\"Admin\", \"Read\", \"List\", \"Tagging\", \"Write\"], \"credentials\": [{\"accessKey\": \"$access\", \"secretKey\": \"$secret\"}]}]}
"
# The folder is closed to others; the files are not, since containers read them as other users.
chmod 0444 "$folder"/*
echo "Secrets are in $folder. The Prefect page asks for what $folder/prefect_auth holds."
