# SPDX-License-Identifier: MIT
#
# Do the self-tests have teeth? Each mutant is one deliberate bug; the kernel
# is built with it in a copy of the tree, and a self-test of the expected name
# must fail (or panic or hang while only it runs).
"""Deliberate bugs that a named self-test must catch."""

import os
import re
import shutil
import tempfile

from cases_build import clean_copy, make
from lib import ROOT, case, expect, vm

# name; file; text that occurs there once; the same with the bug; self-tests of which one must fail.
# A text that no longer occurs makes the test fail: a mutant that mutates nothing proves nothing.
MUTANTS = (
    ("queue-bitmap-kept", "kernel/sched/policy/o1_family.h",
     "\tif (o1(p)->link.next == o1(p)->link.prev)\n\t\tbit_clear(array->bitmap, (unsigned)p->prio);\n", "",
     "sched_*"),
    ("queue-count-lost", "kernel/sched/policy/o1_family.h", "\tarray->nr_active--;\n", "", "sched_*"),
    ("pipe-wake-not-passed-on", "kernel/ipc/pipe.c",
     "\tif (left)\n\t\twaitq_wake_one(&p->readers);\n\treturn len;\n", "\treturn len;\n", "pipe_*"),
    ("pipe-writer-keeps-quiet", "kernel/ipc/pipe.c",
     "\tif (tell)\n\t\twaitq_wake(&p->readers, 1, 0);\n", "", "pipe_*"),
    ("migration-without-ipi", "kernel/sched/migrate.c",
     "\ttrace_ipi_send(TRACE_IPI_MIGRATE, cpu);\n\tmachine_send_migrate(cpu);\n",
     "\ttrace_ipi_send(TRACE_IPI_MIGRATE, cpu);\n", "migrate_*"),
    ("mutex-wake-not-passed-on", "kernel/ipc/mutex.c",
     "\t\tif (woken)\n\t\t\twaitq_wake(&m->waiters, 1, 0);\n",
     "\t\tif (woken && got)\n\t\t\twaitq_wake(&m->waiters, 1, 0);\n", "mutex_*"),
    ("stopped-anywhere", "arch/x86/machine.c", "\tif (c->preempt_count) {\n\t\tc->need_resched = 1;\n\t\treturn;\n\t}\n",
     "", "machine_stop*"),
    ("cow-shared-frame-written", "kernel/mm/fault.c", "page_refs(old) == 1) {", "page_refs(old) >= 1) {",
     "mm_fork_cow"),
)


def mutant(path, right, wrong, globs):
    with tempfile.TemporaryDirectory(prefix="jiffies-mutant-") as folder:
        clean_copy(folder)
        target = os.path.join(folder, path)
        with open(target, encoding="utf-8") as f:
            text = f.read()
        expect(text.count(right) == 1, "%r is in %s %d times, not once: update the mutant"
               % (right, path, text.count(right)))
        with open(target, "w", encoding="utf-8") as f:
            f.write(text.replace(right, wrong))
        make(folder, "kernel")
        shutil.copy(os.path.join(ROOT, "build", "initrd.cpio"), os.path.join(folder, "build"))
        seen = []
        for glob in globs.split():
            r = vm("--build", os.path.join(folder, "build"), "--smp", "4", "--selftest", glob, timeout=60, rc=None)
            # A panic, or a hang, while only these tests run is theirs as well.
            if r.rc in (1, 124, 126):
                failed = re.findall(r"^not ok \d+ (?:- )?(\S+)", r.text, re.M)
                expect(failed or r.rc != 1, "the run failed without naming a test; %s" % r)
                return
            seen.append(str(r))
        expect(False, "no self-test noticed the bug: " + "; ".join(seen))


@case("mutants-fit", 10)
def fit():
    """The mutants themselves take long; that each still finds its text is looked at every time."""
    for name, path, right, _, _ in MUTANTS:
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            count = f.read().count(right)
        expect(count == 1, "%s: %r is in %s %d times, not once" % (name, right, path, count))


for mutant_name, *rest in MUTANTS:
    case("mutant-" + mutant_name, 300, full=True, args=tuple(rest))(mutant)
