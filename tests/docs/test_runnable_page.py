"""How pages are read and compared, on a small page of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from runnable_page import Run, Step, nearly_same, rewritten, same, steps_of

PAGE = """# A page

```python
x = 2
print(x + 1)
```

```text
3
```

```bash
never run
```

```console
$ echo one \\
      two
one two
$ echo three
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_steps_are_found_in_order_with_what_they_should_print(page: Path) -> None:
    found = [(step.code.strip(), step.expected.strip()) for step in steps_of(page)]
    assert found == [("x = 2\nprint(x + 1)", "3"), ("echo one two", "one two"), ("echo three", "")]


def test_later_blocks_see_what_earlier_ones_defined() -> None:
    run = Run()
    run.output_of(Step("python", "x = 2", "", 1))
    assert run.output_of(Step("python", "print(x)", "", 2)) == "2\n"


def test_outputs_are_compared_but_for_spaces_and_what_is_left_open() -> None:
    assert same("a   b\n", "a b\n")
    assert same("first\n...\nlast\n", "first\n17\n18\nlast\n")
    assert not same("3\n", "4\n")
    assert not same("", "unexpected\n")


def test_numbers_may_be_one_off_in_their_last_digit_and_ids_may_not() -> None:
    assert nearly_same("7 of 0355-51788-0579: 0.91 (...)\n", "8 of 0355-51788-0579: 0.92 (...)\n")
    assert not nearly_same("0.91\n", "0.93\n") and not nearly_same("0.91\n", "0.9\n")
    assert nearly_same("8084-8353 A: +4.036\n", "8083-8355 A: +4.038\n") and not nearly_same("8084 A\n", "8184 A\n")
    assert nearly_same("about 8 (0 to 30) in 41\n", "about 8 (0 to 28) in 39\n")
    assert not nearly_same("8 (0 to 30) in 41\n", "8 (0 to 28) in 39\n")
    assert not nearly_same("0355-51788-0579\n", "0355-51788-0578\n") and not nearly_same("7 stars\n", "8 quasars\n")
    assert nearly_same("1 ... 3\n", "1 2 3\n") and not nearly_same("1 ... 3\n", "1 2 4\n")


def test_a_command_that_fails_fails_the_page() -> None:
    with pytest.raises(AssertionError, match="ended with 2"):
        Run().output_of(Step("console", "rarespec info no-such.survey", "", 1))


def test_a_page_is_rewritten_where_it_is_wrong_and_kept_where_it_is_right(page: Path) -> None:
    page.write_text(PAGE.replace("\n3\n", "\nold\n").replace("one two\n$", "one ...\n$"))
    text = rewritten(page, ["3\n", "one two\n", "three\n"])
    assert "```text\n3\n```" in text
    assert "$ echo one \\\n      two\none ...\n" in text
    assert "$ echo three\nthree\n" in text
