"""What make postgres hands to PostgreSQL's build, with stand-ins for those who build."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from server.conftest import ROOT

STAND_INS = {
    "postgres/fetch": "echo tarball ${2:-none} >&2; echo tarball",
    "postgres/tree": "",
    "bin/ninja": "",
    "bin/pkg-config": "",
    "bin/meson": """
case $1 in
setup)
    echo "$@" >>setups
    for option; do case $option in -Dprefix=*) echo "${option#-Dprefix=}" >prefix ;; esac; done
    if [ -e broken ]; then echo "meson.build:9:0: ERROR: Unknown option: $(cat broken)"; exit 1; fi
    mkdir -p "$2" ;;
install)
    mkdir -p "$(cat prefix)/bin"
    cp /bin/echo "$(cat prefix)/bin/postgres" ;;
esac
""",
}


class Build:
    """A repository in which nothing is built in earnest."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        for name, text in STAND_INS.items():
            path = directory / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/sh\n{text}")
            path.chmod(0o755)
        shutil.copy(ROOT / "postgres" / "build", directory / "postgres")
        (directory / "build" / "postgres").mkdir(parents=True)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.directory / "postgres" / "build", *arguments],
            env={"PATH": f"{self.directory}/bin:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            check=False,
        )

    def setups(self) -> list[list[str]]:
        """The arguments of each call that configured anything."""
        file = self.directory / "setups"
        return [line.split() for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def build(tmp_path: Path) -> Build:
    return Build(tmp_path)


def test_options_are_configured_once_and_anew_when_they_change(build: Build) -> None:
    for given in [(), (), ("-Dldap=disabled",), ("-Dldap=disabled",), ()]:
        assert build.run("release", *given).returncode == 0
    plain, changed, back = build.setups()
    assert "-Dldap=enabled" in plain
    assert plain == back
    assert changed == [*plain, "-Dldap=disabled"]


def test_a_new_configuration_forgets_the_old_one(build: Build) -> None:
    build.run("release")
    private = build.directory / "build" / "postgres" / "release" / "meson-private"
    private.mkdir()
    build.run("release")
    assert private.exists()
    build.run("release", "-Dllvm=enabled")
    assert not private.exists()


def test_all_kinds_have_the_same_features(build: Build) -> None:
    for kind in ("release", "debug", "stock"):
        assert build.run(kind).returncode == 0
    own = ("-Dprefix", "-Dc_args", "-Dcassert", "-Dinjection_points")
    features = [
        [word for word in setup if word.startswith("-D") and not word.startswith(own)]
        for setup in build.setups()
    ]
    assert features[0] == features[1] == features[2]


@pytest.mark.parametrize(
    ("given", "there"), [("else where", "else where"), ("{}/absolute", "absolute")]
)
def test_it_is_installed_where_the_user_says(build: Build, given: str, there: str) -> None:
    done = build.run("release", f"-Dprefix={given.format(build.directory)}", "source.tar.bz2")
    assert done.returncode == 0, done.stderr
    assert (build.directory / there / "bin" / "postgres").exists()
    assert f"installed: {there}/bin/postgres" in done.stdout
    assert "tarball source.tar.bz2" in done.stderr


def test_a_place_that_cannot_be_written_to_is_told_before_the_build(build: Build) -> None:
    (build.directory / "file").touch()
    done = build.run("release", f"-Dprefix={build.directory}/file/server")
    assert done.returncode == 1
    assert f"{build.directory}/file is no directory that you may write to" in done.stderr
    assert build.setups() == []


def test_a_wrong_option_is_told_with_what_to_do(build: Build) -> None:
    broken = build.directory / "broken"
    broken.write_text("ldapp")
    done = build.run("release", "-Dldapp=disabled")
    assert done.returncode == 1
    assert "ERROR: Unknown option: ldapp\n" in done.stderr
    assert "build/postgres/src/meson_options.txt" in done.stderr
    assert 'OPTIONS="-Dldap=disabled"' in done.stderr
    broken.unlink()
    assert build.run("release", "-Dldapp=disabled").returncode == 0
    assert len(build.setups()) == 2
    assert "-DNAME=VALUE" in build.run("release", "--ldap=disabled").stderr


def missing(*arguments: str) -> str:
    """What scripts/system-packages tells on a machine that has nothing."""
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "system-packages", *arguments],
        env={"PATH": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    return done.stderr


def test_packages_for_features_that_are_off_are_not_needed() -> None:
    packages, without = missing("postgres").splitlines()
    assert {"libldap-dev", "uuid-dev", "bison"} <= set(packages.split())
    assert "-Dldap=disabled" in without
    assert "-Duuid=none" in without
    packages, without = missing("postgres", "-Dldap=disabled", "-Duuid=none").splitlines()
    assert not {"libldap-dev", "uuid-dev"} & set(packages.split())
    assert "ldap" not in without
    assert "ldap=disabled: neither one of" in missing("postgres", "ldap=disabled")


# ---- the patches ----

# what may have braces that are none of C's
NO_CODE = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)


def in_tree(*arguments: str) -> str:
    """What git says of the patched tree."""
    return subprocess.run(
        ["git", "-C", ROOT / "build" / "postgres" / "src", *arguments],
        capture_output=True,
        text=True,
        errors="replace",
        check=True,
    ).stdout


def braces_match(file: str) -> bool:
    depth = 0
    for brace in re.findall("[{}]", NO_CODE.sub("", file)):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def test_each_patch_leaves_whole_functions() -> None:
    """A hunk that lends a brace to a later patch applies all the same."""
    commits = in_tree("log", "--format=%h", "upstream..HEAD").split()
    assert len(commits) == len(list((ROOT / "postgres" / "patches").glob("*.patch")))
    torn = [
        f"{file} in {in_tree('log', '-1', '--format=%s', commit)}"
        for commit in commits
        for file in in_tree("diff-tree", "--no-commit-id", "--name-only", "-r", commit).split()
        if file.endswith((".c", ".h")) and not braces_match(in_tree("show", f"{commit}:{file}"))
    ]
    assert torn == []
