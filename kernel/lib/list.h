/* SPDX-License-Identifier: MIT
 *
 * Intrusive circular doubly linked lists. A list head and its links share one type; an empty head points to itself.
 */
#ifndef LIB_LIST_H
#define LIB_LIST_H

#include "types.h"

struct list {
	struct list *next, *prev;
};

#define LIST_INIT(name)          \
	{                        \
		&(name), &(name) \
	}

/** list_init() - make @l an empty head or an unlinked node. */
static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

/** list_empty() - Return: true if head @l has no members (or node @l is unlinked by list_del_init()). */
static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

/** list_insert() - link @n between @prev and @next, which are neighbours. */
static inline void list_insert(struct list *n, struct list *prev, struct list *next)
{
	n->prev = prev;
	n->next = next;
	prev->next = n;
	next->prev = n;
}

/** list_add() - put @n first in @head (or right after node @head). */
static inline void list_add(struct list *n, struct list *head)
{
	list_insert(n, head, head->next);
}

/** list_add_tail() - put @n last in @head (or right before node @head). */
static inline void list_add_tail(struct list *n, struct list *head)
{
	list_insert(n, head->prev, head);
}

/** list_del() - unlink @n; its own pointers stay as they were. */
static inline void list_del(struct list *n)
{
	struct list *next = n->next, *prev = n->prev;

	next->prev = prev;
	prev->next = next;
}

/** list_del_init() - unlink @n and leave it an empty list, so that list_empty(n) says "not linked". */
static inline void list_del_init(struct list *n)
{
	list_del(n);
	list_init(n);
}

/** list_splice_tail_init() - move all members of @from to the end of @to; @from becomes empty. */
static inline void list_splice_tail_init(struct list *from, struct list *to)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

#define list_entry(ptr, type, member)  container_of(ptr, type, member)
#define list_first(head, type, member) list_entry((head)->next, type, member)
#define list_last(head, type, member)  list_entry((head)->prev, type, member)
#define list_for_each(pos, head, member)                                                       \
	for (pos = list_entry((head)->next, __typeof__(*pos), member); &pos->member != (head); \
	     pos = list_entry(pos->member.next, __typeof__(*pos), member))
/* The loop body may unlink and free pos. */
#define list_for_each_safe(pos, tmp, head, member)                        \
	for (pos = list_entry((head)->next, __typeof__(*pos), member),    \
	    tmp = list_entry(pos->member.next, __typeof__(*pos), member); \
	     &pos->member != (head);                                      \
	     pos = tmp, tmp = list_entry(tmp->member.next, __typeof__(*tmp), member))

#endif
