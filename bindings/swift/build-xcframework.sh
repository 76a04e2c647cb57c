#!/usr/bin/env bash
# Builds the XCFramework of the core, for Apple platforms.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: bindings/swift/build-xcframework.sh [--dry-run]

Builds static libraries for devices, simulators and Macs, and puts them into an XCFramework with the
header and the module map, zips it, and prints the checksum for Package.swift. It needs macOS with Xcode,
and the Rust targets; it says what is missing.

  --dry-run   prints every command, runs none of them, and checks what can be checked on any machine:
              that header, module map, privacy manifest, versions and paths fit together

Results:

  bindings/target/SubmitOnceFFI.xcframework
  bindings/target/SubmitOnceFFI.xcframework.zip

Environment: CARGO_TARGET_DIR, cargo's target folder (default: target).
Exit status: 0 if everything was built, or is right; 1 if not; 2 for a wrong argument.
USAGE
}

readonly module=SubmitOnceFFI
readonly sources=bindings/swift/Sources/$module
readonly manifest=bindings/swift/Sources/SubmitOnce/PrivacyInfo.xcprivacy
readonly out=bindings/target
readonly framework=$out/$module.xcframework
readonly headers=$out/xcframework/Headers
readonly profile=mobile
# Without these the C code of SQLite is built for the newest system, and doesn't link for older ones.
readonly ios=16.0 macos=13.0
readonly devices=(aarch64-apple-ios)
readonly simulators=(aarch64-apple-ios-sim x86_64-apple-ios)
readonly macs=(aarch64-apple-darwin x86_64-apple-darwin)
readonly targets=("${devices[@]}" "${simulators[@]}" "${macs[@]}")

dry_run=false
case ${1-} in
'') ;;
--dry-run) dry_run=true ;;
-h | --help)
  usage
  exit 0
  ;;
*)
  printf 'build-xcframework.sh: there is no argument "%s"; see --help\n' "$1" >&2
  exit 2
  ;;
esac

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
repository=$PWD
target_folder=${CARGO_TARGET_DIR:-$repository/target}
readonly repository target_folder

# run COMMAND…: prints it, and runs it unless this is a rehearsal.
run() {
  printf '+'
  printf ' %q' "$@"
  printf '\n'
  $dry_run || "$@"
}

problems=()
# must MESSAGE COMMAND…: remembers the message if the command fails.
must() {
  local message=$1
  shift
  "$@" >/dev/null 2>&1 || problems+=("$message")
}

has_line() { grep -qE -- "$2" "$1"; }
is_alone() { [[ $(find "$1" -type f | wc -l) -eq 2 ]]; }

check_layout() {
  must "$sources/$module.h is missing: run bindings/generate.sh" test -s "$sources/$module.h"
  must "$sources/module.modulemap is missing: run bindings/generate.sh" test -s "$sources/module.modulemap"
  must "$sources holds more than the header and the module map" is_alone "$sources"
  must "the module map doesn't name the module $module" \
    has_line "$sources/module.modulemap" "^module $module \{"
  must "the module map doesn't name the header $module.h" \
    has_line "$sources/module.modulemap" "^ *header \"$module\.h\""
  must "the generated Swift doesn't import $module" \
    has_line bindings/swift/Sources/SubmitOnceGenerated/SubmitOnceGenerated.swift "import $module\$"
  must "Package.swift doesn't name $framework" has_line Package.swift "\"$framework\""
  must "Package.swift is not for iOS ${ios%.*} and macOS ${macos%.*}" \
    has_line Package.swift "\.iOS\(\.v${ios%.*}\), \.macOS\(\.v${macos%.*}\)"
  must "$manifest is missing" test -s "$manifest"
  must "Package.swift doesn't have the privacy manifest among the resources" \
    has_line Package.swift "\.copy\(\"$(basename "$manifest")\"\)"
  must "the privacy manifest has no reason for file timestamps (C617.1)" has_line "$manifest" C617.1
  must "the privacy manifest has no reason for the boot time (35F9.1)" has_line "$manifest" 35F9.1
}

check_machine() {
  local target installed
  must "this is not macOS" test "$(uname -s)" = Darwin
  must "Xcode is missing: xcode-select --install is not enough, install Xcode" xcodebuild -version
  must "cargo is missing: install Rust" cargo --version
  for target in "${targets[@]}"; do
    installed=$(rustc --print target-libdir --target "$target" 2>/dev/null || true)
    must "Rust's standard library is missing: rustup target add $target" test -d "$installed"
  done
}

report_problems() {
  if ((${#problems[@]} > 0)); then
    printf 'build-xcframework.sh: %s\n' "${problems[@]}" >&2
    exit 1
  fi
}

# One artefact per build: cargo turns LTO off when it makes several kinds of library at once.
build() {
  local target=$1
  run env IPHONEOS_DEPLOYMENT_TARGET=$ios MACOSX_DEPLOYMENT_TARGET=$macos CARGO_INCREMENTAL=0 \
    "CARGO_ENCODED_RUSTFLAGS=--remap-path-prefix=$HOME=/user"$'\x1f'"--remap-path-prefix=$repository=/submit-once" \
    cargo rustc --package submit-once --lib --crate-type staticlib --profile $profile --locked \
    --target "$target" --target-dir "$target_folder"
}

# slice NAME TARGET…: one library for several processors.
slice() {
  local name=$1 target libraries=()
  shift
  for target in "$@"; do
    libraries+=("$target_folder/$target/$profile/libsubmit_once.a")
  done
  run mkdir -p "$out/xcframework/$name"
  run lipo -create "${libraries[@]}" -output "$out/xcframework/$name/libsubmit_once.a"
}

check_layout
$dry_run || check_machine
report_problems

for target in "${targets[@]}"; do
  build "$target"
done
run rm -rf "$out/xcframework" "$framework" "$framework.zip"
# In a folder of the module's name: at the top, the module maps of two XCFrameworks collide.
run mkdir -p "$headers/$module"
run cp "$sources/$module.h" "$sources/module.modulemap" "$headers/$module/"
slice ios "${devices[@]}"
slice ios-simulator "${simulators[@]}"
slice macos "${macs[@]}"
run xcodebuild -create-xcframework \
  -library "$out/xcframework/ios/libsubmit_once.a" -headers "$headers" \
  -library "$out/xcframework/ios-simulator/libsubmit_once.a" -headers "$headers" \
  -library "$out/xcframework/macos/libsubmit_once.a" -headers "$headers" \
  -output "$framework"
run ditto -c -k --sequesterRsrc --keepParent "$framework" "$framework.zip"
run swift package compute-checksum "$framework.zip"

if $dry_run; then
  printf 'build-xcframework.sh: what can be checked here is right; nothing was built\n'
else
  printf 'build-xcframework.sh: the checksum above, with the address of this very zip, goes into Package.swift\n'
fi
