# SPDX-License-Identifier: MIT
#
# Tests that need no machine: the scheduler core and its policies on simulated
# CPUs, and the kernel's library, under the address and undefined-behaviour
# sanitizers. `make host-test` builds and runs them; each prints TAP.

HOSTCC ?= cc
HOST_CFLAGS := -std=gnu11 -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined \
	-fno-sanitize=alignment -fno-strict-aliasing -fwrapv -Wall -Wextra -Werror \
	-Wno-unused-parameter -Wno-sign-compare -Itests/host/include -Itests/host -Ikernel

# The kernel's own memory and string functions get other names here, so that they
# do not replace the host's.
HOST_RENAME := $(foreach f,memcpy memmove memset memcmp strlen strcmp strncmp strchr strrchr strstr,\
	-D$(f)=jiffies_$(f))

# test_o1.c includes policy/o1.c itself.
HOST_SCHED_SRC := $(addprefix tests/host/,test_sched.c test_o1.c test_core.c fuzz.c sim.c) \
	$(filter-out %_test.c,$(wildcard kernel/sched/*.c)) \
	$(filter-out %/o1.c,$(wildcard kernel/sched/policy/*.c))
HOST_LIB_SRC := tests/host/test_lib.c kernel/lib/string.c kernel/lib/format.c
HOST_HDR := $(wildcard tests/host/*.h tests/host/include/*/*.h kernel/lib/*.h kernel/sched/*.h kernel/sched/policy/*.h) \
	kernel/sched/policy/o1.c

HOST_TESTS := $(B)/host/test_lib $(B)/host/test_sched

$(B)/host/test_sched: $(HOST_SCHED_SRC) $(HOST_HDR) tests/host/host.mk
	$(say) HOSTCC $@
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) $(HOST_CFLAGS) -o $@ $(HOST_SCHED_SRC)

$(B)/host/test_lib: $(HOST_LIB_SRC) $(HOST_HDR) tests/host/host.mk
	$(say) HOSTCC $@
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) $(HOST_CFLAGS) -fno-builtin $(HOST_RENAME) -o $@ $(HOST_LIB_SRC)

.PHONY: host-test
host-test: $(HOST_TESTS)
	$(Q)bad=0; for t in $(HOST_TESTS); do echo "# $$t"; timeout 300 $$t || { echo "not ok - $$t failed (status $$?)"; bad=1; }; done; exit $$bad
