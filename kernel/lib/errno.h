/* SPDX-License-Identifier: MIT
 *
 * Error numbers, with the values of Linux/x86-64. Kernel functions return them negated.
 */
#ifndef LIB_ERRNO_H
#define LIB_ERRNO_H

#define EPERM	     1
#define ENOENT	     2
#define ESRCH	     3
#define EINTR	     4
#define EIO	     5
#define ENXIO	     6
#define E2BIG	     7
#define ENOEXEC	     8
#define EBADF	     9
#define ECHILD	     10
#define EAGAIN	     11
#define ENOMEM	     12
#define EACCES	     13
#define EFAULT	     14
#define EBUSY	     16
#define EEXIST	     17
#define EXDEV	     18
#define ENODEV	     19
#define ENOTDIR	     20
#define EISDIR	     21
#define EINVAL	     22
#define ENFILE	     23
#define EMFILE	     24
#define ENOTTY	     25
#define EFBIG	     27
#define ENOSPC	     28
#define ESPIPE	     29
#define EROFS	     30
#define EMLINK	     31
#define EPIPE	     32
#define EDOM	     33
#define ERANGE	     34
#define EDEADLK	     35
#define ENAMETOOLONG 36
#define ENOSYS	     38
#define ENOTEMPTY    39
#define ELOOP	     40
#define EOVERFLOW    75
#define ELIBBAD	     80
#define EOPNOTSUPP   95
#define EAFNOSUPPORT 97
#define ETIMEDOUT    110

/* Of sockets. */
#define ENOTSOCK	88
#define EMSGSIZE	90
#define EPROTONOSUPPORT 93
#define ESOCKTNOSUPPORT 94
#define EISCONN		106

/* Internal: never reaches user mode. The system call is restarted, or becomes EINTR, when a signal is delivered. */
#define ERESTARTSYS    512 /* restart if SA_RESTART or no handler */
#define ERESTARTNOINTR 513 /* restart in any case */
#define ERESTARTNOHAND 514 /* restart only if no handler runs */
#define ERESTART_RESTARTBLOCK \
	516 /* EINTR if a handler runs, else the call continues with its remaining time */

#endif
