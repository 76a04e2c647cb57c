#!/usr/bin/env bash
# Breaks what build-xcframework.sh checks, one thing at a time in a copy, and sees it refuse each; and
# compiles C against header and module map, as they lie in an XCFramework, with the library of this machine.
set -euo pipefail

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
checks=0

fail() {
  printf 'test-xcframework.sh: %s\n' "$*" >&2
  exit 1
}

fresh_copy() {
  rm -rf "$scratch/copy"
  mkdir -p "$scratch/copy/bindings"
  cp Package.swift "$scratch/copy/"
  mkdir -p "$scratch/copy/bindings/swift"
  cp -R bindings/swift/Sources bindings/swift/build-xcframework.sh "$scratch/copy/bindings/swift/"
}

# refuses NAME COMMAND: after the change to the copy the rehearsal fails.
refuses() {
  fresh_copy
  (cd "$scratch/copy" && sh -c "$2")
  if "$scratch/copy/bindings/swift/build-xcframework.sh" --dry-run >"$scratch/log" 2>&1; then
    fail "it was not refused: $1"
  fi
  checks=$((checks + 1))
}

fresh_copy
"$scratch/copy/bindings/swift/build-xcframework.sh" --dry-run >"$scratch/commands" || fail "what is right is refused"
for words in "--target aarch64-apple-ios " "--target aarch64-apple-ios-sim " "--target x86_64-apple-ios " \
  "--target aarch64-apple-darwin " "--target x86_64-apple-darwin " IPHONEOS_DEPLOYMENT_TARGET=16.0 \
  MACOSX_DEPLOYMENT_TARGET=13.0 "-create-xcframework" "ditto -c -k" compute-checksum Headers/SubmitOnceFFI; do
  grep -qF -- "$words" "$scratch/commands" || fail "no command has: $words"
  checks=$((checks + 1))
done
# One artefact per build, or there is no LTO.
[[ $(grep -c -- "--crate-type staticlib" "$scratch/commands") -eq 5 ]] || fail "there are not five builds"

readonly ffi=bindings/swift/Sources/SubmitOnceFFI
refuses "no header" "rm $ffi/SubmitOnceFFI.h"
refuses "no module map" "rm $ffi/module.modulemap"
refuses "a second header" "cp $ffi/SubmitOnceFFI.h $ffi/Other.h"
refuses "another module" "sed -i.bak 's/^module SubmitOnceFFI/module Other/' $ffi/module.modulemap; rm $ffi/*.bak"
refuses "another header" "sed -i.bak 's/SubmitOnceFFI.h/Other.h/' $ffi/module.modulemap; rm $ffi/*.bak"
refuses "another import" "sed -i.bak 's/import SubmitOnceFFI/import Other/' bindings/swift/Sources/SubmitOnceGenerated/*.swift"
refuses "another path" "sed -i.bak 's/SubmitOnceFFI.xcframework/Other.xcframework/' Package.swift"
refuses "older systems" "sed -i.bak 's/\.iOS(\.v16)/.iOS(.v15)/' Package.swift"
refuses "no privacy manifest" "rm bindings/swift/Sources/SubmitOnce/PrivacyInfo.xcprivacy"
refuses "a manifest that isn't copied" "sed -i.bak '/PrivacyInfo/d' Package.swift"
refuses "no reason for timestamps" "sed -i.bak 's/C617.1/0/' bindings/swift/Sources/SubmitOnce/PrivacyInfo.xcprivacy"
refuses "no reason for the boot time" "sed -i.bak 's/35F9.1/0/' bindings/swift/Sources/SubmitOnce/PrivacyInfo.xcprivacy"

# Header, module map and library fit: a C module that is found in Headers, and a program that links.
natives=(bindings/target/native/*/)
[[ -d ${natives[0]} ]] || fail "there is no native library; run bindings/build-native.sh"
staged=bindings/target/xcframework-check
rm -rf "$staged"
mkdir -p "$staged/Headers/SubmitOnceFFI"
cp "$ffi"/* "$staged/Headers/SubmitOnceFFI/"
printf '%s\n' '@import SubmitOnceFFI;' \
  'int main(void) { return ffi_submit_once_uniffi_contract_version() == 0; }' >"$staged/main.m"
# In its folder and by name: the toolchain may see the repository elsewhere.
# shellcheck disable=SC2016 # The inner shell expands them.
SWIFT_ENV_LD_LIBRARY_PATH="${natives[0]}" bindings/swift/toolchain.sh sh -c '
  set -e
  clang=$(command -v clang || echo /usr/libexec/swift/bin/clang)
  "$clang" -fmodules -fmodules-cache-path="$1/cache" -I "$1/Headers" -c "$1/main.m" -o "$1/main.o"
  "$clang" "$1/main.o" -L "$2" -lsubmit_once -o "$1/main"
  "$1/main"
' sh "$staged" "${natives[0]}" || fail "header, module map and library don't fit"
checks=$((checks + 1))
printf 'test-xcframework.sh: %d checks\n' "$checks"
