#!/usr/bin/env bash
# Builds what the tests of the bindings need: the native library of this machine, in a folder by the
# name that the JVM looks for, and the reference server.
set -euo pipefail

# PROFILE: the cargo profile. `ci` is quick to build; `mobile` is what ships.
readonly profile=${PROFILE:-ci}
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
readonly out=bindings/target

# The names that JNA gives to systems (com.sun.jna.Platform.RESOURCE_PREFIX).
case $(uname -s) in
Linux) system=linux ;;
Darwin) system=darwin ;;
*)
  printf 'build-native.sh: only Linux and macOS hosts are built for\n' >&2
  exit 1
  ;;
esac
case $(uname -m) in
x86_64) machine=x86-64 ;;
aarch64 | arm64) machine=aarch64 ;;
*) machine=$(uname -m) ;;
esac

# built ARGUMENTS…: runs a cargo command, and prints the path of what it made.
built() {
  cargo "$@" --profile "$profile" --locked --message-format json-render-diagnostics |
    sed -n \
      -e 's/.*"filenames":\["\([^"]*libsubmit_once\.\(so\|dylib\)\)".*/\1/p' \
      -e 's/.*"executable":"\([^"]*\)".*/\1/p' |
    tail -n 1
}

# place FILE INTO: a copy that is never seen half-made, and is left alone if it is the same.
place() {
  mkdir -p "$(dirname "$2")"
  if ! cmp -s "$1" "$2"; then
    cp "$1" "$2.new"
    mv "$2.new" "$2"
  fi
}

library=$(built rustc --package submit-once --lib --crate-type cdylib)
place "$library" "$out/native/$system-$machine/$(basename "$library")"
server=$(built build --package submit-once --example reference-server)
place "$server" "$out/reference-server"
