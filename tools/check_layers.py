#!/usr/bin/env python3
"""Does every #include respect the layers?

The rules, from the design:
  order      a module includes only itself and modules before it in MODULES
  siblings   a policy (a folder in traffic/, scheduling/ or diagnosis/) does not include its neighbour; nor does an
             experiment (a folder in experiments/)
  interface  controller and agent see the interfaces of policies (files directly in traffic/, scheduling/,
             diagnosis/), never one policy
  testing    src/testing is for tests: only *_test, *_bench and *_fuzz files and src/testing itself include it
  path       project headers are included with quotes by their path from src/ (those of programs: from the root), and
             exist
  cycle      no chain of includes comes back to where it began

Usage: check_layers.py [ROOT]    prints "file:line: rule: ..." for each violation; exit code 1 if there is one.
"""

import collections
import pathlib
import re
import sys

MODULES = [
    "base", "codec", "shm", "model", "topology", "collective", "workload", "fluid", "packet", "trace", "telemetry", "execution",
    "prediction", "scheduling", "traffic", "diagnosis", "node_check",
    "controller", "agent", "sim", "report", "experiment", "wire",
    "store", "service", "slurm", "lab", "ccl", "cli"
]
POLICY_MODULES = {"scheduling", "traffic", "diagnosis"}
POLICY_USERS = {"controller", "agent"}
# Made by the build, in no module.
GENERATED_HEADERS = {"version.h"}
# Program folders beside src/ may use every module, and are held to the rules `testing`, `path` and `siblings`. Their own
# headers are named from the root; a folder may use those before it in this list.
PROGRAM_FOLDERS = ["experiments", "apps"]

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
TEST_FILE = re.compile(r"_(test|bench|fuzz)\.(cc|h)$")

Include = collections.namedtuple("Include", "line quote path")


def read_includes(path):
    includes = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        match = INCLUDE.match(line)
        if match:
            includes.append(Include(number, match.group(1), match.group(2)))
    return includes


def source_files(root, folder):
    base = root / folder
    return sorted(p for p in base.rglob("*") if p.suffix in (".h", ".cc")) if base.is_dir() else []


def policy_of(parts):
    """The policy folder that a path from src/ lies in, such as "traffic/crux", or None."""
    if len(parts) > 2 and parts[0] in POLICY_MODULES:
        return "/".join(parts[:2])
    return None


def layer_violation(source, target):
    """Why the file `source` may not include `target` (paths from src/, as parts), or None."""
    if source[0] == target[0]:
        mine, theirs = policy_of(source), policy_of(target)
        if mine and theirs and mine != theirs:
            return f"siblings: {mine} must not include its neighbour {theirs}; move what both need up to {source[0]}/"
        return None
    if target[0] == "testing":
        if TEST_FILE.search(source[-1]):
            return None
        return "testing: only tests, benchmarks and fuzzers include src/testing"
    if source[0] == "testing":
        return None
    if MODULES.index(target[0]) > MODULES.index(source[0]):
        return f"order: {source[0]} comes before {target[0]} and must not include it"
    if source[0] in POLICY_USERS and policy_of(target):
        return f"interface: {source[0]} must know interfaces only, not the policy {policy_of(target)}"
    return None


def program_violation(source, target):
    """Why the file `source` of a program folder may not include `target` (a path from src/ or the root), or None."""
    if target[0] == "testing":
        return "testing: programs must not include src/testing"
    if target[0] not in PROGRAM_FOLDERS:
        return None
    if PROGRAM_FOLDERS.index(target[0]) > PROGRAM_FOLDERS.index(source[0]):
        return f"order: {source[0]} comes before {target[0]} and must not include it"
    if source[0] == target[0] and len(source) > 2 and len(target) > 2 and source[1] != target[1]:
        return (f"siblings: {'/'.join(source[:2])} must not include its neighbour {'/'.join(target[:2])}; move what "
                f"both need up to {source[0]}/")
    return None


def check_file(root, path, headers):
    """Yields (line, message) for each include of `path` that breaks a rule other than `cycle`."""
    source = path.relative_to(root).parts
    in_src = source[0] == "src"
    if in_src:
        source = source[1:]
        if source[0] != "testing" and source[0] not in MODULES:
            yield 1, f"order: unknown module '{source[0]}'; give it a place in tools/check_layers.py"
            return
    for include in read_includes(path):
        if include.quote == "<":
            if include.path in headers:
                yield include.line, f'path: write "{include.path}" with quotes; it is ours'
            continue
        if include.path in GENERATED_HEADERS:
            continue
        target = tuple(include.path.split("/"))
        if include.path not in headers or (in_src and target[0] in PROGRAM_FOLDERS):
            yield include.line, f"path: src/{include.path} does not exist; project headers are named from src/"
            continue
        message = layer_violation(source, target) if in_src else program_violation(source, target)
        if message:
            yield include.line, message


def find_cycle(graph):
    """The first cycle of `graph` (name -> sorted list of names) in depth-first order, as a list, or None."""
    done, on_path = set(), {}
    for start in sorted(graph):
        # Each entry: a file, and what is left of its includes. Iterative, as chains can be long.
        stack = [] if start in done else [(start, iter(graph[start]))]
        on_path = {start: 0}
        while stack:
            name, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                done.add(name)
                del on_path[name]
                stack.pop()
            elif following in on_path:
                return [entry[0] for entry in stack[on_path[following]:]] + [following]
            elif following not in done:
                on_path[following] = len(stack)
                stack.append((following, iter(graph[following])))
    return None


def check_tree(root):
    """All violations in the tree as lines of text, in order of file and line."""
    root = pathlib.Path(root).resolve()
    src = root / "src"
    files = source_files(root, "src")
    programs = [p for folder in PROGRAM_FOLDERS for p in source_files(root, folder)]
    # The name by which each header is included -> the file.
    headers = {p.relative_to(src).as_posix(): p for p in files if p.suffix == ".h"}
    headers.update({p.relative_to(root).as_posix(): p for p in programs if p.suffix == ".h"})
    violations = []
    for path in files + programs:
        for line, message in check_file(root, path, headers):
            violations.append(f"{path.relative_to(root).as_posix()}:{line}: {message}")
    lines = {name: {i.path: i.line for i in read_includes(path) if i.path in headers} for name, path in headers.items()}
    cycle = find_cycle({name: sorted(included) for name, included in lines.items()})
    if cycle:
        where = headers[cycle[0]].relative_to(root).as_posix()
        violations.append(f"{where}:{lines[cycle[0]][cycle[1]]}: cycle: " + " -> ".join(cycle))
    return violations


def main():
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    root = sys.argv[1] if len(sys.argv) == 2 else pathlib.Path(__file__).resolve().parent.parent
    violations = check_tree(root)
    for violation in violations:
        print(violation)
    sys.exit(1 if violations else 0)


if __name__ == "__main__":
    main()
