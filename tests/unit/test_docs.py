"""The pages hold together: every page is listed, every link leads somewhere, and the README's example runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def links(page: Path) -> set[Path]:
    """Files and folders of this repository that a page links to."""
    return {(page.parent / target).resolve() for target in LINK.findall(page.read_text())}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert [target for target in links(page) if not target.exists()] == []


def test_every_page_is_in_the_index():
    index = links(DOCS / "README.md")
    listed = index | {page for target in index if target.parent != ROOT for page in links_or_files(target)}
    assert [page for page in DOCS.rglob("*.md") if page != DOCS / "README.md" and page not in listed] == []


def links_or_files(target: Path) -> set[Path]:
    """What a listed page lists in turn, or what a listed folder holds."""
    return set(target.rglob("*.md")) if target.is_dir() else links(target)


def test_the_first_example_of_the_readme_runs(capsys):
    example, *_ = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    out = capsys.readouterr().out
    assert out.startswith("['alice']\nbob does not match\n")
    assert "✗" in out
