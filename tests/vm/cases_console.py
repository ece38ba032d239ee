# SPDX-License-Identifier: MIT
#
# The interactive machine, driven over its serial line and its keyboard: line
# editing, signals from keys, job control, a killed console server, and the
# screen as a person would see it.
"""The console, by typing."""

import os
import struct
import time

from lib import ROOT, Console, case, expect

SCREENS = os.path.join(ROOT, "build", "screens")


@case("console-shell")
def shell():
    with Console(smp=2) as c:
        c.prompt()
        expect("42x" in c.run("echo $((6*7))x"), "no answer")
        expect("4z" in c.run("echo abc | wc -c | tr -d ' \\n'; echo z"), "no pipeline")
        # Line editing: erase, left arrow, history.
        expect("ab1c" in c.run("echo abX\x7f$((0+1))c"), "erase")
        expect("p42q" in c.run("echo p$((41))q\x1b[D\x1b[D\x1b[D+1\x1b[C"), "cursor keys")
        c.run("echo first $((1+0))")
        c.send("\x1b[A\r")
        c.wait(b"\nfirst 1\r\n", what="the command of the history again")
        c.prompt()


@case("console-keys")
def keys():
    with Console(smp=4) as c:
        c.prompt()
        # ^C ends a foreground program, the shell lives.
        c.send("sleep 1000\r")
        time.sleep(1)
        c.send("\x03")
        c.prompt()
        expect("130!" in c.run("echo $?!"), "^C did not end sleep with SIGINT")
        # A busy one too.
        c.send("while :; do :; done\r")
        time.sleep(1)
        c.send("\x03")
        c.prompt()
        # ^D ends input of cat; line discipline echoes once, cat repeats.
        c.send("cat\r")
        time.sleep(0.5)
        c.send("hello\r")
        c.wait(b"hello\r\nhello\r\n", what="echo and copy of the line")
        c.send("erasX\x7fe\r")
        c.wait(b"erase\r\n", what="the corrected line")
        c.send("\x04")
        c.prompt()
        expect("0!" in c.run("echo $?!"), "cat did not end in order")


@case("console-jobs")
def jobs():
    with Console(smp=4) as c:
        c.prompt()
        c.run("sleep 1000 &")
        expect("Running" in c.run("jobs"), "no background job")
        c.run("kill %1; wait; true")
        c.send("sleep 1001\r")
        time.sleep(1)
        c.send("\x1a")
        c.prompt()
        expect("Stopped" in c.run("jobs"), "^Z did not stop")
        c.send("fg\r")
        time.sleep(1)
        c.send("\x03")
        c.prompt()
        expect("sleep 1001" not in c.run("ps | grep '[s]leep 1001'").split("\n", 1)[-1], "^C after fg")
        # Output of a background job does not disturb the shell.
        c.run("(sleep 0.5; echo from behind) &")
        c.wait(b"from behind")
        expect("7!" in c.run("echo $((3+4))!"), "shell after background output")


@case("console-killed-server", 90)
def killed_server():
    """SIGKILL the console server: the machine lives and init restarts it."""
    with Console(smp=4) as c:
        c.prompt()
        first = c.run("echo pid $(pidof console) end")
        c.send("kill -9 $(pidof console)\r")
        time.sleep(1.5)
        c.send("\recho Q$((5+7))Q\r")
        c.wait(b"\nQ12Q", what="an answer of the shell after the restart")
        c.prompt()
        second = c.run("echo pid $(pidof console) end")
        old, new = first.split("pid ")[-1].split()[0], second.split("pid ")[-1].split()[0]
        expect(old.isdigit() and new.isdigit() and old != new, "pids: %r, then %r" % (old, new))


@case("console-exit")
def leave():
    """poweroff ends the machine in order."""
    with Console(smp=2) as c:
        c.prompt()
        c.send("poweroff\r")
        end = time.monotonic() + 20
        while c.machine.proc.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        expect(c.machine.proc.poll() == 33, "QEMU's status is %s" % c.machine.proc.poll())
        expect("power-off: switches" in c.machine.log(), "no power-off line")


def png_size(path):
    with open(path, "rb") as f:
        head = f.read(24)
    expect(head[:8] == b"\x89PNG\r\n\x1a\n", "not a PNG")
    return struct.unpack(">II", head[16:24])


def wait_screen(c, words, seconds):
    end = time.monotonic() + seconds
    while True:
        lines = c.machine.screen_text()
        if words in "\n".join([""] + lines + [""]):
            return lines
        if time.monotonic() > end:
            expect(False, "%r is not on the screen within %d s:\n%s" % (words, seconds, "\n".join(lines)))
        c._fill(0.2)


def screen(boot):
    """The VGA screen shows the shell and takes keys from the keyboard."""
    os.makedirs(SCREENS, exist_ok=True)
    with Console(smp=4, boot=boot) as c:
        wait_screen(c, "jiffies:", 60)
        c.machine.type_keys("echo Keys-$((40+2))\n")
        wait_screen(c, "Keys-42", 20)
        c.machine.type_keys("sleep 99")
        c.machine.type_keys("\n")
        time.sleep(1)
        c.machine.type_keys("\x03")
        c.machine.type_keys("nproc | tr 4 F\n")
        lines = wait_screen(c, "F", 20)
        path = os.path.join(SCREENS, "shell-%s.png" % boot)
        c.machine.qmp("screendump", filename=path, format="png")
        expect(png_size(path) == (720, 400), "screen is %dx%d" % png_size(path))
        # The serial line shows the same session.
        c.wait(b"Keys-42", 10)
        # Scrolling: the last line of many is there, the first is gone.
        c.machine.type_keys("seq 1 60\n")
        lines = wait_screen(c, "\n60\n", 20)
        expect("60" in [s.strip() for s in lines] and "20" not in [s.strip() for s in lines],
               "no scrolling:\n" + "\n".join(lines))


case("screen-iso", 120, args=("iso",))(screen)
case("screen-kernel", 90, args=("kernel",))(screen)


@case("console-uefi", 120)
def console_uefi():
    """UEFI on serial: the shell answers."""
    with Console(smp=2, boot="uefi") as c:
        c.prompt(90)
        expect("42x" in c.run("echo $((6*7))x"), "no answer")
