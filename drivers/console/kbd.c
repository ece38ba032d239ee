// SPDX-License-Identifier: MIT
/*
 * Scan codes to bytes. Bit 7 set means the key was released. 0xe0 comes before the keys the first
 * PC keyboard did not have: arrows and their block, right Ctrl and Alt.
 */
#include <string.h>

#include "kbd.h"

static const char plain[0x3a] =
	"\0\0331234567890-=\177\tqwertyuiop[]\r\0asdfghjkl;'`\0\\zxcvbnm,./\0*"
	"\0 ";
static const char shifted[0x3a] =
	"\0\033!@#$%^&*()_+\177\tQWERTYUIOP{}\r\0ASDFGHJKL:\"~\0|ZXCVBNM<>?\0*\0 ";
/* keypad from 0x47, with NumLock */
static const char keypad[] = "789-456+1230.";

enum {
	KEY_CTRL = 0x1d,
	KEY_LSHIFT = 0x2a,
	KEY_RSHIFT = 0x36,
	KEY_ALT = 0x38,
	KEY_CAPS = 0x3a,
	KEY_F1 = 0x3b,
	KEY_F10 = 0x44,
	KEY_NUM = 0x45,
	KEY_PAD_FIRST = 0x47,
	KEY_PAD_MINUS = 0x4a,
	KEY_PAD_PLUS = 0x4e,
	KEY_PAD_LAST = 0x53,
	KEY_F11 = 0x57,
	KEY_F12 = 0x58,
	CODE_EXTENDED = 0xe0,
	CODE_PAUSE = 0xe1,
};

static size_t emit(uint8_t *out, const char *s)
{
	size_t n = strlen(s);

	memcpy(out, s, n);
	return n;
}

/* The editing block: what code of the keypad position means without NumLock. */
static const char *editing_key(uint8_t code)
{
	switch (code) {
	case 0x47:
		return "\033[H";
	case 0x48:
		return "\033[A";
	case 0x49:
		return "\033[5~";
	case 0x4b:
		return "\033[D";
	case 0x4d:
		return "\033[C";
	case 0x4f:
		return "\033[F";
	case 0x50:
		return "\033[B";
	case 0x51:
		return "\033[6~";
	case 0x52:
		return "\033[2~";
	case 0x53:
		return "\033[3~";
	}
	return "";
}

static const char *function_key(uint8_t code)
{
	static const char *const f[] = {"\033[[A",  "\033[[B",	"\033[[C",  "\033[[D",	"\033[[E",
					"\033[17~", "\033[18~", "\033[19~", "\033[20~", "\033[21~"};

	if (code == KEY_F11)
		return "\033[23~";
	if (code == KEY_F12)
		return "\033[24~";
	return f[code - KEY_F1];
}

/* Returns true if the key is a modifier; its state has been taken over. */
static bool modifier(struct kbd *k, uint8_t code, bool extended, bool down)
{
	switch (code) {
	case KEY_CTRL:
		k->ctrl = down;
		return true;
	case KEY_ALT:
		k->alt = down;
		return true;
	case KEY_LSHIFT:
	case KEY_RSHIFT:
		/* The extended forms are not keys: some keyboards wrap arrows in them. */
		if (!extended)
			k->shift = down;
		return true;
	case KEY_CAPS:
		k->caps ^= down;
		return true;
	case KEY_NUM:
		k->num ^= down;
		return true;
	}
	return false;
}

static size_t character(const struct kbd *k, uint8_t code, uint8_t *out)
{
	char c = k->shift ? shifted[code] : plain[code];
	size_t n = 0;

	if (!c && !(k->ctrl && code == 0x39))
		return 0;
	if (k->caps && plain[code] >= 'a' && plain[code] <= 'z')
		c ^= 0x20;
	if (k->ctrl) {
		if ((c >= '@' && c <= '_') || (c >= 'a' && c <= 'z'))
			c &= 0x1f;
		else if (c == ' ' || c == '2')
			c = 0;
		else if (c == '/')
			c = 0x1f;
		else if (c == 0x7f)
			c = '\b';
	}
	if (k->alt)
		out[n++] = 0x1b;
	out[n++] = c;
	return n;
}

size_t kbd_scancode(struct kbd *k, uint8_t code, uint8_t out[KBD_MAX])
{
	bool extended = k->extended;
	bool down = !(code & 0x80);

	if (k->skip) {
		k->skip--;
		return 0;
	}
	if (code == CODE_EXTENDED || code == CODE_PAUSE) {
		k->extended = code == CODE_EXTENDED;
		k->skip = code == CODE_PAUSE ? 2 : 0;
		return 0;
	}
	k->extended = false;
	code &= 0x7f;
	if (modifier(k, code, extended, down) || !down)
		return 0;
	if (code >= KEY_PAD_FIRST && code <= KEY_PAD_LAST) {
		char c = keypad[code - KEY_PAD_FIRST];

		if (!extended && (k->num || c == '-' || c == '+')) {
			out[0] = c;
			return 1;
		}
		return emit(out, editing_key(code));
	}
	if ((code >= KEY_F1 && code <= KEY_F10) || code == KEY_F11 || code == KEY_F12)
		return emit(out, function_key(code));
	if (extended) {
		if (code == 0x1c || code == 0x35) {
			out[0] = code == 0x1c ? '\r' : '/';
			return 1;
		}
		return 0;
	}
	return code < sizeof(plain) ? character(k, code, out) : 0;
}
