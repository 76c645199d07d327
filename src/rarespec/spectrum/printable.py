"""Names that a table can hold: file names may contain bytes that are no UTF-8, and control characters."""


def printable(text: str) -> str:
    """The same text when it can be printed; otherwise with the offending characters written out."""
    if text.isprintable():
        return text
    try:
        decoded = text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    except UnicodeEncodeError:  # half a character that stands for no byte of a file name
        decoded = text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in decoded)
