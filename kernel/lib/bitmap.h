/* SPDX-License-Identifier: MIT
 *
 * Plain (non-atomic) bitmaps of 64-bit words, and the CPU mask built on them. The lock of the structure that holds the
 * bitmap protects it.
 */
#ifndef LIB_BITMAP_H
#define LIB_BITMAP_H

#include "types.h"

#define BITMAP_WORDS(bits) (((bits) + 63) / 64)

static inline void bit_set(u64 *map, unsigned bit)
{
	map[bit / 64] |= 1ull << (bit % 64);
}

static inline void bit_clear(u64 *map, unsigned bit)
{
	map[bit / 64] &= ~(1ull << (bit % 64));
}

static inline bool bit_test(const u64 *map, unsigned bit)
{
	return map[bit / 64] >> (bit % 64) & 1;
}

/** bit_find_next() - Return: the first set bit >= @from, or @bits if there is none. */
static inline unsigned bit_find_next(const u64 *map, unsigned bits, unsigned from)
{
	unsigned w = from / 64;
	u64 word;

	if (from >= bits)
		return bits;
	/* Marked: some bitmaps are changed by atomic operations meanwhile, and looked at as a hint. */
	word = READ_ONCE(map[w]) & (~0ull << (from % 64));
	while (!word) {
		if (++w >= BITMAP_WORDS(bits))
			return bits;
		word = READ_ONCE(map[w]);
	}
	from = w * 64 + (unsigned)__builtin_ctzll(word);
	return from < bits ? from : bits;
}

/** bit_find_first() - Return: the first set bit, or @bits if there is none. */
static inline unsigned bit_find_first(const u64 *map, unsigned bits)
{
	return bit_find_next(map, bits, 0);
}

/** struct cpumask - a set of CPU indices (0 .. MAX_CPUS - 1). */
struct cpumask {
	u64 bits[BITMAP_WORDS(MAX_CPUS)];
};

static inline void cpumask_set(struct cpumask *m, unsigned cpu)
{
	bit_set(m->bits, cpu);
}

static inline void cpumask_clear(struct cpumask *m, unsigned cpu)
{
	bit_clear(m->bits, cpu);
}

static inline bool cpumask_test(const struct cpumask *m, unsigned cpu)
{
	return bit_test(m->bits, cpu);
}

/** cpumask_next() - Return: the first member >= @from, or MAX_CPUS. */
static inline unsigned cpumask_next(const struct cpumask *m, unsigned from)
{
	return bit_find_next(m->bits, MAX_CPUS, from);
}

static inline unsigned cpumask_first(const struct cpumask *m)
{
	return cpumask_next(m, 0);
}

static inline bool cpumask_empty(const struct cpumask *m)
{
	for (unsigned i = 0; i < ARRAY_SIZE(m->bits); i++)
		if (m->bits[i])
			return false;
	return true;
}

/** cpumask_and() - @dst = @a & @b; Return: whether anything is left. */
static inline bool cpumask_and(struct cpumask *dst, const struct cpumask *a,
			       const struct cpumask *b)
{
	u64 any = 0;

	for (unsigned i = 0; i < ARRAY_SIZE(dst->bits); i++)
		any |= dst->bits[i] = a->bits[i] & b->bits[i];
	return any != 0;
}

#define for_each_cpu_in(cpu, mask) \
	for ((cpu) = cpumask_first(mask); (cpu) < MAX_CPUS; (cpu) = cpumask_next(mask, (cpu) + 1))

#endif
