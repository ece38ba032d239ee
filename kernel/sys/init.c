/* SPDX-License-Identifier: MIT
 *
 * Making the node tree at start-up: devices and text nodes first, then every boot archive over them in the order the loader gave them.
 */
#include <arch/boot.h>

#include "lib/string.h"
#include "log.h"
#include "sys/node.h"

static void unpack_module(const struct boot_module *m)
{
	const u8 *data = phys_to_virt(m->start);
	u64 size = m->end - m->start;
	s64 count;

	if (size < 6 || memcmp(data, "070701", 6)) {
		klog("module %s is no cpio archive: ignored", m->name);
		return;
	}
	count = archive_unpack(node_root, data, size, m->name);
	if (count >= 0)
		klog("archive %s: %lld entries, %llu KiB", m->name, (long long)count,
		     (unsigned long long)size >> 10);
}

void sys_init(void)
{
	node_init();
	if (dev_init() || proc_init() || sched_text_init())
		panic("no memory for the node tree");
	for (unsigned i = 0; i < boot_info.nr_modules; i++)
		unpack_module(&boot_info.modules[i]);
}
