from envbuilder.image.builds import BuildStep, StepFinished, StepOutput, StepStarted
from envbuilder.image.docker.build_journal import TAIL_LINES, BuildJournal
from envbuilder.oci.transfers import Transfer


def journal_of(*events: StepStarted | StepFinished | StepOutput | Transfer) -> BuildJournal:
    journal = BuildJournal()
    for event in events:
        journal.note(event)
    return journal


def done(step: str, seconds: float = 1.0, error: str = "") -> StepFinished:
    return StepFinished(step=step, seconds=seconds, cached=False, error=error)


def test_steps_are_in_the_order_in_which_they_started() -> None:
    journal = journal_of(StepStarted(step="b"), StepStarted(step="a"), done("a"), done("b"))
    assert [step.name for step in journal.steps()] == ["b", "a"]


def test_openings_of_one_step_add_up() -> None:
    journal = journal_of(StepStarted(step="a"), done("a", 1.0), StepStarted(step="a"), done("a", 2.5))
    assert journal.steps() == (BuildStep(name="a", seconds=3.5, cached=False),)


def test_internal_steps_are_shown_only_when_they_cost_time() -> None:
    journal = journal_of(done("[internal] fast", 0.01), done("[internal] slow", 3.0), done("exporting to image", 0.0))
    assert [step.name for step in journal.steps()] == ["[internal] slow", "exporting to image"]


def test_a_step_stopped_for_another_one_is_not_the_failed_one() -> None:
    journal = journal_of(done("victim", error="context canceled"), done("cause", error="exit code: 1"))
    assert journal.failed_step == "cause"


def test_only_the_end_of_the_output_is_kept() -> None:
    journal = journal_of(*(StepOutput(step="a", text=str(number)) for number in range(TAIL_LINES + 5)))
    assert journal.tail("a") == tuple(str(number) for number in range(5, TAIL_LINES + 5))
    assert journal.tail("unheard of") == ()
