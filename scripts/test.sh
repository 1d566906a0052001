#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: scripts/test.sh [CMAKE-OPTION…]
#
# Installs what is missing, fetches the other LLVMs of the tests, builds into build/, tries the patches for LLVM where they
# are others than patches/passed.sha256 says, runs the tests, but for three of four that run again with LLVM 22 or the CUDA
# back-end. Options go to cmake, for example -DOMPDARTS_WERROR=ON. With E2E_THOROUGH=1 in the environment all tests run, and
# leave nothing out: more than twice as long.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install-deps.sh chromium zsh groff-base dpkg-dev file # what pages, completion, manual and package are tried in
# A parser of Chrome's trace events and a checker of JSON schemas: traces are read by others, not by us alone.
if [[ ! -d build/npm/node_modules/ajv ]]; then
    command -v npm >/dev/null || scripts/install-deps.sh nodejs npm || true
    npm install --silent --fetch-retries 0 --no-save --no-package-lock --prefix build/npm ajv@8.20.0 @tracerbench/trace-model@8.0.0 ||
        echo "test: without packages of npm one test of traces will be skipped"
fi
for version in 16 22; do
    scripts/fetch-llvm.sh $version build/llvm-$version || echo "test: the tests with LLVM $version will be skipped"
done
cmake -G Ninja -S . -B build -DOMPDARTS_RERUN="${E2E_THOROUGH:+ON}" "$@"
cmake --build build
# The patches for LLVM, where they are others than those that passed last.
patches() { cat patches/*/*.patch scripts/test-patches.sh scripts/build-llvm-runtimes.sh | sha256sum; }
if [[ $(cat patches/passed.sha256) != "$(patches)" ]]; then
    status=0
    scripts/test-patches.sh --quick || status=$?
    case $status in
        0) patches >patches/passed.sha256; echo "test: the patches for LLVM pass: commit patches/passed.sha256" ;;
        77) echo "test: the patches for LLVM are not tried" ;;
        *) exit $status ;;
    esac
fi
# A shim in front of python3 can take a second per call, and tests call it some thousand times.
interpreter=$(python3 -c 'import sys; print(sys.executable)')
[[ $interpreter == "$(command -v python3)" ]] || PATH=$(dirname "$interpreter"):$PATH
exec ctest --test-dir build --output-on-failure -j3 # many wait for devices and links that are slowed
