"""Draws the pictures of the documentation from mock surveys.

python docs/pictures.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from rarespec.features import PaperFeatures, median_filter
from rarespec.mock import SkyChoice, simulate_survey
from rarespec.plots import draw_components, draw_filtering, draw_weights
from rarespec.rankers import BaggingTopPush
from rarespec.survey import FeatureSet, Survey

HERE = Path(__file__).parent
SHOWN = 6
N_KNOWN = 10


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
        features = survey.features(PaperFeatures())
        pca = features.recipe.steps_[-1]
        shares = pca.explained_variance_ratio_[:SHOWN]
        draw_components(pca.components_[:SHOWN], shares, survey.grid, HERE / "components.png")
        draw_template(survey, features, HERE / "weights.png")


def draw_template(survey: Survey, features: FeatureSet, path: Path) -> None:
    """The weights of BaggingTopPush after ten known carbon stars, seen as weights of pixels."""
    known = np.flatnonzero(survey.catalogue["class"] == "CARBON")[:N_KNOWN]
    y = np.zeros(len(survey), dtype=int)
    y[known] = 1
    pca = features.recipe.steps_[-1]
    mean_known = pca.inverse_transform(features.values[known].mean(axis=0, keepdims=True))[0]
    weights = features.recipe.to_flux(BaggingTopPush(random_state=0).fit(features.values, y).coef_)
    draw_weights(weights, mean_known, pca.mean_, survey.grid, path)


if __name__ == "__main__":
    main()
