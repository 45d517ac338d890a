"""`envbuilder adopt` writes a spec for a project, and overwrites nothing."""

from __future__ import annotations

import json
import subprocess

from envbuilder.lock.targets import load_spec
from tests.fakes.catalogs import real_catalog
from tests.fakes.specs import read_spec
from tests.unit.cli.running import CommandLine


def project(envbuilder: CommandLine, requirements: str) -> None:
    (envbuilder.folder / "old").mkdir()
    envbuilder.write("old/requirements.txt", requirements)


def test_a_project_gets_a_spec_that_names_its_lines(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow-gpu==1.4.1\n")
    ended = envbuilder("adopt", "old", "--no-lock")
    assert ended.status == 0
    text = (envbuilder.folder / "old" / "envbuilder.yaml").read_text(encoding="utf-8")
    assert 'environment: "tf-1.4-cuda8.0"  # requirements.txt:1' in text
    assert read_spec(text, "envbuilder.yaml").environment == "tf-1.4-cuda8.0"
    assert "requirements.txt:1 (stated)" in ended.stdout
    assert "`envbuilder lock old/envbuilder.yaml`" in ended.stdout


def test_an_existing_spec_is_kept(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow-gpu==1.4.1\n")
    kept = envbuilder.write("old/envbuilder.yaml", "mine")
    assert envbuilder("adopt", "old").status == 2
    assert envbuilder("adopt", "old", "--dry-run").status == 0
    assert kept.read_text(encoding="utf-8") == "mine"


def test_the_document_has_every_conclusion_with_its_line(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow-gpu==1.4.1\n-e .\n")
    ended = envbuilder("adopt", "old", "--dry-run", "--json", "--gpu", "K80")
    document = json.loads(ended.stdout)
    assert (document["environment"], document["spec"], document["device"]) == ("tf-1.4-cuda8.0", None, "gpu")
    assert document["clues"][0] == {
        "kind": "tensorflow",
        "value": "==1.4.1",
        "file": "requirements.txt",
        "line": 1,
        "confidence": "stated",
    }
    assert document["unused"][0]["line"] == 2


def test_a_project_that_no_environment_fits_names_the_nearest_and_writes_nothing(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow==0.12.1\n")
    ended = envbuilder("adopt", "old")
    assert ended.status == 1
    assert "to try one: this command with `--tensorflow 1.4`" in ended.stdout
    assert not (envbuilder.folder / "old" / "envbuilder.yaml").exists()


def test_the_nearest_is_used_if_the_user_asks_for_its_tensorflow(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow==0.12.1\n")
    ended = envbuilder("adopt", "old", "--no-lock", "--tensorflow", "1.4")
    assert ended.status == 0
    assert "TensorFlow ==1.4.*  --tensorflow (stated)" in ended.stdout
    assert 'environment: "tf-1.4-' in (envbuilder.folder / "old" / "envbuilder.yaml").read_text(encoding="utf-8")
    assert envbuilder("adopt", "old", "--dry-run", "--tensorflow", "1.x.y").status == 2


def test_a_user_may_ask_for_another_python(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow==1.15.5\n")
    document = json.loads(envbuilder("adopt", "old", "--cpu", "--dry-run", "--json", "--python", "3.6").stdout)
    assert {"kind": "python", "value": "==3.6.*", "file": "--python", "line": 0, "confidence": "stated"} in document[
        "clues"
    ]
    assert document["given_up"] == []


def test_a_condition_that_another_tensorflow_does_not_change_needs_a_spec_by_hand(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow==2.15.1\n")
    ended = envbuilder("adopt", "old", "--gpu", "2.0")
    assert ended.status == 1
    assert "to try one: `envbuilder init tf-" in ended.stdout


def test_what_is_not_proven_for_the_gpus_and_drivers_of_a_user_is_a_warning(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow==2.15.1\n")
    told = " ".join(envbuilder("adopt", "old", "--dry-run", "--gpu", "RTX 5090").stdout.split())
    assert "warning: RTX 5090 (12.0): not proven: CUDA 12.2 is older than this GPU" in told
    assert "warning: it does not use a GPU" in envbuilder("adopt", "old", "--dry-run", "--driver", "384.81").stdout
    assert "warning" not in envbuilder("adopt", "old", "--dry-run", "--cpu").stdout


def test_code_for_python_2_is_not_called_usable(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow==1.4.1\n")
    envbuilder.write("old/train.py", "print 'start'\n")
    ended = envbuilder("adopt", "old", "--dry-run")
    assert "changed: Python 3.6 instead of Python ==2.7.* (train.py:1)" in ended.stdout
    assert "warning: no environment has Python 2; convert the code first, for example with 2to3" in ended.stdout


def test_a_project_that_says_nothing_about_tensorflow_has_a_warning(envbuilder: CommandLine) -> None:
    project(envbuilder, "torch==1.7.0\n")
    warning = "nothing in the project says which TensorFlow it needs; choose one with --tensorflow VERSION"
    assert f"warning: {warning}" in " ".join(envbuilder("adopt", "old", "--dry-run").stdout.split())
    [found] = json.loads(envbuilder("adopt", "old", "--dry-run", "--json").stdout)["warnings"]
    assert (found["kind"], found["text"], found["file"]) == ("no-tensorflow", warning, None)
    assert "warning" not in envbuilder("adopt", "old", "--dry-run", "--tensorflow", "1.15").stdout
    envbuilder.write("old/a.py", "import tensorflow as tf\ntf.function\n")
    assert "warning" not in envbuilder("adopt", "old", "--dry-run").stdout


def test_the_document_has_all_warnings_that_are_printed(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow==1.4.1\n")
    envbuilder.write("old/train.py", "import tensorflow as tf\nexec 'pass'\n")
    envbuilder.write("old/model.py", "import tensorflow as tf\ntf.sort([2, 1])\n")
    envbuilder.write("old/op.cu", "__global__ void op() {}\n")
    arguments = ("adopt", "old", "--dry-run", "--gpu", "RTX 5090")
    document = json.loads(envbuilder(*arguments, "--json").stdout)
    found = {(each["kind"], each["file"], each["line"]) for each in document["warnings"]}
    assert found == {
        ("python-2", "train.py", 2),
        ("machine", None, None),
        ("missing-name", "model.py", 2),
        ("cuda-code", "op.cu", 0),
    }
    printed = " ".join(envbuilder(*arguments).stdout.split())
    for each in document["warnings"]:
        assert " ".join(each["text"].split()) in printed


def test_every_missing_name_is_in_the_document_and_five_are_printed(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow==2.15.*\n")
    names = ("Session", "placeholder", "get_variable", "layers", "contrib", "app", "flags")
    envbuilder.write("old/train.py", "import tensorflow as tf\n" + "".join(f"tf.{name}\n" for name in names))
    document = json.loads(envbuilder("adopt", "old", "--dry-run", "--json").stdout)
    assert [each["text"] for each in document["warnings"]] == [
        f"TensorFlow 2.15 has no tf.{name}, which train.py:{line} uses" for line, name in enumerate(names, 2)
    ]
    assert "warning: and 2 more names" in envbuilder("adopt", "old", "--dry-run").stdout


def test_a_readme_that_the_code_contradicts_is_a_warning(envbuilder: CommandLine) -> None:
    (envbuilder.folder / "old").mkdir()
    envbuilder.write("old/README.md", "TensorFlow 2.1 is out.\n")
    names = (
        "app contrib flags layers get_variable placeholder Session gfile logging losses metrics.auc "
        "train.AdamOptimizer to_float log variable_scope"
    )
    envbuilder.write("old/a.py", "import tensorflow as tf\n" + "".join(f"tf.{name}\n" for name in names.split()))
    [warning] = json.loads(envbuilder("adopt", "old", "--dry-run", "--json").stdout)["warnings"]
    assert (warning["kind"], warning["file"], warning["line"]) == ("ignored-tensorflow", "README.md", 1)
    assert warning["text"].startswith("README.md:1: the code uses ")


def test_a_path_that_is_no_directory_is_a_usage_error(envbuilder: CommandLine) -> None:
    assert envbuilder("adopt", "nowhere").status == 2


def test_copied_files_and_commands_become_settings_of_the_spec(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow==2.15.*\n")
    envbuilder.write("old/train.py", "import tensorflow\n")
    dockerfile = 'FROM python:3.11\nWORKDIR /app\nCOPY train.py lost.py ./\nCMD ["python", "train.py"]\n'
    envbuilder.write("old/Dockerfile", dockerfile)
    ended = envbuilder("adopt", "old", "--no-lock", "--json")
    document = json.loads(ended.stdout)
    assert document["own_files"] == {"/app/train.py": "train.py"}
    assert document["lock"] is None
    assert {
        "file": "Dockerfile",
        "line": 3,
        "text": "COPY train.py lost.py ./",
        "reason": "the project has no lost.py",
    } in (document["unused"])
    spec = load_spec(envbuilder.folder / "old" / "envbuilder.yaml", real_catalog())
    assert (spec.settings.command, spec.settings.workdir) == (("python", "train.py"), "/app")
    assert [file.path for file in spec.files] == ["/app/train.py"]
    text = (envbuilder.folder / "old" / "envbuilder.yaml").read_text(encoding="utf-8")
    assert 'command: ["python", "train.py"]  # Dockerfile:4' in text


def test_own_files_need_the_spec_in_the_project(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow==2.15.*\n")
    envbuilder.write("old/Dockerfile", "FROM python:3.11\nCOPY requirements.txt /app/\n")
    ended = envbuilder("adopt", "old", "--no-lock", "-o", "other.yaml")
    assert ended.status == 0
    assert "the spec is not in the directory of the project" in " ".join(ended.stdout.split())


def test_another_distribution_of_tensorflow_is_a_change(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow-gpu==1.12.0  # pinned\n")
    document = json.loads(envbuilder("adopt", "old", "--cpu", "--dry-run", "--json").stdout)
    changes = {each["before"]: each["after"] for each in document["changes"]}
    assert changes["tensorflow-gpu==1.12.0"] == "tensorflow==1.12.0 of tf-1.12-cpu"


def test_the_tensorflow_that_the_project_asks_for_is_no_change(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow>=2.15,<2.16\n")
    assert json.loads(envbuilder("adopt", "old", "--dry-run", "--json").stdout)["changes"] == []


def test_a_lock_that_exists_is_kept_before_anything_is_resolved(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow-gpu==1.4.1\n")
    kept = envbuilder.write("old/envbuilder.lock", "mine")
    ended = envbuilder("adopt", "old")
    assert ended.status == 2
    assert "old/envbuilder.lock already exists" in ended.stderr
    assert kept.read_text(encoding="utf-8") == "mine"
    assert not (envbuilder.folder / "old" / "envbuilder.yaml").exists()
    assert envbuilder("adopt", "old", "--no-lock").status == 0


def test_a_spec_without_an_available_base_is_written_and_the_lock_says_what_is_missing(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow-gpu==1.4.1\n")
    envbuilder.set("ENVBUILDER_DEBIAN_MIRROR", "http://127.0.0.1:9/debian")
    ended = envbuilder("adopt", "old")
    assert ended.status == 5
    assert "tf-1.4-cuda8.0 cannot be built here" in ended.stderr
    assert "wrote old/envbuilder.yaml" in ended.stdout
    assert not (envbuilder.folder / "old" / "envbuilder.lock").exists()
    told = " ".join(ended.stderr.split())
    assert "`envbuilder adopt old --cpu -o old/cpu.yaml` for a processor" in told
    # Another environment would not have the packages of the project.
    assert "`envbuilder build tf-" not in told


def repository(envbuilder: CommandLine) -> str:
    """Make a git repository with a project; return its address."""
    project(envbuilder, "tensorflow-gpu==1.4.1\n")
    name = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false")
    for words in (("init", "-q"), ("add", "."), (*name, "commit", "-qm", "x")):
        subprocess.run(["git", "-C", str(envbuilder.folder / "old"), *words], check=True)
    return f"file://{envbuilder.folder / 'old'}"


def test_the_address_of_a_repository_is_cloned_as_git_names_it_or_into_a_directory(envbuilder: CommandLine) -> None:
    address = repository(envbuilder)
    (envbuilder.folder / "here").mkdir()
    ended = envbuilder("adopt", address, "--no-lock", "--into", "mine")
    assert ended.status == 0, ended.stderr
    assert (envbuilder.folder / "mine" / "envbuilder.yaml").exists()
    assert "`envbuilder lock mine/envbuilder.yaml`" in ended.stdout
    again = envbuilder("adopt", address, "--no-lock")
    assert again.status == 2
    assert "already exists" in again.stderr
    assert "--into DIR" in again.stderr


def test_a_dry_run_of_an_address_leaves_no_clone(envbuilder: CommandLine) -> None:
    address = repository(envbuilder)
    before = sorted(envbuilder.folder.iterdir())
    ended = envbuilder("adopt", address, "--dry-run", "--into", "mine", "--json")
    assert json.loads(ended.stdout)["environment"] == "tf-1.4-cuda8.0"
    assert sorted(envbuilder.folder.iterdir()) == before


def test_an_address_that_git_cannot_clone_is_told_without_its_password(envbuilder: CommandLine) -> None:
    missing = envbuilder("adopt", f"file://{envbuilder.folder}/nowhere.git")
    assert missing.status == 5
    assert "nowhere.git" in missing.stderr
    assert not (envbuilder.folder / "nowhere").exists()
    refused = envbuilder("adopt", "https://me:secret@127.0.0.1:9/a.git")
    assert refused.status == 5
    assert "secret" not in refused.stderr


def test_no_git_is_told(envbuilder: CommandLine) -> None:
    envbuilder.set("PATH", str(envbuilder.folder))
    ended = envbuilder("adopt", "https://127.0.0.1:9/a.git")
    assert ended.status == 9
    assert "git is not installed" in ended.stderr


def test_a_directory_for_a_clone_needs_an_address(envbuilder: CommandLine) -> None:
    project(envbuilder, "six\n")
    ended = envbuilder("adopt", "old", "--into", "mine")
    assert ended.status == 2
    assert "--into is for the address of a git repository" in ended.stderr


def test_a_lock_that_fails_is_in_the_document_with_its_exit_status(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow-gpu==1.4.1\n")
    ended = envbuilder("adopt", "old", "--json")
    document = json.loads(ended.stdout)
    assert ended.status == 5
    assert (document["environment"], document["lock"]) == ("tf-1.4-cuda8.0", None)
    assert document["lock_error"]["kind"] == "no-usable-base"
    assert document["spec"] == "old/envbuilder.yaml"
    assert document["lock_error"]["message"].splitlines()[0] in ended.stderr
    assert "this command again" not in ended.stderr


def test_a_line_of_which_several_packages_are_not_taken_over_is_shown_once(envbuilder: CommandLine) -> None:
    project(envbuilder, "tensorflow==2.15.*\n")
    envbuilder.write("old/Dockerfile", "FROM python:3.11\nRUN apt-get install -y cmake git curl libgl1\n")
    ended = envbuilder("adopt", "old", "--dry-run")
    told = " ".join(ended.stdout.split())
    assert told.count("Dockerfile:2 RUN") == 1
    assert "cmake, git, curl: each installs other software, or is part of the environment" in told
