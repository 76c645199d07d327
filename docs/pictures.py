"""Draws the pictures of the documentation from mock surveys.

python docs/pictures.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from rarespec.features import PaperFeatures, median_filter
from rarespec.mock.simulate import SkyChoice, simulate_survey
from rarespec.plots.features import draw_components, draw_filtering
from rarespec.survey import Survey
from rarespec.survey.features import features_of

HERE = Path(__file__).parent
SHOWN = 6


def a_carbon_star(survey: Survey) -> str:
    """One that is bright enough to show its bands and faint enough to show its noise."""
    catalogue = survey.catalogue
    rows = (catalogue["class"] == "CARBON") & (catalogue["snr"] > 10) & (catalogue["snr"] < 16)
    return catalogue["id"][rows][0]


def main() -> None:
    with TemporaryDirectory() as folder:
        survey = simulate_survey(SkyChoice(10_000, (("carbon", 50),), seed=1), Path(folder) / "mock.survey")
        spectrum = survey[a_carbon_star(survey)]
        flux = spectrum.flux.copy()
        flux[spectrum.bad] = float("nan")
        draw_filtering(spectrum, median_filter(flux, survey.grid), HERE / "filtering.png")
        pca = features_of(survey, PaperFeatures()).recipe.steps_[-1]
        shares = pca.explained_variance_ratio_[:SHOWN]
        draw_components(pca.components_[:SHOWN], shares, survey.grid, HERE / "components.png")


if __name__ == "__main__":
    main()
