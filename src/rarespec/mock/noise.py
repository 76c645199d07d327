"""Noise against wavelength: two spectrograph arms, the dichroic between them, and the night sky's lines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Curve = NDArray[np.float64]

LINE_WIDTH = 2.0e-4 * np.log(10) * 0.6
"""1-sigma width of a sky line, in ln(wavelength)."""

OXYGEN_5577 = ((5578.9, 80.0),)
OXYGEN_AND_CITY = ((4047.7, 0.7), (4359.6, 1.9), (5462.3, 1.2), (5689.8, 0.4), (5771.7, 0.4), (5891.6, 4.5),
                   (5897.6, 2.5), (6302.0, 7.5), (6365.5, 2.2))  # fmt: skip
HYDROXYL = (
    (6499.8, 0.5), (6534.5, 0.5), (6555.0, 0.6), (6579.2, 0.5), (6831.2, 1.2), (6836.0, 0.8), (6866.0, 1.6),
    (6874.0, 0.8), (6891.3, 0.5), (6915.1, 0.4), (6925.2, 0.9), (6950.9, 1.0), (6980.4, 0.8), (7005.0, 0.4),
    (7050.2, 0.4), (7242.5, 3.0), (7247.0, 2.2), (7278.2, 4.6), (7286.0, 1.0), (7306.0, 0.8), (7318.3, 2.8),
    (7331.4, 1.1), (7343.0, 3.9), (7360.7, 1.1), (7371.5, 3.0), (7404.2, 1.8), (7440.2, 1.0), (7469.0, 0.6),
    (7485.3, 1.0), (7526.6, 2.0), (7574.0, 0.9), (7718.0, 3.2), (7726.0, 1.5), (7752.8, 5.2), (7760.0, 1.2),
    (7782.0, 0.8), (7796.3, 3.0), (7810.5, 1.2), (7823.5, 4.4), (7843.0, 1.0), (7855.5, 4.6), (7872.0, 1.6),
    (7893.0, 2.0), (7916.0, 5.2), (7934.0, 1.2), (7952.0, 0.8), (7967.0, 4.2), (7981.0, 1.8), (7996.0, 4.8),
    (8017.0, 1.0), (8027.9, 4.0), (8064.6, 2.0), (8104.8, 0.9), (8197.9, 0.6), (8284.0, 2.6), (8291.0, 3.0),
    (8300.5, 5.2), (8313.0, 1.6), (8346.8, 12.5), (8355.0, 3.0), (8367.5, 1.0), (8384.7, 2.2), (8401.8, 8.5),
    (8417.5, 3.0), (8432.5, 10.5), (8454.6, 2.8), (8467.7, 8.2), (8495.0, 2.0), (8507.2, 4.8), (8550.9, 1.6),
    (8590.0, 0.8), (8763.0, 5.5), (8770.0, 6.0), (8780.4, 8.5), (8794.0, 2.6), (8829.0, 16.0), (8838.0, 3.0),
    (8853.0, 1.2), (8870.0, 3.2), (8888.1, 13.5), (8906.0, 4.2), (8922.6, 15.5), (8945.6, 3.6), (8960.6, 9.5),
    (8991.0, 7.0), (9002.0, 4.0), (9040.0, 5.0), (9052.0, 5.0), (9105.0, 3.0), (9220.0, 2.5), (9307.0, 6.0),
    (9316.0, 8.0), (9340.0, 7.0), (9378.0, 14.0), (9422.0, 9.0), (9442.0, 14.0), (9461.0, 6.0), (9479.0, 12.0),
    (9505.0, 7.0), (9522.0, 10.0), (9570.0, 7.0), (9623.0, 5.0), (9702.0, 4.0), (9722.0, 5.0), (9794.0, 7.0),
    (9805.0, 5.0), (9874.0, 9.0), (9918.0, 5.0), (9964.0, 3.0), (10012.0, 4.0), (10125.0, 6.0), (10174.0, 6.0),
)  # fmt: skip
"""Emission lines of the night sky: vacuum wavelength, variance added in units of the dark sky's."""

HYDROXYL_GLOW = 1.5
"""The table of hydroxyl lines is relative; this is their strength on a median night."""

BANDS = ((7602.0, 6.0, 5.0), (7631.0, 10.0, 2.5), (6870.0, 7.0, 0.5), (8632.0, 10.0, 4.0), (8660.0, 14.0, 4.0))
"""Atmospheric oxygen: centre, 1-sigma width, variance added."""


def inverse_response(wavelength: Curve) -> Curve:
    """Noise of a flat spectrum relative to the green; both arms lose light towards their ends."""
    blue = 0.95 + 1.15 * np.exp(-(wavelength - 3900) / 450)
    red = 0.59 + 0.33 * np.exp(-(wavelength - 6050) / 450) + 0.14 * np.clip((wavelength - 7400) / 1500, 0, None) ** 2
    in_blue = 1 / (1 + np.exp((wavelength - 5960) / 45))
    dichroic = 0.13 * np.exp(-0.5 * ((wavelength - 5880) / 80) ** 2)
    return in_blue * blue + (1 - in_blue) * red + dichroic


def sky_lines(wavelength: Curve, lines: tuple[tuple[float, float], ...]) -> Curve:
    """Sum of unresolved lines, each with its strength at the centre."""
    curve = np.zeros(len(wavelength))
    for centre, strength in lines:
        curve += strength * np.exp(-0.5 * (np.log(wavelength / centre) / LINE_WIDTH) ** 2)
    return curve


def sky_brightness(wavelength: Curve) -> Curve:
    """Variance from the night sky, 1 between the lines."""
    curve = 1 + sky_lines(wavelength, OXYGEN_5577 + OXYGEN_AND_CITY) + HYDROXYL_GLOW * sky_lines(wavelength, HYDROXYL)
    for centre, width, strength in BANDS:
        curve += strength * np.exp(-0.5 * ((wavelength - centre) / width) ** 2)
    return curve


def oxygen_absorption(wavelength: Curve) -> Curve:
    """Depth of the atmosphere's A and B bands, of which a residue always stays."""
    a_band = np.exp(-0.5 * ((wavelength - 7605) / 9) ** 2) + 0.6 * np.exp(-0.5 * ((wavelength - 7640) / 16) ** 2)
    b_band = 0.45 * np.exp(-0.5 * ((wavelength - 6880) / 14) ** 2)
    return a_band + b_band + 0.25 * np.exp(-0.5 * ((wavelength - 7250) / 60) ** 2)
