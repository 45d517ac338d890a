"""Programs in place of Apptainer and podman, which run commands with the files of this host."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.scripts import python_script

_COMMON = """\
import json, os, subprocess, sys
arguments = sys.argv[1:]
with open(HERE + "/calls", "a") as calls:
    calls.write(json.dumps(arguments) + "\\n")

def options(words, with_value, flags):
    found = []
    while words and words[0].startswith("-"):
        name = words.pop(0)
        assert name in with_value or name in flags, name
        found.append((name, words.pop(0) if name in with_value else ""))
    return found

def execute(command, mounts, environ):
    places = {}
    for mount in mounts:
        source, target = mount.split(":")[:2]
        places[target] = source
    words = [places.get(word, word) for word in command]
    words = [REPLACED.get(word, word) for word in words]
    done = subprocess.run(words, env=dict(os.environ, **environ))
    sys.exit(done.returncode)
"""

_APPTAINER = """
assert arguments[:2] == ["--quiet", "exec"], arguments
words = arguments[2:]
given = options(words, {"--network", "--pwd", "--workdir", "--bind"}, {"--cleanenv", "--contain", "--net", "--nv"})
image = words.pop(0)
path = image.split(":", 1)[-1]
if path == "//localhost:5000/tf:1" and os.environ.get("APPTAINER_NOHTTPS") == "1":
    path = "/"
if not os.path.exists(path):
    sys.stderr.write("FATAL:   could not open image %s\\n" % path)
    sys.exit(255)
if words[0].startswith("/no/"):
    sys.stderr.write('FATAL:   "%s": no such file or directory\\n' % words[0])
    sys.exit(255)
if not words[0].startswith("/"):
    sys.stderr.write('FATAL:   "%s": executable file not found in $PATH\\n' % words[0])
    sys.exit(255)
own = {name[13:]: value for name, value in os.environ.items() if name.startswith("APPTAINERENV_")}
execute(words, [value for name, value in given if name == "--bind"], own)
"""

_PODMAN = """
def place(kind, name):
    os.makedirs(HERE + "/" + kind, exist_ok=True)
    return HERE + "/" + kind + "/" + name.replace(":", "-")

KEPT = "cafe"
if arguments[:2] == ["image", "inspect"]:
    kept = os.path.exists(place("images", arguments[2])) or arguments[2] == KEPT
    if not kept and arguments[2] not in ("feed", "envbuilder/tf-2.15-cpu:latest"):
        sys.exit("Error: no such image")
    config = {"Env": ["PATH=/bin", "WORD=image"] + ["TERM=xterm", "TOKEN="] * kept, "User": "app", "WorkingDir": "/"}
    config["Labels"] = {"io.envbuilder.memory": "growth"}
    shown = {"Id": KEPT if kept else "feed", "RepoTags": ["b", "a"], "Labels": config["Labels"]}
    print(json.dumps([dict(shown, Config=config, Size=9 if kept else 4)]))
elif arguments[:2] == ["container", "inspect"]:
    if not os.path.exists(place("containers", arguments[2])):
        sys.exit("Error: no such container")
    print(json.dumps([{"State": {"Status": "exited"}}]))
elif arguments[:2] == ["image", "rm"]:
    if arguments[2] != KEPT:
        os.remove(place("images", arguments[2]))
elif arguments[:3] == ["stop", "--time", "0"]:
    pass
elif arguments[0] == "diff":
    print("A /x")
elif arguments[0] == "commit":
    open(place("images", arguments[-1]), "w").close()
elif arguments[0] == "pull":
    if not os.path.exists(arguments[2].split(":", 1)[-1]):
        sys.exit("Error: pinging container registry: refused")
    print("feed")
elif arguments[0] == "rm":
    open(HERE + "/removed", "w").write(arguments[-1])
    if os.path.exists(place("containers", arguments[-1])):
        os.remove(place("containers", arguments[-1]))
else:
    words = arguments[1:]
    valued = {"--name", "--pull", "--entrypoint", "--device", "--security-opt", "--network", "--user", "--userns",
              "--workdir", "--env", "--unsetenv", "--volume", "--publish"}
    given = options(words, valued, {"--rm", "--interactive", "--tty"})
    image = words.pop(0)
    assert image == "feed" or os.path.exists(place("images", image)), image
    if ("--rm", "") not in given:
        open(place("containers", dict(given)["--name"]), "w").close()
    if words[0] == "refused":
        sys.stderr.write("Error: crun: setrlimit\\n")
        sys.exit(125)
    own = dict(value.split("=", 1) for name, value in given if name == "--env")
    execute(words, [value for name, value in given if name == "--volume"], own)
"""


def apptainer_of_host(folder: Path, *, lock: str = "", name: str = "apptainer") -> Path:
    """Write a program that understands the options of Apptainer that the product uses, and refuses all others.

    Args:
        folder: Directory for the program; `calls` in it lists the arguments of each call.
        lock: File that stands for the lock in the image.
        name: Name of the program.
    """
    return _written(folder, name, _APPTAINER, lock)


def podman_of_host(folder: Path, *, lock: str = "") -> Path:
    """Write the same in place of podman, with one image of the id `feed`."""
    return _written(folder, "podman", _PODMAN, lock)


def _written(folder: Path, name: str, text: str, lock: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    labels = folder / "labels.json"
    labels.write_text('{"io.envbuilder.memory": "growth"}')
    replaced = f"""{{
        "/opt/venv/bin/python": sys.executable,
        "/opt/envbuilder/envbuilder.lock": {lock!r},
        "/.singularity.d/labels.json": {str(labels)!r},
    }}"""
    program = folder / name
    program.write_text(python_script(f"import sys\nHERE = {str(folder)!r}\nREPLACED = {replaced}\n{_COMMON}{text}"))
    program.chmod(0o755)
    return program
