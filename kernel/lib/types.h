/* SPDX-License-Identifier: MIT
 *
 * Basic types and compiler helpers. Depends on the compiler only, so every file of the kernel and every host test may
 * include it.
 */
#ifndef LIB_TYPES_H
#define LIB_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef int64_t s64;

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define ARRAY_SIZE(a)			(sizeof(a) / sizeof((a)[0]))
#define ALIGN_UP(x, a)			(((x) + ((a)-1)) & ~((a)-1))
#define ALIGN_DOWN(x, a)		((x) & ~((a)-1))
#define DIV_ROUND_UP(n, d)		(((n) + (d)-1) / (d))

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define barrier()   __asm__ volatile("" ::: "memory")

/*
 * A function that saves every register itself, for the rare branch of an inline fast path. Its last call must be followed by
 * a barrier(): clang 14 makes a jump of a call at the end, after it has restored the registers, the arguments among them.
 */
#define KEEPS_REGISTERS __attribute__((no_caller_saved_registers))

#define READ_ONCE(x)	 (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))

#define min(a, b)                                  \
	({                                         \
		__typeof__(a) min_a_ = (a);        \
		__typeof__(b) min_b_ = (b);        \
		min_a_ < min_b_ ? min_a_ : min_b_; \
	})
#define max(a, b)                                  \
	({                                         \
		__typeof__(a) max_a_ = (a);        \
		__typeof__(b) max_b_ = (b);        \
		max_a_ > max_b_ ? max_a_ : max_b_; \
	})

#define NSEC_PER_SEC  1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define NSEC_PER_USEC 1000ull

/* The most CPUs a kernel image supports: 8-bit APIC ids, 255 being the broadcast. The simulator has more. */
#ifndef MAX_CPUS
#define MAX_CPUS 255
#endif

#endif
