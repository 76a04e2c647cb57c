#!/usr/bin/env bash
# Looks in the library for what its platforms don't have yet: a compiler on Linux has no availability to check.
set -euo pipefail

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
readonly list=bindings/swift/newer-symbols.txt
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
grep -v '^#' "$list" >"$scratch/patterns"

# Each line of the list finds something: seen on a sample, so that none is dead.
printf '%s\n' 'import Synchronization' 'import Observation' 'import SwiftData' 'import Testing' 'Mutex<Int>' \
  'Atomic<Int>' '@Observable class' '@Model class' 'some AsyncSequence<Int, any Error>' 'AsyncIteratorProtocol<Int>' \
  'func next(isolation: x)' ': TaskExecutor' 'withDiscardingTaskGroup {' 'withThrowingDiscardingTaskGroup {' \
  'RegexBuilder.Local' 'BGContinuedProcessingTaskRequest' 'UInt128' 'Int128' >"$scratch/sample"
while IFS= read -r pattern; do
  grep -qE -- "$pattern" "$scratch/sample" || {
    printf 'check-symbols.sh: "%s" finds nothing, not even in the sample\n' "$pattern" >&2
    exit 1
  }
done <"$scratch/patterns"

if grep -rnE -f "$scratch/patterns" --include='*.swift' bindings/swift/Sources; then
  printf 'check-symbols.sh: newer than iOS 16 and macOS 13 (%s)\n' "$list" >&2
  exit 1
fi
printf 'check-symbols.sh: nothing newer than iOS 16 and macOS 13, by a list of %d\n' "$(wc -l <"$scratch/patterns")"
