"""What `search`, `report` and `inspect` are asked alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rarespec.cli.exits import arguments

if TYPE_CHECKING:
    from rarespec.searching.ranking import Ranking
    from rarespec.searching.request import SearchRequest
    from rarespec.searching.selection import Selection

SurveyPath = Annotated[Path, typer.Argument(help="Survey directory or URL.")]
Known = Annotated[
    list[str] | None, typer.Option("--known", help="Ids separated by commas, a table of ids or positions, or spectra.")
]
Labels = Annotated[
    bool, typer.Option("--labels", help="Learn from the labels of the survey: yes is known, no is refused.")
]
Kind = Annotated[str | None, typer.Option(help="Kind of object, if you keep the labels of several kinds apart.")]
Log = Annotated[
    Path | None, typer.Option(help="Label log. Default: SURVEY.labels.sqlite, or SURVEY.KIND.labels.sqlite.")
]
Tag = Annotated[str | None, typer.Option(help="Of the spectra labelled yes, take only those with this tag as known.")]
NotTags = Annotated[
    list[str] | None, typer.Option("--not-tag", help="Refuse the spectra with this tag; may be repeated.")
]
NonMembers = Annotated[
    list[str] | None, typer.Option("--not", help="Objects known not to be of this kind; same forms as --known.")
]
Method = Annotated[str, typer.Option(help="Ranking method; auto combines those that recover the known examples.")]
Params = Annotated[
    list[str] | None, typer.Option("--param", help="Parameter of the ranker, NAME=VALUE; may be repeated.")
]
RecipeName = Annotated[str, typer.Option("--recipe", help="How to compute features: paper or sky.")]
Top = Annotated[int, typer.Option(min=1, help="Number of candidates to list.")]
MinSnr = Annotated[float | None, typer.Option(help="List only spectra with at least this S/N.")]
Classes = Annotated[list[str] | None, typer.Option("--class", help="List only these classes, for example M*.")]
NotClasses = Annotated[list[str] | None, typer.Option("--not-class", help="Do not list these classes.")]
Cone = Annotated[str | None, typer.Option(help="List only spectra within RA,DEC,RADIUS, in degrees.")]
Radius = Annotated[float, typer.Option(help="Match radius for positions, in arcseconds.")]
KnownResolution = Annotated[
    str | None, typer.Option(help="Resolution of spectra given with --known: R, such as 5000, or a width such as 1.8A.")
]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]
Scheduler = Annotated[str | None, typer.Option(help="Compute on this Dask cluster, for example tcp://host:8786.")]
Device = Annotated[str | None, typer.Option(help="Where to compute features and graphs: cuda for a GPU.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Also say how the method ranked the spectra.")]
Model = Annotated[Path | None, typer.Option(help="Use the saved model of another search instead of --known.")]


@dataclass(frozen=True)
class SearchOptions:
    """The options as they were given: a `SearchRequest` in the words of the command line, and what is searched."""

    survey: SurveyPath
    known: Known = None
    labels: Labels = False
    method: Method = "auto"
    top: Top = 1000
    non_members: NonMembers = None
    params: Params = None
    recipe: RecipeName = "sky"
    min_snr: MinSnr = None
    classes: Classes = None
    not_classes: NotClasses = None
    cone: Cone = None
    radius: Radius = 2.0
    known_resolution: KnownResolution = None
    seed: Seed = 0
    model: Model = None
    scheduler: Scheduler = None
    device: Device = None
    kind: Kind = None
    log: Log = None
    tag: Tag = None
    not_tags: NotTags = None

    def request(self) -> SearchRequest:
        """What is asked for; a UsageError before anything is computed when that cannot be."""
        from rarespec.searching.request import SearchRequest

        with arguments():
            if self.known is None and self.model is None and not self.labels:
                raise ValueError("give --known IDS_OR_FILE, --labels, or --model FILE from an earlier search")
            if self.known is not None and self.model is not None:
                raise ValueError("give either --known IDS_OR_FILE or --model FILE from an earlier search")
        settings = {"known": self.known, "model": self.model, **self.settings()}
        return SearchRequest(**self._with_labels(settings))

    def settings(self) -> dict[str, Any]:
        """What a `SearchRequest` takes besides examples, a model and labels."""
        with arguments():
            selection, params = _selection(self), _params(self.params or [])
        return {
            "method": self.method,
            "top": self.top,
            "seed": self.seed,
            "non_members": self.non_members,
            "params": params,
            "recipe": self.recipe,
            "selection": selection,
            "radius_arcsec": self.radius,
            "engine": self.scheduler,
            "device": self.device,
            "known_resolution": self.known_resolution,
        }

    def _with_labels(self, settings: dict[str, Any]) -> dict[str, Any]:
        from rarespec.errors import UsageError
        from rarespec.labels.lessons import with_lessons

        if self.labels:
            log = True if self.log is None else self.log
            return with_lessons(self.survey, settings, log, kind=self.kind, tag=self.tag, not_tags=self.not_tags or ())
        if self.kind or self.log or self.tag or self.not_tags:
            raise UsageError("--kind, --log, --tag and --not-tag say which labels to use; add --labels")
        return settings


FIRST = ("survey", "known", "labels", "method", "top")
"""Options of a search that `--help` lists before those of the verb."""


def with_search_options(*without: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a verb `command(options, ...)` take every option of a search, `without` these, beside its own."""
    shared = [
        one for name, one in inspect.signature(SearchOptions, eval_str=True).parameters.items() if name not in without
    ]

    def decorate(verb: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(verb)
        def command(**given: Any) -> Any:
            options = SearchOptions(**{one.name: given.pop(one.name) for one in shared})
            return verb(options, **given)

        _, *own = inspect.signature(verb, eval_str=True).parameters.values()
        first = [one for one in shared if one.name in FIRST]
        parameters = [*first, *own, *(one for one in shared if one.name not in FIRST)]
        # Typer reads the signature; by keyword, since an option without a default may follow one with
        shown = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
        command.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        return command

    return decorate


def ranking_of(options: SearchOptions) -> Ranking:
    """The ranking asked for, with progress."""
    from rarespec.cli.progress import progress
    from rarespec.searching.search import rank_survey

    request = options.request()
    with progress("features", "blocks") as show:
        return rank_survey(options.survey, request, show)


def _selection(options: SearchOptions) -> Selection:
    from rarespec.searching.selection import Selection

    return Selection(
        min_snr=options.min_snr,
        classes=tuple(options.classes or ()),
        not_classes=tuple(options.not_classes or ()),
        cone=None if options.cone is None else _cone(options.cone),
    )


def _cone(text: str) -> tuple[float, float, float]:
    try:
        ra, dec, radius = (float(word) for word in text.split(","))
    except ValueError:
        raise ValueError(f"--cone {text}: write RA,DEC,RADIUS in degrees, for example 180.0,-1.5,0.5") from None
    return ra, dec, radius


def _params(words: list[str]) -> dict[str, Any]:
    """`["n_bags=20", "loss=hinge"]` as values: numbers, true, false and none are recognised, the rest is text."""
    return dict(_param(word) for word in words)


def _param(word: str) -> tuple[str, Any]:
    name, equals, text = word.partition("=")
    if not equals or not name:
        raise ValueError(f"--param {word}: write NAME=VALUE, for example n_bags=100")
    constants = {"true": True, "false": False, "none": None}
    if text.lower() in constants:
        return name, constants[text.lower()]
    for number in (int, float):
        try:
            return name, number(text)
        except ValueError:
            continue
    return name, text
