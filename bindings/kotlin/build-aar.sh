#!/usr/bin/env bash
# Builds the Android archive (AAR), and checks it.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: bindings/kotlin/build-aar.sh [--host-check | --native-only]

Builds the Android archive for arm64-v8a, armeabi-v7a and x86_64, and checks it with check-aar.
It needs the Android NDK, cargo-ndk, the Rust targets, a JDK and Maven, and says what is missing.

  --host-check    assembles submit-once-hostcheck.aar from this machine's library instead of the
                  phones', and checks it: all but the cross compiler and the symbols. Needs no NDK.
                  The result is not for phones
  --native-only   builds the native libraries and their symbols, for the Gradle build

Results, in the folder aar of cargo's target folder:

  submit-once-VERSION.aar
  submit-once-VERSION-native-debug-symbols.zip
  jniLibs/ABI/libsubmit_once.so

Exit status: 0 if everything was built and is right, 1 if not, 2 for a wrong argument.
USAGE
}

readonly api_level=26
readonly least_ndk=28
readonly abis=(arm64-v8a armeabi-v7a x86_64)
# The places that cargo-ndk looks at, in its order.
readonly ndk_variables=(ANDROID_NDK_HOME ANDROID_NDK_ROOT ANDROID_NDK_PATH NDK_HOME)
readonly sdk_variables=(ANDROID_HOME ANDROID_SDK_ROOT ANDROID_SDK_HOME)
# Every entry has this time, so that the same sources give the same bytes.
readonly entry_time=1980-02-01T00:00:00Z

say() { printf '== %s\n' "$*"; }
fail() {
  printf 'build-aar.sh: %s\n' "$*" >&2
  exit 1
}

triple_of() {
  case $1 in
  arm64-v8a) printf 'aarch64-linux-android' ;;
  armeabi-v7a) printf 'armv7-linux-androideabi' ;;
  x86_64) printf 'x86_64-linux-android' ;;
  esac
}

# The newest of the versions in a folder, or the folder itself if it is one.
ndk_in() {
  if [[ -f $1/source.properties ]]; then
    printf '%s\n' "$1"
    return
  fi
  local found
  found=$(find "$1" -mindepth 2 -maxdepth 2 -name source.properties 2>/dev/null | sort -V | tail -n 1)
  [[ -n $found ]] && dirname "$found"
}

find_ndk() {
  local variable
  for variable in "${ndk_variables[@]}"; do
    if [[ -n ${!variable-} ]]; then
      ndk_in "${!variable}"
      return
    fi
  done
  for variable in "${sdk_variables[@]}"; do
    if [[ -n ${!variable-} ]] && ndk_in "${!variable}/ndk"; then
      return
    fi
  done
  ndk_in "$HOME/Android/Sdk/ndk" || ndk_in "$HOME/Library/Android/sdk/ndk"
}

# What the variables say, for people who thought that they had set one.
tell_places() {
  local variable
  for variable in "${ndk_variables[@]}"; do
    printf '      %s: %s\n' "$variable" "${!variable:-not set}"
  done
  for variable in "${sdk_variables[@]}"; do
    printf '      %s, its folder ndk: %s\n' "$variable" "${!variable:-not set}"
  done
  printf '      %s\n' "$HOME/Android/Sdk/ndk" "$HOME/Library/Android/sdk/ndk"
}

# Adds to `missing` what isn't there, all of it, so that one run tells everything.
find_phone_tools() {
  local abi triple targets=() libraries
  if ! ndk=$(find_ndk); then
    missing+=("the Android NDK, r$least_ndk or later. Looked at:
$(tell_places)")
  else
    local release
    release=$(sed -n 's/^Pkg.Revision *= *\([0-9]*\).*/\1/p' "$ndk/source.properties")
    if ((${release:-0} < least_ndk)); then
      missing+=("an NDK of r$least_ndk or later: $ndk is r${release:-unknown}")
    fi
  fi
  if ! command -v cargo-ndk >/dev/null; then
    missing+=("cargo-ndk: cargo install cargo-ndk --locked")
  fi
  libraries=$(rustc --print sysroot)/lib/rustlib
  for abi in "${abis[@]}"; do
    triple=$(triple_of "$abi")
    [[ -d $libraries/$triple/lib ]] || targets+=("$triple")
  done
  if ((${#targets[@]} > 0)); then
    missing+=("Rust's standard library for phones: rustup target add ${targets[*]}")
  fi
}

# The same.
find_java_tools() {
  $native_only || command -v mvn >/dev/null || missing+=("Maven: mvn")
  # It sets the times of entries since version 17.
  if [[ $(jar --help 2>&1) != *--date* ]]; then
    missing+=("a JDK of version 17 or later: jar")
  fi
}

# need_nothing WHAT [HINT]: ends here if something is missing for it.
need_nothing() {
  if ((${#missing[@]} > 0)); then
    printf "build-aar.sh: %s can't be built here. Missing:\n" "$1" >&2
    printf '  - %s\n' "${missing[@]}" >&2
    [[ -z ${2-} ]] || printf '%s\n' "$2" >&2
    exit 1
  fi
}

# The flags of all builds, and the folders of this machine that they rename.
#
# Rust's go through the variable that replaces all others, RUSTFLAGS and configuration files too: no
# leftover of another build can turn one off.
set_flags() {
  local cargo_home=${CARGO_HOME:-$HOME/.cargo} prefix flags=()
  # Of prefixes that match, rustc and the C compilers take the last.
  local prefixes=(
    "$cargo_home=/cargo"
    "$(rustc --print sysroot)=/rust"
    "$repository=/submit-once"
    "$target_folder=/target"
  )
  # Some users have no home, and everything is below it.
  [[ $HOME == / ]] || prefixes=("$HOME=/user" "${prefixes[@]}")
  for prefix in "${prefixes[@]}"; do
    build_paths+=("${prefix%=*}")
    flags+=("--remap-path-prefix=$prefix")
    c_flags+=" -ffile-prefix-map=$prefix"
  done
  flags+=(
    "-Clink-arg=-Wl,-z,max-page-size=16384"
    "-Clink-arg=-Wl,-z,common-page-size=16384"
    "-Clink-arg=-Wl,--build-id"
    "-Clink-arg=-Wl,-soname,libsubmit_once.so"
  )
  local IFS=$'\x1f'
  export CARGO_ENCODED_RUSTFLAGS="${flags[*]}"
  export CARGO_INCREMENTAL=0
  # For the symbols that are kept beside: the archive's library is stripped of them.
  export CARGO_PROFILE_MOBILE_DEBUG=line-tables-only
  export CARGO_TARGET_DIR=$target_folder
}

# for_target TRIPLE COMMAND…: with the flags for its C code, which aren't for this machine's tools.
for_target() {
  env "CFLAGS_${1//-/_}=$c_flags" "${@:2}"
}

# Builds the library alone: several crate types in one build would turn LTO off.
readonly library_only=(rustc --package submit-once --lib --crate-type cdylib --profile mobile --locked)

# build_phone ABI
build_phone() {
  local extra=() triple
  triple=$(triple_of "$1")
  # SQLite asks for 128-bit floats there, which are in the compiler's own library.
  [[ $1 == x86_64 ]] && extra=(--link-builtins)
  say "native library for $1, with $(basename "$ndk")"
  for_target "$triple" ANDROID_NDK_HOME="$ndk" cargo ndk --target "$1" --platform "$api_level" \
    ${extra[@]+"${extra[@]}"} "${library_only[@]}"
  keep "$1" "$target_folder/$triple/mobile/libsubmit_once.so" \
    "$(find "$ndk/toolchains/llvm/prebuilt" -path '*/bin/llvm-strip' | head -n 1)"
}

build_host() {
  local host
  host=$(rustc --print host-tuple)
  say "native library for this machine ($host), in the place of $1"
  # With the target named, as for phones: build scripts don't get the flags then.
  for_target "$host" cargo "${library_only[@]}" --target "$host"
  keep "$1" "$target_folder/$host/mobile/libsubmit_once.so" strip
}

# keep ABI LIBRARY STRIP: the stripped library for the archive, and the whole one for its symbols.
keep() {
  mkdir -p "$native/$1" "$symbols/$1"
  cp "$2" "$symbols/$1/libsubmit_once.so"
  "$3" --strip-unneeded -o "$native/$1/libsubmit_once.so" "$2"
}

# pack ARCHIVE FOLDER: everything in the folder, in order, at one time.
pack() {
  rm -f "$1"
  (cd "$2" && find . -type f | sed 's,^\./,,' | LC_ALL=C sort) >"$scratch/entries"
  (cd "$2" && jar --create --file "$1" --no-manifest --date "$entry_time" "@$scratch/entries")
}

# maven ARGUMENT…: quiet, unless something is wrong.
maven() {
  mvn --batch-mode --quiet --file "$kotlin/pom.xml" "$@" >"$scratch/maven.log" 2>&1 || {
    cat "$scratch/maven.log" >&2
    fail "Maven failed: mvn $*"
  }
}

compile_classes() {
  say "classes"
  # A class whose source is gone would still be there.
  rm -rf "$kotlin/library/target/classes" "$kotlin/android/target/classes"
  # The native library for JVMs isn't needed here.
  maven compile --projects library,android --also-make -Dexec.skip=true
  jna_version=$(sed -n 's,.*<jna.version>\(.*\)</jna.version>.*,\1,p' "$kotlin/pom.xml")
  maven dependency:copy -N -Dartifact="net.java.dev.jna:jna:$jna_version:aar" \
    -DoutputDirectory="$output"
  jna=$output/jna-$jna_version.aar
}

# The manifest as archives have it: Gradle takes the package and the version from its build file.
write_manifest() {
  sed -e "s,<manifest,<manifest package=\"dev.submitonce.android\"," \
    -e "s,^\( *\)\(</manifest>\),\1    <uses-sdk android:minSdkVersion=\"$api_level\" />\n\1\2," \
    "$kotlin/android/src/main/AndroidManifest.xml" >"$1"
}

# assemble ARCHIVE
assemble() {
  say "assembling $(basename "$1")"
  local stage=$scratch/aar classes=$scratch/classes
  mkdir -p "$stage/META-INF/com/android/build/gradle" "$stage/jni" "$classes"
  cp -R "$kotlin/library/target/classes/." "$kotlin/android/target/classes/." "$classes"
  # Native libraries for JVMs, by the names of their systems.
  rm -rf "$classes"/linux-* "$classes"/darwin-* "$classes"/win32-*
  pack "$stage/classes.jar" "$classes"
  write_manifest "$stage/AndroidManifest.xml"
  cp "$kotlin/consumer-rules.pro" "$stage/proguard.txt"
  # No resources.
  : >"$stage/R.txt"
  cat >"$stage/META-INF/com/android/build/gradle/aar-metadata.properties" <<'METADATA'
aarFormatVersion=1.0
aarMetadataVersion=1.0
minCompileSdk=1
minCompileSdkExtension=0
minAndroidGradlePluginVersion=1.0.0
coreLibraryDesugaringEnabled=false
METADATA
  cp -R "$native/." "$stage/jni"
  pack "$1" "$stage"
}

# check ARCHIVE [FLAG…]
check() {
  say "what is in $(basename "$1")"
  jar --list --verbose --file "$1"
  say "check-aar"
  local path arguments=()
  for path in "${build_paths[@]}"; do
    arguments+=(--build-path "$path")
  done
  # Not with the flags of the library.
  env -u CARGO_ENCODED_RUSTFLAGS cargo run --quiet --package check-aar --profile ci \
    --locked -- "$@" --jna "$jna" --budget "$kotlin/aar-budget.toml" "${arguments[@]}"
}

host_check=false
native_only=false
case ${1-} in
'') ;;
--host-check) host_check=true ;;
--native-only) native_only=true ;;
-h | --help)
  usage
  exit 0
  ;;
*)
  printf 'build-aar.sh: there is no argument "%s"; see --help\n' "$1" >&2
  exit 2
  ;;
esac
if (($# > 1)); then
  printf 'build-aar.sh: one argument at most; see --help\n' >&2
  exit 2
fi

cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
readonly repository=$PWD
readonly kotlin=$repository/bindings/kotlin
command -v cargo >/dev/null || PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"

version=$(cargo pkgid --package submit-once)
readonly version=${version##*[#@]}
target_folder=$(cargo metadata --no-deps --format-version 1 |
  sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
readonly output=$target_folder/aar

missing=()
if $host_check; then
  [[ $(uname -s) == Linux ]] || fail "--host-check is for Linux, whose libraries have Android's form"
  find_java_tools
  need_nothing "the archive for the check"
else
  find_phone_tools
  find_java_tools
  need_nothing "the archive for phones" \
    "Without these, --host-check still exercises everything but the cross compiler."
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$output"
build_paths=()
c_flags=""
set_flags
if $host_check; then
  readonly native=$scratch/native symbols=$scratch/symbols
  case $(uname -m) in
  aarch64) build_host arm64-v8a ;;
  *) build_host x86_64 ;;
  esac
  archive=submit-once-hostcheck.aar
  flags=(--host)
else
  readonly native=$output/jniLibs symbols=$scratch/symbols
  rm -rf "$native"
  for abi in "${abis[@]}"; do
    build_phone "$abi"
  done
  pack "$output/submit-once-$version-native-debug-symbols.zip" "$symbols"
  archive=submit-once-$version.aar
  flags=()
fi
if $native_only; then
  exit 0
fi
rm -f "$output/$archive"
compile_classes
assemble "$scratch/$archive"
check "$scratch/$archive" ${flags[@]+"${flags[@]}"}
# Only what is right gets its place.
mv "$scratch/$archive" "$output/$archive"
say "$output/$archive"
