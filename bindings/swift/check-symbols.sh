#!/usr/bin/env bash
# Looks for symbols that are newer than the deployment targets in the Swift sources.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: bindings/swift/check-symbols.sh [FOLDER]

Fails if a Swift file in the folder (default: bindings/swift/Sources) uses one of the symbols that
newer-symbols.txt lists. On Linux nothing else tells: availability isn't checked there.
USAGE
}

case ${1-} in
-h | --help)
  usage
  exit 0
  ;;
esac

here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
folder=${1:-$here/Sources}
patterns=$(grep -vE '^(#|$)' "$here/newer-symbols.txt")

files=0
found=0
while IFS= read -r -d '' file; do
  files=$((files + 1))
  # Comments become empty lines, so that the numbers stay right.
  lines=$(sed -E 's,(^|[[:space:]])//.*,,' "$file" | grep -nE -f <(printf '%s\n' "$patterns") || true)
  if [[ -n $lines ]]; then
    found=$((found + 1))
    while IFS= read -r line; do
      printf '%s:%s\n' "$file" "$line" >&2
    done <<<"$lines"
  fi
done < <(find "$folder" -name '*.swift' -print0)

((files > 0)) || {
  printf 'check-symbols.sh: there is no Swift file in %s\n' "$folder" >&2
  exit 1
}
printf 'files: %d, with symbols newer than iOS 16 and macOS 13: %d\n' "$files" "$found"
((found == 0))
