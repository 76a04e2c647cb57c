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

# Before the folder changes, for a path that is relative. There may be no home.
cache=${SUBMIT_ONCE_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/submit-once}
[[ $cache == /* ]] || cache=$PWD/$cache

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
repository=$PWD
readonly repository

# The variables for the command.
variables=()
for name in "${!SWIFT_ENV_@}"; do
  variables+=("${name#SWIFT_ENV_}=${!name}")
done

has_swift_6() {
  local version
  version=$(swift --version 2>/dev/null) && [[ $version =~ Swift\ version\ ([0-9]+) ]] && ((BASH_REMATCH[1] >= 6))
}

if has_swift_6; then
  if [[ $1 == --set-up ]]; then
    exec swift --version
  fi
  # The bash of macOS takes an empty list for an unset variable.
  exec env ${variables[@]+"${variables[@]}"} "$@"
fi

[[ $(uname -s) == Linux ]] || fail "please install Swift 6.0 or later"

cache=$(readlink -m "$cache")
case $cache/ in
"$repository"/*) fail "the cache folder $cache is inside the repository; name another in SUBMIT_ONCE_CACHE" ;;
esac
mkdir -p "$cache"
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

# isolated COMMAND…: runs a command with mounts and processes of its own, that end with it. Outside
# nothing is mounted anywhere, so that whoever removes this repository, or the cache, can't reach
# through. unshare doesn't heed signals: it is killed when this script ends, however that happens.
isolated() {
  "${as_root[@]}" setpriv --pdeathsig KILL unshare --mount --propagation private --mount-proc \
    --pid --fork --kill-child -- "$@"
}

# in_root FOLDER COMMAND…: runs a command in a system's folder. The first process of a namespace
# doesn't heed signals either, so that the command is never that one.
in_root() {
  local folder=$1
  shift
  # shellcheck disable=SC2016 # The other shell expands them.
  isolated sh -c '
    set -e
    folder=$1 repository=$2
    shift 2
    mount -t proc proc "$folder/proc"
    mount --rbind /dev "$folder/dev"
    mount --bind "$repository" "$folder/src"
    status=0
    chroot "$folder" env -i HOME=/root LANG=C.UTF-8 TERM=dumb \
      PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -c "cd /src && exec env \"\$@\"" sh "$@" || status=$?
    exit "$status"
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
      apt-get install -y -qq --no-install-recommends debootstrap debian-archive-keyring >&2 ||
      fail "apt-get could not install debootstrap"
  fi
  printf '== making Swift ready in %s\n' "$root" >&2
  # What was killed in the middle has left its part. Only whoever has the lock makes one.
  "${as_root[@]}" rm -rf --one-file-system "$root".part.*
  "${as_root[@]}" mkdir "$part"
  # debootstrap can't have a path with a space in it. Only here its folder is at /mnt.
  # shellcheck disable=SC2016 # The other shell expands them.
  isolated sh -c '
    mount --bind "$1" /mnt && debootstrap --variant=minbase --include="$2" trixie /mnt
  ' sh "$part" "$packages" >"$part.log" 2>&1 || {
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
isolated true 2>"$cache/version.$$" || fail "nothing can be mounted here: $(cat "$cache/version.$$")
A container needs the right to mount. In a chroot / must be a mount point: mount --bind FOLDER FOLDER, before chroot."
exec 9>"$cache/swift.lock"
flock --nonblock 9 || {
  printf '== waiting for another that makes Swift ready in %s\n' "$root" >&2
  flock 9
}
works "$root" || make_root
if [[ $1 == --set-up ]]; then
  cat "$cache/version.$$"
  exit 0
fi
flock -u 9
exec 9>&-
in_root "$root" "${variables[@]}" "$@"
