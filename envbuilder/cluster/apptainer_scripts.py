"""Scripts that check a machine without a scheduler with Apptainer, and train in the image."""

from __future__ import annotations

from pathlib import Path

from envbuilder.cluster.jobs import ClusterJob, RegistryImage, check_files, header_lines
from envbuilder.cluster.slurm.batch_scripts import Runtime, launcher
from envbuilder.image.dockerfile.build_context import TextFile
from envbuilder.image.dockerfile.templates import environment


def apptainer_scripts(job: ClusterJob, templates: Path) -> tuple[TextFile, ...]:
    """Return the files, sorted by path; the definition only for an image in a registry."""
    jinja, values = environment(templates / "cluster"), {"job": job, "lines": header_lines(job.requirements)}
    found = [TextFile(path="run.sh", text=jinja.get_template("run.sh.j2").render(values), executable=True)]
    if isinstance(job.image, RegistryImage):
        found.append(TextFile(path="image.def", text=jinja.get_template("image.def.j2").render(values)))
    return tuple(
        sorted(
            (*found, *launcher(job, Runtime.APPTAINER, templates), *check_files(job)),
            key=lambda each: each.path,
        )
    )
