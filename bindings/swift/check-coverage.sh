#!/usr/bin/env bash
# Lists every function that the Rust library exports, with whether the Swift tests called it, and fails if
# one was not. Needs a run of the tests with --enable-code-coverage before.
set -euo pipefail

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
readonly generated=bindings/swift/Sources/SubmitOnceGenerated/SubmitOnceGenerated.swift
readonly list=bindings/target/swift-exported-functions.md
report=.build/debug/codecov/submit-once.json
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if [[ ! -s $report ]]; then
  printf 'check-coverage.sh: run the tests with --enable-code-coverage first\n' >&2
  exit 1
fi

# `Outbox.submit`, `newSubmissionId` and so on, by what the generated file declares.
awk '
  /^public protocol (Outbox|Cancellation)Protocol/ { type = $3; sub(/Protocol:?.*/, ".", type); next }
  type != "" && /^}/ { type = "" }
  type != "" && /^    func / { name = $2; sub(/\(.*/, "", name); print type name }
  /^public static func `?open`?\(/ { print "Outbox.open" }
  /^public func / {
    name = $3; sub(/\(.*/, "", name)
    if (name !~ /^(FfiConverter|uniffi)/) print name
  }
' "$generated" | sort -u >"$scratch/exported"

# What was called, from the names that the compiler gives.
grep -o '"count":[1-9][0-9]*,"filenames":\["[^"]*SubmitOnceGenerated\.swift"\][^{}]*"name":"[^"]*"' "$report" |
  sed 's/.*"name":"\([^"]*\)"$/\1/' >"$scratch/mangled"
# shellcheck disable=SC2016 # The inner shell expands it.
bindings/swift/toolchain.sh sh -c '
  PATH=$PATH:/usr/libexec/swift/bin swift-demangle --compact
' <"$scratch/mangled" |
  sed -n -E \
    -e 's/^(static )?SubmitOnceGenerated\.((Outbox|Cancellation)\.[A-Za-z0-9]+)\(.*/\2/p' \
    -e 's/^SubmitOnceGenerated\.([a-z][A-Za-z0-9]*)\(.*/\1/p' |
  sort -u >"$scratch/called"

mkdir -p "$(dirname "$list")"
{
  printf '# Exported functions, and whether the Swift tests called them\n\n'
  while IFS= read -r name; do
    mark=' '
    grep -qxF -- "$name" "$scratch/called" && mark=x
    # shellcheck disable=SC2016 # Markdown.
    printf -- '- [%s] `%s`\n' "$mark" "$name"
  done <"$scratch/exported"
} >"$list"
comm -23 "$scratch/exported" "$scratch/called" >"$scratch/missing"
total=$(wc -l <"$scratch/exported")
missing=$(wc -l <"$scratch/missing")
printf 'exported functions: %d, called by the Swift tests: %d (%s)\n' "$total" $((total - missing)) "$list"
if ((total < 30 || missing > 0)); then
  printf 'never called: %s\n' "$(tr '\n' ' ' <"$scratch/missing")" >&2
  exit 1
fi
