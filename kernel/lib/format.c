/* SPDX-License-Identifier: MIT
 *
 * printf-style formatting: one pass over the format, one output function that counts past the end of the buffer.
 */
#include "format.h"

#include "string.h"

struct out {
	char *buf;
	size_t size, len;
};

static void put(struct out *o, char c)
{
	if (o->len + 1 < o->size)
		o->buf[o->len] = c;
	o->len++;
}

static void pad(struct out *o, int n, char c)
{
	while (n-- > 0)
		put(o, c);
}

struct spec {
	bool left, zero, plus;
	int width, precision, longs; /* longs: -2 hh, -1 h, 0, 1 l/z, 2 ll */
};

static void put_number(struct out *o, const struct spec *s, u64 v, bool negative, unsigned base,
		       bool upper)
{
	char digits[24];
	int n = 0, sign = negative || s->plus;

	do {
		unsigned d = (unsigned)(v % base);

		digits[n++] = (char)(d < 10 ? '0' + d : (upper ? 'A' : 'a') + d - 10);
		v /= base;
	} while (v);
	if (!s->left && !s->zero)
		pad(o, s->width - n - sign, ' ');
	if (sign)
		put(o, negative ? '-' : '+');
	if (!s->left && s->zero)
		pad(o, s->width - n - sign, '0');
	for (int i = n; i-- > 0;)
		put(o, digits[i]);
	if (s->left)
		pad(o, s->width - n - sign, ' ');
}

static void put_string(struct out *o, const struct spec *s, const char *str)
{
	int n = 0;

	if (!str)
		str = "(null)";
	while ((s->precision < 0 || n < s->precision) && str[n])
		n++;
	if (!s->left)
		pad(o, s->width - n, ' ');
	for (int i = 0; i < n; i++)
		put(o, str[i]);
	if (s->left)
		pad(o, s->width - n, ' ');
}

static const char *parse_spec(const char *f, struct spec *s, va_list *ap)
{
	*s = (struct spec){.precision = -1};
	for (;; f++) {
		if (*f == '-')
			s->left = true;
		else if (*f == '0')
			s->zero = true;
		else if (*f == '+')
			s->plus = true;
		else
			break;
	}
	if (*f == '*') {
		s->width = va_arg(*ap, int);
		f++;
	} else {
		while (*f >= '0' && *f <= '9')
			s->width = s->width * 10 + *f++ - '0';
	}
	if (*f == '.') {
		s->precision = 0;
		if (*++f == '*') {
			s->precision = va_arg(*ap, int);
			f++;
		} else {
			while (*f >= '0' && *f <= '9')
				s->precision = s->precision * 10 + *f++ - '0';
		}
	}
	for (; *f == 'l' || *f == 'z' || *f == 'h'; f++)
		s->longs += *f == 'h' ? -1 : 1;
	return f;
}

int kvsnprintf(char *buf, size_t size, const char *f, va_list args)
{
	struct out o = {buf, size, 0};
	va_list ap;

	va_copy(ap, args);
	for (; *f; f++) {
		struct spec s;
		s64 d;

		if (*f != '%') {
			put(&o, *f);
			continue;
		}
		f = parse_spec(f + 1, &s, &ap);
		switch (*f) {
		case 'c':
			if (!s.left)
				pad(&o, s.width - 1, ' ');
			put(&o, (char)va_arg(ap, int));
			if (s.left)
				pad(&o, s.width - 1, ' ');
			break;
		case 's':
			put_string(&o, &s, va_arg(ap, const char *));
			break;
		case 'd':
		case 'i':
			d = s.longs > 0 ? va_arg(ap, s64) : va_arg(ap, int);
			put_number(&o, &s, d < 0 ? 0 - (u64)d : (u64)d, d < 0, 10, false);
			break;
		case 'u':
		case 'x':
		case 'X':
			put_number(&o, &s, s.longs > 0 ? va_arg(ap, u64) : va_arg(ap, unsigned),
				   false, *f == 'u' ? 10 : 16, *f == 'X');
			break;
		case 'p':
			s.zero = true;
			s.width = 16;
			put_number(&o, &s, (u64)va_arg(ap, void *), false, 16, false);
			break;
		case '%':
			put(&o, '%');
			break;
		case '\0': /* a lone % at the end */
			f--;
			break;
		default: /* show an unknown conversion as it stands */
			put(&o, '%');
			put(&o, *f);
		}
	}
	va_end(ap);
	if (size)
		buf[o.len < size ? o.len : size - 1] = '\0';
	return (int)o.len;
}

int ksnprintf(char *buf, size_t size, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = kvsnprintf(buf, size, fmt, ap);
	va_end(ap);
	return n;
}

void sb_printf(struct strbuf *sb, const char *fmt, ...)
{
	size_t room = sb->size - sb->len, n;
	va_list ap;

	va_start(ap, fmt);
	n = (size_t)kvsnprintf(sb->buf + sb->len, room, fmt, ap);
	va_end(ap);
	sb->len += n < room ? n : room - (room > 0);
}

void sb_cut(struct strbuf *sb)
{
	static const char line[] = "cut: there is more\n";

	if (!sb_full(sb))
		return;
	while (sb->len && (sb->len + sizeof(line) > sb->size || sb->buf[sb->len - 1] != '\n'))
		sb->len--;
	sb_printf(sb, line);
}
