# SPDX-License-Identifier: MIT
#
# Builds the kernel, its ring-3 programs, the boot archive and the disc, and
# carries every front door of the project: `make help` lists them. GNU make.
# All output goes to build/ (build-debug/ with DEBUG=1); nothing is downloaded.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
.DEFAULT_GOAL := all

# ---------------------------------------------------------------- variables
# What a run is given; see `make help`.
SMP    ?= 4
MEM    ?= 512
SCHED  ?= o1
APPEND ?=
DEBUG  ?= 0
DET    ?= 0
SEED   ?= 1
V      ?= 0

# The compiler: CC if given, else CROSS's gcc, else the first that exists.
# The binutils follow the compiler's prefix; clang uses the plain ones.
CROSS ?=
ifneq ($(CROSS),)
PREFIX := $(CROSS)
else
PREFIX := $(shell for p in x86_64-elf- x86_64-linux-gnu-; do \
	command -v $${p}gcc >/dev/null 2>&1 && command -v $${p}ld >/dev/null 2>&1 && \
	{ echo $$p; exit; }; done)
endif
ifeq ($(origin CC),default)
CC := $(PREFIX)gcc
endif
LD      := $(PREFIX)ld
NM      := $(PREFIX)nm
OBJCOPY := $(PREFIX)objcopy
NASM    ?= nasm
PYTHON  ?= python3
MUSL_CC ?= musl-gcc
MKRESCUE ?= grub-mkrescue

# The same bytes wherever and whenever they are built.
export SOURCE_DATE_EPOCH := 1767225600
export LC_ALL := C
export TZ := UTC

ifeq ($(DEBUG),1)
B := build-debug
else
B := build
endif

ifeq ($(V),1)
Q :=
say := @:
else
Q := @
say := @printf '  %-8s %s\n'
endif

# ------------------------------------------------------------------- kernel
IS_CLANG := $(findstring clang,$(notdir $(CC)))
CC_INCLUDE := $(shell $(CC) -print-file-name=include 2>/dev/null)

KWARN := -Wall -Wextra -Werror -Wmissing-prototypes -Wstrict-prototypes -Wold-style-definition \
	-Wvla -Wundef -Wshadow -Wpointer-arith -Wwrite-strings \
	-Wframe-larger-than=2048 -Wno-unused-parameter -Wno-sign-compare
KCODE := -std=gnu11 -ffreestanding -nostdinc -isystem $(CC_INCLUDE) \
	-m64 -march=x86-64 -mcmodel=kernel -mno-red-zone -mgeneral-regs-only \
	-fno-pic -fno-pie -fno-stack-protector -fcf-protection=none \
	-fno-strict-aliasing -fno-common -fno-asynchronous-unwind-tables -fwrapv \
	-fno-delete-null-pointer-checks -O2 -g -gdwarf-4
ifneq ($(IS_CLANG),)
KCODE += --target=x86_64-unknown-none-elf -Wno-unused-command-line-argument \
	-Wno-address-of-packed-member -fno-builtin-memset
else
KWARN += -Wimplicit-fallthrough -Wlogical-op -Wduplicated-cond
KCODE += -fno-tree-loop-distribute-patterns -fconserve-stack
endif
ifeq ($(DEBUG),1)
KCODE += -DDEBUG -fno-omit-frame-pointer -fno-optimize-sibling-calls \
	-fsanitize=undefined -fno-sanitize=alignment -fsanitize-undefined-trap-on-error
else
KCODE += -fomit-frame-pointer
endif
KINCLUDE := -Iarch/x86/include -Ikernel
KCFLAGS  := $(KCODE) $(KWARN) $(KINCLUDE) -ffile-prefix-map=$(CURDIR)=. $(KCFLAGS_EXTRA)
NASMFLAGS := -f elf64 --reproducible -w+error \
	-Iboot/ -Iarch/x86/ -Iarch/x86/include/
KLDFLAGS := -nostdlib -static -no-pie --build-id=none -z max-page-size=0x1000 -z noexecstack \
	--no-warn-rwx-segments --orphan-handling=place --fatal-warnings

KSRC_ASM := $(sort $(wildcard boot/*.asm arch/x86/*.asm))
KSRC_C   := $(sort $(wildcard arch/x86/*.c kernel/*.c kernel/*/*.c kernel/*/*/*.c))
KOBJ     := $(KSRC_ASM:%.asm=$(B)/obj/%.asm.o) $(KSRC_C:%.c=$(B)/obj/%.c.o)

KERNEL   := $(B)/jiffies.elf
KERNEL32 := $(B)/jiffies.elf32
INITRD   := $(B)/initrd.cpio
ISO      := $(B)/jiffies.iso
USER_MANIFEST := $(B)/user/manifest

.PHONY: all kernel user initrd iso
all: $(KERNEL) $(KERNEL32) $(INITRD)
kernel: $(KERNEL) $(KERNEL32)
initrd: $(INITRD)
iso: $(ISO)

# Rewritten only when the command line changes, so that another CC= or DEBUG=
# rebuilds what it must and nothing else.
FLAGS_NOW := $(CC) $(KCFLAGS) | $(NASM) $(NASMFLAGS) | $(LD) $(KLDFLAGS)
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(FLAGS_NOW)' | cmp -s - $@ || printf '%s\n' '$(FLAGS_NOW)' > $@
.PHONY: FORCE
FORCE:

$(B)/obj/%.c.o: %.c $(B)/flags
	$(say) CC $<
	@mkdir -p $(@D)
	$(Q)$(CC) $(KCFLAGS) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

# Dependencies by a run of their own: nasm 2.16's -MD forgets the included files.
$(B)/obj/%.asm.o: %.asm $(B)/flags
	$(say) NASM $<
	@mkdir -p $(@D)
	$(Q)$(NASM) $(NASMFLAGS) -M -MP -MT $@ -MF $(@:.o=.d) $<
	$(Q)$(NASM) $(NASMFLAGS) -o $@ $<

# Two links: the first gives the addresses, tools/ksyms turns them into a table
# in .ksyms (last in the image), the second carries it; no text may have moved.
$(B)/ksyms0.asm: tools/ksyms
	@mkdir -p $(@D)
	$(Q)$(PYTHON) tools/ksyms --empty > $@
$(B)/ksyms0.o: $(B)/ksyms0.asm
	$(Q)$(NASM) $(NASMFLAGS) -o $@ $<
$(B)/jiffies.stage1: $(KOBJ) $(B)/ksyms0.o linker.ld $(B)/flags
	$(say) LD $@
	$(Q)$(LD) $(KLDFLAGS) -T linker.ld -o $@ $(KOBJ) $(B)/ksyms0.o
$(B)/ksyms.asm: $(B)/jiffies.stage1 tools/ksyms
	$(Q)$(NM) -n $< | $(PYTHON) tools/ksyms > $@
$(B)/ksyms.o: $(B)/ksyms.asm
	$(Q)$(NASM) $(NASMFLAGS) -o $@ $<
$(KERNEL): $(B)/jiffies.stage1 $(B)/ksyms.o
	$(say) LD $@
	$(Q)$(LD) $(KLDFLAGS) -T linker.ld -o $@.tmp $(KOBJ) $(B)/ksyms.o
	$(Q)$(NM) -n $@.tmp | $(PYTHON) tools/ksyms --check $(B)/ksyms.asm
	$(Q)mv $@.tmp $@
$(KERNEL32): $(KERNEL)
	$(Q)$(OBJCOPY) --strip-debug -O elf32-i386 $< $@

-include $(KOBJ:.o=.d)

# ------------------------------------------------- user programs and archive
-include user/user.mk

# Programs that judge the kernel; each is /bin/test_NAME in the guest and runs
# on a Linux host as well. user/user.mk may have built them already.
ifndef GUEST_TESTS_BUILT
GUEST_SRC := $(sort $(wildcard tests/guest/*.c))
GUEST_BIN := $(foreach s,$(GUEST_SRC),$(B)/guest/test_$(patsubst test_%,%,$(basename $(notdir $(s)))))
GUEST_CFLAGS := -std=gnu11 -O2 -Wall -Wextra -Werror -static -no-pie -s -pthread -Iuser -Itests/guest \
	-ffile-prefix-map=$(CURDIR)=. -Wl,--build-id=none
define guest_rule
$(B)/guest/test_$(patsubst test_%,%,$(basename $(notdir $(1)))): $(1)
	$$(say) MUSL $$<
	@mkdir -p $$(@D)
	$$(Q)$$(MUSL_CC) $$(GUEST_CFLAGS) -MMD -MP -MF $$@.d -o $$@ $$<
endef
$(foreach s,$(GUEST_SRC),$(eval $(call guest_rule,$(s))))
-include $(GUEST_BIN:=.d)
endif

$(B)/guest/manifest: $(GUEST_BIN) Makefile
	@mkdir -p $(@D)
	$(Q)for f in $(GUEST_BIN); do echo "/bin/$${f##*/} $$f"; done > $@

user: $(USER_MANIFEST) $(GUEST_BIN)

$(INITRD): $(wildcard $(USER_MANIFEST)) $(USER_MANIFEST) $(B)/guest/manifest tools/mkarchive tools/newc.py
	$(say) ARCHIVE $@
	$(Q)$(PYTHON) tools/mkarchive -o $@ $(USER_MANIFEST) $(B)/guest/manifest

# --------------------------------------------------------------------- disc
# BIOS and UEFI in one; --modification-date also fixes the volume id, and
# mtools and xorriso obey SOURCE_DATE_EPOCH.
$(ISO): $(KERNEL) $(INITRD) boot/grub.cfg tools/mkiso
	$(say) ISO $@
	$(Q)tools/mkiso --mkrescue '$(MKRESCUE)' --objcopy '$(OBJCOPY)' -o $@ $(KERNEL) $(INITRD) boot/grub.cfg

# ---------------------------------------------------------------- front doors
# Recursive builds use every CPU unless make was told how many.
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell getconf _NPROCESSORS_ONLN))
VMFLAGS := --build $(B) --smp $(SMP) --mem $(MEM) --sched $(SCHED)
ifeq ($(DET),1)
VMFLAGS += --det --seed $(SEED)
endif
ifneq ($(APPEND),)
VMFLAGS += --append '$(APPEND)'
endif

.PHONY: help setup doctor run test test-full stress selftest host-test debug check bench \
	experiments demo compat screenshots clean format

help:
	@printf '%s\n' \
	'Targets' \
	'  make              build kernel, programs and boot archive into build/' \
	'  make run          boot to a shell in this terminal (leave: Ctrl-a x)' \
	'  make test         every test, under 10 minutes; last line "N passed, N failed"' \
	'  make test-full    the long set too: 200 boots, long stress, both compilers' \
	'  make selftest     the in-kernel tests only (SMP=, DEBUG=1, APPEND=selftest=glob)' \
	'  make host-test    unit tests and scheduler tests on this host only' \
	'  make stress       ten minutes of everything at once, SMP=8 unless given' \
	'  make debug        the machine under gdb with helpers' \
	'  make iso          small BIOS+UEFI disc: build/jiffies.iso' \
	'  make check        format, static analysis, both compilers, include direction, sizes' \
	'  make bench        instructions per operation against xv6, Linux and the aims' \
	'  make experiments  published claims about schedulers, measured: docs/results' \
	'  make demo         the demos: question, prediction, run, picture; N=3 does the third' \
	'  make compat       programs of Debian on the host and here: docs/compatibility.md' \
	'  make doctor       versions of every tool used' \
	'  make setup        install what building and running need (Debian, Ubuntu); make test installs the rest' \
	'  make screenshots  the pictures in docs/img, from runs made anew' \
	'  make format       run clang-format over the C files' \
	'  make clean        remove build/ and build-debug/' \
	'Variables (now)' \
	'  SMP=$(SMP)  MEM=$(MEM) (MiB)  SCHED=$(SCHED)  APPEND="$(APPEND)" (more kernel command line)' \
	'  DEBUG=$(DEBUG) (1: assertions, lock checks, UBSan; in build-debug/)' \
	'  DET=$(DET) SEED=$(SEED) (1: deterministic make run)  V=$(V) (1: show commands)' \
	'  CROSS=$(CROSS) (tool prefix)  CC=$(CC) (CC=clang works too)' \
	'One command in a fresh machine:  tools/vm --smp 8 -- nproc      (tools/vm --help)'

setup:
	$(Q)tools/setup

doctor:
	@tools/setup --doctor

run:
	$(Q)tools/setup
	$(Q)$(MAKE) -s $(JOBS) all
	$(Q)tools/vm $(VMFLAGS)

test:
	$(Q)tools/setup --test
	$(Q)$(MAKE) -s $(JOBS) all
	$(Q)tests/run

test-full:
	$(Q)tools/setup --test
	$(Q)$(MAKE) -s $(JOBS) all
	$(Q)tests/run --full

selftest: all
	$(Q)tools/vm $(VMFLAGS) --timeout 300 --selftest

stress: all
	$(Q)tests/vm/run --only stress --seconds 600 --smp $(if $(filter file,$(origin SMP)),8,$(SMP))

debug:
	$(Q)tools/setup
	$(Q)$(MAKE) -s $(JOBS) DEBUG=1 all
	$(Q)tools/debug --build build-debug --smp $(SMP) --mem $(MEM) --sched $(SCHED) --append '$(APPEND)'

check:
	$(Q)tools/setup --test
	$(Q)tools/check

bench: all
	$(Q)tools/bench --build $(B)

experiments: all
	$(Q)tools/experiments --build $(B)

# make demo lists them, make demo N=3 does one in fresh machines.
demo: $(if $(N),all)
	$(Q)JIFFIES_BUILD=$(B) tools/demo $(N)

compat: all
	$(Q)tools/setup --test
	$(Q)tools/compat

screenshots: all
	$(Q)tools/setup --test
	$(Q)tests/report/screenshots

format:
	$(Q)clang-format -i $$(git ls-files -co --exclude-standard '*.c' '*.h')

clean:
	rm -rf build build-debug

-include tests/host/host.mk

# For tools/check and editors.
.PHONY: print-kcflags
print-kcflags:
	@echo '$(KCFLAGS)'
