#!/bin/sh
# SGLang's model gateway in front of engines of either kind: a conversation stays with the engine
# that has its prefix in the cache.
#   KEY_FILE=/etc/deskwork/model_key sh router.sh http://gpu-1:8000 http://gpu-2:8000
# The thresholds matter: with the default of 64 requests more on one engine than on the other,
# conversations that share a system prompt all go to one (docs/serving.md). Retries are Deskwork's.
set -eu
: "${KEY_FILE:?Set KEY_FILE to a file that holds the key that callers must send, the same as the engines'}"
[ $# -gt 0 ] || { echo "Name the engines: sh router.sh http://gpu-1:8000 http://gpu-2:8000" >&2; exit 2; }
exec sglang-router launch \
    --host 0.0.0.0 \
    --port "${PORT:-8000}" \
    --api-key "$(cat "$KEY_FILE")" \
    --policy cache_aware \
    --cache-threshold 0.5 \
    --balance-abs-threshold 4 \
    --balance-rel-threshold 1.5 \
    --max-tree-size 536870912 \
    --request-timeout-secs 7200 \
    --worker-startup-timeout-secs 5400 \
    --disable-retries \
    --prometheus-host 0.0.0.0 \
    --prometheus-port 29000 \
    --worker-urls "$@"
