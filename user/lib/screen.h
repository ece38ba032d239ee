/* SPDX-License-Identifier: MIT */
/*
 * A full-screen program's terminal: keys one at a time, frames painted in place, everything put back at the end, whatever ends the
 * program. Without a terminal (batch) frames are plain text on standard output.
 */
#ifndef USER_LIB_SCREEN_H
#define USER_LIB_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

enum { KEY_NONE = -1, KEY_END_OF_INPUT = -2, KEY_LEFT = 256, KEY_RIGHT, KEY_UP, KEY_DOWN };

/** screen_begin() - take the terminal. Exits with a message if standard input or output is none. */
void screen_begin(void);

/** screen_end() - give it back; also done at exit and on signals that end or stop the program. */
void screen_end(void);

/** screen_cols(), screen_rows() - its size now; 80 and ~0 lines in batch. */
int screen_cols(void);
int screen_rows(void);

/** screen_line() - add a line to the frame, cut to the width; lines beyond the last row are dropped. */
void screen_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** screen_head() - the same in reverse video, over the whole width. */
void screen_head(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** screen_show() - paint the frame and begin the next. In batch: print it and an empty line. */
void screen_show(void);

/** screen_key() - wait at most @ms (-1: for ever). Return: a key, or KEY_NONE (also after a signal), KEY_END_OF_INPUT. */
int screen_key(int ms);

/** screen_ask() - ask in the last row. Return: whether something was entered; Escape is no. */
bool screen_ask(const char *question, char *answer, size_t size);

#endif
