/* SPDX-License-Identifier: MIT
 *
 * What uname(2), /proc/version and /proc/sys/kernel say. The release is one that static glibc programs accept (they refuse
 * anything below 3.2).
 */
#ifndef SYS_VERSION_H
#define SYS_VERSION_H

#define UTS_SYSNAME "Linux"
#define UTS_RELEASE "6.1.0-jiffies"
#define UTS_VERSION "#1 SMP Jiffies"
#define UTS_MACHINE "x86_64"
#define UTS_DOMAIN  "(none)"
#define UTS_FIELD   65 /* bytes of each field of struct utsname */

/* NUL-terminated always; sethostname(2) writes it, and a reader may see a mix of old and new. Defined in kernel/sys/table.c. */
extern char host_name[UTS_FIELD];

#endif
