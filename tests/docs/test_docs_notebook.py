"""The notebook runs from beginning to end, and shows what it says."""

import ast
import base64

import pytest
from documentation import ROOT

nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def run(folder):
    """The source and the outputs of each code cell, after a run in this folder."""
    from nbclient import NotebookClient

    notebook = nbformat.read(ROOT / "examples" / "explore.ipynb", as_version=4)
    nbformat.validate(notebook)
    place = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()
    return [(cell.source, cell.outputs) for cell in notebook.cells if cell.cell_type == "code"]


def shown(cells, needle, kind="text/plain"):
    """What the only cell with this text in it shows."""
    (outputs,) = [outputs for source, outputs in cells if needle in source]
    (data,) = [output.data for output in outputs if "data" in output and kind in output.data]
    return data[kind]


# One test, since tests that share its run may be dealt to several processes, which repeat it.
def test_the_notebook_shows_what_it_says(tmp_path, monkeypatch):
    # Commands that draw set it, for the whole process; the kernel has a backend of its own.
    monkeypatch.delenv("MPLBACKEND", raising=False)
    cells = run(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"runs"}
    for source, outputs in cells:
        complaints = [one for one in outputs if one.output_type in ("error", "stream")]
        assert not complaints, source
    # Two seeds of 100 episodes: the log's ten columns, and the five of load_runs.
    assert shown(cells, "vdqn.shape") == "(200, 15)"
    compared = shown(cells, 'groupby("label")["return"].agg').splitlines()
    assert [line.split()[0] for line in compared[2:]] == ["DQN", "VDQN"]
    for line in compared[2:]:
        mean, best, count = map(float, line.split()[1:])
        assert count == 200
        assert 0 <= mean <= best <= 11
    updates = shown(cells, "sigma_median").splitlines()
    assert [line.split()[0] for line in updates[2:]] == ["6", "7", "8", "9"]
    for needle in ("axhline", 'xlabel="State"'):
        picture = base64.b64decode(shown(cells, needle, "image/png"))
        assert picture.startswith(SIGNATURE) and len(picture) > 5000
    shares = ast.literal_eval(shown(cells, "How often a sampled network"))
    assert list(shares) == [20, 40, 100]
    assert all(len(of) == 3 and all(0 <= share <= 1 for share in of) for of in shares.values())
