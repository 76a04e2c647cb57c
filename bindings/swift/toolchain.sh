#!/usr/bin/env bash
# Runs a Swift command: with the machine's own Swift, or with one that is kept in a cache folder.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: bindings/swift/toolchain.sh --set-up
       bindings/swift/toolchain.sh COMMAND [ARGUMENT…]

Runs a command of the Swift toolchain, such as `swift build`, in the repository's folder. If `swift`
6.0 or later is on the PATH, it is used. Otherwise, on Linux, Debian 13 with its package swiftlang is
made ready in a cache folder, and the command runs in there, with the repository at /src. That takes
about 3.5 GB and some minutes, once; it needs debootstrap, and root for chroot.

  --set-up   only makes the toolchain ready, and prints its version

Environment:
  SUBMIT_ONCE_CACHE   the cache folder, outside the repository (default: submit-once in the folder for
                      caches, XDG_CACHE_HOME or ~/.cache)
  SWIFT_ENV_…         the command gets these variables without the prefix

Exit status: that of the command; 1 if there is no toolchain, 2 for wrong usage.
USAGE
}

fail() {
  printf 'toolchain.sh: %s\n' "$*" >&2
  exit 1
}

case ${1-} in
-h | --help)
  usage
  exit 0
  ;;
'')
  usage >&2
  exit 2
  ;;
esac

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
repository=$PWD
readonly repository

# The variables for the command.
variables=()
while IFS='=' read -r name value; do
  variables+=("${name#SWIFT_ENV_}=$value")
done < <(env | grep '^SWIFT_ENV_' || true)

has_swift_6() {
  local version
  version=$(swift --version 2>/dev/null) && [[ $version =~ Swift\ version\ ([0-9]+) ]] && ((BASH_REMATCH[1] >= 6))
}

if has_swift_6; then
  if [[ $1 == --set-up ]]; then
    exec swift --version
  fi
  exec env "${variables[@]}" "$@"
fi

[[ $(uname -s) == Linux ]] || fail "please install Swift 6.0 or later"

cache=${SUBMIT_ONCE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/submit-once}
mkdir -p "$cache"
cache=$(readlink -f "$cache")
case $cache/ in
"$repository"/*) fail "the cache folder $cache is inside the repository; name another in SUBMIT_ONCE_CACHE" ;;
esac
# A number for what is in there: raise it when that changes.
readonly root=$cache/swift-debian13-1

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  # Without a terminal nobody can type a password: ask only where it isn't needed.
  if command -v sudo >/dev/null && { [[ -t 0 ]] || sudo -n true 2>/dev/null; }; then
    as_root=(sudo)
  else
    fail "please install Swift 6.0 or later, or run this as root"
  fi
fi

# in_root FOLDER COMMAND…: runs a command in a system's folder. Everything is mounted in a namespace of
# its own, that ends with the command: outside of it nothing is mounted anywhere, so that whoever
# removes this repository, or the cache, can't reach through. So does every process that the command
# has started.
in_root() {
  local folder=$1
  shift
  # shellcheck disable=SC2016 # The inner shell expands them.
  "${as_root[@]}" unshare --mount --propagation private --pid --fork --kill-child -- sh -c '
    set -e
    folder=$1 repository=$2
    shift 2
    mount -t proc proc "$folder/proc"
    mount --rbind /dev "$folder/dev"
    mount --bind "$repository" "$folder/src"
    exec chroot "$folder" env -i HOME=/root LANG=C.UTF-8 TERM=dumb \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -c "cd /src && exec env \"\$@\"" sh "$@"
  ' sh "$folder" "$repository" "$@"
}

works() {
  [[ -d $1 ]] && in_root "$1" swift --version >"$cache/version.$$" 2>&1
}

make_root() {
  local part=$root.part.$$ packages=swiftlang,libc6-dev,libstdc++-14-dev,gcc,git
  if ! command -v debootstrap >/dev/null; then
    command -v apt-get >/dev/null || fail "please install Swift 6.0 or later, or debootstrap"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq || true
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends debootstrap >&2
  fi
  printf '== making Swift ready in %s\n' "$root" >&2
  # In a namespace too: what debootstrap mounts is gone when it ends, however it ends.
  "${as_root[@]}" unshare --mount --propagation private -- \
    debootstrap --variant=minbase --include="$packages" trixie "$part" >"$part.log" 2>&1 || {
    tail -n 20 "$part.log" >&2
    "${as_root[@]}" rm -rf --one-file-system "$part"
    fail "debootstrap could not install Debian 13 with swiftlang; its last lines are above"
  }
  "${as_root[@]}" mkdir -p "$part/src"
  "${as_root[@]}" rm -rf "$part"/var/cache/apt/archives/*.deb
  works "$part" || fail "the Swift that was installed in $part doesn't run: $(cat "$cache/version.$$")"
  # Renamed once it is whole: what is there under its name works.
  if [[ -e $root ]]; then
    "${as_root[@]}" rm -rf --one-file-system "$root"
  fi
  "${as_root[@]}" mv "$part" "$root"
  rm -f "$part.log"
}

trap 'rm -f "$cache/version.$$"' EXIT
exec 9>"$cache/swift.lock"
flock 9
works "$root" || make_root
if [[ $1 == --set-up ]]; then
  cat "$cache/version.$$"
  exit 0
fi
flock -u 9
exec 9>&-
in_root "$root" "${variables[@]}" "$@"
