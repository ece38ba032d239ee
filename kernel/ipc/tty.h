/* SPDX-License-Identifier: MIT
 *
 * The terminal's data as programs see it: Linux's struct termios (as of TCGETS), struct winsize and request numbers.
 */
#ifndef IPC_TTY_H
#define IPC_TTY_H

#include "lib/types.h"

#define NCCS 19

struct ktermios {
	u32 c_iflag, c_oflag, c_cflag, c_lflag;
	u8 c_line;
	u8 c_cc[NCCS];
};

struct kwinsize {
	u16 rows, cols, xpixel, ypixel;
};

/* c_cc */
#define VINTR	 0
#define VQUIT	 1
#define VERASE	 2
#define VKILL	 3
#define VEOF	 4
#define VTIME	 5
#define VMIN	 6
#define VSTART	 8
#define VSTOP	 9
#define VSUSP	 10
#define VEOL	 11
#define VREPRINT 12
#define VDISCARD 13
#define VWERASE	 14
#define VLNEXT	 15
#define VEOL2	 16

#define ICRNL	0000400u
#define IXON	0002000u
#define IUTF8	0040000u
#define OPOST	0000001u
#define ONLCR	0000004u
#define B38400	0000017u
#define CS8	0000060u
#define CREAD	0000200u
#define HUPCL	0002000u
#define ISIG	0000001u
#define ICANON	0000002u
#define ECHO	0000010u
#define ECHOE	0000020u
#define ECHOK	0000040u
#define NOFLSH	0000200u
#define TOSTOP	0000400u
#define ECHOCTL 0001000u
#define ECHOKE	0004000u
#define IEXTEN	0100000u

#define TCGETS	   0x5401
#define TCSETS	   0x5402
#define TCSETSW	   0x5403
#define TCSETSF	   0x5404
#define TCSBRK	   0x5409
#define TCXONC	   0x540a
#define TCFLSH	   0x540b
#define TIOCSCTTY  0x540e
#define TIOCGPGRP  0x540f
#define TIOCSPGRP  0x5410
#define TIOCOUTQ   0x5411
#define TIOCGWINSZ 0x5413
#define TIOCSWINSZ 0x5414
#define TIOCINQ	   0x541b /* also called FIONREAD */
#define TIOCNOTTY  0x5422
#define TIOCGSID   0x5429
#define TIOCJEOF   0x5490 /* this system's own, server side: queue an end-of-file mark */
#define TIOCSIG	   0x40045436u

#endif
