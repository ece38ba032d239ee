# SPDX-License-Identifier: MIT
#
# Ring-3 programs: init, the drivers, the workloads. Included by the top Makefile, which sets B, Q,
# say and MUSL_CC. Gives USER_BINS and $(USER_MANIFEST), lines "GUESTPATH HOSTFILE" or
# "GUESTPATH -> TARGET" for tools/mkarchive. Every program is one static non-PIE ELF.

MUSL_CC ?= musl-gcc
PYTHON ?= python3
HOST_CC ?= cc
BUSYBOX ?= /bin/busybox
USER_MANIFEST ?= $(B)/user/manifest

# noseparate-code: text and constants share a segment, so that a small program is few pages.
USER_CFLAGS := -std=gnu11 -O2 -Wall -Wextra -Werror -fno-pie -fno-asynchronous-unwind-tables \
	-ffunction-sections -fdata-sections -ffile-prefix-map=$(CURDIR)=.
USER_LDFLAGS := -static -no-pie -pthread -Wl,--build-id=none -Wl,--gc-sections \
	-Wl,-z,noseparate-code

USER_LIB := $(sort $(wildcard user/lib/*.c))
WORKLOADS := $(basename $(notdir $(sort $(wildcard user/workloads/*.c))))
USER_TOOLS := $(filter-out init,$(basename $(notdir $(sort $(wildcard user/*.c)))))
# Programs of several files, each in a directory of its name.
USER_DIRS := trace

# $(1) program, $(2) sources
define user_program
USER_BINS += $(B)/user/$(1)
$(B)/user/$(1): $(patsubst %.c,$(B)/user/obj/%.o,$(2))
	$$(say) MUSLLD $$@
	@mkdir -p $$(@D)
	$$(Q)$$(MUSL_CC) $$(USER_LDFLAGS) -o $$@ $$^
endef

$(B)/user/obj/%.o: %.c user/user.mk
	$(say) MUSL $<
	@mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(USER_CFLAGS) -Iuser -MMD -MP -c -o $@ $<

USER_BINS :=
$(eval $(call user_program,init,user/init.c))
$(eval $(call user_program,console,$(filter-out %_test.c,$(sort $(wildcard drivers/console/*.c))) \
	drivers/lib/uart.c))
$(eval $(call user_program,ramfs,drivers/ramfs/ramfs.c drivers/ramfs/store.c))
$(eval $(call user_program,hostlink,drivers/hostlink/hostlink.c drivers/lib/uart.c))
$(foreach p,$(USER_TOOLS),$(eval $(call user_program,$(p),user/$(p).c $(USER_LIB))))
$(foreach p,$(USER_DIRS),$(eval $(call user_program,$(p),$(sort $(wildcard user/$(p)/*.c)) $(USER_LIB))))
$(foreach p,$(WORKLOADS),$(eval $(call user_program,$(p),user/workloads/$(p).c $(USER_LIB))))

USER_SBIN := init console hostlink ramfs
USER_ETC := passwd group profile motd
USER_DEMOS := $(sort $(wildcard user/etc/demos/*))
USER_APPLET_FILTER := $(USER_TOOLS) $(USER_DIRS) $(WORKLOADS) busybox

# The shell must find our programs, not those of busybox of the same name.
$(B)/user/busybox: $(BUSYBOX) tools/hide-applets user/user.mk
	@mkdir -p $(@D)
	$(Q)$(PYTHON) tools/hide-applets $(BUSYBOX) $@ $(USER_TOOLS) $(USER_DIRS) $(WORKLOADS)
	$(Q)chmod 755 $@

# Executables that execve() must refuse, for tests/guest/process.c.
BAD_ELF := $(B)/user/bad-elf
$(BAD_ELF).made: tests/guest/mkbad.py
	@mkdir -p $(@D)
	$(Q)$(PYTHON) $< $(BAD_ELF)
	$(Q)touch $@

$(USER_MANIFEST): $(USER_BINS) $(BAD_ELF).made user/user.mk $(B)/user/busybox $(USER_ETC:%=user/etc/%) user/demo $(USER_DEMOS)
	@mkdir -p $(@D)
	$(Q){ \
	for d in bin sbin etc etc/demos tmp mnt lib lib/bad-elf; do echo "/$$d/"; done; \
	for p in $(USER_SBIN); do echo "/sbin/$$p $(B)/user/$$p"; done; \
	for f in $(BAD_ELF)/*; do echo "/lib/bad-elf/$${f##*/} $$f"; done; \
	for p in $(USER_TOOLS) $(USER_DIRS) $(WORKLOADS); do echo "/bin/$$p $(B)/user/$$p"; done; \
	for f in $(USER_ETC); do echo "/etc/$$f user/etc/$$f"; done; \
	echo "/bin/demo user/demo"; \
	for f in $(USER_DEMOS); do echo "/etc/demos/$${f##*/} $$f"; done; \
	echo "/bin/busybox $(B)/user/busybox"; \
	echo "/bin/stress -> test_stress"; \
	$(BUSYBOX) --list | LC_ALL=C sort | while read -r a; do \
		case " $(USER_APPLET_FILTER) stress " in *" $$a "*) ;; \
		*) echo "/bin/$$a -> busybox";; esac; done; \
	} > $@

-include $(patsubst %.o,%.d,$(wildcard $(B)/user/obj/*/*.o $(B)/user/obj/*/*/*.o))

# Host tests of the drivers: line discipline, screen and keyboard, the tree of ramfs; host link protocol.
.PHONY: driver-test driver-unit-test
driver-test: driver-unit-test
	$(PYTHON) drivers/hostlink/hostlink_test.py $(HOST_CC)

driver-unit-test:
	@mkdir -p $(B)/user/host
	$(Q)$(HOST_CC) -std=gnu11 -g -Wall -Wextra -Werror -fsanitize=address,undefined \
		-o $(B)/user/host/ldisc_test drivers/console/ldisc.c drivers/console/ldisc_test.c
	$(Q)$(HOST_CC) -std=gnu11 -g -Wall -Wextra -Werror -fsanitize=address,undefined \
		-o $(B)/user/host/vt_test drivers/console/vt.c drivers/console/kbd.c drivers/console/vt_test.c
	$(Q)$(HOST_CC) -std=gnu11 -g -O1 -Wall -Wextra -Werror -fsanitize=address,undefined \
		-o $(B)/user/host/store_test drivers/ramfs/store.c drivers/ramfs/store_test.c
	$(B)/user/host/ldisc_test
	$(B)/user/host/store_test
	$(B)/user/host/vt_test
