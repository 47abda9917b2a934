#!/usr/bin/env python3
"""Do the components of the installation fit together, and are the services' files right?

Usage: packages_test.py BUILD_FOLDER SOURCE_FOLDER

The cheap half of tools/package_test.sh, which installs real packages: nothing is packed here, and files are installed
as links. Whoever has no systemd skips what asks systemd-analyze.
"""

import gzip
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
COMPONENTS = ("fairlead", "agent", "controller", "preload", "slurm")
DAEMONS = ("agent", "controller")
# What systemd-analyze security may say at most; 10 is no protection at all.
EXPOSURE_MAX = {"agent": 3.5, "controller": 1.6}


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, **options)


class Components(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def install(self, component=None):
        """The paths that are installed, below the prefix."""
        prefix = self.folder / (component or "all")
        chosen = ["--component", component] if component else []
        done = run("cmake", "--install", str(BUILD), "--prefix", str(prefix), *chosen,
                   env={**os.environ, "CMAKE_INSTALL_MODE": "ABS_SYMLINK"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}

    def test_every_file_belongs_to_exactly_one_component(self):
        owners = {}
        for component in COMPONENTS:
            for path in self.install(component):
                owners.setdefault(path, []).append(component)
        shared = {path: names for path, names in owners.items() if len(names) > 1}
        self.assertEqual(shared, {}, "in several packages")
        self.assertEqual(self.install() - set(owners), set(), "in no package")
        self.assertEqual(owners["bin/fairlead-agent"], ["agent"])
        self.assertEqual(owners["bin/fairlead"], ["fairlead"])
        self.assertEqual(owners["lib/fairlead/libfairlead-steer.so"], ["preload"])
        self.assertEqual(owners["share/fairlead/integrations/slurm/fairlead-prolog"], ["slurm"])
        self.assertEqual(owners["lib/systemd/system/fairlead-controller.service"], ["controller"])

    def test_every_program_is_installed(self):
        built = {path.name for path in (BUILD / "apps").iterdir() if path.is_file() and os.access(path, os.X_OK)}
        installed = {Path(path).name for path in self.install() if path.startswith("bin/")}
        self.assertEqual(built, installed)

    def test_the_list_of_changes_has_one_version(self):
        self.install("agent")
        text = gzip.decompress((self.folder / "agent/share/doc/fairlead-agent/changelog.Debian.gz").read_bytes()).decode()
        self.assertRegex(text, r"\Afairlead \(\d+\.\d+\.\d+(~git\d{14}\.[0-9a-f]{7,})?(\+changed)?-1\) bookworm; ")
        version = re.search(r"^project\(fairlead VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text(), re.M)[1]
        self.assertTrue(text.startswith(f"fairlead ({version}"), text)
        self.assertRegex(text, r"\n -- .+ <.+>  [A-Z][a-z]{2}, +\d+ [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}\n\Z")


class Help(unittest.TestCase):
    """install_help.cmake, with a program of which it is known what it writes."""

    def install(self, component, program_text):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = Path(folder.name) / "program"
        program.write_text(program_text)
        program.chmod(0o755)
        prefix = Path(folder.name) / "prefix"
        prefix.mkdir()
        done = run("cmake", f"-DCOMPONENT={component}", f"-DPROGRAM={program}", "-DDATA_DIR=share",
                   f"-DCMAKE_INSTALL_PREFIX={prefix}", "-P", str(SOURCE / "packaging/install_help.cmake"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return {str(path.relative_to(prefix)): path for path in prefix.rglob("*") if path.is_file()}

    WRITER = """#!/bin/sh
case "$1 $2" in
  "completion --help" | "man --help") exit 0 ;;
  "man "*) for page in fairlead.1 fairlead-sim-run.1 fairlead-agent.1 fairlead-agent-run.1 fairlead-controller.1
           do echo "page $page" >"$2/$page"; done ;;
  "completion "*) echo "for $2" ;;
  *) exit 2 ;;
esac
"""

    def test_pages_go_with_their_programs(self):
        people = self.install("fairlead", self.WRITER)
        self.assertEqual(set(people), {
            "share/man/man1/fairlead.1.gz", "share/man/man1/fairlead-sim-run.1.gz",
            "share/bash-completion/completions/fairlead", "share/zsh/vendor-completions/_fairlead",
            "share/fish/vendor_completions.d/fairlead.fish"})
        self.assertEqual(people["share/zsh/vendor-completions/_fairlead"].read_text(), "for zsh\n")
        page = people["share/man/man1/fairlead.1.gz"]
        self.assertEqual(gzip.decompress(page.read_bytes()), b"page fairlead.1\n")
        self.assertEqual(stat.S_IMODE(page.stat().st_mode), 0o644)
        self.assertEqual(set(self.install("agent", self.WRITER)),
                         {"share/man/man1/fairlead-agent.1.gz", "share/man/man1/fairlead-agent-run.1.gz"})
        self.assertEqual(set(self.install("controller", self.WRITER)), {"share/man/man1/fairlead-controller.1.gz"})
        self.assertEqual(set(self.install("preload", self.WRITER)), set())

    def test_a_program_without_these_commands_installs_none(self):
        self.assertEqual(self.install("fairlead", "#!/bin/sh\nexit 2\n"), {})


class Services(unittest.TestCase):
    def unit(self, daemon):
        return (BUILD / "packaging" / f"fairlead-{daemon}.service").read_text()

    def test_settings_are_conffiles_and_read_by_the_unit(self):
        for daemon in DAEMONS:
            settings = f"/etc/default/fairlead-{daemon}"
            conffiles = (BUILD / f"packaging/fairlead-{daemon}/conffiles").read_text().split()
            self.assertEqual(conffiles, [settings])
            self.assertIn(f"EnvironmentFile=-{settings}\n", self.unit(daemon))
            variable = f"FAIRLEAD_{daemon.upper()}_OPTIONS"
            self.assertIn(f" ${variable}\n", self.unit(daemon))
            text = (SOURCE / f"packaging/default/fairlead-{daemon}").read_text()
            self.assertIn(f"#{variable}=", text)
            # Nothing is set before the operator sets it.
            self.assertEqual([line for line in text.splitlines() if line and not line.startswith("#")], [])

    def test_settings_name_options_that_there_are(self):
        commands = {"agent": ["run"], "controller": []}
        for daemon in DAEMONS:
            text = (SOURCE / f"packaging/default/fairlead-{daemon}").read_text()
            named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - {"--help"}
            self.assertGreater(len(named), 5)
            helped = run(str(BUILD / f"apps/fairlead-{daemon}"), *commands[daemon], "--help").stdout
            self.assertEqual(named - set(re.findall(r"--[a-z][a-z-]+", helped)), set(), daemon)

    def test_maintainer_scripts_are_shell(self):
        for daemon in DAEMONS:
            for name in ("postinst", "prerm", "postrm"):
                path = BUILD / f"packaging/fairlead-{daemon}/{name}"
                self.assertNotIn("@", path.read_text())
                self.assertEqual(run("sh", "-n", str(path)).stderr, "")

    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd-analyze is not installed")
    def test_systemd_finds_nothing_wrong(self):
        for daemon in DAEMONS:
            with tempfile.TemporaryDirectory() as folder:
                # The program is where it was built, and its documentation is not installed yet.
                text = re.sub(r"^ExecStart=\S*/", f"ExecStart={BUILD}/apps/", self.unit(daemon), flags=re.M)
                unit = Path(folder) / f"fairlead-{daemon}.service"
                unit.write_text(text)
                done = run("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(unit))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                found = run("systemd-analyze", "security", "--offline=yes", "--no-pager", str(unit))
                exposure = re.search(r"Overall exposure level for \S+: ([0-9.]+)", found.stdout)
                self.assertIsNotNone(exposure, found.stdout + found.stderr)
                self.assertLessEqual(float(exposure[1]), EXPOSURE_MAX[daemon], found.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
