"""Makes the packages that carry the binary, out of a release's archives.

    packages.py ARCHIVES DIST --repository URL

ARCHIVES has tome-VERSION-TARGET.tar.gz for each target. DIST gets SHA256SUMS, tome.rb (a Homebrew
formula), npm/ (one package with a launcher, one for each platform below npm/platform) and wheels/
(one wheel for each platform). Only Python's standard library is used.
"""

import argparse
import base64
import hashlib
import io
import json
import pathlib
import re
import sys
import tarfile
import zipfile

HERE = pathlib.Path(__file__).parent
SUMMARY = "See, search, fix and prune what coding agents remember."
# The names under which tome is published; that of the crate is in Cargo.toml.
NPM = "@tome-memory/tome"
PYPI = "tome-memory"

# target: (npm's os, cpu and libc, the wheel's platform)
PLATFORMS = {
    "x86_64-unknown-linux-gnu": ("linux", "x64", "glibc", "manylinux_2_35_x86_64"),
    "aarch64-unknown-linux-gnu": ("linux", "arm64", "glibc", "manylinux_2_35_aarch64"),
    "x86_64-unknown-linux-musl": ("linux", "x64", "musl", "musllinux_1_2_x86_64"),
    "aarch64-unknown-linux-musl": ("linux", "arm64", "musl", "musllinux_1_2_aarch64"),
    "x86_64-apple-darwin": ("darwin", "x64", None, "macosx_11_0_x86_64"),
    "aarch64-apple-darwin": ("darwin", "arm64", None, "macosx_11_0_arm64"),
}


class Archive:
    """One archive of a release."""

    def __init__(self, path):
        match = re.fullmatch(r"tome-(\d+\.\d+\.\d+)-(.+)\.tar\.gz", path.name)
        if not match or match[2] not in PLATFORMS:
            sys.exit(f"{path}: not the name of a release's archive")
        self.path, self.version, self.target = path, match[1], match[2]
        self.hash = hashlib.sha256(path.read_bytes()).hexdigest()

    def file(self, name):
        with tarfile.open(self.path) as tar:
            return tar.extractfile(f"{self.path.name.removesuffix('.tar.gz')}/{name}").read()


def formula(archives, repository):
    """The Homebrew formula: the template with this release's addresses and hashes."""
    text = (HERE / "tome.rb.in").read_text()
    version = archives[0].version
    values = {"version": version, "repository": repository, "summary": SUMMARY.rstrip(".")}
    for archive in archives:
        values[f"hash {archive.target}"] = archive.hash
    unknown = [name for name in re.findall(r"@([^@\n]+)@", text) if name not in values]
    if unknown:
        sys.exit(f"tome.rb needs an archive for: {', '.join(unknown)}")
    return re.sub(r"@([^@\n]+)@", lambda match: values[match[1]], text)


def npm_tarball(path, files):
    """A package for `npm publish`: `files` are (name, bytes, mode)."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for name, data, mode in files:
            info = tarfile.TarInfo(f"package/{name}")
            info.size, info.mode = len(data), mode
            tar.addfile(info, io.BytesIO(data))


def npm_packages(archives, dist, repository):
    """One package for each platform, and the one that people install, which needs one of them."""
    version = archives[0].version
    common = {"version": version, "description": SUMMARY, "license": "MIT", "repository": repository}
    names = {}
    for archive in archives:
        system, cpu, libc, _ = PLATFORMS[archive.target]
        suffix = "-".join(part for part in (system, cpu, libc if libc == "musl" else None) if part)
        name = f"{NPM}-{suffix}"
        names[name] = version
        manifest = {"name": name, **common, "os": [system], "cpu": [cpu], "files": ["tome"]}
        if libc:
            manifest["libc"] = [libc]
        npm_tarball(
            dist / "platform" / f"{suffix}.tgz",
            [
                ("package.json", json.dumps(manifest, indent=2).encode(), 0o644),
                ("LICENSE", archive.file("LICENSE"), 0o644),
                ("tome", archive.file("tome"), 0o755),
            ],
        )
    launcher = (HERE / "launcher.js").read_text().replace("@npm@", NPM)
    manifest = {"name": NPM, **common, "bin": {"tome": "launcher.js"}, "optionalDependencies": names}
    npm_tarball(
        dist / "tome.tgz",
        [
            ("package.json", json.dumps(manifest, indent=2).encode(), 0o644),
            ("README.md", archives[0].file("README.md"), 0o644),
            ("LICENSE", archives[0].file("LICENSE"), 0o644),
            ("launcher.js", launcher.encode(), 0o755),
        ],
    )


def wheel(archive, dist):
    """A wheel whose only content is the binary, which pip puts on the PATH."""
    tag = f"py3-none-{PLATFORMS[archive.target][3]}"
    stem = f"{PYPI.replace('-', '_')}-{archive.version}"
    info = f"{stem}.dist-info"
    metadata = (
        f"Metadata-Version: 2.1\nName: {PYPI}\nVersion: {archive.version}\nSummary: {SUMMARY}\n"
        "License: MIT\nDescription-Content-Type: text/markdown\n\n"
    ).encode() + archive.file("README.md")
    files = [
        (f"{stem}.data/scripts/tome", archive.file("tome"), 0o755),
        (f"{info}/METADATA", metadata, 0o644),
        (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: tome\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644),
        (f"{info}/licenses/LICENSE", archive.file("LICENSE"), 0o644),
    ]
    record = ""
    for name, data, _ in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    files.append((f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode(), 0o644))
    dist.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(dist / f"{stem}-{tag}.whl", "w", zipfile.ZIP_DEFLATED) as out:
        for name, data, mode in files:
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(entry, data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("archives", type=pathlib.Path)
    parser.add_argument("dist", type=pathlib.Path)
    parser.add_argument("--repository", required=True)
    arguments = parser.parse_args()

    archives = [Archive(path) for path in sorted(arguments.archives.glob("*.tar.gz"))]
    if not archives:
        sys.exit(f"{arguments.archives}: no archives")
    if len({archive.version for archive in archives}) > 1:
        sys.exit(f"{arguments.archives}: archives of more than one version")
    arguments.dist.mkdir(parents=True, exist_ok=True)
    sums = "".join(f"{archive.hash}  {archive.path.name}\n" for archive in archives)
    (arguments.dist / "SHA256SUMS").write_text(sums)
    (arguments.dist / "tome.rb").write_text(formula(archives, arguments.repository))
    npm_packages(archives, arguments.dist / "npm", arguments.repository)
    for archive in archives:
        wheel(archive, arguments.dist / "wheels")


if __name__ == "__main__":
    main()
