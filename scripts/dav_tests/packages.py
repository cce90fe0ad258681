"""What the parts need, installed from registries by the names of packages."""

import os
import shutil
import subprocess
import sys
import tarfile


class Missing(Exception):
    """Something is neither here nor could be installed."""


class Packages:
    def __init__(self, folder):
        self.folder = folder
        self.sources = folder / "sources"

    def python(self, name, *requirements):
        """Returns the Python of a virtual environment FOLDER/NAME which has the packages."""
        venv = self.folder / name
        program = venv / "bin" / "python"
        stamp = venv / "requirements"
        wanted = "\n".join(requirements)
        if program.exists() and stamp.exists() and stamp.read_text() == wanted:
            return program
        print(f"installing {', '.join(requirements)} into {venv}")
        venv.parent.mkdir(parents=True, exist_ok=True)
        run([sys.executable, "-m", "venv", str(venv)])
        run([str(program), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements])
        stamp.write_text(wanted)
        return program

    def node(self, name, *requirements):
        """Returns a folder FOLDER/NAME in which npm has installed the packages."""
        folder = self.folder / name
        stamp = folder / "requirements"
        wanted = "\n".join(requirements)
        if stamp.exists() and stamp.read_text() == wanted:
            return folder
        if not shutil.which("npm") or not shutil.which("node"):
            raise Missing("needs node and npm (Debian has them as nodejs and npm)")
        print(f"installing {', '.join(requirements)} into {folder}")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
        run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *requirements], cwd=folder)
        stamp.write_text(wanted)
        return folder

    def source(self, name, version):
        """Returns the unpacked source archive that PyPI has of a package."""
        unpacked = self.sources / f"{name}-{version}"
        if unpacked.exists():
            return unpacked
        self.sources.mkdir(parents=True, exist_ok=True)
        archive = self.sources / f"{name}-{version}.tar.gz"
        if not archive.exists():
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
            run([*pip, "--no-deps", "--no-binary", name, "--dest", str(self.sources), f"{name}=={version}"])
        with tarfile.open(archive) as files:
            files.extractall(self.sources, filter="data")
        return unpacked

    def debian(self, *packages):
        """Makes sure that Debian packages are installed."""
        missing = [package for package in packages if not is_installed(package)]
        if not missing:
            return
        command = "apt-get install --no-install-recommends " + " ".join(missing)
        if not shutil.which("apt-get") or os.geteuid() != 0:
            raise Missing(f"needs `{command}`")
        print(f"installing {', '.join(missing)}")
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        run(["apt-get", "update", "-q"], env=environment)
        run(["apt-get", "install", "-y", "-q", "--no-install-recommends", *missing], env=environment)


def is_installed(package):
    answer = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Abbrev}", package], capture_output=True, text=True, check=False
    )
    return answer.stdout.startswith("ii")


def run(command, **options):
    answer = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options
    )
    if answer.returncode != 0:
        raise Missing(f"`{' '.join(command)}` failed: {answer.stdout.strip()[-400:]}")
