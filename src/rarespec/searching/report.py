"""The report of a search as one page that needs nothing else: no further files, no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rarespec.pages.html import Html, contents, element, join_html, sections_of
from rarespec.pages.sorting import policy_with_sorting, sorting_script
from rarespec.searching.explain.explanation import Band
from rarespec.searching.explain.portrait import Portrait, names_in
from rarespec.searching.explain.spectral_features import MOST, SpectralFeature
from rarespec.searching.explain.template import NoTemplate
from rarespec.searching.flags.flags import FLAG_MEANINGS
from rarespec.searching.in_common import InCommon, Measured, Spread
from rarespec.searching.links import sky_links
from rarespec.searching.overview import overview
from rarespec.searching.ranking import Ranking
from rarespec.searching.report_style import STYLE
from rarespec.searching.report_words import count, describe_search, describe_yield, number_or, sentence, text
from rarespec.storage.text import flatten_names, thousands

MOST_NAMED = 5
"""Classes and known examples that are named; the others are counted."""
LONG_LIST = 20
"""Settings with more values are folded."""
COLOURS = (
    ("observed", "as observed"),
    ("filtered", "after a median filter of 10 Å"),
    ("known", "the nearest known example, scaled to the same median"),
)
OVERVIEW = "Overview"
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
    means : Html or None
        Mean spectra of the best candidates, the known examples and the survey; None where there are none.
    candidates : sequence of Html
        One for each portrait.
    thumbnails : sequence of Html
        One for each portrait.
    """

    yield_curve: Html | None
    template: Html | None
    means: Html | None
    candidates: Sequence[Html]
    thumbnails: Sequence[Html]


def report_page(ranking: Ranking, portraits: Sequence[Portrait], common: InCommon, pictures: Pictures) -> str:
    """Write the page.

    Parameters
    ----------
    ranking : Ranking
        The answer of a search.
    portraits : sequence of Portrait
        The candidates to show, best first.
    common : InCommon
        What the best of them have in common.
    pictures : Pictures
        Of all these.

    Returns
    -------
    str
        The page, whole.
    """
    title = f"Search in {text(ranking.survey.path.name)}"
    drawn = zip(portraits, pictures.candidates, strict=True)
    sections = {
        OVERVIEW: overview(ranking, portraits, pictures.thumbnails),
        "How many to expect, and where to stop": _yield(ranking, pictures),
        "What the ranking looks for": _template(ranking, pictures),
        "What the candidates have in common": _in_common(common, pictures),
        "Candidates": [_how_to_read(portraits), *(_candidate(*one) for one in drawn)],
        "Problems": _problems(ranking),
        "Settings": [_settings(ranking)],
    }
    present = {heading: parts for heading, parts in sections.items() if parts}
    main = element(
        "main", element("h1", title), *_summary(ranking, portraits), contents(present), *sections_of(present)
    )
    body = element("body", main, sorting_script())
    return f"<!DOCTYPE html>\n{element('html', _head(title), body, lang='en')}\n"


def _head(title: str) -> Html:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy_with_sorting()),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Html(STYLE)),
    )


def _summary(ranking: Ranking, portraits: Sequence[Portrait]) -> list[Html]:
    both = f"{describe_search(ranking, len(portraits))} {describe_yield(ranking)}"
    return [element("p", both), element("p", sentence(ranking.why), class_="note")]


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
        named = (element("li", f"{text(name)}: {weight:+.3g}") for name, weight in ranking.template.weights)
        return [said, element("ul", *named)] if ranking.template.weights else [said]
    caption = (
        "Top: mean of the known examples and of the survey, filtered and rescaled. Bottom: the weights. Flux counts "
        "in favour of a spectrum where they are positive and against it where they are negative."
    )
    drawn = [element("figure", pictures.template, element("figcaption", caption), class_="picture")]
    return [said, *(drawn if pictures.template else [])]


def _in_common(common: InCommon, pictures: Pictures) -> list[Html]:
    told = [element("li", words) for words in _say_in_common(common)]
    about = f"This is about the best {count(common.n, 'candidate')}." if common.n > 1 else "There is one candidate."
    parts = [element("p", about), element("ul", *told)]
    if pictures.means:
        caption = "Mean spectra, filtered and rescaled."
        parts.append(element("figure", pictures.means, element("figcaption", caption), class_="picture"))
    if common.measured:
        parts.append(_measured(common.measured))
    return parts


def _say_in_common(common: InCommon) -> Iterator[Html]:
    classes = _say_counts([(text(kind) or "without a class", n) for kind, n in common.classes])
    yield join_html("Class in the survey: ", classes, ".")
    if common.nearest:
        yield join_html("Nearest known example: ", _say_counts(common.nearest), ".")
    counts = list(_for_and_against(common.bands))
    if counts:
        yield join_html("Wavelengths that set them apart from the survey, ", join_html(*counts, between="; "), ".")
    if common.flags:
        flags = join_html(*(_flag_count(*one) for one in common.flags), between="; ")
        yield join_html(
            f"Flags: {thousands(common.n_flagged)} of {thousands(common.n)} have at least one: ", flags, "."
        )
    else:
        yield join_html("Flags: none.")


def _say_counts(counts: Sequence[tuple[str, int]]) -> Html:
    """Names with how often they occur; rare ones together."""
    named = [join_html(element("bdi", text(name)), f" ({thousands(n)})") for name, n in counts[:MOST_NAMED]]
    others = counts[MOST_NAMED:]
    if others:
        named.append(join_html(f"{thousands(len(others))} others ({thousands(sum(n for _, n in others))})"))
    return join_html(*named, between=", ")


def _flag_count(flag: str, n: int) -> Html:
    meaning = FLAG_MEANINGS.get(flag, "unknown flag").rstrip(".")
    words = f" {thousands(n)} ({meaning[:1].lower()}{meaning[1:]})"
    return join_html(element("span", text(flag), class_="flag"), words)


NAMES = {"snr": ("S/N", ".1f"), "z": ("redshift", ".4f")}
"""Column -> its name on the page, and how its numbers are written."""


def _measured(measured: Sequence[Measured]) -> Html:
    headings = ("", "best candidates", "known examples", "whole survey")
    head = element("tr", *(element("th", words, scope="col") if words else element("td") for words in headings))
    table = element("table", element("thead", head), element("tbody", *map(_measured_row, measured)))
    note = "Median, and in brackets the range: all candidates and known examples, 90 % of the survey."
    return join_html(element("div", table, class_="wide"), element("p", note, class_="note"))


def _measured_row(one: Measured) -> Html:
    name, form = NAMES.get(one.column, (text(one.column), ".2f"))
    cells = (element("td", _say_spread(spread, form)) for spread in (one.candidates, one.known, one.survey))
    return element("tr", element("th", name, scope="row"), *cells)


def _say_spread(spread: Spread | None, form: str) -> str:
    if spread is None:
        return "unknown"
    low, middle, high = (format(value, f"z{form}") for value in spread)
    return f"{middle} ({low} to {high})"


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
    back = element("a", "overview", href=f"#{OVERVIEW.lower()}")
    elsewhere = element("span", join_html(*away, back, between=" "), class_="links")
    heading = element("h3", f"{facts['rank']}. ", element("bdi", text(facts["id"])), " ", elsewhere)
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
    kind = " ".join(word for word in (text(facts["class"]), text(facts["subclass"])) if word)
    yield "class", element("bdi", kind or "unknown")
    yield "S/N", number_or(facts["snr"], ".1f")
    yield "redshift", number_or(facts["z"], ".5f")
    yield "score", number_or(facts["score"], ".4g")
    yield "chance", number_or(facts["chance"], ".2f", "no estimate")
    yield "nearest known", element("bdi", text(facts["nearest_known"]))
    if sky_links(float(facts["ra"]), float(facts["dec"])):
        yield "position", f"{facts['ra']:.5f}, {facts['dec']:+.5f}"


def _flags(flags: str) -> Iterator[Html]:
    for flag in filter(None, flags.split(",")):
        yield join_html(element("span", text(flag), class_="flag"), f": {FLAG_MEANINGS.get(flag, 'unknown flag')}")


def _because(portrait: Portrait) -> Iterator[Html]:
    return _for_and_against([(band, names_in(band, portrait.marks)) for band in portrait.bands])


def _for_and_against(bands: Sequence[tuple[Band, list[str]]]) -> Iterator[Html]:
    """The ranges that speak for a candidate, and those against it."""
    for words, sign in (("in favour", 1), ("against", -1)):
        told = [_in_words(band, names) for band, names in bands if band.contribution * sign > 0]
        if told:
            yield join_html(element("b", f"{words}:"), " ", join_html(*told, between=", "))


def _in_words(band: Band, names: Sequence[str]) -> Html:
    """Its range, the marked features in it, and its share."""
    words = [f"{band.start:.0f}–{band.stop:.0f} Å", *names, f"({100 * band.share:.0f} %)"]
    return element("span", " ".join(words), class_="range")


def _problems(ranking: Ranking) -> list[Html]:
    return [element("ul", *(element("li", text(one)) for one in ranking.problems))] if ranking.problems else []


def _settings(ranking: Ranking) -> Html:
    settings = flatten_names(ranking.provenance)
    rows = (join_html(element("dt", text(key)), element("dd", _show_value(value))) for key, value in settings)
    return element("dl", *rows, class_="settings")


def _show_value(value: Any) -> object:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _list_html([text(one) for one in value])
    return text(" ".join(str(value).split())) if value or value == 0 else "none"


def _list_html(values: list[str]) -> object:
    words = ", ".join(values)
    if len(values) <= LONG_LIST:
        return words or "none"
    return element("details", element("summary", count(len(values), "value")), element("div", words))
