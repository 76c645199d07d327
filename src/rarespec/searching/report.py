"""The report of a search as one page that needs nothing else: no scripts, no further files, no network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rarespec.pages.html_element import Html, element, joined
from rarespec.pages.sections import contents, sections_of
from rarespec.searching.explanation import Band
from rarespec.searching.flags import FLAG_MEANINGS
from rarespec.searching.portrait import Portrait
from rarespec.searching.ranking import Ranking
from rarespec.searching.report_style import STYLE
from rarespec.searching.sky_links import sky_links
from rarespec.searching.spectral_features import MOST, SpectralFeature
from rarespec.searching.template import NoTemplate
from rarespec.spectrum.printable import printable
from rarespec.thousands import thousands

NOTHING_FROM_OUTSIDE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""A browser that follows it loads and runs nothing, whatever a name in a catalogue holds."""
NEAR = 25.0
"""Angstrom within which a feature belongs to a range of wavelengths."""
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
    """Markup of the pictures; None where there is nothing to draw.

    candidates : one for each portrait
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
    known = _counted(int(ranking.rows.known.sum()), "known example")
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
    keys = (joined(element("i", class_=f"key {kind}"), f" {words};") for kind, words in COLOURS)
    marked = _where([one for portrait in portraits for one in portrait.marks])
    dashed = f" Dashed: lines and band heads of the known examples that the ranking uses{marked}." if marked else ""
    dotted = " Dotted: the sky line at 5579 Å and telluric O₂ bands." if any(p.sky for p in portraits) else ""
    said = f" gaps are bad pixels.{dashed}{dotted}"
    return element("p", f"Flux ({FLUX}) against vacuum wavelength in Å:", joined(*keys), said, class_="note")


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
    elsewhere = element("span", joined(*away, between=" "), class_="links")
    heading = element("h3", f"{facts['rank']}. ", element("bdi", _text(facts["id"])), " ", elsewhere)
    notes = [*_flags(str(facts["flags"])), *_because(portrait), *filter(None, [portrait.known_note])]
    said = element("ul", *(element("li", note) for note in notes)) if notes else Html()
    listed = joined(*(joined(element("dt", key), element("dd", value)) for key, value in _facts(portrait)))
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
        yield joined(element("span", _text(flag), class_="flag"), f": {FLAG_MEANINGS.get(flag, 'unknown flag')}")


def _because(portrait: Portrait) -> Iterator[Html]:
    """The ranges that speak for a candidate, and those against it."""
    for words, sign in (("in favour", 1), ("against", -1)):
        told = [_in_words(band, portrait.marks) for band in portrait.bands if band.contribution * sign > 0]
        if told:
            yield joined(element("b", f"{words}:"), " ", joined(*told, between=", "))


def _in_words(band: Band, marks: Sequence[SpectralFeature]) -> Html:
    """Its range, the marked features in it, and its share."""
    here = [one.name for one in marks if band.start - NEAR <= one.wavelength <= band.stop + NEAR]
    words = [f"{band.start:.0f}–{band.stop:.0f} Å", *dict.fromkeys(here), f"({100 * band.share:.0f} %)"]
    return element("span", " ".join(words), class_="range")


def _problems(ranking: Ranking) -> list[Html]:
    return [element("ul", *(element("li", _text(one)) for one in ranking.problems))] if ranking.problems else []


def _settings(ranking: Ranking) -> Html:
    rows = (joined(element("dt", _text(key)), element("dd", value)) for key, value in _flat(ranking.provenance))
    return element("dl", *rows, class_="settings")


def _flat(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, object]]:
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{before}{key}: ")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            yield f"{before}{key}", _listed([_text(one) for one in value])
        else:
            yield f"{before}{key}", _text(" ".join(str(value).split())) if value or value == 0 else "none"


def _listed(values: list[str]) -> object:
    words = ", ".join(values)
    if len(values) <= LONG_LIST:
        return words or "none"
    return element("details", element("summary", _counted(len(values), "value")), element("div", words))


def _text(value: object) -> str:
    """Of a catalogue or a person: control characters and halves of letters are written out."""
    return printable(str(value))


def sentence(words: str) -> str:
    """With a capital letter and a full stop."""
    text = _text(words)
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def number_or(value: Any, form: str, otherwise: str = "unknown") -> str:
    return format(float(value), form) if np.isfinite(float(value)) else otherwise


def _counted(number: int, thing: str) -> str:
    return f"{'one' if number == 1 else thousands(number)} {thing}{'' if number == 1 else 's'}"
