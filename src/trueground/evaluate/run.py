"""What `tg.run` does: ask a model the questions of a benchmark's task, then score its answers.

Light: the command reads the options here.
"""

# No `from __future__ import annotations`: options are read from the annotations as values.

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trueground.evaluate.page_writer import PageWriter
from trueground.evaluate.run_settings import RunOptions
from trueground.evaluate.score import DecomposerName, JudgeCalibrations, Judges, RaterName
from trueground.models import ModelOptions
from trueground.options import Option, Progress, do_nothing

if TYPE_CHECKING:
    from trueground.evaluate.task_run import TaskRun
    from trueground.models import ChatModel
    from trueground.runs import Result


_NO_MODEL_OPTIONS = ModelOptions()


@dataclass(frozen=True)
class RunRequest(RunOptions):
    """What `tg.run` gets: a benchmark's task, a model, and each of the options."""

    benchmark: str
    model: "str | ChatModel"
    _: KW_ONLY
    out: str | Path | None = None
    options: Mapping[str, str | bool | None] | None = None
    data: Annotated[
        str | Path | None,
        Option("Data of the benchmark: your file or folder.", type=Path | None),
    ] = None
    prompt: str | Path | None = None
    model_options: ModelOptions = _NO_MODEL_OPTIONS
    judge: Judges = None
    judge_calibration: JudgeCalibrations = None
    decomposer: DecomposerName = "rules"
    rater: RaterName = None
    progress: Progress | bool = do_nothing

    def run(self, write_page: PageWriter | None = None) -> "Result":
        """Ask and score.

        Args:
            write_page: Adds the page of the run.

        Raises:
            TruegroundError: What `tg.run` raises.
        """
        with self._prepare(write_page) as (task_run, path):
            return task_run.run(path)

    async def arun(self, write_page: PageWriter | None = None) -> "Result":
        """Do what `run` does, for callers that own an event loop."""
        with self._prepare(write_page) as (task_run, path):
            return await task_run.arun(path)

    @contextmanager
    def _prepare(self, write_page: PageWriter | None) -> Iterator[tuple["TaskRun", Path]]:
        """Yield the run of the request and its folder. Raises UsageError, InputError."""
        from trueground.benchmarks import Sources, get_benchmark
        from trueground.errors import UsageError
        from trueground.evaluate.components import Components
        from trueground.evaluate.task_run import TaskRun
        from trueground.execution import open_progress
        from trueground.models import make_model
        from trueground.runs import RunDirectory

        name, slash, task_name = self.benchmark.partition("/")
        model, options = self.model, self.options or {}
        if not isinstance(model, str):
            make_model(model)  # what can be refused is refused before anything is read
        benchmark = get_benchmark(name)
        parts = Components.make(
            benchmark.judge(options) if self.judge is None else self.judge,
            self.decomposer,
            self.rater,
            cache=self.cache,
            calibration=self.judge_calibration,
        )
        with closing(parts), open_progress(self.progress) as progress:
            if not slash or task_name not in benchmark.tasks:
                tasks = ", ".join(f"{name}/{task}" for task in benchmark.tasks)
                raise UsageError(f"{self.benchmark!r} names no single task; tasks are: {tasks}")
            settings = self.with_components(parts, progress=progress, write_page=write_page)
            sources = Sources(
                Path(self.data) if self.data else None,
                Path(self.prompt) if self.prompt else None,
                model if isinstance(model, str) else None,
                limit=self.limit,
                cache=self.cache,
            )
            task = benchmark.prepare(task_name, options, sources)
            if isinstance(model, str):
                model = make_model(model, self.model_options)
            out = self.out
            if out is None:
                path = RunDirectory.free_path(f"{task.benchmark}-{task.name}")
            else:
                path = Path(out)
            yield TaskRun(task, model, settings), path
