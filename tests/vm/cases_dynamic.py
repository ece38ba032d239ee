# SPDX-License-Identifier: MIT
#
# Dynamic programs: tools/vm takes the interpreter and the libraries along, the
# kernel loads the interpreter, and the program behaves as on the host.
"""Dynamic programs of glibc and musl, and what --add does for them."""

import os
import shutil
import subprocess
import tempfile

from lib import VM, Skip, case, expect, vm

LIBRARY = r"""
static int calls = 40;
const char *names[] = {"none", "one", "two"}; /* relocated, then read-only */
int tell(int n) { calls += n; return calls; }
"""
PROGRAM = r"""
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/wait.h>
#include <unistd.h>
int tell(int);
extern const char *names[];
static __thread int own = 7;
static int shared = 1;
static void *run(void *arg) { own += *(int *)arg; shared += own; return NULL; }
int main(int argc, char **argv)
{
	int n = 5, status;
	pthread_t t;
	pthread_create(&t, NULL, run, &n);
	pthread_join(t, NULL);
	if (fork() == 0) {
		shared = 99; /* private: the parent must not see it */
		_exit(tell(1));
	}
	wait(&status);
	printf("%d %s %d own %d shared %d child %d\n", argc, argv[argc - 1], tell(2), own, shared,
	       WEXITSTATUS(status));
	printf("%s %s %.3f base %d entry %d\n", names[1], names[2], sqrt(argc), getauxval(AT_BASE) != 0,
	       getauxval(AT_ENTRY) != 0);
	return 3;
}
"""


def build(folder, cc):
    """A program with a library of its own beside it."""
    if not shutil.which(cc):
        raise Skip("no " + cc)
    for name, text in (("mine.c", LIBRARY), ("prog.c", PROGRAM)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    os.mkdir(os.path.join(folder, "lib"))
    for args in (["-shared", "-fPIC", "-o", "lib/libmine.so", "mine.c"],
                 ["-o", "prog", "prog.c", "-Llib", "-lmine", "-lm", "-pthread", "-Wl,-rpath,$ORIGIN/lib",
                  "-Wl,-z,now", "-Wl,-z,relro"]):
        subprocess.run([cc, "-O1", *args], cwd=folder, check=True)
    return os.path.join(folder, "prog")


def dynamic(cc, n):
    with tempfile.TemporaryDirectory() as folder:
        prog = build(folder, cc)
        here = subprocess.run([prog, "a", "b"], capture_output=True, check=False)
        r = vm("--smp", str(n), "--add", prog, cmd=["prog", "a", "b"], rc=3)
        expect(here.returncode == 3 and r.out == here.stdout, "the host says %r; %s" % (here.stdout, r))


case("dynamic-glibc", 90, args=("cc", 2))(dynamic)
case("dynamic-musl", 90, args=("musl-gcc", 1))(dynamic)


@case("dynamic-missing-parts", 90)
def missing():
    """A library that tools/vm cannot find is named; an interpreter that is not in the guest is ENOENT."""
    with tempfile.TemporaryDirectory() as folder:
        prog = build(folder, "cc")
        with open(prog, "rb") as f:
            data = f.read()
        other = os.path.join(folder, "other")
        with open(other, "wb") as f:
            f.write(data.replace(b"/lib64/ld-linux", b"/lib65/ld-linux"))
        os.chmod(other, 0o755)
        r = subprocess.run([VM, "--add", other, "--", "true"], capture_output=True, check=False, timeout=60)
        expect(r.returncode == 125 and b"/lib65/ld-linux" in r.stderr, "an interpreter the host lacks: %r" % r)
        os.remove(os.path.join(folder, "lib", "libmine.so"))
        r = subprocess.run([VM, "--add", prog, "--", "true"], capture_output=True, check=False, timeout=60)
        expect(r.returncode == 125 and b"libmine.so" in r.stderr, "a library that is gone: %r" % r)


@case("dynamic-add-directory", 90)
def directory():
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "a", "empty"))
        with open(os.path.join(folder, "a", "text"), "w", encoding="utf-8") as f:
            f.write("hello")
        r = vm("--smp", "1", "--add", folder + "/a:/data/a", cmd=["sh", "-c", "ls /data/a; cat /data/a/text"])
        expect(r.out == b"empty\ntext\nhello", str(r))


@case("dynamic-hackbench", 90)
def hackbench():
    """The field's own program, as Debian ships it."""
    path = shutil.which("hackbench")
    if not path:
        raise Skip("no hackbench (package rt-tests)")
    for mode in ("-p",), ("-p", "-T"), (), ("-T",):
        r = vm("--smp", "4", "--add", path, cmd=["hackbench", "-g", "2", "-l", "50", *mode])
        expect(b"Time: " in r.out, str(r))
