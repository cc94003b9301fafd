"""What is found in a page, by a page that has one of each."""

from pathlib import Path

import pytest

from tests.commands.documented import Block, Command, blocks, commands
from tests.commands.workplace import small

PAGE = """# A page

Give `ablations run quick` or `make
demo`; `runs/quick` and `--seeds 3` are none, nor is `makefile`.

    ablations plan quick   # what is to come
    OMP_NUM_THREADS=1 python x.py

- a list
    that goes on

    SE = 2 / 3

```sh
chromium --headless \\
    page.html
# a remark
```

```bash
#!/bin/bash
exit 3
```

```python
x = "ablations run no"
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE, encoding="utf-8")
    return path


def test_every_command_is_found_with_its_line_and_its_remark(page: Path) -> None:
    assert commands(page) == [
        Command("ablations run quick", "page.md:3"),
        Command("make demo", "page.md:3"),
        Command("ablations plan quick", "page.md:6", "what is to come"),
        Command("OMP_NUM_THREADS=1 python x.py", "page.md:7"),
        Command("chromium --headless page.html", "page.md:15"),
        Command("#!/bin/bash\nexit 3\n", "page.md:21"),
    ]


def test_blocks_are_found_with_their_language(page: Path) -> None:
    assert [block.language for block in blocks(page)] == ["sh", "bash", "python"]
    assert blocks(page)[2] == Block("python", 'x = "ablations run no"\n', "page.md:26")


def test_a_study_is_made_small() -> None:
    assert small("seeds: 15\ntrain: {steps: 500, lr: 3e-3}\ntrials: 8") == (
        "seeds: 2\ntrain: {steps: 5, lr: 3e-3}\ntrials: 2"
    )
    assert small('{"seeds": 5, "steps": 300}') == '{"seeds": 2, "steps": 5}'
