#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# usage: . scripts/llvm-source.sh; fetch_llvm_source VERSION FOLDER
#
# For other scripts: downloads the archive of the distribution's source package of LLVM VERSION, once, and prints its path
# (165 MB for 19), which is kept in FOLDER: of what is installed, or else the newest that Debian has, in sid. What cannot
# be had is told in one line on standard error, and nothing half-loaded stays. FOLDER/log tells more.

# The sources lie beside the packages, but few machines list them: a private list, with its own state.
private_apt() # FOLDER [OTHER_SUITE]
{
    local suites keys=/usr/share/keyrings/debian-archive-keyring.gpg
    mkdir -p "$1/lists/partial" "$1/cache"
    suites=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    apt-get indextargets --format "deb-src [signed-by=$keys] \$(REPO_URI) \$(CODENAME) main" \
        "Created-By: Packages" "Component: main" "Origin: Debian" | grep -E " $suites(-security)? main$" |
        sort -u >"$1/sources.list" || { echo "no archive of Debian's is among the sources of packages" >&2; return 1; }
    [[ ! ${2-} ]] || sed -i "s/\(.*\) $suites main$/&\n\1 $2 main/" "$1/sources.list"
    cat >"$1/apt.conf" <<END
Dir::Etc::sourcelist "$1/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$1/lists";
Dir::Cache "$1/cache";
APT::Sandbox::User "root";
END
    export APT_CONFIG=$1/apt.conf
}

fetch_llvm_source() # VERSION FOLDER
{
    local package suite= archive
    set -- "$1" "$(realpath -m "$2")" # as apt-get runs in another folder
    mkdir -p "$2"
    archive=$(echo "$2"/llvm-toolchain-"$1"_*.orig.tar.xz)
    if [[ ! -e $archive ]]; then
        for command in apt-get dpkg-query; do
            command -v $command >/dev/null || { echo "no $command here: no sources of LLVM $1" >&2; return 1; }
        done
        package=llvm-toolchain-$1$(dpkg-query -W -f '=${Version}' "libomp-$1-dev" 2>/dev/null || true)
        package=${package%=}
        echo "downloading the sources of $package" >&2
        rm -rf "$2/part"
        mkdir "$2/part"
        [[ $package == *=* ]] || suite=sid
        (private_apt "$2/apt" $suite && cd "$2/part" && apt-get -q update &&
            apt-get -q source --download-only --tar-only "$package") >"$2/log" 2>&1 ||
            { echo "the sources of $package cannot be had ($2/log)" >&2; return 1; }
        mv "$2"/part/*.orig.tar.xz "$2/"
        rm -rf "$2/part"
        archive=$(echo "$2"/llvm-toolchain-"$1"_*.orig.tar.xz)
    fi
    echo "$archive"
}
