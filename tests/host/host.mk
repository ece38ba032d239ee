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

# The unit tests of a policy include its source themselves.
HOST_OWN_POLICY := $(addprefix kernel/sched/policy/,o1.c o1_j2.c o1_a3.c o1_int.c nick.c goodness.c)
HOST_SCHED_SRC := $(addprefix tests/host/,test_sched.c test_o1.c test_j2.c test_a3.c test_int.c \
	test_nick.c test_family.c test_goodness.c test_bound.c test_core.c test_switch.c test_trace.c test_show.c fuzz.c sim.c) \
	$(filter-out %_test.c,$(wildcard kernel/sched/*.c)) kernel/sched/policy_test.c \
	$(filter-out $(HOST_OWN_POLICY),$(wildcard kernel/sched/policy/*.c)) kernel/lib/format.c
HOST_LIB_SRC := tests/host/test_lib.c kernel/lib/string.c kernel/lib/format.c
HOST_HDR := $(wildcard tests/host/*.h tests/host/include/*/*.h kernel/lib/*.h kernel/sched/*.h kernel/sched/policy/*.h) \
	$(HOST_OWN_POLICY)

HOST_TESTS := $(B)/host/test_lib $(B)/host/test_sched
HOST_COMMANDS := tests/host/test_schedsim.py

# The simulator: the same core and policies for up to 1024 CPUs. The sanitized one is for the tests.
SIM_SRC := $(wildcard tests/host/schedsim/*.c) $(filter-out %_test.c,$(wildcard kernel/sched/*.c)) \
	$(wildcard kernel/sched/policy/*.c) kernel/lib/format.c
SIM_HDR := $(wildcard tests/host/schedsim/*.h tests/host/include/*/*.h kernel/lib/*.h kernel/sched/*.h \
	kernel/sched/policy/*.h)
SIM_CFLAGS := $(filter-out -O1 -fsanitize% -fno-sanitize% -Itests/host,$(HOST_CFLAGS)) -O2 -DMAX_CPUS=1024 \
	-Itests/host/schedsim

$(B)/host/test_sched: $(HOST_SCHED_SRC) $(HOST_HDR) tests/host/host.mk
	$(say) HOSTCC $@
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) $(HOST_CFLAGS) -o $@ $(HOST_SCHED_SRC)

$(B)/host/test_lib: $(HOST_LIB_SRC) $(HOST_HDR) tests/host/host.mk
	$(say) HOSTCC $@
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) $(HOST_CFLAGS) -fno-builtin $(HOST_RENAME) -o $@ $(HOST_LIB_SRC)

$(B)/host/schedsim: $(SIM_SRC) $(SIM_HDR) tests/host/host.mk
	$(say) HOSTCC $@
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) $(SIM_CFLAGS) -o $@ $(SIM_SRC) -lm

$(B)/host/schedsim-san: $(SIM_SRC) $(SIM_HDR) tests/host/host.mk
	$(say) HOSTCC $@
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) $(SIM_CFLAGS) -O1 $(filter -fsanitize% -fno-sanitize%,$(HOST_CFLAGS)) -o $@ $(SIM_SRC) -lm

# Instructions per operation; sim_cost.py counts them with callgrind.
SIM_COST_SRC := tests/host/schedcost/schedcost.c tests/host/schedsim/machine.c $(filter kernel/%,$(SIM_SRC))

$(B)/host/schedcost: $(SIM_COST_SRC) $(SIM_HDR) tests/host/host.mk
	$(say) HOSTCC $@
	@mkdir -p $(@D)
	$(Q)$(HOSTCC) $(SIM_CFLAGS) -o $@ $(SIM_COST_SRC)

.PHONY: sim sim-cost
sim: $(B)/host/schedsim

sim-cost: $(B)/host/schedsim $(B)/host/schedcost
	$(Q)B=$(B) $(PYTHON) tests/host/sim_cost.py

# The core with a thread for each CPU, under ThreadSanitizer. clang: volatile accesses are told apart.
TSAN_CC := clang
TSAN_SRC := tests/host/threads/threads.c $(filter kernel/%,$(SIM_SRC))
TSAN_MS ?= 1500

$(B)/host/threads: $(TSAN_SRC) $(SIM_HDR) tests/host/threads/include/arch/machine.h tests/host/host.mk
	$(say) TSANCC $@
	@mkdir -p $(@D)
	$(Q)$(TSAN_CC) $(filter-out -fsanitize% -fno-sanitize% -Itests/host%,$(HOST_CFLAGS)) -Itests/host/threads/include \
		-Itests/host/include \
		-fsanitize=thread -mllvm -tsan-distinguish-volatile=1 -o $@ $(TSAN_SRC) -lpthread

.PHONY: host-tsan
host-tsan: $(B)/host/threads $(B)/host/schedsim
	$(Q)bad=0; for p in $$($(B)/host/schedsim --list | cut -d' ' -f1); do for n in 2 4; do \
		timeout 300 $(B)/host/threads $$p $$n $(TSAN_MS) $(SEED) || { echo "not ok - $$p on $$n CPUs"; bad=1; }; \
	done; done; exit $$bad

# Coverage-guided fuzzing, with clang's libFuzzer. An input that fails is kept as build/host/fuzz-crash-*, and then
# made as short as a minute allows. CRASH=FILE runs and shortens one.
FUZZ_CC := clang
TIME ?= 60
FUZZ_SRC := $(patsubst tests/host/test_%,,$(filter-out %/policy_test.c,$(HOST_SCHED_SRC))) tests/host/fuzz_sched.c \
	kernel/sched/policy_test.c $(HOST_OWN_POLICY)
FUZZ_OPTIONS := -max_len=6000 -timeout=60 -detect_leaks=0 -verbosity=1 -print_final_stats=1 -artifact_prefix=$(B)/host/fuzz-

$(B)/host/fuzz-sched: $(FUZZ_SRC) $(HOST_HDR) tests/host/host.mk
	$(say) FUZZCC $@
	@mkdir -p $(@D)
	$(Q)$(FUZZ_CC) $(HOST_CFLAGS) -fsanitize=fuzzer -o $@ $(FUZZ_SRC)

.PHONY: fuzz-sched
fuzz-sched: $(B)/host/fuzz-sched
	@mkdir -p $(B)/host/fuzz-corpus
ifdef CRASH
	$(Q)$< -minimize_crash=1 -max_total_time=$(TIME) -detect_leaks=0 -exact_artifact_path=$(CRASH).short $(CRASH)
else
	$(Q)rm -f $(B)/host/fuzz-crash-*
	$(Q)$< $(FUZZ_OPTIONS) -len_control=0 -max_total_time=$(TIME) -seed=$(SEED) $(B)/host/fuzz-corpus || { \
		crash=$$(ls $(B)/host/fuzz-crash-* | head -n 1); \
		$(MAKE) -s fuzz-sched CRASH=$$crash >/dev/null 2>&1 || true; \
		ls -l $$crash*; exit 1; }
endif

.PHONY: host-test
host-test: $(HOST_TESTS) $(B)/host/schedsim $(B)/host/schedsim-san $(B)/host/schedcost
	$(Q)bad=0; for t in $(HOST_TESTS) $(HOST_COMMANDS); do echo "# $$t"; B=$(B) timeout 300 $$t || { echo "not ok - $$t failed (status $$?)"; bad=1; }; done; exit $$bad
