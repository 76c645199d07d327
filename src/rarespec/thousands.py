"""Large numbers that can be read."""


def thousands(number: float, decimals: int = 0) -> str:
    """100450 as 100 450, with narrow spaces at which no line is broken."""
    return f"{number:,.{decimals}f}".replace(",", "\u202f")
