#!/bin/sh
# One SGLang 0.5 engine on a machine with eight GPUs, without containers.
#   MODEL=s3://models/example-moe-mxfp4 KEY_FILE=/etc/deskwork/model_key sh sglang.sh
# The model and its parsers are examples: docs/serving.md (licence, memory). The prefix cache is on
# by itself. The key stands in the process list of this machine.
set -eu
: "${MODEL:?Set MODEL to the address of the weights, s3://bucket/folder or a folder}"
: "${KEY_FILE:?Set KEY_FILE to a file that holds the key that callers must send}"
export HF_HUB_OFFLINE=1
export RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING=0 AWS_EC2_METADATA_DISABLED=true
exec python3 -m sglang.launch_server \
    --model-path "$MODEL" \
    --served-model-name "${NAME:-example-model}" \
    --host 0.0.0.0 \
    --port "${PORT:-8000}" \
    --api-key "$(cat "$KEY_FILE")" \
    --load-format runai_streamer \
    --tensor-parallel-size 8 \
    --ep-size 8 \
    --context-length 1048576 \
    --max-running-requests 32 \
    --mem-fraction-static 0.88 \
    --schedule-policy lpm \
    --enable-cache-report \
    --enable-metrics \
    --tool-call-parser "${TOOL_PARSER:-kimi_k3}" \
    --reasoning-parser "${REASONING_PARSER:-kimi_k3}" \
    --limit-mm-data-per-request '{"image": 200}'
