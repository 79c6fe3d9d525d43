#!/usr/bin/env bash
# Everything that needs a GPU, in one go of about ten minutes: the tests, then training and decoding beside the others.
#
#   benchmarks/gpu.sh                  # from the root of the repository, in an environment with: pip install -e '.[dev,bench]'
#   DATA=prepared/mine benchmarks/gpu.sh
set -euo pipefail
cd "$(dirname "$0")/.."

python - <<'CHECK'
import sys, torch
if not torch.cuda.is_available():
    sys.exit("benchmarks/gpu.sh: torch sees no CUDA GPU; install a CUDA build of torch, or use a machine that has one")
print(torch.cuda.get_device_name(), torch.__version__, "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "no bf16")
CHECK

data=(${DATA:+--data "$DATA"})
python -m pytest tests/gpu tests/blocks tests/models
python benchmarks/train.py tiny small paper_base --precisions fp32 bf16 --tokens 25000 --updates 8 "${data[@]}"
