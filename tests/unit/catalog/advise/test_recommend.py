"""What the real catalog advises: what fits, in which order, and what to change where nothing does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from envbuilder.catalog.advise.advice import Query, Topic, Verdict, Weight
from envbuilder.catalog.advise.recommend import order
from envbuilder.catalog.buildable import Buildability, InstalledPython, Inventory
from envbuilder.catalog.cuda import Coverage
from envbuilder.catalog.evidence import Grade
from envbuilder.catalog.machine import Host, HostGpu
from envbuilder.catalog.verdicts import Fit
from envbuilder.core.versions import Release
from envbuilder.diagnostics.facts.machine import host_of
from tests.fakes.hosts import A100, K80, host_facts
from tests.unit.catalog.advise.asking import about, ask, changes, rows


def test_without_constraints_the_newest_of_the_best_proven_comes_first() -> None:
    found = ask()
    first, second = found.fitting[:2]
    assert (first.environment, first.verdict, first.proven) == ("tf-2.21-cuda12.5", Verdict.FITS, Grade.IMAGE)
    assert second.environment == "tf-2.20-cuda12.5"
    assert found.nearest == ()


def test_evidence_of_one_base_or_interpreter_proves_nothing_of_another() -> None:
    proven = {advice.base: advice.proven for advice in ask(tensorflow="2.4", cuda="11").fitting}
    assert proven["debian-bookworm"] is Grade.IMAGE
    assert proven["nvidia-cuda-11.0.3-cudnn8"] is Grade.CPU
    other = ask(tensorflow="2.4", python="3.7").fitting[0]
    assert other.proven.rank < Grade.CPU.rank


def test_the_best_of_each_row_stands_before_what_else_it_can_do() -> None:
    found = [advice.environment for advice in ask(tensorflow=">=2.4,<2.7").fitting]
    assert len(set(found[:6])) == 6
    assert set(found[6:]) <= set(found[:6])


def test_rows_without_a_gpu_stand_behind_all_others_when_nobody_asked_for_them() -> None:
    found = rows(ask().fitting)
    assert found.index("tf-1.4-cuda8.0") < min(index for index, row in enumerate(found) if row.endswith("-cpu"))
    assert all(row.endswith("-cpu") for row in rows(ask(cpu=True).fitting))


def test_the_kepler_and_volta_cluster_gets_the_row_whose_own_driver_it_has() -> None:
    found = ask(tensorflow=">=2.4,<2.6", python="3.8", driver="450.51.06", gpus="K80,V100")
    assert rows(found.fitting) == ["tf-2.4-cuda11.0"]
    best = found.fitting[0]
    assert (best.fit, best.coverage, str(best.driver)) == (Fit.FITS, Coverage.MACHINE_CODE, "450.51.06")
    assert best.base == "debian-bullseye"
    assert best.steps == ("envbuilder build tf-2.4-cuda11.0 --base debian-bullseye --accept-nvidia-eula",)


def test_a_driver_that_was_named_too_shortly_is_a_doubt_and_no_refusal() -> None:
    best = ask(tensorflow=">=2.4,<2.6", driver="450.51", gpus="K80,V100").fitting[0]
    assert (best.verdict, best.is_doubtful) == (Verdict.COST, True)
    assert "450.51.06" in about(best, Topic.DRIVER, Weight.COST)[0].text


def test_one_driver_release_too_old_is_told_with_the_release_that_is_needed() -> None:
    found = ask(tensorflow="2.4", driver="450.36.06", gpus="K80")
    assert not found.fitting
    assert changes(found.nearest[0]) == ["update the driver to 450.51.06 or later"]


def test_the_floor_of_the_family_lets_an_older_driver_run_a_later_cuda_but_not_one_below_it() -> None:
    assert "tf-2.5-cuda11.2" in rows(ask(driver="450.80.02", gpus="V100").fitting)
    assert "tf-2.5-cuda11.2" not in rows(ask(driver="450.51.06", gpus="V100").fitting)


def test_without_a_driver_for_it_the_older_release_is_named_too() -> None:
    found = ask(tensorflow="2.4", driver="418.87", gpus="T4")
    first, second = found.nearest[:2]
    assert changes(first) == ["update the driver to 450.51.06 or later"]
    assert (second.environment, second.changes[0].topic) == ("tf-2.3-cuda10.1", Topic.TENSORFLOW)
    assert "tf-2.3-cuda10.1 (TensorFlow 2.3.4) instead" in second.changes[0].text


def test_keras_2_2_4_with_tensorflow_1_4_gets_the_true_reason_and_the_last_keras_that_works() -> None:
    found = ask(tensorflow="1.4.1", keras="2.2.4")
    first, second = found.nearest[:2]
    assert changes(first) == ["keras==2.1.5 instead of Keras 2.2.4"]
    assert "tf.nn.softmax(axis=)" in about(first, Topic.KERAS, Weight.AGAINST)[0].text
    assert about(first, Topic.KERAS, Weight.AGAINST)[0].sources
    assert '# in envbuilder.yaml: packages: ["keras==2.1.5"]' in first.steps
    assert (first.environment, second.environment) == ("tf-1.4-cuda8.0", "tf-1.5-cuda9.0")
    assert first.cuda == Release("8.0")
    assert first.cudnn is not None
    assert first.cudnn.head(2) == (6, 0)


def test_keras_2_2_4_alone_gets_the_newest_tensorflow_that_it_works_with() -> None:
    best = ask(keras="2.2.4").fitting[0]
    assert best.environment == "tf-1.15-cuda10.0"
    assert '# in envbuilder.yaml: packages: ["keras==2.2.4"]' in best.steps


def test_a_keras_that_tensorflow_brings_itself_is_not_installed_again() -> None:
    best = ask(keras="2.15").fitting[0]
    assert best.steps == ("envbuilder build tf-2.15-cuda12.2",)


def test_tensorflow_1_7_comes_with_its_exact_cuda_and_cudnn() -> None:
    best = ask(tensorflow="1.7").fitting[0]
    assert (best.environment, str(best.cuda)) == ("tf-1.7-cuda9.0", "9.0")
    assert best.cudnn is not None
    assert best.cudnn.head(2) == (7, 0)
    refused = ask(tensorflow="1.7", cudnn="7.6")
    assert refused.fitting == ()
    assert "cuDNN 7.0.5 instead of 7.6" in [text for near in refused.nearest for text in changes(near)]


def test_another_patch_release_is_taken_where_it_was_asked_for_and_is_a_cost() -> None:
    best = ask(tensorflow="2.4.1").fitting[0]
    assert (str(best.tensorflow), best.verdict) == ("2.4.1", Verdict.COST)
    assert best.steps == ("envbuilder build tf-2.4-cuda11.0 --tensorflow 2.4.1",)


def test_a_patch_release_that_does_not_exist_is_the_cheapest_change() -> None:
    near = ask(tensorflow="2.4.9").nearest[0]
    assert near.changes[0].topic is Topic.PATCH
    assert changes(near) == ["TensorFlow 2.4.4 instead of TensorFlow 2.4.9"]


def test_another_interpreter_is_had_from_the_base_that_can_have_it() -> None:
    best = ask(tensorflow="2.4", python="3.7").fitting[0]
    assert (best.base, best.python) == ("debian-bookworm", Release("3.7"))
    assert best.steps[1] == '# in envbuilder.yaml: python: "3.7"'


def test_an_interpreter_that_no_release_has_gets_the_nearest() -> None:
    near = ask(python="3.14").nearest[0]
    assert changes(near) == ["Python 3.13 instead of 3.14"]


def test_an_interpreter_that_nothing_installs_any_more_is_told_so() -> None:
    near = ask(tensorflow="1.12", python="2.7").nearest[0]
    assert changes(near) == ["Python 3.6 instead of 2.7"]
    assert "before 3.6" in about(near, Topic.PYTHON, Weight.AGAINST)[0].text


def test_machine_code_goes_before_code_that_the_driver_compiles() -> None:
    found = ask(gpus="A100", driver="570.133.20").fitting
    first = [next(advice for advice in found if advice.environment == row) for row in rows(found)]
    kinds = [advice.coverage is Coverage.JIT for advice in first if not advice.is_doubtful]
    assert kinds == sorted(kinds)
    assert any(kinds)


def test_a_kepler_gpu_gets_the_base_whose_cudnn_still_has_code_for_it() -> None:
    found = ask(tensorflow="2.12", gpus="K80", driver="470.256.02").fitting
    assert {advice.base for advice in found} == {"debian-bookworm"}


def test_no_driver_new_enough_for_cuda_12_knows_kepler_so_a_driver_is_not_what_is_advised() -> None:
    found = ask(tensorflow="2.15", gpus="K80", driver="470.256.02")
    assert not found.fitting
    assert all(
        change.topic is not Topic.DRIVER or len(near.changes) > 1 for near in found.nearest for change in near.changes
    )
    assert found.nearest[0].environment == "tf-2.14-cuda11.8"


def test_a_driver_that_dropped_a_gpu_is_told_to_go_back() -> None:
    found = ask(tensorflow="2.12", gpus="K80", driver="535.104.05")
    assert "go back to driver branch 470" in changes(found.nearest[0])


def test_a_blackwell_card_is_told_that_nothing_is_proven_and_where_nvidias_own_build_is() -> None:
    found = ask(gpus="RTX 5090")
    assert all(advice.is_doubtful for advice in found.fitting)
    assert found.fitting[0].environment == "tf-2.21-cuda12.5"
    assert [build.name for build in found.elsewhere] == ["25.02-tf2-py3"]
    assert not {"tf-2.16-cuda12.3", "tf-2.20-cuda12.5"} & set(rows(found.fitting))


def test_tensorflow_1_on_a_hopper_card_names_nvidias_last_container_with_it() -> None:
    assert [build.name for build in ask(tensorflow="1.15", gpus="H100").elsewhere] == ["23.03-tf1-py3"]
    assert ask(tensorflow="2.18", gpus="H100", driver="570.133.20").elsewhere == ()


def test_a_gpu_that_the_catalog_does_not_know_is_a_doubt() -> None:
    best = ask(gpus="10.3").fitting[0]
    assert best.is_doubtful
    assert any("has no data for this GPU" in reason.text for reason in best.reasons)


def test_several_hosts_must_all_be_served() -> None:
    hosts = (host_of(host_facts("450.51.06", [K80]), "old"), host_of(host_facts("535.104.05", [A100]), "new"))
    best = ask(hosts=hosts).fitting[0]
    assert best.environment == "tf-2.4-cuda11.0"
    assert {"on old" in reason.text for reason in about(best, Topic.DRIVER, Weight.FOR)} == {True, False}
    newer = ask(hosts=hosts[1:]).fitting[0]
    assert newer.tensorflow > best.tensorflow


def test_a_host_without_gpus_gets_rows_without_gpus() -> None:
    best = ask(hosts=(host_of(host_facts(None), "plain"),)).fitting[0]
    assert (best.cuda, best.verdict) == (None, Verdict.FITS)


def test_a_release_that_cannot_be_imported_without_a_driver_is_refused_there_for_the_row_that_can() -> None:
    host = host_of(host_facts(None), "plain")
    found = ask(tensorflow="1.13", hosts=(host,)).fitting
    assert rows(found) == ["tf-1.13-cpu"]
    assert "tf-1.14-cuda10.0" in rows(ask(tensorflow="1.14", hosts=(host,)).fitting)


def test_a_processor_without_avx_gets_the_last_releases_that_do_not_need_it() -> None:
    host = host_of(host_facts("450.51.06", [K80], avx=False), "old")
    assert rows(ask(hosts=(host,)).fitting) == ["tf-1.4-cuda8.0"]
    near = ask(tensorflow="2.4", hosts=(host,)).nearest
    assert "use a processor with AVX" in [text for each in near for text in changes(each)]


def test_another_kind_of_machine_is_told_so() -> None:
    host = host_of(host_facts("535.104.05", [A100], machine="aarch64"), "grace")
    found = ask(hosts=(host,))
    assert not found.fitting
    assert changes(found.nearest[0]) == [
        "use an x86_64 machine; for Arm servers (SBSA) NVIDIA has TensorFlow containers of its own"
    ]


def test_what_nobody_could_see_of_a_host_is_a_doubt_and_no_reason_against() -> None:
    best = ask(hosts=(Host(name="unseen"),)).fitting[0]
    assert best.is_doubtful


def test_a_gpu_of_unknown_name_is_a_doubt() -> None:
    host = Host(name="odd", driver=Release("535.104.05"), gpus=(HostGpu(name="Voodoo 5", capability=None),))
    best = ask(hosts=(host,)).fitting[0]
    assert any("Voodoo 5" in reason.text for reason in about(best, Topic.GPU, Weight.COST))


def test_a_system_without_a_container_gets_wheels_for_its_c_library() -> None:
    assert "tf-2.21-cuda12.5" not in rows(ask(glibc="2.17").fitting)
    found = ask(tensorflow="2.21", glibc="2.17")
    assert found.nearest[0].changes[0].topic is Topic.GLIBC
    assert "container" in changes(found.nearest[0])[0]


def test_a_base_that_the_row_does_not_have_is_a_change() -> None:
    near = ask(tensorflow="1.15", base="debian-trixie").nearest[0]
    assert near.changes[0].topic is Topic.BASE


@pytest.mark.parametrize(("cuda", "expected"), [("11.0", "tf-2.4-cuda11.0"), ("9.0", "tf-1.12-cuda9.0")])
def test_a_cuda_release_is_that_of_the_libraries_in_the_image(cuda: str, expected: str) -> None:
    assert expected in rows(ask(cuda=cuda).fitting)
    assert all(str(advice.cuda).startswith(cuda) for advice in ask(cuda=cuda).fitting)


def test_gpus_and_no_gpu_at_once_get_an_answer_too() -> None:
    found = ask(cpu=True, gpus="A100")
    assert found.fitting
    assert all(advice.cuda is None for advice in found.fitting)


def test_an_older_driver_runs_by_forward_compatibility_on_gpus_for_data_centres_in_nvidias_image_only() -> None:
    best = ask(tensorflow="2.12", gpus="V100", driver="450.51.06").fitting
    assert [advice.base for advice in best] == ["nvidia-cuda-11.8.0-cudnn8"]
    reason = about(best[0], Topic.DRIVER, Weight.COST)[0]
    assert "forward compatibility" in reason.text
    assert reason.sources
    assert not ask(tensorflow="2.12", gpus="GTX 1080 Ti", driver="450.51.06").fitting
    assert not ask(tensorflow="2.12", gpus="V100,GTX 1080 Ti", driver="450.51.06").fitting
    assert not ask(tensorflow="2.12", gpus="7.0", driver="450.51.06").fitting
    assert not ask(tensorflow="2.12", gpus="V100", driver="440.33.01").fitting
    assert not ask(tensorflow="2.12", gpus="K80", driver="450.51.06").fitting


def test_a_driver_between_the_floor_and_the_librarys_own_is_warned_of_nvidias_gate_on_its_images_only() -> None:
    found = ask(tensorflow="2.18", driver="525.125.06", gpus="V100").fitting
    gate = {
        advice.base: any("minor-version" in r.text and r.weight is Weight.COST for r in advice.reasons)
        for advice in found
    }
    assert gate == {"nvidia-cuda-12.6.3-cudnn9": True, "debian-bookworm": False}


def test_known_traps_of_a_generation_are_told_where_nothing_mends_them() -> None:
    texts = [reason.text for reason in ask(tensorflow="2.21", gpus="RTX 5090").fitting[0].reasons]
    assert any("XLA of TensorFlow 2.21 does not compile for Blackwell" in text for text in texts)


NOTHING = Inventory()
WITH_3_6 = Inventory(
    installed=(InstalledPython(version=Release("3.6"), program="/opt/bin/python3.6", glibc=Release("2.17")),)
)


def test_what_cannot_be_built_is_no_first_choice() -> None:
    found = ask(tensorflow="1.7", gpus="V100", inventory=NOTHING)
    assert not found.fitting
    assert found.nearest[0].buildable is not None
    assert found.nearest[0].buildable.verdict is not Buildability.NO
    gone = next(each for each in found.nearest if each.environment == "tf-1.7-cuda9.0")
    assert any("envbuilder python pack 3.6" in change for change in changes(gone))


def test_an_interpreter_that_is_installed_here_is_packed_first() -> None:
    best = ask(tensorflow="1.7.0", inventory=WITH_3_6).fitting[0]
    assert best.environment == "tf-1.7-cuda9.0"
    assert best.steps == (
        "envbuilder python pack /opt/bin/python3.6",
        "envbuilder build tf-1.7-cuda9.0 --tensorflow 1.7.0 --accept-nvidia-eula",
    )
    cpu = ask(tensorflow="1.7.0", cpu=True, inventory=WITH_3_6).fitting[0]
    assert cpu.steps == ("envbuilder python pack /opt/bin/python3.6", "envbuilder build tf-1.7-cpu --tensorflow 1.7.0")
    assert not ask(tensorflow="1.7.0", inventory=NOTHING).fitting


def test_nvidias_build_of_the_wanted_major_release_is_named_beside_environments_of_another() -> None:
    found = ask(tensorflow="1.15", gpus="A100", inventory=NOTHING)
    assert [build.name for build in found.elsewhere] == ["23.03-tf1-py3"]
    assert ask(tensorflow="2.15", gpus="A100").elsewhere == ()


def place_of(proven: Grade) -> tuple[object, ...]:
    advice = ask(tensorflow="2.4", cuda="11").fitting[0]
    return order(replace(advice, proven=proven), 0, Query())


def test_stand_ins_are_no_reason_to_prefer_an_environment() -> None:
    assert place_of(Grade.IMAGE_WITH_STAND_INS) == place_of(Grade.CPU)
    assert place_of(Grade.IMAGE_WITH_STAND_INS) != place_of(Grade.IMAGE)
