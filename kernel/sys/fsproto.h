/* SPDX-License-Identifier: MIT
 *
 * The protocol between the kernel and a file server in user mode, over two pipes. The kernel asks, the server answers, in any order;
 * docs/ramfs.md is the reference. Both sides include this file, hence the plain types. Numbers are little-endian, errors Linux's.
 */
#ifndef SYS_FSPROTO_H
#define SYS_FSPROTO_H

#define FS_MESSAGE \
	4096 /* longest message: PIPE_BUF, so that each is written whole whoever else writes */
#define FS_NAME_MAX 255
#define FS_LINK_MAX 4095
#define FS_ROOT	    1u /* fid of the root, from the start */
/* Tags are below: the answers of so many requests fit into a pipe, so that the server never waits for its clients. */
#define FS_CALLS     15
#define FS_NOREPLACE 1u /* FS_RENAME */
#define FS_REMOVEDIR 1u /* FS_REMOVE: the name must be a directory's; otherwise it must not */
#define FS_APPEND    1u /* FS_WRITE: at the end, wherever that is */
#define FS_SET_SIZE  1u /* FS_SET, which of the attributes */
#define FS_SET_MODE  2u
#define FS_SET_MTIME 4u

/*			fid	   arg		    payload			answer's payload */
enum fs_type {
	FS_ATTACH =
		1, /* root				  				attributes */
	FS_WALK,   /* directory  fid to be	    name			attributes */
	FS_OPEN,   /* file					    			attributes */
	FS_CREATE, /* directory  fid to be	    name [NUL link text]; mode	attributes */
	FS_READ,   /* file	     offset	    - (count: how much)		bytes; none: the end */
	FS_WRITE,  /* file	     offset	    bytes			- (count; arg: offset after them) */
	FS_LIST,   /* directory  position	    - (count: how much)		entries; none: the end */
	FS_STAT,   /* file					    			attributes */
	FS_SET,	   /* file			    attributes			attributes */
	FS_REMOVE, /* directory		    name			- */
	FS_RENAME, /* directory  fid of another name NUL new name		- */
	FS_CLUNK,  /* file: the fid is free again, and there is no answer */
};

struct fs_message {
	unsigned int size;   /* of the message, this header included */
	unsigned short type; /* the answer's is the request's */
	unsigned short tag;  /* likewise */
	unsigned int error;  /* answer: 0, or why not; then nothing else counts */
	unsigned int count;
	unsigned long long fid, arg;
	unsigned int mode, flags;
};

struct fs_attr {
	unsigned long long ino, size; /* size: of contents or link text */
	unsigned int mode, mtime, links, pad;
};

/* One entry of a listing; the next begins at the next multiple of 8. */
struct fs_entry {
	unsigned long long ino, next; /* next: position after it */
	unsigned int mode, len;	      /* len: of the name, which follows */
};

#define FS_PAYLOAD (FS_MESSAGE - sizeof(struct fs_message))

#endif
