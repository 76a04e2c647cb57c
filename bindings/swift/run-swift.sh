#!/usr/bin/env bash
# Runs a Swift command on this package, with the library and the server that its tests need.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: bindings/swift/run-swift.sh COMMAND [ARGUMENT…]

Runs `swift COMMAND …` on the package, for example `run-swift.sh test --filter SubmittingTests`. On Linux
the core is linked from bindings/target, where bindings/build-native.sh puts it; without SKIP_NATIVE=1 that
is run first. See toolchain.sh for where Swift comes from.
USAGE
}

case ${1-} in
'' | -h | --help)
  usage
  exit 0
  ;;
esac

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
[[ ${SKIP_NATIVE-} == 1 ]] || bindings/build-native.sh

natives=("bindings/target/native/"*/)
if [[ ! -d ${natives[0]} ]]; then
  printf 'run-swift.sh: there is no native library; run bindings/build-native.sh\n' >&2
  exit 1
fi
# The toolchain may see the repository elsewhere.
folder=$(bindings/swift/toolchain.sh pwd)/bindings/target
native=$folder/native/$(basename "${natives[0]}")
export SWIFT_ENV_LD_LIBRARY_PATH=$native
export SWIFT_ENV_SUBMIT_ONCE_PROGRAMS=$folder
# Of a crash it would ask at a terminal, and keep the crashed process.
export SWIFT_ENV_SWIFT_BACKTRACE=enable=no

command=$1
shift
linking=()
case $command in
build | test | run) linking=(-Xlinker "-L$native") ;;
esac
exec bindings/swift/toolchain.sh swift "$command" ${linking[@]+"${linking[@]}"} "$@"
