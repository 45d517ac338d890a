"""Each check of the static tier catches what it is for, and lets near misses pass."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace

import pytest

from envbuilder.catalog.archives import ArchiveFormat
from envbuilder.diagnostics.checks.content import CONTENT_CHECKS, run_content_checks
from envbuilder.diagnostics.checks.results import Failed, NotProven, Outcome, Passed, Tier
from envbuilder.image.contents import ContentExpectation, ImageContent, LibraryFile
from envbuilder.lock.container_settings import ContainerSettings
from envbuilder.lock.lock import Lock, OwnFile, PackageGroup
from envbuilder.oci.images import Descriptor, ImageLayerPin, ImagePin, LayerFormat
from tests.fakes.catalogs import good_lock
from tests.fakes.vendor_archives import pin_of, with_archives

SITE = "opt/venv/lib/python3.8/site-packages"
DIGEST = "sha256:" + "ab" * 32
BLOB = Descriptor(media_type="t", digest=DIGEST, size=1)
PIN = ImagePin(
    format=LayerFormat.GZIP_SPLICED,
    manifest=DIGEST,
    config=DIGEST,
    layers=(ImageLayerPin(id="base", key=DIGEST, diff_id=DIGEST, blob=BLOB),),
)
ARCHIVE = pin_of(b"archive", ArchiveFormat.TAR_GZIP, hashes={"libx.so.9.0": "ef" * 32})
VENDOR = "usr/lib/x86_64-linux-gnu/libx.so.9.0"
LOCK = replace(
    with_archives(good_lock(), ARCHIVE),
    image=PIN,
    files=(OwnFile(path="/app/run", sha256="cd" * 32, size=3),),
    packages=tuple(pin for pin in good_lock().packages if pin.group is not PackageGroup.BUILD)[:2],
)
EXPECTATION = ContentExpectation(lock=LOCK, lock_text=b"the lock", labels=(("l", "v"),), env=(("A", "1"),))
CODE = b"print(1)"


def hashed(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


INTERPRETER = {
    "opt/venv/bin/python": "/opt/python/bin/python3.8",
    "opt/venv/bin/python3": "python",
    "opt/venv/bin/python3.8": "python",
    "opt/python/bin/python3.8": "",
    "opt/venv/pyvenv.cfg": "",
    "opt/venv/lib64": "lib",
}
OWNER = next(pin.name for pin in LOCK.base.packages)
SYSTEM = {
    f"var/lib/dpkg/info/{OWNER}:amd64.list": b"/.\n/bin\n/bin/su\n/usr/bin/env\n",
    "opt/venv/pyvenv.cfg": b"home = /opt/python/bin\nversion_info = 3.8.18\n",
}


def good() -> ImageContent:
    assert LOCK.cuda
    metadata = {
        f"{SITE}/{pin.name}-{pin.version}.dist-info/METADATA": f"Name: {pin.name}\nVersion: {pin.version}\n\nx".encode()
        for pin in LOCK.packages
    }
    record = {f"{SITE}/x-1.dist-info/RECORD": f"x.py,{hashed(CODE)},8\n../../../bin/x,,\nx.pyc,,\n".encode()}
    cuda = {f"usr/lib/x86_64-linux-gnu/{name}": "" for name in LOCK.cuda.sonames}
    libraries = (
        LibraryFile(path=f"{SITE}/tensorflow/libtf.so", needed=("libc.so.6", "libcuda.so.1")),
        LibraryFile(path=f"{SITE}/x.libs/liba.so", needed=("libb.so",), search=("$ORIGIN/../y",)),
        LibraryFile(path=f"{SITE}/y/libb.so"),
    )
    return ImageContent(
        manifest=DIGEST,
        diff_ids=(DIGEST,),
        assembled=True,
        labels={"l": "v", "more": "1"},
        env={"A": "1", "B": "2"},
        user=f"{LOCK.user.uid}:{LOCK.user.gid}",
        folder="/workspace",
        paths={
            **cuda,
            VENDOR: "",
            "usr/lib/x86_64-linux-gnu/liby.so.9.0.1": "",
            **{library.path: "" for library in libraries},
            f"{SITE}/x.py": "",
            "opt/venv/bin/x": "",
            "lib": "usr/lib",
            "usr/lib/x86_64-linux-gnu/libc.so.6": "libc-2.so",
            "usr/lib/x86_64-linux-gnu/libc-2.so": "",
            "usr/local/cuda/lib64/stubs/libcuda.so": "",
            **INTERPRETER,
            "bin": "usr/bin",
            "usr/bin/su": "",
            "usr/bin/env": "",
            "etc/localtime": "/usr/share/zoneinfo/Etc/UTC",
        },
        libraries=libraries,
        texts={"opt/envbuilder/envbuilder.lock": b"the lock", **metadata, **record, **SYSTEM},
        digests={"app/run": "cd" * 32, VENDOR: "ef" * 32, f"{SITE}/x.py": hashlib.sha256(CODE).hexdigest()},
    )


def outcome(check: str, content: ImageContent, expectation: ContentExpectation = EXPECTATION) -> Outcome:
    report = run_content_checks(expectation, content, subject="x", seconds=0)
    [found] = [each.outcome for each in report.results if each.id == check]
    return found


def test_the_working_directory_is_that_of_the_spec() -> None:
    lock = replace(LOCK, settings=ContainerSettings(workdir="/srv/model"))
    expectation = replace(EXPECTATION, lock=lock)
    assert isinstance(outcome("settings-match-lock", replace(GOOD, folder="/srv/model"), expectation), Passed)
    assert isinstance(outcome("settings-match-lock", GOOD, expectation), Failed)


def without(content: ImageContent, *paths: str) -> ImageContent:
    return replace(
        content,
        paths={path: target for path, target in content.paths.items() if path not in paths},
        texts={path: text for path, text in content.texts.items() if path not in paths},
        digests={path: digest for path, digest in content.digests.items() if path not in paths},
    )


def first_metadata() -> str:
    return next(path for path in good().texts if path.endswith("METADATA"))


def test_a_good_image_passes_everything() -> None:
    report = run_content_checks(EXPECTATION, good(), subject="x", seconds=0)
    assert [each.id for each in report.results if not isinstance(each.outcome, Passed)] == []
    assert len(report.results) == len(CONTENT_CHECKS)


GOOD = good()
CUDA = LOCK.cuda.sonames[0] if LOCK.cuda else ""
OTHER = f"{SITE}/other-1.dist-info/RECORD"
FRAMEWORK = LOCK.packages[0].name


def record(*lines: str, of: str = "x-1") -> ImageContent:
    return replace(
        GOOD, texts={**GOOD.texts, f"{SITE}/{of}.dist-info/RECORD": "".join(f"{each}\n" for each in lines).encode()}
    )


def link(path: str, target: str = "") -> ImageContent:
    return replace(GOOD, paths={**GOOD.paths, path: target})


def privileged(path: str, rights: str = "set-user-ID", listed_by: str = "") -> ImageContent:
    texts = {f"var/lib/dpkg/info/{listed_by}.list": f"/{path}\n".encode()} if listed_by else {}
    return replace(
        GOOD,
        paths={**GOOD.paths, path: ""},
        privileged={**GOOD.privileged, path: rights},
        texts={**GOOD.texts, **texts},
    )


def both(path: str, *, owner: str = "attrs", other: str = "two") -> ImageContent:
    """A file that a package of the environment brings, and an own one."""
    first = f"{SITE}/{FRAMEWORK}-1.dist-info/RECORD"
    texts = {
        first: f"{path},sha256=one,1\n".encode(),
        f"{SITE}/{owner}-1.dist-info/RECORD": f"{path},sha256={other},1\n".encode(),
    }
    return replace(GOOD, texts={**GOOD.texts, **texts})


OWN = replace(LOCK.packages[0], name="attrs", group=PackageGroup.OWN)
WITH_OWN = replace(EXPECTATION, lock=replace(LOCK, packages=(*LOCK.packages, OWN)))
WRONG = {
    "one-owner-per-file": [
        record("x.py,,", "numpy-1.0.dist-info/METADATA,sha256=a,1"),
        record("x.py,,", "../../../lib/python3.8/site-packages/numpy-1.0.dist-info/RECORD,,"),
        both("numpy/__init__.py"),
        both("numpy/core/a.cpython-38.so"),
        both("../../../bin/f2py"),
    ],
    "interpreter-untouched": [
        link("opt/venv/bin/python"),
        link("opt/venv/bin/python", "/usr/bin/python3"),
        link("opt/venv/bin/python3", "/app/run"),
        without(GOOD, "opt/venv/bin/python3.8"),
        without(link("opt/venv/bin", "/app"), "opt/venv/bin/python"),
        without(GOOD, "opt/python/bin/python3.8"),
        without(GOOD, "opt/venv/pyvenv.cfg"),
        replace(GOOD, texts={**GOOD.texts, "opt/venv/pyvenv.cfg": b"home = /tmp\n"}),
        record("x.py,,", "../../../bin/python,,"),
        record("x.py,,", "../../../pyvenv.cfg,,"),
        replace(GOOD, texts={**GOOD.texts, "var/lib/dpkg/info/evil.list": b"/opt/python/bin/python3.8\n"}),
    ],
    "programs-not-hidden": [
        link("opt/venv/bin/env"),
        link("opt/venv/bin/sh", "/app/run"),
        link("usr/local/bin/nvidia-smi"),
        link("usr/local/sbin/ldconfig"),
    ],
    "privileged-programs-packaged": [
        privileged("usr/bin/evil"),
        privileged("opt/venv/bin/x"),
        privileged("usr/bin/evil", listed_by="evil"),
        privileged("usr/bin/passwd", listed_by=OWNER),
        privileged("usr/bin/chage", "set-group-ID", OWNER),
        privileged("usr/bin/ping", "capabilities", OWNER),
        privileged("usr/bin/sudo"),
    ],
    "nothing-removed": [
        replace(GOOD, removed=("etc",)),
        record("x.py,,", ".wh.six.py,,"),
        record("x.py,,", "../../../bin/.wh.python3,,"),
        replace(GOOD, texts={**GOOD.texts, "var/lib/dpkg/info/evil.list": b"/etc/.wh..wh..opq\n"}),
    ],
    "no-file-is-a-folder": [link("etc/localtime/x"), link("bin/sh"), link(f"{SITE}/x.py/y", "z")],
    "links-stay-inside": [link("app/x", "../../etc/passwd"), link("x", ".."), link("a/b/c", "d/../../../../x")],
    "layers-match-lock": [replace(GOOD, diff_ids=("sha256:" + "00" * 32,)), replace(GOOD, diff_ids=(DIGEST, DIGEST))],
    "lock-in-image": [
        without(GOOD, "opt/envbuilder/envbuilder.lock"),
        replace(GOOD, texts={**GOOD.texts, "opt/envbuilder/envbuilder.lock": b"another"}),
    ],
    "settings-match-lock": [
        replace(GOOD, labels={}),
        replace(GOOD, env={"A": "2"}),
        replace(GOOD, user=""),
        replace(GOOD, folder="/"),
    ],
    "distributions-recorded": [
        without(GOOD, first_metadata()),
        replace(GOOD, texts={**GOOD.texts, first_metadata(): GOOD.texts[first_metadata()].replace(b"\n\n", b".9\n\n")}),
        replace(GOOD, texts={**GOOD.texts, f"{SITE}/extra-1.dist-info/METADATA": b"Name: extra\nVersion: 1\n\n"}),
    ],
    "files-recorded": [
        without(GOOD, f"{SITE}/x.py"),
        without(GOOD, "opt/venv/bin/x"),
        replace(GOOD, digests={**GOOD.digests, f"{SITE}/x.py": "00" * 32}),
    ],
    "own-files-match-lock": [without(GOOD, "app/run"), replace(GOOD, digests={**GOOD.digests, "app/run": "00" * 32})],
    "libraries-closed": [
        without(GOOD, f"{SITE}/y/libb.so"),
        without(GOOD, "usr/lib/x86_64-linux-gnu/libc-2.so", "usr/lib/x86_64-linux-gnu/libc.so.6"),
        replace(GOOD, libraries=(LibraryFile(path="a.so", damage="a damaged ELF file"),)),
    ],
    "cuda-libraries-present": [without(GOOD, f"usr/lib/x86_64-linux-gnu/{CUDA}")],
    "vendor-libraries-unmodified": [
        without(GOOD, VENDOR),
        replace(GOOD, digests={**GOOD.digests, VENDOR: "00" * 32}),
        link("usr/lib/x86_64-linux-gnu/liby.so.9.0.1", "elsewhere.so"),
    ],
    "no-driver-inside": [replace(GOOD, paths={**GOOD.paths, "usr/lib/x86_64-linux-gnu/libcuda.so.1": ""})],
}

STRICT = {
    "one-owner-per-file": WITH_OWN,
    "privileged-programs-packaged": replace(
        EXPECTATION, lock=replace(LOCK, allow=("/usr/bin/sudo", "/opt/venv/bin/x"))
    ),
}


@pytest.mark.parametrize(("check", "content"), [(check, each) for check, all_ in WRONG.items() for each in all_])
def test_what_is_wrong_is_caught_with_a_remedy(check: str, content: ImageContent) -> None:
    found = outcome(check, content, STRICT.get(check, EXPECTATION))
    assert isinstance(found, Failed)
    assert found.finding.message
    assert found.finding.remedy


def test_what_is_not_proven_fails_a_report_that_requires_it() -> None:
    unknown = replace(EXPECTATION, lock=replace(LOCK, image=None))
    assert run_content_checks(unknown, GOOD, subject="x", seconds=0).passed
    assert not run_content_checks(unknown, GOOD, subject="x", seconds=0, required=Tier.STATIC).passed


ALLOWING = replace(WITH_OWN.lock, allow=(f"/{SITE}/numpy/__init__.py", "/opt/venv/bin/env"))
KEEPING = replace(LOCK, allow=("/bin/sudo", "/usr/bin/chage", "/usr/bin/ping"))
NEAR = {
    "one-owner-per-file": [
        (record("x.py,,", "x-1.dist-info/METADATA,,", "y/numpy-1.dist-info/z,,"), WITH_OWN.lock),
        (both("numpy/__init__.py", other="one"), WITH_OWN.lock),
        (both("numpy/LICENSE"), WITH_OWN.lock),
        (both("tests/__init__.py"), WITH_OWN.lock),
        (both("numpy/__init__.py"), ALLOWING),
        (both("numpy/__init__.py", owner="six"), WITH_OWN.lock),
    ],
    "interpreter-untouched": [
        (link("opt/venv/bin/python3", "/opt/python/bin/python3.8"), LOCK),
        (link("opt/venv/bin/python3-config", "/app/run"), LOCK),
        (record("x.py,,", "../../../bin/ipython3,,"), LOCK),
    ],
    "programs-not-hidden": [
        (link("opt/venv/bin/env2"), LOCK),
        (link("opt/venv/share/env"), LOCK),
        (link("opt/venv/bin/env"), ALLOWING),
        (link("usr/local/bin/env"), replace(LOCK, files=(OwnFile(path="/usr/local/bin/env"),))),
    ],
    "privileged-programs-packaged": [
        (GOOD, LOCK),
        (privileged("usr/bin/sudo", listed_by="sudo"), KEEPING),
        (privileged("usr/bin/chage", "set-group-ID", OWNER), KEEPING),
        (privileged("bin/ping", "capabilities", OWNER), KEEPING),
    ],
    "vendor-libraries-unmodified": [
        (replace(GOOD, digests={**GOOD.digests, "usr/lib/x86_64-linux-gnu/liby.so.9.0.1": "00" * 32}), LOCK),
        (link("usr/lib/x86_64-linux-gnu/libx.so", "libx.so.9.0"), LOCK),
    ],
    "nothing-removed": [(record("x.py,,", "a.wh.py,,", "wh.py,,"), LOCK)],
    "no-file-is-a-folder": [(link("etc/localtime2/x"), LOCK), (link("binary/x"), LOCK)],
    "links-stay-inside": [
        (link("app/x", "../etc/passwd"), LOCK),
        (link("app/y", "/etc/passwd"), LOCK),
        (link("a/b", "..data/x"), LOCK),
    ],
}


@pytest.mark.parametrize(
    ("check", "content", "lock"), [(check, *each) for check, all_ in NEAR.items() for each in all_]
)
def test_what_only_looks_wrong_passes(check: str, content: ImageContent, lock: Lock) -> None:
    assert isinstance(outcome(check, content, replace(EXPECTATION, lock=lock)), Passed)


def test_of_two_distributions_with_one_file_either_may_be_in_the_image() -> None:
    shared = replace(GOOD, texts={**GOOD.texts, OTHER: f"x.py,{hashed(b'other')},5\n".encode()})
    assert isinstance(outcome("files-recorded", shared), Passed)
    third = replace(shared, digests={**GOOD.digests, f"{SITE}/x.py": "00" * 32})
    assert isinstance(outcome("files-recorded", third), Failed)


def test_every_check_has_something_that_it_catches() -> None:
    assert {check.id for check in CONTENT_CHECKS} == set(WRONG)


def test_an_image_of_an_engine_has_layers_of_its_own() -> None:
    assert isinstance(outcome("layers-match-lock", replace(GOOD, assembled=False, diff_ids=("other",))), NotProven)
    unknown = replace(EXPECTATION, lock=replace(LOCK, image=None))
    assert isinstance(outcome("layers-match-lock", GOOD, unknown), NotProven)


@pytest.mark.parametrize(("inside", "hint"), [(True, "--lock FILE"), (False, "`envbuilder lock`")])
def test_a_lock_without_image_is_told_apart_from_the_one_in_the_image(inside: bool, hint: str) -> None:
    unknown = replace(EXPECTATION, lock=replace(LOCK, image=None), lock_is_inside=inside)
    found = outcome("layers-match-lock", GOOD, unknown)
    assert isinstance(found, NotProven)
    assert hint in found.reason


def test_a_library_is_found_through_links_settings_and_whoever_loaded_it_before() -> None:
    lacking = without(GOOD, f"{SITE}/y/libb.so")
    configured = replace(
        lacking,
        paths={**lacking.paths, "opt/own/libb.so": "../real/libb.so.1", "opt/real/libb.so.1": ""},
        texts={**GOOD.texts, "etc/ld.so.conf.d/own.conf": b"# own\n/opt/own\n"},
    )
    assert isinstance(outcome("libraries-closed", configured), Passed)
    elsewhere = replace(without(GOOD, f"{SITE}/y/libb.so"), paths={**GOOD.paths, "srv/libb.so": ""})
    assert isinstance(outcome("libraries-closed", elsewhere), Passed)


def test_a_link_that_turns_in_a_circle_is_no_library() -> None:
    assert LOCK.cuda
    path = f"usr/lib/x86_64-linux-gnu/{CUDA}"
    circle = replace(GOOD, paths={**GOOD.paths, path: "b", "usr/lib/x86_64-linux-gnu/b": CUDA})
    assert isinstance(outcome("cuda-libraries-present", circle), Failed)


def test_a_list_of_files_that_leads_out_of_the_image_is_a_missing_file() -> None:
    record = f"{SITE}/x-1.dist-info/RECORD"
    outside = replace(GOOD, texts={**GOOD.texts, record: b"../../../../../../../../etc/gone,,\n"})
    found = outcome("files-recorded", outside)
    assert isinstance(found, Failed)
    assert "/etc/gone is missing" in found.finding.message
