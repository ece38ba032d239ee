/* SPDX-License-Identifier: MIT
 *
 * Memory and string functions with the C standard's contracts, plus strlcpy. The kernel has no libc; the host tests use
 * the host's own <string.h> through the same names.
 */
#ifndef LIB_STRING_H
#define LIB_STRING_H

#include "types.h"

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
char *strstr(const char *hay, const char *needle);

/**
 * str_copy() - copy @src to @dst, cut so that it fits with its NUL.
 * @size: bytes of @dst, at least 1.
 * Return: false if the string was cut.
 */
bool str_copy(char *dst, const char *src, size_t size);

/** glob_match() - Return: whether @s matches @pattern, where '*' is any run and '?' any character. */
bool glob_match(const char *pattern, const char *s);

/**
 * parse_u64() - read a whole string as a number (decimal, or hex after 0x).
 * Return: false if @s is empty, has other characters or overflows; *@out is then unchanged.
 */
bool parse_u64(const char *s, u64 *out);

#endif
