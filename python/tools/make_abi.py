#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes barograph/_abi.py from include/baro/*.h: every constant, struct and function of libbaro's public API.

    make_abi.py            writes the file
    make_abi.py --check    status 1 if it is not what the headers say

The headers are regular (clang-format, one declaration style), so that a few expressions read them; what they can't read
is an error, never left out.
"""

import pathlib
import re
import sys
import textwrap

COLUMNS = 120
ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ROOT / "include" / "baro"
TARGET = ROOT / "python" / "barograph" / "_abi.py"

SCALARS = {
    "int": "c_int", "unsigned": "c_uint", "bool": "c_bool", "double": "c_double", "size_t": "c_size_t",
    "ptrdiff_t": "c_ssize_t", "uint8_t": "c_uint8", "int32_t": "c_int32", "uint32_t": "c_uint32",
    "int64_t": "c_int64", "uint64_t": "c_uint64", "char": "c_char",
}  # fmt: skip


def read_headers():
    """The text of all headers, without comments and preprocessor lines; in an order in which all is known when used."""
    seen, texts = [], []

    def take(name):
        if name in seen:
            return
        seen.append(name)
        text = (HEADERS / name).read_text(encoding="utf-8")
        for other in re.findall(r'#include "baro/(.*?)"', text):
            take(other)
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        text = re.sub(r"//[^\n]*", "", text)
        constants.extend(re.findall(r"^#define (BARO_\w+) \(?(-?\d+)\)?$", text, re.M))
        text = re.sub(r"^#(?:.*\\\n)*.*$", "", text, flags=re.M)
        texts.append(text.replace('extern "C" {', "").replace("BARO_API", " BARO_API"))

    constants = []
    version = re.search(r'^#define BARO_VERSION "(.*)"$', (HEADERS / "version.h").read_text(encoding="utf-8"), re.M)
    constants.append(("BARO_VERSION", f'"{version[1]}"'))
    for path in sorted(HEADERS.glob("*.h")):
        take(path.name)
    return "\n".join(texts), constants


def type_of(text, structs, callbacks):
    """The ctypes name of a C type without its declarator."""
    words = re.sub(r"\bconst\b", "", text).split("*")
    base, stars = " ".join(words[0].split()), len(words) - 1
    if base in callbacks and stars == 1:
        return callbacks[base]
    if base == "void":
        return "None" if stars == 0 else "c_void_p" if stars == 1 else "POINTER(c_void_p)"
    if base == "char" and stars:
        return "c_char_p" if stars == 1 else "POINTER(c_char_p)"
    if base.startswith("enum "):
        base = "int"
    if base.startswith("struct "):
        name = base[len("struct ") :]
        if name not in structs:  # opaque
            return "POINTER(c_void_p)" if stars == 2 else "c_void_p" if stars == 1 else sys.exit(f"make_abi: {text}?")
        inner = name
    else:
        inner = SCALARS.get(base) or sys.exit(f"make_abi: what is {text!r}?")
    for _ in range(stars):
        inner = f"POINTER({inner})"
    return inner


def split_declarator(text):
    """("const char *", "name", array length or None)"""
    m = re.fullmatch(r"(.*?[\s*])(\w+)(?:\[(\w*)\])?", " ".join(text.split()))
    if not m:
        sys.exit(f"make_abi: no declaration: {text!r}")
    return m.groups()


def fields_of(body, structs, callbacks, name, out):
    union = re.search(r"union \{(.*?)\} (\w+);", body, re.S)
    if union:
        body = body.replace(union.group(0), f"union {union.group(2)};")
        members = fields_of(union.group(1), structs, callbacks, name, out)
        out.append((f"{name}_{union.group(2)}", "Union", members))
    fields = []
    for declaration in filter(None, (d.strip() for d in body.split(";"))):
        if declaration.startswith("union "):
            member = declaration.split()[1]
            fields.append((member, f"{name}_{member}"))
            continue
        pointer = re.fullmatch(r"[\w\s*]+\(\*(\w+)\)\(.*\)", declaration, re.S)
        if pointer:
            fields.append((pointer[1], "c_void_p"))
            continue
        first, *more = declaration.split(",")
        kind, member, length = split_declarator(first)
        # A struct can't name itself before it is made: a pointer to one of its own is a plain pointer.
        ctype = "c_void_p" if f"struct {name} " in kind else type_of(kind, structs, callbacks)
        for each in [member, *(m.strip() for m in more)]:
            fields.append((each, f"{ctype} * {length}" if length else ctype))
    return fields


def enums(text):
    for name, body in re.findall(r"\benum (\w+) \{(.*?)\}", text, re.S):
        value, rows = -1, []
        for item in filter(None, (i.strip() for i in body.split(","))):
            key, _, given = (part.strip() for part in item.partition("="))
            value = eval(given, {"__builtins__": {}}) if given else value + 1  # noqa: S307 - numbers and shifts
            rows.append((key, value))
        yield name, rows


def main():
    text, constants = read_headers()
    out = [
        "# SPDX-License-Identifier: Apache-2.0",
        "# Made from include/baro/*.h by python/tools/make_abi.py; do not edit.",
        '"""libbaro\'s public API as ctypes has it: constants, structs, and the prototype of each function."""',
        "",
        "from __future__ import annotations",
        "",
        "from ctypes import (",
    ]
    names = sorted({*SCALARS.values(), "POINTER", "CFUNCTYPE", "Structure", "Union", "c_char_p", "c_void_p"})
    out += [f"    {n}," for n in names] + [")", "from typing import Any", ""]
    for name, value in constants:
        out.append(f"{name} = {value}")
    for name, rows in enums(text):
        out += ["", f"# enum {name}", *(f"{key} = {value}" for key, value in rows)]
    plain = re.sub(r"\benum \w+ \{.*?\};", "", text, flags=re.S)
    SCALARS.update({name: SCALARS[base] for base, name in re.findall(r"\btypedef (\w+) (\w+);", plain)})

    bodies = re.findall(r"\bstruct (\w+) \{((?:[^{}]|\{[^{}]*\})*)\};", plain)
    structs = {name for name, _ in bodies}
    callbacks = {}
    for result, name, arguments in re.findall(r"\btypedef (\w+) (\w+)\((.*?)\);", plain, re.S):
        # c_char_p would read up to a NUL, and the text has a length instead.
        types = [
            type_of(split_declarator(a)[0], structs, {}).replace("c_char_p", "c_void_p") for a in arguments.split(",")
        ]
        callbacks[name] = name
        out += ["", f"{name} = CFUNCTYPE({', '.join([type_of(result, structs, {}), *types])})"]
    for name, body in bodies:
        nested = []
        fields = fields_of(body, structs, callbacks, name, nested)
        for each, base, members in [*nested, (name, "Structure", fields)]:
            out += ["", "", f"class {each}({base}):", "    _fields_ = ["]
            out += [f'        ("{member}", {ctype}),' for member, ctype in members] + ["    ]"]

    out += [
        "",
        "",
        "# name: (what it returns, what it takes)",
        "PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {",
    ]
    for declaration in re.findall(r"BARO_API\s+([^;{]*?);", plain, re.S):
        m = re.fullmatch(r"(.*?[\s*])(\w+)\((.*)\)", " ".join(declaration.split()))
        if not m:
            sys.exit(f"make_abi: no function: {declaration!r}")
        result, name, arguments = m.groups()
        types = []
        for argument in [] if arguments == "void" else arguments.split(","):
            kind, _, length = split_declarator(argument)
            if length is not None:
                kind += "*"
            types.append(type_of(kind, structs, callbacks))
        returned = type_of(result, structs, callbacks)
        row = f'    "{name}": ({returned}, ({", ".join(types)}{"," if len(types) == 1 else ""})),'
        if len(row) > COLUMNS:
            lines = textwrap.wrap(", ".join(types) + ",", COLUMNS - 12, break_long_words=False)
            lines = [f"            {line}" for line in lines]
            row = "\n".join([f'    "{name}": (', f"        {returned},", "        (", *lines, "        ),", "    ),"])
        out.append(row)
    out += ["}", ""]

    made = "\n".join(out)
    if "--check" in sys.argv:
        if not TARGET.exists() or TARGET.read_text(encoding="utf-8") != made:
            sys.exit(f"{TARGET}: not what the headers say; run python/tools/make_abi.py")
    else:
        TARGET.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
