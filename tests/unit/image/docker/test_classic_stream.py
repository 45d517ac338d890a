from envbuilder.core.json_fields import Record
from envbuilder.image.builds import BuildEvent, StepFinished, StepOutput, StepStarted
from envbuilder.image.docker.classic_stream import ClassicReader
from envbuilder.oci.transfers import Transfer


class Clock:
    """Goes forward by one second each time it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def heard(*messages: Record) -> list[BuildEvent]:
    reader = ClassicReader(Clock())
    events = [event for message in messages for event in reader.feed(message)]
    return [*events, *reader.finish()]


def stream(text: str) -> Record:
    return {"stream": text}


FROM, RUN = "Step 1/2 : FROM base", "Step 2/2 : RUN make"


def test_steps_follow_each_other_with_their_output() -> None:
    # As Engine 20.10.24 sends it: the line end comes alone, colours in messages of their own.
    events = heard(
        stream(FROM),
        stream("\n"),
        stream(" ---> b4065be25cdb\n"),
        stream(RUN),
        stream("\n"),
        stream(" ---> Running in 6c032b40e856\n"),
        stream("\x1b[91mcc: \x1b[0m"),
        stream("\x1b[91mwarning\n\x1b[0m"),
        stream("Removing intermediate container 6c032b40e856\n"),
        stream(" ---> 6d258e0ff241\n"),
        {"aux": {"ID": "sha256:6d258e0ff241"}},
        stream("Successfully built 6d258e0ff241\n"),
    )
    assert events == [
        StepStarted(step=FROM),
        StepFinished(step=FROM, seconds=1.0, cached=False),
        StepStarted(step=RUN),
        StepOutput(step=RUN, text="cc: warning"),
        StepFinished(step=RUN, seconds=1.0, cached=False),
    ]


def test_a_step_from_the_cache_takes_no_time() -> None:
    events = heard(stream(FROM + "\n"), stream(" ---> Using cache\n"), stream(" ---> 6d258e0ff241\n"))
    assert events[-1] == StepFinished(step=FROM, seconds=0.0, cached=True)


def test_an_error_ends_the_open_step_and_keeps_its_unfinished_line() -> None:
    failed = {"errorDetail": {"code": 3, "message": "returned a non-zero code: 3"}, "error": "returned …"}
    assert heard(stream(FROM + "\n"), stream("last words"), failed)[1:] == [
        StepOutput(step=FROM, text="last words"),
        StepFinished(step=FROM, seconds=1.0, cached=False, error="returned a non-zero code: 3"),
    ]


def test_a_step_that_prints_a_step_line_stays_one_step() -> None:
    events = heard(stream(FROM + "\n"), stream("Step 9/9 : RUN pretend\n"))
    assert StepOutput(step=FROM, text="Step 9/9 : RUN pretend") in events
    assert sum(isinstance(event, StepStarted) for event in events) == 1


def test_layers_of_the_base_are_transfers() -> None:
    message = {"status": "Downloading", "id": "abc", "progressDetail": {"current": 5, "total": 10}}
    assert heard(message) == [Transfer(item="abc", current=5, total=10)]
    assert heard({"status": "Pull complete", "id": "abc", "progressDetail": {}}) == []
