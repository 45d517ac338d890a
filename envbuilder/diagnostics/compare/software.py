"""Driver, libraries, TensorFlow, its packages and its memory policy side by side."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import Version

from envbuilder.catalog.verdicts import Aspect, Compatibility, Fit, Reason
from envbuilder.core.memory_policy import Way
from envbuilder.core.names import version_of
from envbuilder.core.versions import Release
from envbuilder.diagnostics.compare.comparison import AppliesTo, ComparedProperty, Effect, Perspective, System
from envbuilder.diagnostics.compare.gpus import capabilities, verdict_of

ASYNC = "cuda_malloc_async"
KERAS_3 = Version("2.16")
TF32 = Version("2.4")
AMPERE = Release("8.0")
_NONE = Release("0")
_TRUE = {"1", "true", "yes"}
# Compared by name or by topics of their own.
_KNOWN = frozenset({"tensorflow", "tensorflow-gpu", "tensorflow-cpu", "keras", "numpy"})


def policy(system: System) -> str | None:
    """Return the memory policy in force: TensorFlow's own variable takes precedence over the policy of the image."""
    forced = (system.variables or {}).get("TF_FORCE_GPU_ALLOW_GROWTH", "").lower()
    if forced in _TRUE:
        return Way.GROWTH.value
    return str(system.policy) if system.policy else None


def _policies(view: Perspective) -> Iterator[Effect]:
    mode = policy(view.system) or ""
    if mode == Way.ALL:
        text = "TensorFlow takes nearly all free memory at start: a second process on the GPU finds none"
        yield view.effect(f"{text}, nor does TensorFlow as the second", out_of_memory=True)
    elif Way.LIMIT in mode or Way.FRACTION in mode:
        yield view.effect(f"TensorFlow stops at {mode}, although the GPU has more", out_of_memory=True)
    elif Way.GROWTH in mode:
        yield view.effect("TensorFlow takes memory as it needs it and keeps it; it fragments sooner")


def allocator(system: System) -> str | None:
    """Return the allocator of GPU memory in the process."""
    if system.policy is not None and system.policy.is_async:
        return ASYNC
    if system.policy is None and system.variables is None:
        return None
    return (system.variables or {}).get("TF_GPU_ALLOCATOR") or "BFC"


def _allocators(view: Perspective) -> Iterator[Effect]:
    if allocator(view.system) == ASYNC:
        yield view.effect("CUDA's pool takes memory as needed and fragments less; it needs a driver for CUDA 11.2")
    else:
        text = "TensorFlow's BFC allocator can fail for want of one large piece while enough is free in small ones"
        yield view.effect(text, out_of_memory=True)


def _drivers(view: Perspective) -> Iterator[Effect]:
    if view.system.driver is None or view.other.driver is None or view.system.driver > view.other.driver:
        return
    verdict = verdict_of(view.catalog, view.system)
    reasons = dict.fromkeys(reason.text for reason in _about_the_driver(verdict)) if verdict else {}
    for text in reasons:
        yield view.effect(f"{verdict.environment if verdict else ''}: {text}")
    if not reasons:
        text = "the older driver compiles no PTX of a later CUDA, and starts no libraries of a later major release"
        yield view.effect(f"{text}: `envbuilder list --fits` shows which environments run")


def _about_the_driver(verdict: Compatibility) -> Iterator[Reason]:
    """Yield the effects of an unsupported or possibly unsupported driver."""
    all_reasons = (*verdict.reasons, *(reason for kind in verdict.gpus for reason in kind.reasons))
    return (each for each in all_reasons if each.aspect is Aspect.DRIVER and each.fit is not Fit.FITS)


def _cudnns(view: Perspective) -> Iterator[Effect]:
    if (view.system.cudnn or _NONE) > (view.other.cudnn or _NONE):
        yield view.effect("cuDNN chooses other algorithms and workspaces: peak of memory, speed and last digits move")


def _cudas(view: Perspective) -> Iterator[Effect]:
    if (view.system.cuda or _NONE) > (view.other.cuda or _NONE):
        yield view.effect("a later major release needs a later driver; the context on the GPU has another size")


def _tensorflows(view: Perspective) -> Iterator[Effect]:
    have, there = version_of(view.system.tensorflow), version_of(view.other.tensorflow)
    if have is None or there is None or have < there:
        return
    if have.major > there.major:
        yield view.effect(
            "TensorFlow 2 runs eagerly; sessions and placeholders are in tf.compat.v1, tf.contrib is gone"
        )
    else:
        yield view.effect("kernels, graph rewriting and default settings moved: peak of memory and speed with them")


def default_keras(system: System) -> str | None:
    """Return the Keras behind `tf.keras`."""
    release = version_of(system.tensorflow)
    if release is None:
        return None
    legacy = (system.variables or {}).get("TF_USE_LEGACY_KERAS", "").lower() in _TRUE
    return "Keras 3" if release >= KERAS_3 and not legacy else "Keras 2"


def _standalone_keras(system: System) -> str | None:
    return system.packages.get("keras", "none of its own") if system.packages else None


def _default_kerases(view: Perspective) -> Iterator[Effect]:
    if default_keras(view.system) == "Keras 3":
        yield view.effect("compile() uses XLA where the model allows it (jit_compile='auto'): another peak of memory")
        text = "models that Keras 2 saved do not load: tf_keras of the same release and TF_USE_LEGACY_KERAS=1"
        yield view.effect(text)


def tf32(system: System) -> str | None:
    """Return the state of TF32 in words, beginning with `on` or `off`; None if unknown.

    Source: https://www.tensorflow.org/api_docs/python/tf/config/experimental/enable_tensor_float_32_execution;
    on by default since TensorFlow 2.4, on compute capability 8.0 and later.
    """
    found = capabilities(system)
    release = version_of(system.tensorflow)
    if not found:
        return None
    if found[-1] < AMPERE or (release is not None and release < TF32):
        return "off"
    if (system.variables or {}).get("NVIDIA_TF32_OVERRIDE") == "0":
        return "off (NVIDIA_TF32_OVERRIDE=0)"
    is_known = system.has_all_variables or "NVIDIA_TF32_OVERRIDE" in (system.variables or {})
    doubt = "" if is_known else ", unless NVIDIA_TF32_OVERRIDE=0 is set"
    return f"on{doubt}" if release is not None else f"on with TensorFlow 2.4 and later{doubt}"


def _tf32s(view: Perspective) -> Iterator[Effect]:
    if (tf32(view.system) or "").startswith("on"):
        text = "products and convolutions of float32 keep 10 bits of the mantissa: faster, with other results"
        yield view.effect(f"{text}; NVIDIA_TF32_OVERRIDE=0 switches it off")


def _numpys(view: Perspective) -> Iterator[Effect]:
    have, there = version_of(view.system.packages.get("numpy", "")), version_of(view.other.packages.get("numpy", ""))
    if have and there and have.major > there.major:
        yield view.effect("extensions that were compiled for NumPy 1 do not import; np.float and its like are gone")


def _others(system: System) -> tuple[tuple[str, str], ...] | None:
    found = tuple(sorted((name, text) for name, text in system.packages.items() if name not in _KNOWN))
    return found or None


def _packages(view: Perspective) -> Iterator[Effect]:
    if view.applies_to is not AppliesTo.A:
        return
    here, there = dict(_others(view.system) or ()), dict(_others(view.other) or ())
    changed = [
        f"{name} {here[name]} → {there[name]}" for name in sorted(here.keys() & there) if here[name] != there[name]
    ]
    for which, only in (("A", here.keys() - there), ("B", there.keys() - here)):
        changed += [f"{name} only on {which}" for name in sorted(only)]
    if changed:
        more = f" and {len(changed) - 12} more" if len(changed) > 12 else ""
        yield Effect(applies_to=AppliesTo.BOTH, text=f"{', '.join(changed[:12])}{more}")


POLICY_PROPERTIES: tuple[ComparedProperty[str], ...] = (
    ComparedProperty(name="memory policy", read=policy, effects=_policies, is_software=True),
    ComparedProperty(name="allocator", read=allocator, effects=_allocators, is_software=True),
)

VERSION_PROPERTIES: tuple[ComparedProperty[Release] | ComparedProperty[str], ...] = (
    ComparedProperty(name="driver", read=lambda system: system.driver, effects=_drivers),
    ComparedProperty(name="CUDA that the driver supports", read=lambda system: system.driver_cuda),
    ComparedProperty(name="CUDA libraries", read=lambda system: system.cuda, effects=_cudas, is_software=True),
    ComparedProperty(name="cuDNN", read=lambda system: system.cudnn, effects=_cudnns, is_software=True),
    ComparedProperty(
        name="TensorFlow", read=lambda system: system.tensorflow or None, effects=_tensorflows, is_software=True
    ),
    ComparedProperty(name="tf.keras", read=default_keras, effects=_default_kerases, is_software=True),
    ComparedProperty(name="Keras", read=_standalone_keras, is_software=True),
    ComparedProperty(name="TF32", read=tf32, effects=_tf32s),
    ComparedProperty(name="NumPy", read=lambda system: system.packages.get("numpy"), effects=_numpys, is_software=True),
    ComparedProperty(name="Python", read=lambda system: system.python, is_software=True),
)

PACKAGE_PROPERTIES: tuple[ComparedProperty[tuple[tuple[str, str], ...]], ...] = (
    ComparedProperty(
        name="other packages",
        read=_others,
        show=lambda found: str(len(found)),
        effects=_packages,
        is_software=True,
    ),
)
