"""Workers run the package that the script runs, wherever it found it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tailback as tb

SCRIPT = """
import sys
sys.path.insert(0, {folder!r})
import tailback as tb

class Broken(tb.Controller):
    def on_feedback(self, now, feedback, cx):
        raise RuntimeError("here")
    def directive(self):
        return tb.Directive(window=9000)

base = tb.dumbbell(rate="1 Mbit/s", delay="5 ms", duration="1 s").with_flows(tb.flows(1, Broken.scheme()))
print(base.sweep(seeds=2, jobs=2, cache=False, progress=False).failed["error"][0])
"""


def test_workers_import_what_the_script_imports(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "tailback").symlink_to(Path(tb.__file__).parent, target_is_directory=True)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(folder=str(elsewhere)))
    done = subprocess.run([sys.executable, str(script)], env=os.environ, capture_output=True, text=True, check=True)
    assert f'File "{elsewhere}/tailback/sweeps/work.py"' in done.stdout
