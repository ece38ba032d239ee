/* SPDX-License-Identifier: MIT
 *
 * Object caches. Objects of one size are cut from slabs (one or a few pages with a header at the front); each CPU keeps a
 * magazine of free objects per cache, so that the usual allocation and release touch nothing shared. A magazine has a lock
 * only so that another CPU can empty it when memory runs out.
 *
 * Debug builds put a red zone behind each object and fill free objects with a pattern; both are checked.
 */
#include "mm/internal.h"

#define MAGAZINE_SIZE 29
#define SLAB_HEADER   64
#define MAX_EMPTY     2 /* empty slabs a cache keeps */

/* One CPU's free objects of one cache. Under .lock, interrupts off. */
struct magazine {
	spinlock_t lock; /* LOCK_SLAB_CPU */
	u32 count;
	s64 handed_out; /* allocated minus freed on this CPU */
	void *objects[MAGAZINE_SIZE];
};

/* At the start of a naturally aligned block of 2^order pages. Under cache->lock. */
struct slab {
	struct object_cache *cache;
	struct list link; /* cache->partial or cache->empty; unlinked while full */
	void *free;	  /* chain through the objects' first words */
	u32 in_use;
};

struct object_cache {
	spinlock_t lock;   /* LOCK_SLAB, interrupts off: lists, slabs */
	u32 stride;	   /* constant: distance of objects */
	u32 size;	   /* constant: usable bytes */
	u32 order;	   /* constant: pages of a slab */
	u32 per_slab;	   /* constant */
	bool no_magazines; /* constant */
	u32 nr_empty;
	s64 handed_out; /* allocated minus freed without a magazine */
	struct list partial, empty;
	const char *name;
	struct object_cache *next;	 /* all_caches; constant */
	struct magazine *mags[MAX_CPUS]; /* each set once by its CPU */
};

static struct object_cache *all_caches; /* grows by compare-and-swap at its head */
static struct object_cache magazine_cache;

static const u16 kmalloc_sizes[] = {32,	 64,  96,   128,  192,	256, 384,
				    512, 768, 1024, 1536, 2048, 3072};
#define KMALLOC_MAX_OBJECT 3072u
static struct object_cache *kmalloc_caches[ARRAY_SIZE(kmalloc_sizes)];
static u8 kmalloc_class[KMALLOC_MAX_OBJECT / 32 + 1]; /* by size in units of 32 bytes, rounded up */

#ifdef DEBUG
#define REDZONE	  16u
#define ZONE_LIVE 0x51ab0b1ec7a11ceull
#define ZONE_FREE 0xf4eef4eef4eef4eull
#define POISON	  0x6b

static u64 *zone_of(struct object_cache *c, void *obj)
{
	return (u64 *)((char *)obj + c->stride - REDZONE);
}

static void debug_new(struct object_cache *c, void *obj)
{
	memset(obj, POISON, c->stride - REDZONE);
	zone_of(c, obj)[0] = zone_of(c, obj)[1] = ZONE_FREE;
}

static void debug_alloc(struct object_cache *c, void *obj)
{
	const u8 *p = obj;

	if (zone_of(c, obj)[0] != ZONE_FREE || zone_of(c, obj)[1] != ZONE_FREE)
		panic("object cache %s: red zone of free object %p was overwritten", c->name, obj);
	for (u32 i = sizeof(void *); i < c->stride - REDZONE; i++)
		if (p[i] != POISON)
			panic("object cache %s: object %p was changed at +%u after it was freed",
			      c->name, obj, i);
	memset(obj, 0xa5, sizeof(void *));
	zone_of(c, obj)[0] = zone_of(c, obj)[1] = ZONE_LIVE;
}

static void debug_free(struct object_cache *c, void *obj)
{
	struct slab *s = (struct slab *)((u64)obj & ~((PAGE_SIZE << c->order) - 1));

	if (s->cache != c || ((u64)obj - (u64)s - SLAB_HEADER) % c->stride)
		panic("object cache %s: %p is not one of its objects", c->name, obj);
	if (zone_of(c, obj)[0] == ZONE_FREE)
		panic("object cache %s: object %p is freed twice", c->name, obj);
	if (zone_of(c, obj)[0] != ZONE_LIVE || zone_of(c, obj)[1] != ZONE_LIVE)
		panic("object cache %s: object %p was overrun", c->name, obj);
	debug_new(c, obj);
}
#else
#define REDZONE		    0u
#define debug_new(c, obj)   ((void)0)
#define debug_alloc(c, obj) ((void)0)
#define debug_free(c, obj)  ((void)0)
#endif

static void cache_setup(struct object_cache *c, const char *name, size_t size)
{
	u32 align = size >= 64 && size % 64 == 0 ? 64 : 16;
	u32 room;

	c->name = name;
	c->size = (u32)size;
	c->stride = (u32)ALIGN_UP(size + REDZONE, align);
	/* The smallest slab that wastes at most an eighth. */
	for (c->order = 0; c->order < 3; c->order++) {
		room = (u32)(PAGE_SIZE << c->order) - SLAB_HEADER;
		if (room >= c->stride && room % c->stride <= (PAGE_SIZE << c->order) / 8)
			break;
	}
	c->per_slab = ((u32)(PAGE_SIZE << c->order) - SLAB_HEADER) / c->stride;
	spin_init(&c->lock, "object cache", LOCK_SLAB);
	list_init(&c->partial);
	list_init(&c->empty);
	c->next = __atomic_load_n(&all_caches, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&all_caches, &c->next, c, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

struct object_cache *cache_create(const char *name, size_t size)
{
	u64 phys;
	struct object_cache *c;

	_Static_assert(sizeof(struct object_cache) <= PAGE_SIZE, "an object cache is one page");
	_Static_assert(sizeof(struct slab) <= SLAB_HEADER, "slab header");
	if (size < 8 || size > 3072)
		return NULL;
	phys = page_alloc_zero();
	if (!phys)
		return NULL;
	c = phys_to_virt(phys);
	cache_setup(c, name, size);
	return c;
}

static inline struct slab *slab_of(struct object_cache *c, void *obj)
{
	return (struct slab *)((u64)obj & ~((PAGE_SIZE << c->order) - 1));
}

/* One more empty slab. Context: no slab lock held. Return: whether there was memory. */
static bool slab_grow(struct object_cache *c)
{
	u64 phys = page_alloc(c->order), flags;
	struct slab *s;

	if (!phys)
		return false;
	s = phys_to_virt(phys);
	s->cache = c;
	s->in_use = 0;
	s->free = NULL;
	for (u32 i = c->per_slab; i-- > 0;) {
		void *obj = (char *)s + SLAB_HEADER + i * c->stride;

		debug_new(c, obj);
		*(void **)obj = s->free;
		s->free = obj;
	}
	flags = spin_lock_irqsave(&c->lock);
	list_add(&s->link, &c->empty);
	c->nr_empty++;
	spin_unlock_irqrestore(&c->lock, flags);
	return true;
}

/* Take up to @n objects out of slabs, fullest first. Context: c->lock. Return: how many. */
static u32 take(struct object_cache *c, void **out, u32 n)
{
	u32 got = 0;

	while (got < n) {
		struct slab *s;

		if (!list_empty(&c->partial)) {
			s = list_first(&c->partial, struct slab, link);
		} else if (!list_empty(&c->empty)) {
			s = list_first(&c->empty, struct slab, link);
			list_del(&s->link);
			c->nr_empty--;
			list_add(&s->link, &c->partial);
		} else {
			break;
		}
		while (got < n && s->free) {
			out[got++] = s->free;
			s->free = *(void **)s->free;
			s->in_use++;
		}
		if (!s->free)
			list_del_init(&s->link);
	}
	return got;
}

/* Put objects back into their slabs; slabs to be freed go to @surplus. Context: c->lock. */
static void give(struct object_cache *c, void **objects, u32 n, struct list *surplus)
{
	while (n--) {
		struct slab *s = slab_of(c, objects[n]);

		if (!s->free)
			list_add(&s->link, &c->partial);
		*(void **)objects[n] = s->free;
		s->free = objects[n];
		if (--s->in_use)
			continue;
		list_del(&s->link);
		if (c->nr_empty < MAX_EMPTY) {
			list_add(&s->link, &c->empty);
			c->nr_empty++;
		} else {
			list_add(&s->link, surplus);
		}
	}
}

/* Context: no slab lock held. Return: whether there was any. */
static bool free_surplus(struct object_cache *c, struct list *surplus)
{
	struct slab *s, *tmp;
	bool any = false;

	list_for_each_safe (s, tmp, surplus, link) {
		page_free(virt_to_phys(s), c->order);
		any = true;
	}
	return any;
}

static void *alloc_direct(struct object_cache *c)
{
	void *obj = NULL;
	u64 flags;

	do {
		flags = spin_lock_irqsave(&c->lock);
		c->handed_out += take(c, &obj, 1);
		spin_unlock_irqrestore(&c->lock, flags);
	} while (!obj && slab_grow(c));
	return obj;
}

static void free_direct(struct object_cache *c, void *obj)
{
	struct list surplus = LIST_INIT(surplus);
	u64 flags = spin_lock_irqsave(&c->lock);

	give(c, &obj, 1, &surplus);
	c->handed_out--;
	spin_unlock_irqrestore(&c->lock, flags);
	free_surplus(c, &surplus);
}

/* Make this CPU's magazine. The pointer is written by the CPU itself with interrupts off, read by others to empty it. */
static bool magazine_create(struct object_cache *c)
{
	struct magazine *m = alloc_direct(&magazine_cache);
	struct magazine **slot;
	u64 flags;

	if (!m)
		return false;
	debug_alloc(&magazine_cache, m);
	memset(m, 0, sizeof(*m));
	spin_init(&m->lock, "magazine", LOCK_SLAB_CPU);
	flags = irq_save();
	slot = &c->mags[cpu_index()];
	if (!*slot) {
		__atomic_store_n(slot, m, __ATOMIC_RELEASE);
		m = NULL;
	}
	irq_restore(flags);
	if (m) { /* an interrupt was faster, or we moved to another CPU */
		debug_free(&magazine_cache, m);
		free_direct(&magazine_cache, m);
	}
	return true;
}

static __attribute__((noinline)) void *alloc_slow(struct object_cache *c)
{
	struct magazine *m;
	void *obj = NULL;
	u64 flags;

	if (c->no_magazines)
		return alloc_direct(c);
	do {
		flags = irq_save();
		m = c->mags[cpu_index()];
		if (unlikely(!m)) {
			irq_restore(flags);
			if (!magazine_create(c))
				return alloc_direct(c);
			flags = irq_save();
			m = c->mags[cpu_index()];
			if (!m) { /* we moved to another CPU: once more */
				irq_restore(flags);
				continue;
			}
		}
		spin_lock_raw(&m->lock);
		if (!m->count) {
			spin_lock_raw(&c->lock);
			m->count = take(c, m->objects, MAGAZINE_SIZE / 2);
			spin_unlock_raw(&c->lock);
		}
		if (m->count) {
			obj = m->objects[--m->count];
			m->handed_out++;
		}
		spin_unlock_raw(&m->lock);
		irq_restore(flags);
		if (obj)
			return obj;
	} while (slab_grow(c));
	return NULL;
}

void *cache_alloc(struct object_cache *c)
{
	struct magazine *m;
	void *obj = NULL;
	u64 flags;

	if (alloc_fails())
		return NULL;
	flags = irq_save();
	m = c->mags[cpu_index()];
	if (likely(m)) {
		spin_lock_raw(&m->lock);
		if (likely(m->count)) {
			obj = m->objects[--m->count];
			m->handed_out++;
		}
		spin_unlock_raw(&m->lock);
	}
	irq_restore(flags);
	if (unlikely(!obj)) {
		obj = alloc_slow(c);
		if (!obj)
			return NULL;
	}
	debug_alloc(c, obj);
	return obj;
}

void *cache_zalloc(struct object_cache *c)
{
	void *obj = cache_alloc(c);

	if (obj)
		memset(obj, 0, c->size);
	return obj;
}

/* The magazine is full, or there is none yet. */
static __attribute__((noinline)) void free_slow(struct object_cache *c, void *obj)
{
	struct list surplus = LIST_INIT(surplus);
	struct magazine *m;
	u64 flags = irq_save();

	m = c->mags[cpu_index()];
	if (!m) {
		irq_restore(flags);
		free_direct(c, obj);
		return;
	}
	spin_lock_raw(&m->lock);
	if (m->count == MAGAZINE_SIZE) {
		u32 n = MAGAZINE_SIZE / 2 + 1; /* the oldest half goes back */

		spin_lock_raw(&c->lock);
		give(c, m->objects, n, &surplus);
		spin_unlock_raw(&c->lock);
		m->count -= n;
		memmove(m->objects, m->objects + n, m->count * sizeof(m->objects[0]));
	}
	m->objects[m->count++] = obj;
	m->handed_out--;
	spin_unlock_raw(&m->lock);
	irq_restore(flags);
	free_surplus(c, &surplus);
}

void cache_free(struct object_cache *c, void *obj)
{
	struct magazine *m;
	u64 flags;

	debug_free(c, obj);
	flags = irq_save();
	m = c->mags[cpu_index()];
	if (likely(m)) {
		spin_lock_raw(&m->lock);
		if (likely(m->count < MAGAZINE_SIZE)) {
			m->objects[m->count++] = obj;
			m->handed_out--;
			obj = NULL;
		}
		spin_unlock_raw(&m->lock);
	}
	irq_restore(flags);
	if (unlikely(obj))
		free_slow(c, obj);
}

bool slab_reap(void)
{
	bool any = false;

	for (struct object_cache *c = __atomic_load_n(&all_caches, __ATOMIC_ACQUIRE); c;
	     c = c->next) {
		struct list surplus = LIST_INIT(surplus);
		u64 flags = irq_save();

		for (unsigned i = 0; i < MAX_CPUS; i++) {
			struct magazine *m = __atomic_load_n(&c->mags[i], __ATOMIC_ACQUIRE);

			if (!m || !READ_ONCE(m->count))
				continue;
			spin_lock_raw(&m->lock);
			spin_lock_raw(&c->lock);
			give(c, m->objects, m->count, &surplus);
			spin_unlock_raw(&c->lock);
			m->count = 0;
			spin_unlock_raw(&m->lock);
		}
		spin_lock_raw(&c->lock);
		list_splice_tail_init(&c->empty, &surplus);
		c->nr_empty = 0;
		spin_unlock_raw(&c->lock);
		irq_restore(flags);
		any |= free_surplus(c, &surplus);
	}
	return any;
}

u64 slab_objects(void)
{
	s64 n = 0;

	/* Not the magazines themselves: their number grows with the CPUs that were here, it says nothing about leaks. */
	for (struct object_cache *c = __atomic_load_n(&all_caches, __ATOMIC_ACQUIRE); c;
	     c = c->next) {
		if (c == &magazine_cache)
			continue;
		n += READ_ONCE(c->handed_out);
		for (unsigned i = 0; i < MAX_CPUS; i++) {
			struct magazine *m = __atomic_load_n(&c->mags[i], __ATOMIC_ACQUIRE);

			if (m)
				n += READ_ONCE(m->handed_out);
		}
	}
	return n < 0 ? 0 : (u64)n;
}

void *kmalloc(size_t size)
{
	unsigned order = 0;
	u64 phys;

	if (size <= KMALLOC_MAX_OBJECT)
		return cache_alloc(kmalloc_caches[kmalloc_class[(size + 31) / 32]]);
	if (size > 1ull << 20)
		return NULL;
	while (PAGE_SIZE << order < size)
		order++;
	phys = page_alloc(order);
	return phys ? phys_to_virt(phys) : NULL;
}

void *kzalloc(size_t size)
{
	void *p = kmalloc(size);

	if (p)
		memset(p, 0, size);
	return p;
}

void kfree(void *p, size_t size)
{
	unsigned order = 0;

	if (!p)
		return;
	if (size <= KMALLOC_MAX_OBJECT) {
		cache_free(kmalloc_caches[kmalloc_class[(size + 31) / 32]], p);
		return;
	}
	while (PAGE_SIZE << order < size)
		order++;
	page_free(virt_to_phys(p), order);
}

void slab_init(void)
{
	static const char *const names[] = {
		"kmalloc-32",	"kmalloc-64",	"kmalloc-96",  "kmalloc-128", "kmalloc-192",
		"kmalloc-256",	"kmalloc-384",	"kmalloc-512", "kmalloc-768", "kmalloc-1024",
		"kmalloc-1536", "kmalloc-2048", "kmalloc-3072"};
	unsigned class = 0;

	_Static_assert(ARRAY_SIZE(names) == ARRAY_SIZE(kmalloc_sizes), "a name for each size");
	magazine_cache.no_magazines = true;
	cache_setup(&magazine_cache, "magazine", sizeof(struct magazine));
	for (unsigned i = 0; i < ARRAY_SIZE(kmalloc_sizes); i++) {
		kmalloc_caches[i] = cache_create(names[i], kmalloc_sizes[i]);
		if (!kmalloc_caches[i])
			panic("no memory for the object caches");
	}
	for (unsigned i = 0; i < ARRAY_SIZE(kmalloc_class); i++) {
		if (i * 32 > kmalloc_sizes[class])
			class ++;
		kmalloc_class[i] = (u8) class;
	}
}
