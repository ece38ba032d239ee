# SPDX-License-Identifier: MIT
#
# A short selection of Debian's programs (those marked `short` in the table of
# tests/compat), judged as `make compat` judges them all.
"""The field's own programs, unmodified: the same verdict as on the host."""

import importlib.machinery
import importlib.util
import os

from lib import ROOT, Skip, case, expect


def load():
    """tools/compat has no suffix."""
    loader = importlib.machinery.SourceFileLoader("compat", os.path.join(ROOT, "tools", "compat"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("compat", loader))
    loader.exec_module(module)
    return module


@case("compat-short", 240)
def short():
    compat = load()
    runs = [r for r in compat.programs.RUNS if r.short]
    expect(len(runs) >= 12, "the table marks %d runs as short" % len(runs))
    gone = sorted({n for r in runs for n in compat.tools_of(r) if not compat.which(n)})
    if gone:
        raise Skip("no " + ", ".join(gone))
    rows = compat.compare(runs, 4)
    lost = ["%s: %s, output %r" % (r.run.name, r.here_fails, r.here.output[-300:])
            for r in rows if r.here_fails and not r.host_fails]
    expect(not lost, "; ".join(lost))
    expect(any(not r.host_fails for r in rows), "every program fails on the host: nothing was compared")


@case("compat-judges", 60)
def judges():
    """What makes a run fail: its status, a missing line, a forbidden one, another output, a hang; the rest still runs."""
    compat = load()
    runs = [compat.programs.Run("a", "p", "echo one; exit 3", match=("^one$",), status=3, same=True),
            compat.programs.Run("b", "p", "echo here; sleep 100", limit=2),
            compat.programs.Run("c", "p", "printf end", match=(r"\Aend\Z",))]
    rows = compat.compare(runs, 1)
    expect([bool(r.here_fails) for r in rows] == [False, True, False], [r.here_fails for r in rows])
    expect("hung" in rows[1].here_fails and rows[1].here.output == "here\n", rows[1].here)
    good = rows[0].here
    for change in ({"status": 0}, {"match": ("two",)}, {"absent": ("on",)}):
        bad = compat.dataclasses.replace(runs[0], **change)
        expect(compat.judge(bad, good, rows[0].host), "judged as passed: %r" % bad)
    expect(compat.judge(runs[0], good, compat.Outcome(3, "other\n")), "another output than the host's passed")
