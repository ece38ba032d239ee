/* SPDX-License-Identifier: MIT
 *
 * printf-style formatting into a buffer.
 */
#ifndef LIB_FORMAT_H
#define LIB_FORMAT_H

#include <stdarg.h>

#include "types.h"

/**
 * kvsnprintf() - format into @buf, always NUL-terminated when @size > 0.
 *
 * Knows %c %s %d %i %u %x %X %p %% with flags '-', '0', '+', a width, '*', a precision for %s and the length
 * modifiers h, hh, l, ll, z. No floating point.
 * Return: the length the whole output would have, as snprintf.
 */
int kvsnprintf(char *buf, size_t size, const char *fmt, va_list ap);

/** ksnprintf() - kvsnprintf() with its arguments in line. */
int ksnprintf(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/** struct strbuf - a bounded text under construction; what does not fit is counted but dropped. */
struct strbuf {
	char *buf;
	size_t size, len; /* len <= size - 1 while size > 0 */
};

/** sb_full() - Return: whether nothing more fits into @sb, which may then end in the middle of a line. */
static inline bool sb_full(const struct strbuf *sb)
{
	return sb->len + 1 >= sb->size;
}

/** sb_cut() - if @sb is full: keep whole lines and let the last one be "cut: there is more". */
void sb_cut(struct strbuf *sb);

/** sb_printf() - append formatted text to @sb. */
void sb_printf(struct strbuf *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
