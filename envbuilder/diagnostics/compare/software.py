"""Driver, libraries, TensorFlow, its packages and its memory policy side by side."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from envbuilder.catalog.verdicts import Aspect, Compatibility, Fit, Reason
from envbuilder.core.memory_policy import Way
from envbuilder.core.versions import Release
from envbuilder.diagnostics.compare.comparison import Effect, Side, Where
from envbuilder.diagnostics.compare.gpus import capabilities, verdict_of
from envbuilder.diagnostics.compare.properties import ComparedProperty, Pair

ASYNC = "cuda_malloc_async"
KERAS_3 = Version("2.16")
TF32 = Version("2.4")
AMPERE = Release("8.0")
_TRUE = {"1", "true", "yes"}
# Compared by name or by topics of their own.
_KNOWN = frozenset({"tensorflow", "tensorflow-gpu", "tensorflow-cpu", "keras", "numpy"})


def version(text: str) -> Version | None:
    """Return a version; None if the text is empty or invalid."""
    try:
        return Version(text) if text else None
    except InvalidVersion:
        return None


def policy(side: Side) -> str | None:
    """Return the memory policy in force: TensorFlow's own variable takes precedence over the policy of the image."""
    forced = (side.variables or {}).get("TF_FORCE_GPU_ALLOW_GROWTH", "").lower()
    if forced in _TRUE:
        return Way.GROWTH.value
    return str(side.policy) if side.policy else None


def _policies(pair: Pair) -> Iterator[Effect]:
    for where, mine, _ in pair.sides:
        mode = policy(mine) or ""
        if mode == Way.ALL:
            text = "TensorFlow takes nearly all free memory at start: a second process on the GPU finds none"
            yield Effect(where=where, text=f"{text}, nor does TensorFlow as the second", out_of_memory=True)
        elif Way.LIMIT in mode or Way.FRACTION in mode:
            text = f"TensorFlow stops at {mode}, although the GPU has more"
            yield Effect(where=where, text=text, out_of_memory=True)
        elif Way.GROWTH in mode:
            text = "TensorFlow takes memory as it needs it and keeps it; it fragments sooner"
            yield Effect(where=where, text=text)


def allocator(side: Side) -> str | None:
    """Return the allocator of GPU memory in the process."""
    if side.policy is not None and side.policy.is_async:
        return ASYNC
    if side.policy is None and side.variables is None:
        return None
    return (side.variables or {}).get("TF_GPU_ALLOCATOR") or "BFC"


def _allocators(pair: Pair) -> Iterator[Effect]:
    for where, mine, _ in pair.sides:
        if allocator(mine) == ASYNC:
            text = "CUDA's pool takes memory as needed and fragments less; it needs a driver for CUDA 11.2"
            yield Effect(where=where, text=text)
        else:
            text = "TensorFlow's BFC allocator can fail for want of one large piece while enough is free in small ones"
            yield Effect(where=where, text=text, out_of_memory=True)


def _drivers(pair: Pair) -> Iterator[Effect]:
    for where, mine, other in pair.sides:
        if mine.driver is None or other.driver is None or mine.driver > other.driver:
            continue
        verdict = verdict_of(pair.catalog, mine)
        reasons = dict.fromkeys(reason.text for reason in _about_the_driver(verdict)) if verdict else {}
        for text in reasons:
            yield Effect(where=where, text=f"{verdict.environment if verdict else ''}: {text}")
        if not reasons:
            text = "the older driver compiles no PTX of a later CUDA, and starts no libraries of a later major release"
            yield Effect(where=where, text=f"{text}: `envbuilder list --fits` shows which environments run")


def _about_the_driver(verdict: Compatibility) -> Iterator[Reason]:
    """Yield the effects of an unsupported or possibly unsupported driver."""
    all_reasons = (*verdict.reasons, *(reason for kind in verdict.gpus for reason in kind.reasons))
    return (each for each in all_reasons if each.aspect is Aspect.DRIVER and each.fit is not Fit.FITS)


def _cudnns(pair: Pair) -> Iterator[Effect]:
    later = max((side for _, side, _ in pair.sides), key=lambda side: side.cudnn or Release("0"))
    for where, mine, _ in pair.sides:
        if mine is later:
            text = "cuDNN chooses other algorithms and workspaces: peak of memory, speed and last digits move"
            yield Effect(where=where, text=text)


def _cudas(pair: Pair) -> Iterator[Effect]:
    for where, mine, other in pair.sides:
        if (mine.cuda or Release("0")) > (other.cuda or Release("0")):
            text = "a later major release needs a later driver; the context on the GPU has another size"
            yield Effect(where=where, text=text)


def _tensorflows(pair: Pair) -> Iterator[Effect]:
    for where, mine, other in pair.sides:
        have, there = version(mine.tensorflow), version(other.tensorflow)
        if have is None or there is None or have < there:
            continue
        if have.major > there.major:
            text = "TensorFlow 2 runs eagerly; sessions and placeholders are in tf.compat.v1, tf.contrib is gone"
        else:
            text = "kernels, graph rewriting and default settings moved: peak of memory and speed with them"
        yield Effect(where=where, text=text)


def default_keras(side: Side) -> str | None:
    """Return the Keras behind `tf.keras`."""
    release = version(side.tensorflow)
    if release is None:
        return None
    legacy = (side.variables or {}).get("TF_USE_LEGACY_KERAS", "").lower() in _TRUE
    return "Keras 3" if release >= KERAS_3 and not legacy else "Keras 2"


def _standalone_keras(side: Side) -> str | None:
    return side.packages.get("keras", "none of its own") if side.packages else None


def _default_kerases(pair: Pair) -> Iterator[Effect]:
    for where, mine, _ in pair.sides:
        if default_keras(mine) == "Keras 3":
            text = "compile() uses XLA where the model allows it (jit_compile='auto'): another peak of memory"
            yield Effect(where=where, text=text)
            text = "models that Keras 2 saved do not load: tf_keras of the same release and TF_USE_LEGACY_KERAS=1"
            yield Effect(where=where, text=text)


def tf32(side: Side) -> str | None:
    """Return the state of TF32 in words, beginning with `on` or `off`; None if unknown.

    Source: https://www.tensorflow.org/api_docs/python/tf/config/experimental/enable_tensor_float_32_execution;
    on by default since TensorFlow 2.4, on compute capability 8.0 and later.
    """
    found = capabilities(side)
    release = version(side.tensorflow)
    if not found:
        return None
    if found[-1] < AMPERE or (release is not None and release < TF32):
        return "off"
    if (side.variables or {}).get("NVIDIA_TF32_OVERRIDE") == "0":
        return "off (NVIDIA_TF32_OVERRIDE=0)"
    is_told = side.has_all_variables or "NVIDIA_TF32_OVERRIDE" in (side.variables or {})
    doubt = "" if is_told else ", unless NVIDIA_TF32_OVERRIDE=0 is set"
    return f"on{doubt}" if release is not None else f"on with TensorFlow 2.4 and later{doubt}"


def _tf32s(pair: Pair) -> Iterator[Effect]:
    for where, mine, _ in pair.sides:
        if (tf32(mine) or "").startswith("on"):
            text = "products and convolutions of float32 keep 10 bits of the mantissa: faster, with other results"
            yield Effect(where=where, text=f"{text}; NVIDIA_TF32_OVERRIDE=0 switches it off")


def _numpys(pair: Pair) -> Iterator[Effect]:
    for where, mine, other in pair.sides:
        have, there = version(mine.packages.get("numpy", "")), version(other.packages.get("numpy", ""))
        if have and there and have.major > there.major:
            text = "extensions that were compiled for NumPy 1 do not import; np.float and its like are gone"
            yield Effect(where=where, text=text)


def _others(side: Side) -> tuple[tuple[str, str], ...] | None:
    found = tuple(sorted((name, text) for name, text in side.packages.items() if name not in _KNOWN))
    return found or None


def _packages(pair: Pair) -> Iterator[Effect]:
    mine, theirs = dict(_others(pair.a) or ()), dict(_others(pair.b) or ())
    changed = [
        f"{name} {mine[name]} → {theirs[name]}" for name in sorted(mine.keys() & theirs) if mine[name] != theirs[name]
    ]
    for where, only in (("A", mine.keys() - theirs), ("B", theirs.keys() - mine)):
        changed += [f"{name} only on {where}" for name in sorted(only)]
    if changed:
        more = f" and {len(changed) - 12} more" if len(changed) > 12 else ""
        yield Effect(where=Where.BOTH, text=f"{', '.join(changed[:12])}{more}")


POLICY_PROPERTIES: tuple[ComparedProperty[str], ...] = (
    ComparedProperty(name="memory policy", read=policy, effects=_policies, is_software=True),
    ComparedProperty(name="allocator", read=allocator, effects=_allocators, is_software=True),
)

VERSION_PROPERTIES: tuple[ComparedProperty[Release] | ComparedProperty[str], ...] = (
    ComparedProperty(name="driver", read=lambda side: side.driver, effects=_drivers),
    ComparedProperty(name="CUDA that the driver supports", read=lambda side: side.driver_cuda),
    ComparedProperty(name="CUDA libraries", read=lambda side: side.cuda, effects=_cudas, is_software=True),
    ComparedProperty(name="cuDNN", read=lambda side: side.cudnn, effects=_cudnns, is_software=True),
    ComparedProperty(
        name="TensorFlow", read=lambda side: side.tensorflow or None, effects=_tensorflows, is_software=True
    ),
    ComparedProperty(name="tf.keras", read=default_keras, effects=_default_kerases, is_software=True),
    ComparedProperty(name="Keras", read=_standalone_keras, is_software=True),
    ComparedProperty(name="TF32", read=tf32, effects=_tf32s),
    ComparedProperty(name="NumPy", read=lambda side: side.packages.get("numpy"), effects=_numpys, is_software=True),
    ComparedProperty(name="Python", read=lambda side: side.python, is_software=True),
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
