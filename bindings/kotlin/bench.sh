#!/usr/bin/env bash
# `submit` and `snapshot` from Kotlin beside the same calls from Rust, in one run on one machine.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: bindings/kotlin/bench.sh [FOLDER]

Prints a table of median times per call, in rounds of each in turn. FOLDER is where the databases are
made, for the time of the run: name one on a real disk, since `submit` waits for it (default: target).
Takes about a minute after the builds.
USAGE
}

case ${1-} in
-h | --help)
  usage
  exit 0
  ;;
esac

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
mkdir -p target
folder=$(readlink -f "${1:-target}")
program=$(
  cargo build --package submit-once --example calls --release --locked \
    --message-format json-render-diagnostics |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
)
mvn -B -q -f bindings/kotlin/pom.xml -pl library -DskipTests -Dnative.profile=release test-compile
mvn -B -q -f bindings/kotlin/pom.xml -pl library -Dexec.skip=false exec:java \
  -Dexec.classpathScope=test -Dexec.mainClass=dev.submitonce.programs.BenchKt \
  -Dexec.args="$program $folder 2000"
