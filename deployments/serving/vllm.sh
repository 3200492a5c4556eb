#!/bin/sh
# One vLLM 0.33 engine on a machine with eight GPUs, without containers.
#   MODEL=s3://models/example-moe-mxfp4 KEY_FILE=/etc/deskwork/model_key sh vllm.sh
# The model and its parsers are examples: docs/serving.md (licence, memory).
set -eu
: "${MODEL:?Set MODEL to the address of the weights, s3://bucket/folder or a folder}"
: "${KEY_FILE:?Set KEY_FILE to a file that holds the key that callers must send}"
VLLM_API_KEY=$(cat "$KEY_FILE")
export VLLM_API_KEY
# Nothing is fetched from a hub and no usage is reported.
export HF_HUB_OFFLINE=1 VLLM_NO_USAGE_STATS=1
# Path-style addresses, for stores other than Amazon's; AWS_ENDPOINT_URL names the store.
export RUNAI_STREAMER_S3_USE_VIRTUAL_ADDRESSING=0 AWS_EC2_METADATA_DISABLED=true
exec vllm serve "$MODEL" \
    --served-model-name "${NAME:-example-model}" \
    --host 0.0.0.0 \
    --port "${PORT:-8000}" \
    --load-format runai_streamer \
    --tensor-parallel-size 8 \
    --enable-expert-parallel \
    --max-model-len 1048576 \
    --max-num-seqs 32 \
    --gpu-memory-utilization 0.92 \
    --enable-prefix-caching \
    --enable-prompt-tokens-details \
    --enable-auto-tool-choice \
    --tool-call-parser "${TOOL_PARSER:-kimi_k3}" \
    --reasoning-parser "${REASONING_PARSER:-kimi_k3}" \
    --limit-mm-per-prompt '{"image": 200}'
