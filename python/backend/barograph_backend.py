# SPDX-License-Identifier: Apache-2.0
"""PEP 517 backend of the package barograph: meson builds the tree, and this packs it. README.md says how and why.

Config settings (`pip install -C NAME=VALUE`): zig=1 compiles with PyPI's ziglang for glibc 2.28; zstd=FOLDER has
zstd.c, zstd.h and zstd_errors.h, without it the system's libzstd.a is taken, or what the sdist has; jobs=N.
With zig and zstd also target=aarch64-linux-gnu or another, as zig names it; root=FOLDER has archives and headers for
it.
"""

import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
SOURCE = PACKAGE / "source" if (PACKAGE / "source" / "meson.build").exists() else PACKAGE.parent
GLIBC = (2, 28)  # what zig builds for; earlier ones lack statx(2), memfd_create(2) and getrandom(2)
# What needs a library that not every system has; of these ARCHIVES are put in where zig compiles.
LEFT_OUT = ["--auto-features=disabled", "-Dfuzz=off", "-Dtests=false"]
OF_LIBC = re.compile(r"(libc|libm|libpthread|libdl|librt|libutil|ld-linux[\w-]*|libgcc_s)\.so\.\d+|libc\.so")
ZSTD_MESON = """project('zstd', 'c', version: '%s')
args = ['-w', '-DZSTD_DISABLE_ASM', '-DDEBUGLEVEL=0']
lib = static_library('zstd', 'zstd.c', pic: true, c_args: args, gnu_symbol_visibility: 'hidden')
dep = declare_dependency(link_with: lib, include_directories: include_directories('.'))
meson.override_dependency('libzstd', dep)
if meson.is_cross_build()
  own = static_library('zstd-native', 'zstd.c', c_args: args, native: true)
  own_dep = declare_dependency(link_with: own, include_directories: include_directories('.'))
  meson.override_dependency('libzstd', own_dep, native: true)
endif
"""
ZSTD_WRAP = "[wrap-file]\ndirectory = zstd\n[provide]\nlibzstd = dep\n"


def version():
    text = (SOURCE / "include" / "baro" / "version.h").read_text(encoding="utf-8")
    return re.search(r'^#define BARO_VERSION "(.*)"$', text, re.M)[1]


def run(*argv, **options):
    done = subprocess.run(
        [str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, argv))}\n{done.stdout.decode(errors='replace')[-4000:]}")
    return done.stdout.decode(errors="replace")


def git(*arguments):
    """What git says of a checkout; nothing of an sdist, wherever that was unpacked."""
    if SOURCE.parent == PACKAGE or not shutil.which("git"):
        return ""
    done = subprocess.run(["git", *arguments], cwd=SOURCE, capture_output=True, check=False)
    return done.stdout.decode().strip() if done.returncode == 0 else ""


# ---- the tree ----


def copy_source(to):
    """What is committed or would be; a subproject can't be put into the tree itself."""
    listed = git("ls-files", "-co", "--exclude-standard", "-z")
    if not listed:
        made = shutil.ignore_patterns("build*", ".git", "dist")
        shutil.copytree(SOURCE, to, ignore=lambda folder, names: made(folder, names) if folder == str(SOURCE) else ())
        return
    for name in filter(None, listed.split("\0")):
        path = SOURCE / name
        if path.is_file() and not name.startswith(("tests/", "python/", "bench/", "docs/pictures/")):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, to / name)


def add_zstd(source, zstd):
    """As a subproject of meson."""
    folder = source / "subprojects" / "zstd"
    folder.mkdir(parents=True)
    for name in ("zstd.c", "zstd.h", "zstd_errors.h"):
        shutil.copy2(zstd / name, folder / name)
    header = (folder / "zstd.h").read_text(encoding="utf-8", errors="replace")
    found = ".".join(
        re.search(rf"#define ZSTD_VERSION_{part}\s+(\d+)", header)[1] for part in ("MAJOR", "MINOR", "RELEASE")
    )
    (folder / "meson.build").write_text(ZSTD_MESON % found, encoding="utf-8")
    (source / "subprojects" / "zstd.wrap").write_text(ZSTD_WRAP, encoding="utf-8")
    return found


def zstd_archive():
    compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
    return bool(compiler) and os.path.isabs(run(compiler, "-print-file-name=libzstd.a").strip())


# Libraries of the system that go into programs: their archives, headers, and the option of meson.
ARCHIVES = {
    "ncursesw": (
        ("libncursesw.a", "libtinfo.a"),
        ("ncurses.h", "curses.h", "unctrl.h", "ncurses_dll.h"),
        "top",
        "X11-distribute-modifications-variant",
    ),
    "yaml-0.1": (("libyaml.a",), ("yaml.h",), "yaml", "MIT"),
    "sqlite3": (("libsqlite3.a",), ("sqlite3.h",), "sqlite", "blessing"),
}
ARCHIVE_MESON = """project('%s', 'c')
shim = static_library('shim', 'shim.c', pic: true)
dep = declare_dependency(link_args: [%s], link_with: shim, include_directories: include_directories('.'))
meson.override_dependency('%s', dep)
"""
# Archives of a newer glibc call these by name, which an older one has as inline functions alone.
SHIM = """#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN int shim_stat(const char *path, struct stat *st) __asm__("stat");
HIDDEN int shim_lstat(const char *path, struct stat *st) __asm__("lstat");
HIDDEN int shim_fstat(int fd, struct stat *st) __asm__("fstat");
HIDDEN int shim_stat64(const char *path, struct stat *st) __asm__("stat64");
HIDDEN int shim_lstat64(const char *path, struct stat *st) __asm__("lstat64");
HIDDEN int shim_fstat64(int fd, struct stat *st) __asm__("fstat64");

static int at(int fd, const char *path, struct stat *st, int flags)
{
    return (int)syscall(SYS_newfstatat, fd, path, st, flags);
}

int shim_stat(const char *path, struct stat *st) { return at(AT_FDCWD, path, st, 0); }
int shim_lstat(const char *path, struct stat *st) { return at(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW); }
int shim_fstat(int fd, struct stat *st) { return at(fd, "", st, AT_EMPTY_PATH); }
int shim_stat64(const char *path, struct stat *st) { return shim_stat(path, st); }
int shim_lstat64(const char *path, struct stat *st) { return shim_lstat(path, st); }
int shim_fstat64(int fd, struct stat *st) { return shim_fstat(fd, st); }
"""


def package_version(archive):
    """The version of the Debian package that has it."""
    owner = subprocess.run(["dpkg", "-S", archive], capture_output=True, text=True, check=False).stdout.partition(":")[
        0
    ]
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", owner], capture_output=True, text=True, check=False)
    return done.stdout or "unknown"


def archive(name, target, root):
    return (
        f"{root}/usr/lib/{target}/{name}" if root else os.path.realpath(run("gcc", f"-print-file-name={name}").strip())
    )


def add_archives(source, target, root):
    """Returns meson's options, and what is inside; of libraries that this system has, or the one below root."""
    options, inside = [], []
    for name, (archives, headers, option, terms) in ARCHIVES.items():
        found = [archive(a, target, root) for a in archives]
        if not all(map(os.path.isfile, [*found, f"{root}/usr/include/{headers[0]}"])):
            continue
        folder = source / "subprojects" / name
        folder.mkdir(parents=True)
        for header in headers:
            shutil.copy2(f"{root}/usr/include/{header}", folder / header)
        (folder / "shim.c").write_text(SHIM, encoding="utf-8")
        archive_list = ", ".join(f"'{a}'" for a in found)
        (folder / "meson.build").write_text(ARCHIVE_MESON % (name, archive_list, name), encoding="utf-8")
        (source / "subprojects" / f"{name}.wrap").write_text(
            f"[wrap-file]\ndirectory = {name}\n[provide]\n{name} = dep\n", encoding="utf-8"
        )
        options.append(f"-D{option}=enabled")
        inside.append((name, package_version(found[0]), terms))
    return options, inside


def own_target():
    return f"{os.uname().machine}-linux-gnu"


def zig_options(work, target):
    """Meson's options for a compiler: zig with the oldest glibc that will do. For another machine, this system's
    compiler makes what the build itself runs."""
    import ziglang

    zig = os.path.join(os.path.dirname(ziglang.__file__), "zig")
    compiler = work / f"zig-{target}"
    version = f".{GLIBC[0]}.{GLIBC[1]}" if target.endswith("-gnu") else ""
    command = f"cc -target {target}{version}"
    compiler.write_text(
        "#!/bin/sh\n# zig preprocesses its input only where it is told the language before it.\n"
        f'for a; do [ "$a" = - ] && exec "{zig}" {command} -xc "$@"; done\nexec "{zig}" {command} "$@"\n',
        encoding="utf-8",
    )
    compiler.chmod(0o755)
    return machine_options(
        work, target, f"c = '{compiler}'\nar = ['{zig}', 'ar']\nstrip = 'strip'\npkg-config = 'false'\n"
    )


def machine_options(work, target, binaries):
    text, other = f"[binaries]\n{binaries}", target != own_target()
    if other:
        machine = target.partition("-")[0]
        text += f"[host_machine]\nsystem = 'linux'\ncpu_family = '{machine}'\ncpu = '{machine}'\nendian = 'little'\n"
    file = work / f"{target}-{len(binaries)}.ini"
    file.write_text(text, encoding="utf-8")
    return ["--cross-file", str(file), "-Dc_link_args=-s"] if other else ["--native-file", str(file)]


def static_options(work, target, root):
    """For another machine: its compiler of GNU, where this system has it (Debian: gcc-aarch64-linux-gnu), else zig and
    musl."""
    if shutil.which(f"{target}-gcc") and os.path.exists(archive("libc.a", target, root)):
        compiler = [f"{target}-gcc", *([f"--sysroot={root}"] if root else [])]
        return machine_options(work, target, f"c = {compiler}\nar = '{target}-ar'\npkg-config = 'false'\n")
    return zig_options(work, f"{target.rpartition('-')[0]}-musl")


def meson(folder, source, targets, jobs, *options):
    run("meson", "setup", folder, source, "--prefix=/usr", "--libdir=lib", *LEFT_OUT, *options)
    run("ninja", "-C", folder, f"-j{jobs}", *targets)  # all, if none is named


def put(built, to, target):
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(built, to)
    if to.suffix in (".py", ".md"):  # for an interpreter, and text
        return
    to.chmod(0o755)
    if target == own_target():
        run("strip", to)


def build_tree(work, settings):
    """Returns the folder that has bin, libexec and lib, and what is inside of them besides barograph."""
    source, tree = work / "source", work / "tree"
    copy_source(source)
    jobs = int(settings.get("jobs") or len(os.sched_getaffinity(0)))
    target = settings.get("target") or own_target()
    zstd, options, inside = zstd_of(settings), [], []
    if zstd:
        inside.append(("zstd", add_zstd(source, zstd), "BSD-3-Clause"))
        options += ["--wrap-mode=forcefallback"]
    else:
        options += ["-Dprefer_static=true"]
    # The static program is the system compiler's, where that is for the same machine: it needs nothing of the system.
    static = ["-Dstatic=true", "--wrap-mode=default"]
    if target != own_target():
        static = ["-Dstatic=true", *options, *static_options(work, target, settings.get("root") or "")]
    elif zstd and not zstd_archive():
        static = ["-Dstatic=true", *options]
    meson(work / "static", source, ["baro"], jobs, *static)
    put(work / "static" / "baro", tree / "bin" / "baro", target)
    if interpreter_of(tree / "bin" / "baro"):
        sys.exit("barograph: baro is not static: a static libc and libzstd.a are needed")
    if settings.get("zig"):
        more, parts = add_archives(source, target, settings.get("root") or "")
        options += [*zig_options(work, target), *more]
        inside += parts
    library = f"libbaro.so.{version()}"
    meson(work / "shared", source, [], jobs, "-Dstatic=false", *options)
    staged = work / "staged"
    run("meson", "install", "-C", work / "shared", "--no-rebuild", "--tags", "runtime", "--destdir", staged)
    put(staged / "usr" / "lib" / library, tree / "lib" / "libbaro.so.0", target)
    for program in sorted((staged / "usr" / "libexec" / "barograph").iterdir()):
        put(program, tree / "libexec" / "barograph" / program.name, target)
    return tree, inside


def zstd_of(settings):
    """The folder of its source; None: the system's archive is taken."""
    inside = PACKAGE / "zstd"  # as an sdist may have it
    if settings.get("zstd"):
        return pathlib.Path(settings["zstd"])
    return inside if inside.is_dir() and not zstd_archive() else None


# ---- what the files need ----


def is_elf(path):
    return path.is_file() and path.read_bytes()[:4] == b"\x7fELF"


def interpreter_of(path):
    return "INTERP" in run("readelf", "-lW", path)


def needs_of(path):
    """(the libraries, the newest version of glibc)"""
    libraries = re.findall(r"\(NEEDED\).*\[(.*?)\]", run("readelf", "-dW", path))
    versions = [tuple(map(int, v.split("."))) for v in re.findall(r"Name: GLIBC_([\d.]+)", run("readelf", "-VW", path))]
    return libraries, max(versions, default=(0,))


def platform_of(tree, target=""):
    """The tag, and why it is no better."""
    machine = (target or own_target()).partition("-linux-")[0]
    floor, others = (2, 5), []
    for path in filter(is_elf, sorted(tree.rglob("*"))):
        libraries, newest = needs_of(path)
        others += [f"{path.name} needs {n}" for n in libraries if n != "libbaro.so.0" and not OF_LIBC.fullmatch(n)]
        floor = max(floor, newest[:2])
    return f"linux_{machine}" if others else f"manylinux_{floor[0]}_{floor[1]}_{machine}", others


# ---- packing ----


def metadata():
    text = (PACKAGE / "README.md").read_text(encoding="utf-8")
    project = (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")

    def of(key):
        return re.search(rf'^{key} = "(.*)"$', project, re.M)[1]

    lines = ["Metadata-Version: 2.4", "Name: barograph", f"Version: {version()}", f"Summary: {of('description')}"]
    lines += ["License-Expression: Apache-2.0", "License-File: LICENSE", f"Requires-Python: {of('requires-python')}"]
    keywords = re.search(r"^keywords = \[(.*?)\]", project, re.M | re.S)[1]
    lines.append("Keywords: " + ",".join(re.findall(r'"(.*?)"', keywords)))
    classifiers = re.search(r"^classifiers = \[(.*?)\]", project, re.M | re.S)[1]
    lines += [f"Classifier: {c}" for c in re.findall(r'"(.*?)"', classifiers)]
    return "\n".join([*lines, "Description-Content-Type: text/markdown", "", text])


def entry_points():
    project = (PACKAGE / "pyproject.toml").read_text(encoding="utf-8")
    text = ""
    for section, body in re.findall(
        r'^\[project\.(scripts|entry-points\.(?:\w+|"[\w.]+"))\]\n((?:[^\[\n].*\n|\n)*)', project, re.M
    ):
        group = "console_scripts" if section == "scripts" else section.partition(".")[2].strip('"')
        text += (
            f"[{group}]\n"
            + "".join(f"{n} = {v}\n" for n, v in re.findall(r'^"?([\w.-]+)"? = "(.*?)"', body, re.M))
            + "\n"
        )
    return text


def sbom(inside):
    """What is in the files besides barograph (CycloneDX)."""
    import json

    parts = [
        {"type": "library", "name": n, "version": v, "licenses": [{"expression": terms}], "bom-ref": n}
        for n, v, terms in inside
    ]
    root = {"type": "application", "name": "barograph", "version": version(), "bom-ref": "barograph"}
    return json.dumps(
        {
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": {"component": root},
            "components": parts,
        },
        indent=1,
    )


def moment():
    """That of the newest change, so that a build can be repeated."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if not given:
        given = git("log", "-1", "--format=%ct")
    if not given and (PACKAGE / "PKG-INFO").exists():
        given = (PACKAGE / "PKG-INFO").stat().st_mtime
    return time.gmtime(max(int(given or 0), 315532800))[:6]  # a zip file begins with 1980


class Wheel:
    def __init__(self, path, when):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.when, self.rows = when, []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, self.when)
        info.external_attr = (stat.S_IFREG | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.rows.append((name, f"sha256={digest}", len(data)))

    def close(self, record):
        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([*self.rows, (record, "", "")])
        self.zip.writestr(zipfile.ZipInfo(record, self.when), out.getvalue())
        self.zip.close()


def python_files():
    for path in sorted((PACKAGE / "barograph").rglob("*")):
        if path.is_file() and path.suffix in (".py", ".pyi", ".typed") or path.name == "py.typed":
            yield path


def dist_info(wheel, tag, inside):
    info = f"barograph-{version()}.dist-info"
    license_text = next(p for p in (SOURCE / "LICENSE", PACKAGE / "LICENSE") if p.exists()).read_bytes()
    wheel.add(f"{info}/METADATA", metadata().encode())
    wheel.add(
        f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: barograph\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    )
    wheel.add(f"{info}/entry_points.txt", entry_points().encode())
    wheel.add(f"{info}/licenses/LICENSE", license_text)
    wheel.add(f"{info}/sboms/barograph.cdx.json", sbom(inside).encode())
    wheel.close(f"{info}/RECORD")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    if not sys.platform.startswith("linux"):
        sys.exit("barograph: Linux only: it records what Linux counts")
    with tempfile.TemporaryDirectory(prefix="barograph-") as folder:
        settings = config_settings or {}
        tree, inside = build_tree(pathlib.Path(folder), settings)
        platform, why = platform_of(tree, settings.get("target"))
        if why:
            print(f"barograph: the wheel is for this system alone: {'; '.join(why)}")
        name = f"barograph-{version()}-py3-none-{platform}.whl"
        wheel = Wheel(os.path.join(wheel_directory, name), moment())
        for path in python_files():
            wheel.add(str(path.relative_to(PACKAGE)), path.read_bytes())
        for path in filter(pathlib.Path.is_file, sorted(tree.rglob("*"))):
            wheel.add(f"barograph/_tree/{path.relative_to(tree)}", path.read_bytes(), 0o755)
        dist_info(wheel, f"py3-none-{platform}", inside)
    return name


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Without it pip builds the wheel twice."""
    info = pathlib.Path(metadata_directory) / f"barograph-{version()}.dist-info"
    (info / "licenses").mkdir(parents=True)
    (info / "METADATA").write_text(metadata(), encoding="utf-8")
    (info / "entry_points.txt").write_text(entry_points(), encoding="utf-8")
    (info / "WHEEL").write_text("Wheel-Version: 1.0\nGenerator: barograph\nRoot-Is-Purelib: false\n", encoding="utf-8")
    return info.name


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """The package is that of the checkout; the programs are those of its folder build."""
    name = f"barograph-{version()}-py3-none-any.whl"
    wheel = Wheel(os.path.join(wheel_directory, name), moment())
    wheel.add("barograph.pth", f"{PACKAGE}\n".encode())
    dist_info(wheel, "py3-none-any", [])
    return name


def build_sdist(sdist_directory, config_settings=None):
    base = f"barograph-{version()}"
    with tempfile.TemporaryDirectory(prefix="barograph-") as folder:
        root = pathlib.Path(folder) / base
        root.mkdir()
        copy_source(root / "source")
        for name in ("pyproject.toml", "README.md"):
            shutil.copy2(PACKAGE / name, root / name)
        for name in ("barograph", "backend"):
            shutil.copytree(PACKAGE / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "_tree"))
        shutil.copy2(SOURCE / "LICENSE", root / "LICENSE")
        if config_settings and config_settings.get("zstd"):  # so that it can be built where only a compiler is
            (root / "zstd").mkdir()
            for path in sorted(pathlib.Path(config_settings["zstd"]).iterdir()):
                shutil.copy2(path, root / "zstd" / path.name)
        (root / "PKG-INFO").write_text(metadata(), encoding="utf-8")
        when = time.mktime((*moment(), 0, 0, 0)) - time.timezone

        def plain(info):
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mtime = int(when)
            return info

        with tarfile.open(os.path.join(sdist_directory, f"{base}.tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as out:
            out.add(root, base, filter=plain)
    return f"{base}.tar.gz"
