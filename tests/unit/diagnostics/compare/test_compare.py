"""What differs between two machines or locks, and what is said of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.core.errors import UsageError
from envbuilder.core.memory_policy import parse
from envbuilder.diagnostics.compare.compare import compare
from envbuilder.diagnostics.compare.comparison import AppliesTo, Comparison, Difference, System
from envbuilder.diagnostics.compare.systems import system_of_facts, system_of_lock
from envbuilder.diagnostics.facts.facts import Facts, Seen
from envbuilder.diagnostics.facts.host import HostFacts, NamedProcess, Wsl
from envbuilder.diagnostics.probe.decoding import decode
from tests.fakes.catalogs import ROOT, good_lock, real_catalog
from tests.fakes.hosts import A100, GIB, K80, V100, FakeGpu, environment, host_facts

LOCK = system_of_lock(good_lock(), "good.lock")


def both(a: Facts | System, b: Facts | System) -> Comparison:
    systems = [each if isinstance(each, System) else system_of_facts(each, "x") for each in (a, b)]
    return compare(real_catalog(), *systems)


def topic(found: Comparison, name: str) -> Difference:
    return next(each for each in (*found.differences, *found.unknown) if each.topic == name)


def texts(difference: Difference, where: AppliesTo) -> str:
    return "\n".join(effect.text for effect in difference.effects if effect.applies_to is where)


def explained(found: Comparison, where: AppliesTo) -> str:
    return "\n".join(effect.text for effect in found.out_of_memory if effect.applies_to is where)


def test_a_machine_is_the_same_as_itself() -> None:
    facts = host_facts("450.51.06", [K80], cuda="11.0")
    found = both(facts, facts)
    assert (found.differences, found.unknown, found.out_of_memory) == ((), (), ())
    assert "driver" in found.same


def test_the_same_code_on_the_newer_machine_is_explained_by_who_holds_its_memory() -> None:
    found = both(host_facts("450.51.06", [V100]), host_facts("535.104.05", [replace(A100, used=30 * GIB)]))
    assert "held by pid 4242 (30 GiB): TensorFlow gets 10 GiB" in explained(found, AppliesTo.B)
    assert "a batch that fits into 40 GiB may not fit into 16 GiB" in explained(found, AppliesTo.A)


def test_what_is_said_of_a_and_b_changes_places_with_them() -> None:
    one, other = host_facts("450.51.06", [K80]), host_facts("535.104.05", [A100] * 4)
    there, back = both(one, other), both(other, one)
    assert [each.topic for each in there.differences] == [each.topic for each in back.differences]
    for left, right in zip(there.differences, back.differences, strict=True):
        assert (left.a, left.b) == (right.b, right.a)
        assert sorted(texts(left, AppliesTo.A)) == sorted(texts(right, AppliesTo.B))


def test_a_little_less_memory_that_a_driver_keeps_for_itself_is_no_difference() -> None:
    found = both(
        host_facts("535.104.05", [A100]), host_facts("535.104.05", [replace(A100, total=A100.total - (64 << 20))])
    )
    assert "GPU memory (smallest GPU)" in found.same
    assert not found.out_of_memory


def test_fewer_gpus_hold_more_of_a_batch_each() -> None:
    found = both(host_facts("535.104.05", [A100] * 4), host_facts("535.104.05", [A100]))
    assert "4 times as much" in explained(found, AppliesTo.B)
    assert explained(found, AppliesTo.A) == ""


def test_a_machine_without_gpus_computes_on_its_processor() -> None:
    found = both(host_facts("535.104.05", [A100]), host_facts(None))
    assert topic(found, "GPUs").b == "0"
    assert "on the CPU" in texts(topic(found, "GPUs"), AppliesTo.B)
    # There is nothing to know of GPUs that are not there.
    assert not found.unknown


def test_mig_ecc_persistence_and_compute_mode_are_told_where_they_hold() -> None:
    odd = replace(A100, mig="on", ecc="off", persistence="off", mode="exclusive-process")
    found = both(host_facts("535.104.05", [A100]), host_facts("535.104.05", [odd]))
    assert "MIG" in explained(found, AppliesTo.B)
    assert (topic(found, "ECC").a, topic(found, "ECC").b) == ("on", "off")
    assert "nvidia-smi -pm 1" in texts(topic(found, "persistence"), AppliesTo.B)
    assert "refused" in texts(topic(found, "compute mode"), AppliesTo.B)


def test_the_gpu_that_tensorflow_compiles_for_is_told_by_the_tensorflow_that_is_there() -> None:
    old = host_facts("535.104.05", [V100], more=environment("2.10.1"))
    new = host_facts("535.104.05", [A100], more=environment("2.10.1"))
    models = topic(both(old, new), "GPU model")
    assert "machine code for all kernels" in texts(models, AppliesTo.A)
    assert "compiles its mlir kernels on first use" in texts(models, AppliesTo.B)


def test_without_a_tensorflow_the_releases_that_do_worse_are_named() -> None:
    models = topic(both(host_facts("470.82.01", [K80]), host_facts("535.104.05", [V100])), "GPU model")
    assert "does not run on 3.7" in texts(models, AppliesTo.A)
    assert "2.15 to " in texts(models, AppliesTo.A)


def test_tf32_is_on_from_ampere_and_tensorflow_2_4_on_only() -> None:
    def tf32(tensorflow: str, *gpus: FakeGpu) -> str:
        found = both(
            host_facts("535.104.05", [V100], more=environment("2.10.1")),
            host_facts("535.104.05", gpus, more=environment(tensorflow)),
        )
        return next((each.b for each in found.differences if each.topic == "TF32"), "same")

    assert tf32("2.10.1", A100).startswith("on, unless NVIDIA_TF32_OVERRIDE=0")
    assert tf32("2.3.4", A100) == "same"
    assert tf32("2.10.1", K80) == "same"


def test_a_variable_that_switches_tf32_off_makes_it_the_same() -> None:
    a100 = system_of_facts(host_facts("535.104.05", [A100], more=environment("2.10.1")), "A")
    off = replace(a100, variables={"NVIDIA_TF32_OVERRIDE": "0"})
    found = both(a100, off)
    assert topic(found, "TF32").b == "off (NVIDIA_TF32_OVERRIDE=0)"
    assert texts(topic(found, "TF32"), AppliesTo.B) == ""


@pytest.mark.parametrize(
    ("policy", "said", "explains"),
    [
        ("all", "takes nearly all free memory at start", True),
        ("growth", "as it needs it", False),
        ("limit:4GiB", "stops at limit:4GiB", True),
        ("fraction:0.5", "stops at fraction:0.5", True),
    ],
)
def test_a_memory_policy_says_what_it_does_to_the_memory(policy: str, said: str, *, explains: bool) -> None:
    other = "growth" if policy != "growth" else "all"
    found = both(replace(LOCK, policy=parse(other)), replace(LOCK, policy=parse(policy)))
    assert said in texts(topic(found, "memory policy"), AppliesTo.B)
    assert (said in explained(found, AppliesTo.B)) is explains


def test_tensorflows_own_variable_goes_before_the_policy_of_the_image() -> None:
    forced = replace(LOCK, policy=parse("all"), variables={"TF_FORCE_GPU_ALLOW_GROWTH": "true"})
    assert topic(both(replace(LOCK, policy=parse("all"), variables={}), forced), "memory policy").b == "growth"


def test_the_allocator_of_cuda_fragments_less_than_tensorflows() -> None:
    found = both(replace(LOCK, policy=parse("async-allocator")), replace(LOCK, policy=parse("growth")))
    assert (topic(found, "allocator").a, topic(found, "allocator").b) == ("cuda_malloc_async", "BFC")
    assert "large piece" in explained(found, AppliesTo.B)


def test_keras_3_is_what_tf_keras_is_from_2_16_on_unless_the_old_one_was_asked_for() -> None:
    old, new = replace(LOCK, packages={"tensorflow": "2.15.1"}), replace(LOCK, packages={"tensorflow": "2.16.2"})
    assert "XLA" in texts(topic(both(old, new), "tf.keras"), AppliesTo.B)
    legacy = replace(new, variables={"TF_USE_LEGACY_KERAS": "1"})
    assert "tf.keras" in both(old, legacy).same


def test_tensorflow_2_and_numpy_2_are_told_on_the_side_that_has_them() -> None:
    old = replace(LOCK, packages={"tensorflow": "1.15.5", "numpy": "1.18.5"})
    new = replace(LOCK, packages={"tensorflow": "2.18.1", "numpy": "2.0.2"})
    found = both(old, new)
    assert "eagerly" in texts(topic(found, "TensorFlow"), AppliesTo.B)
    assert "NumPy 1 do not import" in texts(topic(found, "NumPy"), AppliesTo.B)
    assert "eagerly" not in texts(topic(both(new, old), "TensorFlow"), AppliesTo.B)


def test_memory_of_the_host_and_shared_memory_are_told_on_the_smaller_side() -> None:
    found = both(host_facts(None), host_facts(None, limit=8 * GIB, shm=64 << 20))
    assert "its control group ends the process (status 137" in explained(found, AppliesTo.B)
    assert "Bus error" in texts(topic(found, "shared memory (/dev/shm)"), AppliesTo.B)


def test_a_processor_without_avx_dies() -> None:
    found = both(host_facts(None), host_facts(None, avx=False))
    assert "SIGILL" in texts(topic(found, "instructions"), AppliesTo.B)


def test_what_is_not_known_of_one_side_is_said_and_not_guessed() -> None:
    bare = decode('{"schema": 1, "seconds": 0, "facts": {}}', "bare.json")
    found = both(host_facts("535.104.05", [A100]), bare)
    assert {each.topic for each in found.unknown} >= {"driver", "GPUs", "main memory", "TF32"}
    assert all(each.b == "" and each.effects == () for each in found.unknown)
    assert not found.differences


def test_a_lock_and_real_facts_of_an_environment_are_compared_in_their_software() -> None:
    file = ROOT / "tests" / "cases" / "facts" / "tf-2.15-cpu.json"
    real = decode(file.read_text(encoding="utf-8"), file.name)
    found = both(real, LOCK)
    assert {"TensorFlow", "Python"} <= {each.topic for each in found.differences}
    assert "driver" not in {each.topic for each in (*found.differences, *found.unknown)}


def test_a_lock_and_a_machine_alone_have_nothing_in_common_and_the_way_out_is_told() -> None:
    with pytest.raises(UsageError) as caught:
        both(host_facts("535.104.05", [A100]), LOCK)
    assert "list --fits" in caught.value.hint


def test_a_driver_too_old_for_the_row_that_is_there_is_told_so() -> None:
    old = host_facts("418.87.00", [V100], more=environment("2.10.1"))
    new = host_facts("535.104.05", [V100], more=environment("2.10.1"))
    assert "it needs 450.80.02" in texts(topic(both(old, new), "driver"), AppliesTo.A)


def test_what_matters_most_stands_first() -> None:
    found = both(host_facts("450.51.06", [K80], shm=64 << 20), host_facts("535.104.05", [A100, A100]))
    order = [each.topic for each in found.differences]
    assert order[0] == "GPUs"
    assert order.index("GPU memory (smallest GPU)") < order.index("driver") < order.index("shared memory (/dev/shm)")


def seen_around(facts: Facts, **variables: str) -> Facts:
    """The same machine, where the probe also saw its settings and processes."""
    around = HostFacts(
        disks=(),
        memory_available=None,
        group_used=None,
        modules=None,
        bus=None,
        nodes=Seen(value=()),
        smi=None,
        wsl=Wsl(number=0, device=False),
        container="",
        virtual=None,
        vendor="",
        all_processes=True,
        processes=(NamedProcess(pid=4242, name="jupyter"), NamedProcess(pid=1, name=None)),
        variables=tuple(sorted(variables.items())),
    )
    return replace(facts, host=Seen(value=around))


def test_settings_of_the_machine_count_where_the_probe_saw_them() -> None:
    plain = host_facts("535.104.05", [A100], more=environment("2.10.1"))
    found = both(
        seen_around(plain),
        seen_around(plain, NVIDIA_TF32_OVERRIDE="0", TF_GPU_ALLOCATOR="cuda_malloc_async", CUDA_VISIBLE_DEVICES="1"),
    )
    assert (topic(found, "TF32").a, topic(found, "TF32").b) == ("on", "off (NVIDIA_TF32_OVERRIDE=0)")
    assert (topic(found, "allocator").a, topic(found, "allocator").b) == ("BFC", "cuda_malloc_async")
    assert "sees the GPUs 1 only" in texts(topic(found, "environment variables"), AppliesTo.B)


def test_who_holds_the_memory_is_named_where_the_probe_could_see_it() -> None:
    busy = seen_around(host_facts("535.104.05", [replace(A100, used=30 * GIB)]))
    assert "held by jupyter, pid 4242 (30 GiB)" in explained(both(host_facts("535.104.05", [A100]), busy), AppliesTo.B)
