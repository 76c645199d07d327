"""Molecular bands: where each head lies (air), which way the band degrades, how far, how strongly.

A band head is sharp: absorption starts at the head and fades towards the blue (C2, CN violet, MgH) or the red (TiO,
VO, CN red).
"""

from __future__ import annotations

from dataclasses import dataclass

BLUEWARDS, REDWARDS = -1, +1


@dataclass(frozen=True, slots=True)
class Band:
    """One sequence of band heads that appear together.

    heads    : (wavelength in air, relative strength) of each head
    degrades : BLUEWARDS or REDWARDS
    reach    : Angstrom over which the absorption falls by e
    grass    : rms of the unresolved rotational structure relative to the band
    softness : Angstrom over which the head itself is washed out
    """

    heads: tuple[tuple[float, float], ...]
    degrades: int
    reach: float
    grass: float = 0.2
    softness: float = 1.5


C2_SWAN = {
    "c2_4383": Band(((4382.5, 0.5), (4371.4, 1.0), (4365.2, 0.9)), BLUEWARDS, 32, softness=2),
    "c2_4737": Band(((4737.1, 0.55), (4715.2, 0.75), (4697.6, 0.8), (4684.8, 0.7), (4680.2, 0.5)), BLUEWARDS, 40),
    "c2_5165": Band(((5165.2, 1.0), (5129.3, 0.6), (5097.7, 0.3)), BLUEWARDS, 55),
    "c2_5636": Band(((5635.5, 0.7), (5585.5, 0.8), (5540.7, 0.7), (5501.9, 0.4)), BLUEWARDS, 85),
    "c2_6191": Band(((6191.2, 0.7), (6122.1, 0.9), (6059.7, 0.8), (6004.9, 0.6), (5958.7, 0.4)), BLUEWARDS, 50),
}
CN = {
    "cn_3883": Band(((3883.4, 1.0), (3871.4, 0.6), (3861.9, 0.4)), BLUEWARDS, 45),
    "cn_4216": Band(((4216.0, 1.0), (4197.2, 0.9), (4181.0, 0.7), (4167.8, 0.5)), BLUEWARDS, 45),
    "cn_6926": Band(((6925.9, 0.8), (7088.0, 0.9), (7259.0, 0.8), (7437.3, 0.5)), REDWARDS, 90, grass=0.25, softness=9),
    "cn_7876": Band(
        ((7876.0, 1.0), (8067.0, 0.9), (8270.7, 0.65), (8485.0, 0.4)), REDWARDS, 140, grass=0.22, softness=16
    ),
    "cn_6332": Band(((6332.2, 0.8), (6478.7, 0.9), (6631.3, 0.7)), REDWARDS, 55, grass=0.25, softness=14),
    "cn_5730": Band(((5730.0, 0.9), (5858.2, 1.0), (5992.0, 0.7)), REDWARDS, 100, grass=0.25, softness=6),
}
CH = {
    "ch_4300": Band(((4314.5, 1.0), (4324.0, 0.35)), BLUEWARDS, 28, grass=0.25, softness=1.5),
    "ch_wide": Band(((4325.0, 1.0),), BLUEWARDS, 70, grass=0.3, softness=6),
    "ch_3890": Band(((3900.0, 1.0),), BLUEWARDS, 25, grass=0.3, softness=4),
}
SIC2 = {"sic2": Band(((4977.0, 1.0), (4867.0, 0.7), (4640.0, 0.5)), BLUEWARDS, 70, softness=10)}
TIO = {
    "tio_4761": Band(((4584.0, 0.6), (4626.0, 0.4), (4761.0, 1.0)), REDWARDS, 45, grass=0.1, softness=3),
    "tio_4955": Band(((4954.6, 1.0), (5003.0, 0.4)), REDWARDS, 90, grass=0.1, softness=2),
    "tio_5167": Band(((5166.8, 1.0),), REDWARDS, 90, grass=0.1, softness=2),
    "tio_5448": Band(((5448.2, 1.0), (5497.0, 0.7)), REDWARDS, 140, grass=0.1, softness=2),
    "tio_5759": Band(((5597.0, 0.5), (5629.0, 0.5), (5758.7, 0.8), (5810.0, 0.5)),
                     REDWARDS, 100, grass=0.1, softness=3),
    "tio_5847": Band(((5847.6, 1.0), (5861.0, 0.6), (5950.0, 0.3)), REDWARDS, 110, grass=0.1, softness=10),
    "tio_6158": Band(((6158.5, 0.8), (6187.0, 0.6), (6214.0, 0.5)), REDWARDS, 150, grass=0.1, softness=10),
    "tio_6651": Band(((6596.0, 0.2), (6651.5, 0.7), (6681.1, 0.7), (6719.0, 0.7), (6747.0, 0.4)),
                     REDWARDS, 150, grass=0.1, softness=14),
    "tio_7054": Band(((7054.5, 1.0), (7087.9, 0.8), (7125.6, 0.7)), REDWARDS, 100, grass=0.1, softness=2),
    "tio_7589": Band(((7589.6, 1.0), (7628.1, 0.7), (7666.4, 0.9), (7705.2, 0.5)),
                     REDWARDS, 168, grass=0.1, softness=2),
    "tio_8206": Band(((8206.0, 0.6), (8250.0, 0.6), (8303.0, 0.6)), REDWARDS, 120, grass=0.1, softness=8),
    "tio_8432": Band(((8432.0, 1.0), (8442.0, 0.6), (8452.0, 0.4)), REDWARDS, 160, grass=0.1, softness=7),
    "tio_8859": Band(((8859.6, 1.0), (8938.0, 0.5)), REDWARDS, 80, grass=0.1, softness=6),
}  # fmt: skip
VO = {
    "vo_5737": Band(((5736.7, 1.0), (5469.3, 0.7)), REDWARDS, 60, grass=0.1, softness=8),
    "vo_7400": Band(((7334.0, 0.5), (7372.0, 0.6), (7393.0, 0.6), (7405.0, 0.5), (7434.0, 0.5)),
                     REDWARDS, 150, grass=0.1, softness=10),
    "vo_7865": Band(((7851.0, 0.6), (7865.0, 0.9), (7896.0, 0.9), (7929.0, 0.7), (7939.0, 0.6)),
                     REDWARDS, 55, grass=0.1, softness=25),
    "vo_8624": Band(((8520.9, 0.5), (8537.7, 0.5), (8575.3, 0.6), (8590.7, 0.6), (8624.0, 0.6)),
                     REDWARDS, 120, grass=0.1, softness=15),
}  # fmt: skip
HYDRIDES = {
    "mgh_4780": Band(((4784.5, 1.0), (4777.0, 0.5)), BLUEWARDS, 15, softness=12),
    "mgh_5211": Band(((5211.0, 1.0), (5182.0, 0.6), (5155.0, 0.5), (5100.0, 0.3)), BLUEWARDS, 80, softness=4),
    "cah_6382": Band(((6382.0, 1.0), (6389.0, 0.7)), REDWARDS, 35, softness=4),
    "cah_6800": Band(((6750.0, 0.4), (6830.0, 0.9), (6903.0, 0.6), (6940.0, 0.4)), REDWARDS, 60, softness=50),
    "caoh_5550": Band(((5530.0, 1.0),), REDWARDS, 35, softness=12),
    "feh_8692": Band(((8691.9, 1.0), (9020.0, 0.4)), REDWARDS, 100, softness=10),
    "crh_8611": Band(((8611.0, 1.0), (8696.0, 0.5)), REDWARDS, 45, softness=4),
    "water": Band(((9250.0, 1.0), (9060.0, 0.2)), REDWARDS, 350, softness=40),
}
BANDS: dict[str, Band] = {**C2_SWAN, **CN, **CH, **SIC2, **TIO, **VO, **HYDRIDES}
