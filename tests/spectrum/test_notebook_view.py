"""Spectra show themselves: a picture that follows the flux, the facts that are known, nothing taken for markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from conftest import SMALL_GRID, make_spectra
from rarespec.spectrum import Spectra, Spectrum
from rarespec.spectrum.picture import spectrum_svg

HOSTILE = "<script>alert(1)</script>"
N = SMALL_GRID.n_pixels


class Elements(HTMLParser):
    """Elements that are there, and the text in them."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def spectrum(flux: np.ndarray | float = 1.0, id: str = "a", **row: object) -> Spectrum:
    values = np.broadcast_to(np.asarray(flux, float), N).copy()
    return Spectrum(id, SMALL_GRID.wavelength, values, np.ones(N), np.zeros(N, bool), {"id": id, **row})


def heights(markup: str) -> np.ndarray:
    """Of the curve, downwards from the top, at its points."""
    path = re.findall(r'<path [^>]*d="M\d+ (\d+)l0 0([^"]*)"', markup)[1]
    steps = np.array(re.findall(r"-?\d+", path[1]), int)[1::2]
    return int(path[0]) + np.insert(np.cumsum(steps), 0, 0)


def test_the_curve_follows_the_flux() -> None:
    rising = heights(str(spectrum_svg(spectrum(np.linspace(1, 5, N)))))
    assert rising[0] > 100 and rising[-1] < 20 and (np.diff(rising) <= 0).all()
    assert len(set(heights(str(spectrum_svg(spectrum(3.0)))))) == 1


def test_bad_pixels_are_gaps_and_do_not_set_the_scale() -> None:
    one = spectrum(np.linspace(1, 5, N))
    plain = str(spectrum_svg(one))
    one.flux[100:160], one.bad[100:160] = 1e30, True
    one.flux[200] = np.inf
    assert str(spectrum_svg(one)).count("M") > plain.count("M")
    assert heights(str(spectrum_svg(one)))[0] == heights(plain)[0]


@pytest.mark.parametrize("flux", [np.nan, np.inf, -np.inf])
def test_without_a_usable_pixel_it_says_so(flux: float) -> None:
    one = spectrum(flux)
    assert spectrum_svg(one) is None and "no usable pixels" in one._repr_html_()


def test_a_spectrum_tells_what_is_known() -> None:
    shown = Elements(spectrum(id="x7", z=0.01, snr=12.34, ra=1.0, **{"class": "STAR", "subclass": "C"})._repr_html_())
    assert "svg" in shown.tags
    for words in ("x7", "STAR C", "z 0.01000", "S/N 12.3", "ra 1.00000", f"{N} pixels", "0 bad"):
        assert words in shown.text
    bare = spectrum(z=None, snr=float("nan"), **{"class": None})._repr_html_()
    assert "S/N" not in bare and "None" not in bare and "nan" not in bare


def test_names_of_files_are_no_markup() -> None:
    row = {"class": HOSTILE, "subclass": '"><img src=x onerror=alert(1)>'}
    for markup in (spectrum(id=HOSTILE, **row)._repr_html_(), stack(id=[HOSTILE] * 2, **{"class": [HOSTILE] * 2})):
        tags = Elements(markup).tags
        assert "script" not in tags and "img" not in tags and HOSTILE in Elements(markup).text


def stack(n: int = 2, **columns: list) -> str:
    return make_spectra(n, SMALL_GRID, **columns)._repr_html_()


def test_a_stack_shows_the_first_few() -> None:
    assert Elements(stack(12)).tags.count("svg") == 5 and "and 7 more" in stack(12)
    assert "more" not in stack(5) and "5 spectra" in stack(5)
    empty = make_spectra(3, SMALL_GRID).take(np.array([], int))
    assert "0 spectra" in empty._repr_html_() and "0 spectra" in repr(empty)


def test_at_the_prompt_they_are_one_line() -> None:
    stacked = make_spectra(3000, SMALL_GRID)
    assert len(repr(stacked)) < 100 and len(repr(stacked[0])) < 200
    assert "s00000" in repr(stacked[0]) and "\n" not in repr(spectrum(id="a\nb"))


def test_tables_out() -> None:
    stacked = make_spectra(3, SMALL_GRID, snr=[1.0, None, 3.0], note=["x", None, "zz"], nothing=[None] * 3)
    table = stacked.to_table()
    assert table["id"].tolist() == stacked.ids and table["snr"].tolist() == [1.0, None, 3.0]
    assert table["note"].tolist() == ["x", None, "zz"] and table["nothing"].mask.all()
    one = stacked[2].to_table()
    assert one.colnames == ["wavelength", "flux", "ivar", "bad"] and one.meta["id"] == "s00002"
    assert str(one["wavelength"].unit) == "Angstrom" and np.array_equal(one["flux"], stacked.flux[2])
    without = Spectra(stacked.wavelength, stacked.flux, None, stacked.bad, stacked.catalogue)[0].to_table()
    assert without.colnames == ["wavelength", "flux", "bad"]
