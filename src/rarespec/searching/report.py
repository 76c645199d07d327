"""The report of a search as one page that needs nothing else: no scripts, no further files, no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rarespec.pages.html import STYLE as PAGE_STYLE
from rarespec.pages.html import Html, contents, element, join_html, sections_of
from rarespec.searching.explain.explanation import Band
from rarespec.searching.explain.portrait import Portrait, names_in
from rarespec.searching.explain.spectral_features import MOST, SpectralFeature
from rarespec.searching.explain.template import NoTemplate
from rarespec.searching.flags.flags import FLAG_MEANINGS
from rarespec.searching.links import sky_links
from rarespec.searching.ranking import Ranking
from rarespec.storage.text import end_sentence, flatten_names, printable, thousands

# ---- How the report of a search looks, beyond what it has in common with the page of an experiment.


STYLE = (
    PAGE_STYLE
    + """
:root { --observed: #c4c8cd; --filtered: #0072b2; --known: #d55e00; --mark: #5b6168; }
@media (prefers-color-scheme: dark) { :root { --observed: #565c64; --filtered: #56b4e9; --known: #f0904a;
  --mark: #a2a9b1; } }
.picture img { max-width: 46rem; }
.candidate { display: grid; grid-template-columns: minmax(0, 1fr) 19rem; gap: .2rem 1.5rem; margin: 1.2rem 0;
  padding-top: .6rem; border-top: 1px solid var(--line); break-inside: avoid; }
.candidate h3 { grid-column: 1 / -1; margin: 0; } .candidate h3, .candidate dd { overflow-wrap: anywhere; }
.links { display: inline-block; margin-left: .4rem; font-weight: 400; font-size: .85rem; }
.links a { margin-right: .6rem; }
.candidate dl { margin: 0; font-size: .85rem; } .candidate ul { font-size: .85rem; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem .8rem; align-content: start; }
dt { color: var(--faint); } dd { margin: 0; font-variant-numeric: tabular-nums; }
dl.settings { font-size: .85rem; } dl.settings dd { overflow-wrap: anywhere; }
.note { color: var(--faint); font-size: .9rem; } .picture { margin: .5rem 0; }
.range { white-space: nowrap; } .flag { color: var(--bad); font-weight: 600; }
.spectrum { position: relative; height: 12.5rem; margin: .3rem .6rem 1.5rem 2.6rem; font-size: .7rem;
  line-height: 1; color: var(--faint); }
.spectrum svg { position: absolute; width: 100%; height: 100%; overflow: hidden; box-sizing: border-box;
  border: 1px solid var(--line); }
.spectrum path { fill: none; vector-effect: non-scaling-stroke; stroke-linejoin: round; stroke-linecap: round; }
.spectrum .observed { stroke: var(--observed); stroke-width: .7; }
.spectrum .known { stroke: var(--known); stroke-width: 1.2; }
.spectrum .filtered { stroke: var(--filtered); stroke-width: 1.2; }
.spectrum .mark { stroke: var(--mark); stroke-width: .8; stroke-dasharray: 4 3; }
.spectrum .sky { stroke: var(--line); stroke-width: 1; stroke-dasharray: 1 3; }
.spectrum span { position: absolute; white-space: nowrap; } .name, .across { transform: translateX(-50%); }
.name { top: .2rem; color: var(--mark); } .lower { top: 1rem; } .across { top: calc(100% + .3rem); }
.up { right: calc(100% + .3rem); transform: translateY(-50%); }
.key { display: inline-block; width: 1.3rem; border-top: 3px solid; vertical-align: middle; margin-left: .6rem; }
.key.observed { color: var(--observed); } .key.known { color: var(--known); } .key.filtered { color: var(--filtered); }
@media (max-width: 48rem) { .candidate { grid-template-columns: minmax(0, 1fr); } .spectrum { height: 10rem; } }
@media print { .candidate { grid-template-columns: minmax(0, 1fr); margin: .4rem 0; padding-top: .3rem; gap: 0; }
  .candidate h3 { font-size: .8rem; } .links { display: none; } .picture img { max-width: 60%; }
  .candidate dl { grid-template-columns: repeat(4, max-content minmax(0, 1fr)); font-size: .62rem; }
  .candidate ul { font-size: .62rem; margin: 0; } .spectrum { height: 8rem; margin-bottom: 1.2rem; }
  .spectrum path { print-color-adjust: exact; } }
"""
)


NOTHING_FROM_OUTSIDE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""A browser that follows it loads and runs nothing, whatever a name in a catalogue holds."""
LONG_LIST = 20
"""Settings with more values are folded."""
COLOURS = (
    ("observed", "as observed"),
    ("filtered", "after a median filter of 10 Å"),
    ("known", "the nearest known example, scaled to the same median"),
)
FLUX = "10⁻¹⁷ erg s⁻¹ cm⁻² Å⁻¹ if the survey is flux-calibrated"


@dataclass(frozen=True)
class Pictures:
    """Markup of the pictures of a report.

    Parameters
    ----------
    yield_curve : Html or None
        The yield curve; None where there is no estimate.
    template : Html or None
        The template; None where there is none.
    candidates : sequence of Html
        One for each portrait.
    """

    yield_curve: Html | None
    template: Html | None
    candidates: Sequence[Html]


def report_page(ranking: Ranking, portraits: Sequence[Portrait], pictures: Pictures) -> str:
    title = f"Search in {printable(ranking.survey.path.name)}"
    drawn = zip(portraits, pictures.candidates, strict=True)
    sections = {
        "How many to expect, and where to stop": _yield(ranking, pictures),
        "What the ranking looks for": _template(ranking, pictures),
        "Candidates": [_how_to_read(portraits), *(_candidate(*one) for one in drawn)],
        "Problems": _problems(ranking),
        "Settings": [_settings(ranking)],
    }
    present = {heading: parts for heading, parts in sections.items() if parts}
    main = element(
        "main", element("h1", title), *_summary(ranking, portraits), contents(present), *sections_of(present)
    )
    return f"<!DOCTYPE html>\n{element('html', _head(title), element('body', main), lang='en')}\n"


def _head(title: str) -> Html:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=NOTHING_FROM_OUTSIDE),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Html(STYLE)),
    )


def _summary(ranking: Ranking, portraits: Sequence[Portrait]) -> list[Html]:
    both = f"{describe_search(ranking, len(portraits))} {describe_yield(ranking)}"
    return [element("p", both), element("p", sentence(ranking.why), class_="note")]


def describe_search(ranking: Ranking, n_shown: int) -> str:
    """What was searched for and where, in one sentence."""
    known = _count(int(ranking.rows.known.sum()), "known example")
    best = "one is" if n_shown == 1 else f"{thousands(n_shown)} are"
    return (
        f"Starting from {known}, the method {ranking.method} ranked {thousands(ranking.n_listed)} spectra of "
        f"{_text(ranking.survey.path.name)}. The best {best} shown here."
    )


def describe_yield(ranking: Ranking) -> str:
    """How many true objects are expected down to where it is worth looking, in one sentence."""
    curve = ranking.yield_curve
    if not curve.can_tell:
        return "There is no estimate of how many are true."
    if not curve.stopping_rank:
        return "Even at the top of the list, fewer than one in ten is expected to be a true object."
    depth = min(curve.stopping_rank, len(curve.expected))
    number, low, high = (f"{float(array[depth - 1]):.0f}" for array in (curve.expected, curve.low, curve.high))
    expected = f"about {number} ({low} to {high}) are expected to be true"
    return f"Of the first {thousands(depth)}, {expected}; stop there."


def _yield(ranking: Ranking, pictures: Pictures) -> list[Html]:
    why = element("p", sentence(ranking.yield_curve.why))
    if pictures.yield_curve is None:
        return [why]
    interval = f"{100 * ranking.yield_curve.confidence:.0f} % interval"
    caption = f"Expected number of true objects among the first k candidates, its {interval}, and where to stop."
    return [why, element("figure", pictures.yield_curve, element("figcaption", caption), class_="picture")]


def _template(ranking: Ranking, pictures: Pictures) -> list[Html]:
    said = element("p", sentence(ranking.template.said))
    if isinstance(ranking.template, NoTemplate):
        named = (element("li", f"{_text(name)}: {weight:+.3g}") for name, weight in ranking.template.weights)
        return [said, element("ul", *named)] if ranking.template.weights else [said]
    caption = (
        "Top: mean of the known examples and of the survey, filtered and rescaled. Bottom: the weights. Flux counts "
        "in favour of a spectrum where they are positive (blue) and against it where they are negative (orange)."
    )
    drawn = [element("figure", pictures.template, element("figcaption", caption), class_="picture")]
    return [said, *(drawn if pictures.template else [])]


def _how_to_read(portraits: Sequence[Portrait]) -> Html:
    keys = (join_html(element("i", class_=f"key {kind}"), f" {words};") for kind, words in COLOURS)
    marked, far = _where([one for portrait in portraits if not portrait.is_far for one in portrait.marks]), ""
    dashed = f" Dashed: lines and band heads of the known examples that the ranking uses{marked}." if marked else ""
    if any(portrait.is_far and portrait.marks for portrait in portraits):
        far = " For a galaxy or quasar: lines of its own that the ranking uses, at its redshift."
    dotted = " Dotted: the sky line at 5579 Å and telluric O₂ bands." if any(p.sky for p in portraits) else ""
    said = f" gaps are bad pixels.{dashed}{far}{dotted}"
    return element("p", f"Flux ({FLUX}) against vacuum wavelength in Å:", join_html(*keys), said, class_="note")


def _where(marks: Sequence[SpectralFeature]) -> str:
    """The wavelengths of each marked atom or molecule; a few words when redshifts make them many."""
    places: dict[str, list[str]] = {}
    for name, wavelength in sorted({(one.name, round(one.wavelength)) for one in marks}, key=lambda one: one[1]):
        places.setdefault(name, []).append(str(wavelength))
    if sum(map(len, places.values())) > MOST:
        return ", shifted by the redshift of each candidate"
    listed = "; ".join(f"{name} {', '.join(where)}" for name, where in places.items())
    return f" ({listed})" if listed else ""


def _candidate(portrait: Portrait, picture: Html) -> Html:
    facts = portrait.facts
    links = sky_links(float(facts["ra"]), float(facts["dec"]))
    away = (element("a", name, href=address, rel="noreferrer noopener") for name, address in links.items())
    elsewhere = element("span", join_html(*away, between=" "), class_="links")
    heading = element("h3", f"{facts['rank']}. ", element("bdi", _text(facts["id"])), " ", elsewhere)
    notes = [*_flags(str(facts["flags"])), *_because(portrait), *filter(None, [portrait.known_note])]
    said = element("ul", *(element("li", note) for note in notes)) if notes else Html()
    listed = join_html(*(join_html(element("dt", key), element("dd", value)) for key, value in _facts(portrait)))
    return element(
        "article",
        heading,
        picture,
        element("div", element("dl", listed), said),
        class_="candidate",
        id=f"rank-{facts['rank']}",
    )


def _facts(portrait: Portrait) -> Iterator[tuple[str, object]]:
    facts = portrait.facts
    kind = " ".join(word for word in (_text(facts["class"]), _text(facts["subclass"])) if word)
    yield "class", element("bdi", kind or "unknown")
    yield "S/N", number_or(facts["snr"], ".1f")
    yield "redshift", number_or(facts["z"], ".5f")
    yield "score", number_or(facts["score"], ".4g")
    yield "chance", number_or(facts["chance"], ".2f", "no estimate")
    yield "nearest known", element("bdi", _text(facts["nearest_known"]))
    if sky_links(float(facts["ra"]), float(facts["dec"])):
        yield "position", f"{facts['ra']:.5f}, {facts['dec']:+.5f}"


def _flags(flags: str) -> Iterator[Html]:
    for flag in filter(None, flags.split(",")):
        yield join_html(element("span", _text(flag), class_="flag"), f": {FLAG_MEANINGS.get(flag, 'unknown flag')}")


def _because(portrait: Portrait) -> Iterator[Html]:
    """The ranges that speak for a candidate, and those against it."""
    for words, sign in (("in favour", 1), ("against", -1)):
        told = [_in_words(band, portrait.marks) for band in portrait.bands if band.contribution * sign > 0]
        if told:
            yield join_html(element("b", f"{words}:"), " ", join_html(*told, between=", "))


def _in_words(band: Band, marks: Sequence[SpectralFeature]) -> Html:
    """Its range, the marked features in it, and its share."""
    words = [f"{band.start:.0f}–{band.stop:.0f} Å", *names_in(band, marks), f"({100 * band.share:.0f} %)"]
    return element("span", " ".join(words), class_="range")


def _problems(ranking: Ranking) -> list[Html]:
    return [element("ul", *(element("li", _text(one)) for one in ranking.problems))] if ranking.problems else []


def _settings(ranking: Ranking) -> Html:
    settings = flatten_names(ranking.provenance)
    rows = (join_html(element("dt", _text(key)), element("dd", _show_value(value))) for key, value in settings)
    return element("dl", *rows, class_="settings")


def _show_value(value: Any) -> object:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _list_html([_text(one) for one in value])
    return _text(" ".join(str(value).split())) if value or value == 0 else "none"


def _list_html(values: list[str]) -> object:
    words = ", ".join(values)
    if len(values) <= LONG_LIST:
        return words or "none"
    return element("details", element("summary", _count(len(values), "value")), element("div", words))


def _text(value: object) -> str:
    """Of a catalogue or a person: control characters and halves of letters are written out."""
    return printable(str(value))


def sentence(words: str) -> str:
    """With a capital letter and a full stop."""
    text = _text(words)
    return end_sentence(f"{text[:1].upper()}{text[1:]}")


def number_or(value: Any, form: str, otherwise: str = "unknown") -> str:
    return format(float(value), form) if np.isfinite(float(value)) else otherwise


def _count(number: int, thing: str) -> str:
    return f"{'one' if number == 1 else thousands(number)} {thing}{'' if number == 1 else 's'}"
