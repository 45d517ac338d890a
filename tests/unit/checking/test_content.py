"""Each check of the static tier catches what it is for, and lets near misses pass."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace

import pytest

from envbuilder.checking.content import CONTENT_CHECKS, judge_content
from envbuilder.model.contents import ContentExpectation, ImageContent, LibraryFile
from envbuilder.model.findings import Failed, NotProven, Outcome, Passed, Tier
from envbuilder.model.images import Descriptor, ImageLayerPin, ImagePin, LayerFormat
from envbuilder.model.locks import OwnFile, PackageGroup
from tests.fakes.catalogs import good_lock

SITE = "opt/venv/lib/python3.8/site-packages"
DIGEST = "sha256:" + "ab" * 32
BLOB = Descriptor(media_type="t", digest=DIGEST, size=1)
PIN = ImagePin(
    format=LayerFormat.GZIP_SPLICED,
    manifest=DIGEST,
    config=DIGEST,
    layers=(ImageLayerPin(id="base", key=DIGEST, diff_id=DIGEST, blob=BLOB),),
)
LOCK = replace(
    good_lock(),
    image=PIN,
    files=(OwnFile(path="/app/run", sha256="cd" * 32, size=3),),
    packages=tuple(pin for pin in good_lock().packages if pin.group is not PackageGroup.BUILD)[:2],
)
EXPECTATION = ContentExpectation(lock=LOCK, lock_text=b"the lock", labels=(("l", "v"),), env=(("A", "1"),))
CODE = b"print(1)"


def hashed(content: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


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
            **{library.path: "" for library in libraries},
            f"{SITE}/x.py": "",
            "opt/venv/bin/x": "",
            "lib": "usr/lib",
            "usr/lib/x86_64-linux-gnu/libc.so.6": "libc-2.so",
            "usr/lib/x86_64-linux-gnu/libc-2.so": "",
            "usr/local/cuda/lib64/stubs/libcuda.so": "",
        },
        libraries=libraries,
        texts={"opt/envbuilder/envbuilder.lock": b"the lock", **metadata, **record},
        digests={"app/run": "cd" * 32, f"{SITE}/x.py": hashlib.sha256(CODE).hexdigest()},
    )


def outcome(check: str, content: ImageContent, expectation: ContentExpectation = EXPECTATION) -> Outcome:
    report = judge_content(expectation, content, subject="x", seconds=0)
    [found] = [each.outcome for each in report.results if each.id == check]
    return found


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
    report = judge_content(EXPECTATION, good(), subject="x", seconds=0)
    assert [each.id for each in report.results if not isinstance(each.outcome, Passed)] == []
    assert len(report.results) == len(CONTENT_CHECKS)


GOOD = good()
CUDA = LOCK.cuda.sonames[0] if LOCK.cuda else ""
WRONG = {
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
    "no-driver-inside": [replace(GOOD, paths={**GOOD.paths, "usr/lib/x86_64-linux-gnu/libcuda.so.1": ""})],
}


@pytest.mark.parametrize(("check", "content"), [(check, each) for check, all_ in WRONG.items() for each in all_])
def test_what_is_wrong_is_caught_with_a_remedy(check: str, content: ImageContent) -> None:
    found = outcome(check, content)
    assert isinstance(found, Failed)
    assert found.problem
    assert found.remedy


def test_what_is_not_proven_fails_a_report_that_requires_it() -> None:
    unknown = replace(EXPECTATION, lock=replace(LOCK, image=None))
    assert judge_content(unknown, GOOD, subject="x", seconds=0).passed
    assert not judge_content(unknown, GOOD, subject="x", seconds=0, required=Tier.STATIC).passed


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
    assert "/etc/gone is missing" in found.problem
