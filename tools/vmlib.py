# SPDX-License-Identifier: MIT
#
# One machine under an emulator: what tools/vm, tools/bench and the tests in
# tests/vm share. Builds the QEMU (or Bochs) command line, carries the per-run
# archive, the frames of the host link and QMP, judges how the machine ended,
# and leaves neither processes nor files behind. Python standard library only.
"""Start a Jiffies machine and say exactly how it ended."""

import ctypes
import json
import os
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import elflibs  # noqa: E402
import newc  # noqa: E402
import tracelib  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# What the kernel writes to isa-debug-exit, as QEMU's exit status (2v+1).
QEMU_POWER_OFF = 33
QEMU_TEST_FAILED = 35
QEMU_PANIC = 37

EXIT_TIMEOUT = 124
EXIT_NO_START = 125
EXIT_PANIC = 126

# A guest that has reported its command's status and still runs after this
# many seconds does not know how to power off.
POWER_OFF_S = 30


class VmError(Exception):
    """The machine could not be started or did not do its job (exit 125)."""


class TimedOut(Exception):
    """The time limit passed (exit 124)."""


class Panic(Exception):
    """The kernel panicked (exit 126); str() is the report."""


class Config:
    """Everything a run can be given; see `tools/vm --help` for meanings."""

    def __init__(self, **kw):
        self.build = os.environ.get("JIFFIES_BUILD", os.path.join(ROOT, "build"))
        self.smp = 4
        self.mem = 512
        self.sched = None
        self.append = []
        self.add = []
        self.det = False
        self.seed = None
        self.icount = None
        self.boot = "kernel"
        self.emulator = "qemu"
        self.cpu = "max"
        self.display = False
        self.vga = False
        self.gdb_port = None
        self.gdb_wait = True
        self.command = None  # list of bytes, or None
        self.stdin_data = None  # bytes for /vm/stdin
        self.console = "file"  # COM1: file, stdio or socket
        self.qmp = False
        self.trace_resets = True
        self.trace = False  # take scheduler records out of the guest's memory
        for key, value in kw.items():
            if not hasattr(self, key):
                raise TypeError("no such setting: %s" % key)
            setattr(self, key, value)

    def kernel_args(self):
        args = []
        if self.sched:
            args.append("sched=%s" % self.sched)
        if self.det:
            args += ["det", "seed=%d" % (1 if self.seed is None else self.seed)]
        if self.trace and not self.det:  # deterministic runs record always
            args.append("trace=all")
        args += [a for a in self.append if a.strip()]
        return " ".join(args)


class FrameDecoder:
    """Cuts the host link's byte stream into (type, payload) frames."""

    TYPES = b"ROEX"
    READY = b"R\0\0"

    def __init__(self, skip_to_ready=False):
        """skip_to_ready: UEFI firmware prints on every serial port; drop that."""
        self.buf = bytearray()
        self.skip = skip_to_ready

    def feed(self, data):
        """Return the frames that these bytes complete."""
        self.buf += data
        frames = []
        if self.skip:
            at = self.buf.find(self.READY)
            if at < 0:
                del self.buf[: -len(self.READY) + 1]
                return frames
            del self.buf[:at]
            self.skip = False
        while self.buf:
            if self.buf[0] not in self.TYPES:
                raise VmError(
                    "garbage on the host link (COM2): %r" % bytes(self.buf[:32])
                )
            if len(self.buf) < 3:
                break
            end = 3 + int.from_bytes(self.buf[1:3], "little")
            if len(self.buf) < end:
                break
            frames.append((chr(self.buf[0]), bytes(self.buf[3:end])))
            del self.buf[:end]
        return frames


def frame(kind, payload=b""):
    """Encode one frame for the guest."""
    return kind.encode() + len(payload).to_bytes(2, "little") + payload


def _die_with_parent():
    """In the child: be killed if the parent is (Linux PR_SET_PDEATHSIG)."""
    try:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    except (OSError, AttributeError):
        pass


def find_firmware(kind):
    """Path of OVMF's CODE or VARS image."""
    for name in ("OVMF_%s_4M.fd", "OVMF_%s.fd"):
        for folder in ("/usr/share/OVMF", "/usr/share/edk2/x64", "/usr/share/edk2-ovmf/x64"):
            path = os.path.join(folder, name % kind)
            if os.path.exists(path):
                return path
    raise VmError("no UEFI firmware (OVMF_%s_4M.fd): install package ovmf" % kind)


def split_add(spec):
    """'F[:PATH]' -> (host file, guest path)."""
    if not os.path.exists(spec) and ":" in spec:
        host, _, guest = spec.rpartition(":")
        if guest.startswith("/"):
            return host, guest
    return spec, "/bin/" + os.path.basename(spec)


def add_files(archive, host, guest):
    """Put a file, or a directory with all that is in it, into the archive, and what dynamic programs need."""
    if os.path.isdir(host):
        archive.add_dir(guest)
        for name in sorted(os.listdir(host)):
            add_files(archive, os.path.join(host, name), guest + "/" + name)
        return
    with open(host, "rb") as f:
        data = f.read()
        execute = os.fstat(f.fileno()).st_mode & 0o111 or guest.startswith("/bin/")
    archive.add_file(guest, data, 0o755 if execute else 0o644)
    if execute:
        for path, library in elflibs.companions(host, guest).items():
            with open(library, "rb") as f:
                archive.add_file(path, f.read(), 0o755)


def free_port():
    """A TCP port for gdb: 1234 if it can be had."""
    for port in (1234, 0):
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                s.bind(("127.0.0.1", port))
                return s.getsockname()[1]
            except OSError:
                continue
    raise VmError("no free TCP port for gdb")


class Machine:
    """A machine from start() to close(); use as a context manager."""

    def __init__(self, cfg):
        self.cfg = cfg
        self.dir = tempfile.mkdtemp(prefix="jiffies-vm-")
        self.proc = None
        self.link = None  # connected socket of COM2
        self.console = None  # connected socket of COM1
        self.qmp_sock = None
        self.qmp_buf = b""
        self.log_path = self.path("kernel.log")
        self.serial_path = self.path("serial.log")
        self.link_path = self.path("link.out")
        self.fds = []
        self.ram_path = None
        self.harvest = None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def path(self, name):
        return os.path.join(self.dir, name)

    # ------------------------------------------------------------ preparing
    def _image(self, name, target):
        path = os.path.join(self.cfg.build, name)
        if os.path.exists(path):
            return path
        inside = os.path.dirname(os.path.abspath(self.cfg.build)) == ROOT
        if not inside or not os.path.exists(os.path.join(ROOT, "Makefile")):
            raise VmError("%s is missing" % path)
        print("vm: %s is missing, building it" % os.path.relpath(path), file=sys.stderr)
        debug = "1" if os.path.basename(self.cfg.build.rstrip("/")) == "build-debug" else "0"
        make = subprocess.run(
            ["make", "-s", "-C", ROOT, "DEBUG=" + debug, target],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            check=False,
        )
        if make.returncode != 0 or not os.path.exists(path):
            raise VmError("`make %s` did not produce %s" % (target, path))
        return path

    def _run_archive(self):
        """The second archive: the command, its input, --add files; or None."""
        cfg = self.cfg
        archive = newc.Archive()
        if cfg.command is not None:
            archive.add_file("/vm/argv", b"".join(a + b"\0" for a in cfg.command))
        if cfg.stdin_data is not None:
            archive.add_file("/vm/stdin", cfg.stdin_data)
        try:
            for spec in cfg.add:
                add_files(archive, *split_add(spec))
        except (OSError, ValueError, elflibs.ElfError) as e:
            raise VmError("--add: %s" % e) from e
        if cfg.boot != "kernel":
            # The disc's grub.cfg sources this; the disk itself is the module.
            cfg_text = "set args='%s'\n" % cfg.kernel_args().replace("'", "'\\''")
            archive.add_file("/vm/grub.cfg", b"")
            size = len(archive.encode()) + 8192
            cfg_text += "set run=0+%d\n" % (-(-size // 512))
            archive.add_file("/vm/grub.cfg", cfg_text.encode())
            data = archive.encode()
            data += bytes(-(-size // 512) * 512 - len(data))
        elif archive.nodes:
            data = archive.encode()
        else:
            return None
        path = self.path("run.cpio")
        with open(path, "wb") as f:
            f.write(data)
        return path

    def _qemu_argv(self):
        cfg = self.cfg
        qemu = shutil.which(os.environ.get("QEMU", "qemu-system-x86_64"))
        if not qemu:
            raise VmError("qemu-system-x86_64 not found: run tools/setup (package qemu-system-x86)")
        run = self._run_archive()
        argv = [qemu, "-M", "q35", "-accel", "tcg", "-nodefaults", "-no-reboot", "-no-user-config"]
        argv += ["-cpu", cfg.cpu, "-smp", str(cfg.smp), "-m", "%dM" % cfg.mem]
        argv += ["-device", "isa-debug-exit,iobase=0xf4,iosize=4"]
        if cfg.trace:
            argv += self._memory_file()
        if cfg.display:
            argv += ["-display", self._window(qemu), "-vga", "std"]
        else:
            argv += ["-display", "none"]
            if cfg.vga:
                argv += ["-vga", "std"]
        if cfg.det:
            shift = 3 if cfg.icount is None else cfg.icount
            argv += ["-icount", "shift=%d,sleep=off" % shift]
            argv += ["-rtc", "base=2026-01-01T00:00:00,clock=vm"]
        argv += ["-chardev", "file,id=log,path=%s" % self.log_path]
        argv += ["-device", "isa-debugcon,iobase=0xe9,chardev=log"]
        if cfg.console == "stdio":
            argv += ["-chardev", "stdio,id=com1,mux=on,signal=off,logfile=%s" % self.serial_path]
            argv += ["-mon", "chardev=com1,mode=readline"]
        elif cfg.console == "socket":
            self.console, fd = self._pair()
            argv += ["-chardev", "socket,id=com1,fd=%d,logfile=%s" % (fd, self.serial_path)]
        else:
            argv += ["-chardev", "file,id=com1,path=%s" % self.serial_path]
        argv += ["-serial", "chardev:com1"]
        if cfg.command is None or cfg.det:
            argv += ["-chardev", "file,id=link,path=%s" % self.link_path]
        else:
            self.link, fd = self._pair()
            argv += ["-chardev", "socket,id=link,fd=%d" % fd]
        argv += ["-serial", "chardev:link"]
        if cfg.qmp:
            self.qmp_sock, fd = self._pair()
            argv += ["-chardev", "socket,id=qmp,fd=%d" % fd, "-mon", "chardev=qmp,mode=control"]
        if cfg.gdb_port:
            argv += ["-gdb", "tcp:127.0.0.1:%d" % cfg.gdb_port] + (["-S"] if cfg.gdb_wait else [])
        argv += shlex.split(os.environ.get("JIFFIES_QEMU_ARGS", ""))
        if cfg.trace_resets:
            argv += ["-d", "cpu_reset", "-D", self.path("qemu.log")]
        if cfg.boot == "kernel":
            argv += ["-kernel", self._image("jiffies.elf32", "all")]
            modules = [self._image("initrd.cpio", "all")] + ([run] if run else [])
            argv += ["-initrd", ",".join(m.replace(",", ",,") for m in modules)]
            argv += ["-append", cfg.kernel_args()]
        else:
            iso = self._image("jiffies.iso", "iso")
            if cfg.boot == "uefi":
                argv += ["-drive", "if=pflash,format=raw,readonly=on,file=" + find_firmware("CODE")]
                argv += ["-drive", "if=pflash,format=raw,snapshot=on,file=" + find_firmware("VARS")]
            argv += ["-drive", "if=none,id=cd,media=cdrom,readonly=on,file=" + iso.replace(",", ",,")]
            argv += ["-device", "ide-cd,drive=cd,bus=ide.0,bootindex=0"]
            argv += ["-drive", "if=none,id=run,format=raw,snapshot=on,file=" + run]
            # OVMF connects only the disks that have a boot index.
            argv += ["-device", "ide-hd,drive=run,bus=ide.1,bootindex=1"]
        return argv

    def _memory_file(self):
        """The guest's memory as a file that this process can read: no device that the guest could see."""
        size = self.cfg.mem << 20
        folder = self.dir
        try:
            shm = os.statvfs("/dev/shm")
            if shm.f_bavail * shm.f_frsize > size:
                folder = "/dev/shm"
        except OSError:
            pass
        fd, self.ram_path = tempfile.mkstemp(prefix="jiffies-ram-", dir=folder)
        os.close(fd)
        self.harvest = tracelib.Harvest(self.ram_path, size, self._image("jiffies.elf", "all"))
        return ["-object", "memory-backend-file,id=ram,size=%dM,share=on,mem-path=%s" % (self.cfg.mem, self.ram_path),
                "-machine", "memory-backend=ram"]

    def take_trace(self):
        """The records of the run, which has ended, as the bytes of a trace file."""
        self.kill()
        seed = 1 if self.cfg.seed is None else self.cfg.seed
        return self.harvest.finish(seed if self.cfg.det else None)

    @staticmethod
    def _window(qemu):
        """QEMU's name for a window on this desktop."""
        offered = subprocess.run([qemu, "-display", "help"], capture_output=True, check=False,
                                 stdin=subprocess.DEVNULL).stdout.decode().split()
        for name, option in (("gtk", "gtk,zoom-to-fit=on"), ("sdl", "sdl"), ("cocoa", "cocoa")):
            if name in offered:
                return option
        raise VmError("this QEMU has no window to show: install package qemu-system-gui")

    def _bochs_argv(self):
        """Best effort (Bochs has neither isa-debug-exit nor QMP)."""
        cfg = self.cfg
        bochs = shutil.which("bochs")
        if not bochs:
            raise VmError("bochs is not installed (packages bochs bochsbios vgabios)")
        if cfg.boot == "kernel":
            cfg.boot = "iso"
        if cfg.boot == "uefi" or cfg.det or cfg.gdb_port or cfg.console == "stdio":
            raise VmError("--emulator bochs runs a COMMAND from the BIOS disc only")
        iso = self._image("jiffies.iso", "iso")
        run = self._run_archive()
        cylinder = 16 * 63 * 512
        size = -(-os.path.getsize(run) // cylinder) * cylinder
        os.truncate(run, size)
        lines = [
            "romimage: file=/usr/share/bochs/BIOS-bochs-latest",
            "vgaromimage: file=/usr/share/vgabios/vgabios.bin",
            "cpu: model=corei7_haswell_4770, count=%d, ips=50000000, reset_on_triple_fault=0" % cfg.smp,
            "memory: guest=%d, host=%d" % (cfg.mem, cfg.mem),
            "clock: sync=none",
            "display_library: %s" % ("x" if cfg.display else 'rfb, options="timeout=0"'),
            "ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14",
            "ata1: enabled=1, ioaddr1=0x170, ioaddr2=0x370, irq=15",
            "ata0-master: type=cdrom, path=%s, status=inserted" % iso,
            "ata1-master: type=disk, path=%s, mode=volatile, cylinders=%d, heads=16, spt=63"
            % (run, size // cylinder),
            "boot: cdrom",
            "com1: enabled=1, mode=file, dev=%s" % self.serial_path,
            "com2: enabled=1, mode=file, dev=%s" % self.link_path,
            "port_e9_hack: enabled=1",
            "panic: action=fatal",
            "log: %s" % self.path("qemu.log"),
        ]
        with open(self.path("bochsrc"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        with open(self.path("bochs.rc"), "w", encoding="ascii") as f:
            f.write("c\n")
        return [bochs, "-q", "-f", self.path("bochsrc"), "-rc", self.path("bochs.rc")]

    def _pair(self):
        ours, theirs = socket.socketpair()
        os.set_inheritable(theirs.fileno(), True)
        self.fds.append(theirs)
        return ours, theirs.fileno()

    # -------------------------------------------------------------- running
    def start(self):
        """Start the emulator. VmError if it cannot be."""
        cfg = self.cfg
        if not 1 <= cfg.smp <= 255:
            raise VmError("--smp must be 1 to 255")
        bochs = cfg.emulator == "bochs"
        argv = self._bochs_argv() if bochs else self._qemu_argv()
        interactive = cfg.console == "stdio"
        errors = open(self.path("qemu.err"), "wb")
        output = open(self.log_path, "wb") if bochs else errors
        env = dict(os.environ, LC_ALL="C", TZ="UTC")
        try:
            self.proc = subprocess.Popen(
                argv,
                stdin=None if interactive else subprocess.DEVNULL,
                stdout=None if interactive else output,
                stderr=errors,
                pass_fds=[s.fileno() for s in self.fds],
                start_new_session=not interactive,
                preexec_fn=_die_with_parent,
                env=env,
            )
        except OSError as e:
            raise VmError("cannot run %s: %s" % (argv[0], e)) from e
        finally:
            if self.harvest:
                self.harvest.start()
            errors.close()
            if bochs:
                output.close()
            for s in self.fds:
                s.close()
            self.fds = []

    def kill(self):
        """End the emulator now."""
        if self.proc and self.proc.poll() is None:
            self.proc.kill()
        if self.proc:
            self.proc.wait()

    def close(self):
        """End the emulator and remove every temporary file."""
        self.kill()
        for s in (self.link, self.console, self.qmp_sock):
            if s:
                s.close()
        if self.harvest:
            self.harvest.stop.set()
        if self.ram_path:
            try:
                os.unlink(self.ram_path)
            except OSError:
                pass
        shutil.rmtree(self.dir, ignore_errors=True)

    # ------------------------------------------------------------- evidence
    def _read(self, path):
        try:
            with open(path, "rb") as f:
                return f.read()
        except OSError:
            return b""

    def log(self):
        """The kernel log so far, as text."""
        return self._read(self.log_path).decode("utf-8", "replace")

    def serial(self):
        """What the serial console printed so far, as bytes."""
        return self._read(self.serial_path)

    def qemu_errors(self):
        return self._read(self.path("qemu.err")).decode("utf-8", "replace").strip()

    def panic_report(self):
        """The panic report in the log, or None."""
        lines = self.log().splitlines()
        first = next((i for i, s in enumerate(lines) if "PANIC:" in s), None)
        if first is None:
            return None
        last = next(
            (i for i in range(first, len(lines)) if "end of panic report" in lines[i]),
            len(lines) - 1,
        )
        return "\n".join(lines[first : last + 1])

    def log_tail(self, count=20):
        """The last lines of the log (or of the serial console) for a person."""
        text = self.log() or self.serial().decode("utf-8", "replace")
        return "\n".join(text.splitlines()[-count:])

    def write_log(self, path):
        """--log: kernel log, then serial console."""
        with open(path, "wb") as f:
            data = self._read(self.log_path)
            f.write(data)
            if data and not data.endswith(b"\n"):
                f.write(b"\n")
            f.write(b"---- serial console ----\n")
            f.write(self.serial())

    def switch_hash(self):
        """The hash of the log's power-off line, or None."""
        found = re.findall(r"power-off: switches (\d+) hash ([0-9a-f]{16})", self.log())
        return "%s %s" % found[-1] if found else None

    def judge(self):
        """After the emulator ended: return if in order, raise what happened if not."""
        code = self.proc.wait()
        report = self.panic_report()
        if code == QEMU_PANIC or report:
            raise Panic(report or "the kernel panicked without a report; last log lines:\n" + self.log_tail())
        if self.cfg.emulator == "bochs":
            return
        if code in (QEMU_POWER_OFF, QEMU_TEST_FAILED):
            return
        errors = self.qemu_errors()
        if code == 0:
            if b"Triple fault" in self._read(self.path("qemu.log")):
                raise VmError("triple fault; last log lines:\n" + self.log_tail())
            if self.cfg.console == "stdio":
                return
            raise VmError("the machine was reset; last log lines:\n" + self.log_tail())
        if code < 0:
            raise VmError("QEMU was killed by signal %d %s" % (-code, errors))
        raise VmError("QEMU exited with status %d: %s" % (code, errors or "no message"))

    def run_command(self, deadline, out, err, stdin_fd=None):
        """Relay the host link until the machine ends; return the command's status.

        out(bytes) and err(bytes) get the output; stdin_fd, if not None, is
        streamed in. deadline is a time.monotonic() value or None.
        """
        decoder = FrameDecoder(self.cfg.boot == "uefi")
        ready = threading.Event()
        status = None
        if self.link and stdin_fd is not None:
            threading.Thread(target=self._pump, args=(stdin_fd, ready), daemon=True).start()
        tail = None
        ended_at = None
        while True:
            running = self.proc.poll() is None
            if self.link:
                data = self._recv_link()
            else:
                if tail is None and os.path.exists(self.link_path):
                    tail = open(self.link_path, "rb")
                data = tail.read() if tail else b""
            for kind, payload in decoder.feed(data or b""):
                if kind == "R":
                    ready.set()
                elif kind == "O":
                    out(payload)
                elif kind == "E":
                    err(payload)
                else:
                    status = int.from_bytes(payload[:4], "little") & 255
                    ended_at = time.monotonic()
            if not running and not data:
                break
            if self.cfg.emulator == "bochs" and (status is not None or "end of panic" in self.log()):
                self.kill()
                continue
            now = time.monotonic()
            if deadline is not None and now > deadline:
                if self.panic_report():
                    raise Panic(self.panic_report())
                raise TimedOut()
            if ended_at and now > ended_at + POWER_OFF_S:
                raise VmError("the command ended with status %d but the machine did not power off" % status)
            if not self.link or data is None:
                time.sleep(0.01)
        if tail:
            tail.close()
        self.judge()
        if status is None:
            raise VmError(
                "the machine powered off without reporting the command's status; last log lines:\n"
                + self.log_tail()
            )
        return status

    def _recv_link(self):
        """Bytes; b'' when nothing came for a while; None after the end of file.

        The socket stays in blocking mode: that mode is shared with the pump.
        """
        try:
            if not select.select([self.link], [], [], 0.05)[0]:
                return b""
            return self.link.recv(65536) or None
        except OSError:
            return None

    def _pump(self, fd, ready):
        """Thread: the host's standard input to the guest, then the end mark."""
        ready.wait()
        try:
            while True:
                try:
                    data = os.read(fd, 512)
                except OSError:  # closed, or a terminal that went away
                    data = b""
                if not data:
                    break
                self.link.sendall(frame("I", data))
            self.link.sendall(frame("Z"))
        except OSError:  # the machine is gone
            pass

    # ------------------------------------------------------------------ QMP
    def _qmp_message(self, deadline):
        while b"\n" not in self.qmp_buf:
            self.qmp_sock.settimeout(max(0.01, deadline - time.monotonic()))
            data = self.qmp_sock.recv(65536)
            if not data:
                raise VmError("QMP closed")
            self.qmp_buf += data
        line, _, self.qmp_buf = self.qmp_buf.partition(b"\n")
        return json.loads(line)

    def qmp(self, command, timeout=20, **arguments):
        """One QMP command; returns its result."""
        deadline = time.monotonic() + timeout
        if not getattr(self, "_qmp_ready", False):
            self._qmp_message(deadline)
            self._qmp_ready = True
            self.qmp("qmp_capabilities")
        request = {"execute": command}
        if arguments:
            request["arguments"] = {k.replace("_", "-"): v for k, v in arguments.items()}
        self.qmp_sock.settimeout(timeout)
        self.qmp_sock.sendall(json.dumps(request).encode() + b"\n")
        while True:
            answer = self._qmp_message(deadline)
            if "return" in answer:
                return answer["return"]
            if "error" in answer:
                raise VmError("QMP %s: %s" % (command, answer["error"].get("desc")))

    def screen_text(self):
        """The 80x25 text screen as a list of lines, read from video memory."""
        path = self.path("screen.bin")
        self.qmp("pmemsave", val=0xB8000, size=80 * 25 * 2, filename=path)
        cells = self._read(path)[::2].decode("cp437")
        return [cells[i : i + 80].rstrip("\0 ") for i in range(0, 2000, 80)]

    def type_keys(self, text):
        """Press the keys of this text on the PS/2 keyboard."""
        names = {" ": "spc", "\n": "ret", "-": "minus", "/": "slash", ".": "dot", ";": "semicolon",
                 "=": "equal", ",": "comma", "'": "apostrophe", "\b": "backspace", "\t": "tab"}
        shifted = {"|": "backslash", ">": "dot", "<": "comma", "_": "minus", ":": "semicolon",
                   "$": "4", "+": "equal", "%": "5", "?": "slash", "&": "7", "*": "8", "(": "9", ")": "0", '"': "apostrophe", "!": "1"}
        for ch in text:
            if ch in shifted:
                keys = ["shift", shifted[ch]]
            elif ch.isupper():
                keys = ["shift", ch.lower()]
            elif ch == "\x03":
                keys = ["ctrl", "c"]
            else:
                keys = [names.get(ch, ch)]
            self.qmp("send-key", keys=[{"type": "qcode", "data": k} for k in keys], hold_time=20)
            time.sleep(0.05)
