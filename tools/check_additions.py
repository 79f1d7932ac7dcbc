"""Adds a scheme, a queue discipline and a source to a scratch copy of the crates, each as its own file, one ``mod`` line and
one row, and two columns of results as one entry each, and sees that all of it compiles with nothing else changed. With
``--run`` the suites that ask every scheme, discipline, source and column run on the copy too. Whether the additions do any
good is not asked."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

SCHEME = """//! A window of three segments: the least that a scheme can be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker, Controller, Cx, Directive, Feedback, Time};

use crate::needs::{MarkResponse, Needs, Reliability};
use crate::parts::{BoxedController, ControllerParams, Family, Parts, SchemeConfig, SchemeInfo};

/// Nothing to set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ThreeConfig {}

impl SchemeConfig for ThreeConfig {
    type Controller = BoxedController;

    fn info(&self) -> &'static SchemeInfo {
        &SchemeInfo {
            name: "three",
            summary: "A window of three segments",
            source: "none",
            reliability: Reliability::Sack,
            expects_discipline: "any",
        }
    }

    fn needs(&self) -> Needs {
        Needs { marks: MarkResponse::Controller, ..Needs::over(Reliability::Sack) }
    }

    fn family(&self) -> Family {
        Family::Unresponsive
    }

    fn check(&self, _: &mut Checker) {}

    fn build(&self, params: &ControllerParams) -> Parts {
        Parts::sender(Box::new(Three(params.segment)))
    }
}

struct Three(Bytes);

impl Controller for Three {
    fn on_feedback(&mut self, _: Time, _: &Feedback<'_>, _: &mut Cx<'_>) {}

    fn directive(&self) -> Directive {
        Directive::window(self.0 * 3)
    }
}
"""

QUEUE = """//! Drop-tail by another name: the least that a discipline can be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::builtin::BoxedPolicy;
use crate::droptail::DropTail;
use crate::parts::{BuildCx, Info, QueueConfig};

/// Nothing to set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TenConfig {}

impl QueueConfig for TenConfig {
    type Queue = BoxedPolicy;

    fn info(&self) -> &'static Info {
        &Info { name: "ten", family: "first in, first out", summary: "Drop-tail again", source: "none" }
    }

    fn build(&self, cx: &BuildCx) -> BoxedPolicy {
        Box::new(DropTail::new(cx.capacity))
    }
}
"""

SOURCE = """//! Three thousand bytes: the least that a source can be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tailback_core::{Bytes, Checker};

use super::bulk::Bulk;
use super::parts::{BoxedSource, SourceKind};

/// Nothing to set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ThreeConfig {}

impl SourceKind for ThreeConfig {
    type Source = BoxedSource;

    const NAME: &'static str = "three";

    fn check(&self, _: &mut Checker) {}

    fn build(&self) -> BoxedSource {
        Box::new(Bulk::finite(Bytes::new(3000)))
    }
}
"""

FILES = {
    "control/src/schemes/three.rs": SCHEME,
    "qdisc/src/ten.rs": QUEUE,
    "transport/src/source/three.rs": SOURCE,
}
"""Each addition's own file."""

LINES = [
    ("control/src/schemes/mod.rs", "mod vegas;\n", "mod three;\nmod vegas;\npub use three::ThreeConfig;\n"),
    (
        "control/src/scheme.rs",
        "        FixedRate(FixedRateConfig),\n",
        "        FixedRate(FixedRateConfig),\n        /// Three.\n        Three(crate::schemes::ThreeConfig),\n",
    ),
    ("qdisc/src/lib.rs", "pub mod tdqm;\n", "pub mod tdqm;\npub mod ten;\n"),
    (
        "qdisc/src/config.rs",
        "        Policer(PolicerConfig),\n",
        "        Policer(PolicerConfig),\n        /// Ten.\n        Ten(crate::ten::TenConfig),\n",
    ),
    ("transport/src/source/mod.rs", "mod video;\n", "mod three;\nmod video;\npub use three::ThreeConfig;\n"),
    (
        "transport/src/source/config.rs",
        "    Video(VideoConfig),\n",
        "    Video(VideoConfig),\n    /// Three.\n    Three(super::three::ThreeConfig),\n",
    ),
    (
        "scenario/src/columns/flows.rs",
        "pub(crate) const COLUMNS: &[Entry<Of>] = &[\n",
        "pub(crate) const COLUMNS: &[Entry<Of>] = &[\n"
        '    column(counted("silences", "Expiries once more."), |rows| rows.change(|flow| flow.sender.timeouts)),\n',
    ),
    (
        "sim/src/series.rs",
        "        /// Packets retransmitted in the bin.\n",
        "        /// Packets that the receiver got in the bin.\n"
        "        received_packets: u64 => u64, counted, |flow| flow.receiver.received_packets;\n"
        "        /// Packets retransmitted in the bin.\n",
    ),
    (  # What the test of it asks for, in place of one that is there.
        "scenario/tests/columns.rs",
        'const ONE_OF_A_FLOWS: &str = "sent_bytes";',
        'const ONE_OF_A_FLOWS: &str = "received_packets";',
    ),
]
"""Their ``mod`` lines, rows and entries: file, what stands there, what stands there afterwards."""

SUITES = {
    "control": ["--test", "all"],
    "qdisc": ["--lib", "--test", "all", "anything"],
    "transport": ["--test", "all", "sources"],
    "scenario": ["--lib", "--test", "all", "columns"],
}
"""By crate, what asks every scheme, discipline, source and column."""

COPY = ROOT / "target" / "additions"
"""Where the copy stands: always there, so that cargo knows it again, and beside what was built for the crates proper."""


def main() -> int:
    """Makes the copy, adds to it and compiles it; the status to end with."""
    add()
    cargo = ["cargo", "--offline"]
    built = ["--target-dir", str(ROOT / "target"), "--quiet"]
    crates = [word for name in SUITES for word in ("-p", f"tailback-{name}")]
    status = subprocess.run([*cargo, "check", *built, *crates], cwd=COPY, check=False).returncode
    for name, suites in SUITES.items() if "--run" in sys.argv[1:] else ():
        tested = subprocess.run([*cargo, "test", *built, "-p", f"tailback-{name}", *suites], cwd=COPY, check=False)
        status = status or tested.returncode
    if status == 0:
        print("additions: a scheme, a discipline, a source and two columns, each in its place alone")
    return status


def add() -> None:
    """Makes the copy anew, with all additions."""
    shutil.rmtree(COPY, ignore_errors=True)
    COPY.mkdir(parents=True)
    for name in ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "clippy.toml"):
        shutil.copy2(ROOT / name, COPY / name)
    shutil.copytree(ROOT / "crates", COPY / "crates")
    for name in ("benches", "fuzz"):
        shutil.copytree(ROOT / name, COPY / name, ignore=shutil.ignore_patterns("target", "corpus"))
    for path, text in FILES.items():
        (COPY / "crates" / path).write_text(text, encoding="utf-8")
    for path, before, after in LINES:
        file = COPY / "crates" / path
        text = file.read_text(encoding="utf-8")
        if text.count(before) != 1:
            sys.exit(f"{path}: {before.strip()!r} stands there {text.count(before)} times")
        file.write_text(text.replace(before, after), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
