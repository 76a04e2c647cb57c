#!/usr/bin/env bash
# Runs the Swift tests, and checks that they call every function that the core exports.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: bindings/swift/check-coverage.sh [ARGUMENT…]

Runs `swift test` with coverage and these arguments, for example `--skip SoakTests`, and writes
bindings/target/swift-exported-functions.md. Fails if a test fails, or if an exported function was never
called. See run-swift.sh for what it needs.
USAGE
}

case ${1-} in
-h | --help)
  usage
  exit 0
  ;;
esac

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
scratch=.build/coverage

bindings/swift/run-swift.sh test --scratch-path "$scratch" --enable-code-coverage "$@"
export SKIP_NATIVE=1
coverage=$(bindings/swift/run-swift.sh test --scratch-path "$scratch" --show-codecov-path | tail -n 1)
exec bindings/swift/run-swift.sh run --scratch-path "$scratch" --skip-build submit-once-programs exported-functions \
  bindings/swift/Sources/SubmitOnceGenerated/SubmitOnceGenerated.swift \
  "$coverage" bindings/target/swift-exported-functions.md
