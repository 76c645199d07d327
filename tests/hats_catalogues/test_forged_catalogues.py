"""HATS catalogues that a stranger made: opened or refused by name, and nothing outside them is opened."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from conftest import SMALL_GRID, make_spectra
from mock_hats import copy_of, on_sky, write_catalogue
from rarespec.errors import UsageError
from rarespec.hats.catalogue import open_catalogue

pytest.importorskip("lsdb")
VALUES = ["", "0", "-1", "x", "9" * 5000, "nan", "../../x", "http://127.0.0.1:1/x", "a b c", "\x1b[31m", "[", "true"]


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Path:
    spectra = make_spectra(40, SMALL_GRID, **on_sky(40), **{"class": ["M"] * 40})
    return write_catalogue(spectra, tmp_path_factory.mktemp("hats") / "sky", partition_rows=20)


def forged(text: str, chance: random.Random) -> str:
    lines = text.splitlines()
    i = chance.randrange(len(lines))
    separator = "=" if "=" in lines[i] else ","
    first, _, rest = lines[i].partition(separator)
    value = chance.choice(VALUES)
    lines[i] = chance.choice(
        [f"{first}{separator}{value}", f"{value}{separator}{rest}", value, lines[i][: len(first) // 2]]
    )
    return "\n".join(lines[: i + 1] if chance.random() < 0.2 else lines)


@pytest.mark.filterwarnings("ignore")
def test_properties_and_partitions(catalogue: Path, tmp_path: Path) -> None:
    copy = copy_of(catalogue, tmp_path / "copy")
    files = [path for path in copy.iterdir() if path.suffix in (".properties", ".csv") or path.name == "properties"]
    assert files
    for file in files:
        good = file.read_text()
        for i in range(20):
            file.write_text(forged(good, random.Random(f"{file.name}{i}")))
            try:
                open_catalogue(copy)
            except (UsageError, OSError) as error:
                assert str(copy) in str(error) or "sky" in str(error)
        file.write_text(good)


@pytest.mark.parametrize(
    "named", ["../sky", "/etc", "https://example.org/sky", "\\\n../sky", r"\u002e\u002e\u002fsky", "a ../../b"]
)
@pytest.mark.parametrize("key", ["hats_primary_table_url", "all_margins", "all_extensions"])
def test_a_collection_names_what_is_in_it_alone(tmp_path: Path, named: str, key: str) -> None:
    (tmp_path / "collection.properties").write_text(f"obs_collection=x\n{key}={named}\n")
    with pytest.raises(UsageError, match=f"{key} names .* the collection has no such catalogue"):
        open_catalogue(tmp_path)
