; SPDX-License-Identifier: MIT
;
; Where an application processor (AP) wakes up: real mode, at the start of a page below 1 MiB. cpus_start() copies
; trampoline_start..trampoline_end there and fills in the words at its end. All APs may run through here at the same time, so
; nothing is written and no stack is used before an AP has found its struct cpu.

%include "asm.inc"

extern ap_table, ap_table_entries, kernel_pml4, ap_start
global trampoline_start, trampoline_end
global trampoline_patch

%define OFF(x) ((x) - trampoline_start)

section .rodata
align 16
bits 16
trampoline_start:
	cli
	cld
	mov ax, cs
	mov ds, ax
	movzx ebx, ax
	shl ebx, 4			; ebx = physical address of this page
	o32 lgdt [OFF(gdtr)]
	mov eax, 1			; PE; caches are set by the final CR0
	mov cr0, eax
	jmp far dword [OFF(to32)]

bits 32
tramp32:
	mov eax, 16
	mov ds, eax
	mov es, eax
	mov ss, eax
	mov eax, [ebx + OFF(patch.cr4)]
	mov cr4, eax
	mov eax, [ebx + OFF(patch.cr3)]
	mov cr3, eax
	mov ecx, 0xc0000080
	mov eax, [ebx + OFF(patch.efer)]
	xor edx, edx
	wrmsr
	mov eax, [ebx + OFF(patch.cr0)]
	mov cr0, eax
	jmp far dword [ebx + OFF(to64)]

bits 64
tramp64:
	mov eax, ebx			; clears the upper half
	jmp [rax + OFF(patch.entry)]

	align 8
gdt:	dq 0
	dq 0x00af9a000000ffff		; 8: 64-bit code
	dq 0x00cf92000000ffff		; 16: data
	dq 0x00cf9a000000ffff		; 24: 32-bit code
gdtr:	dw 31
	dd OFF(gdt)			; + page (patched)
	align 4
to32:	dd OFF(tramp32)			; + page (patched)
	dw 24
	align 4
to64:	dd OFF(tramp64)			; + page (patched)
	dw 8
	align 8
; Filled by cpus_start(); order as in struct trampoline_patch of smp.c.
patch:
.cr0:	dd 0
.cr3:	dd 0
.cr4:	dd 0
.efer:	dd 0
.entry:	dq 0
trampoline_end:

	align 8
; Offsets for the code that fills the copy in: three addresses to relocate, then the patch block.
trampoline_patch:
	dd OFF(gdtr) + 2, OFF(to32), OFF(to64), OFF(patch)

section .text
global ap_entry
; Long mode, higher half, still no stack. Find our entry of ap_table by the APIC id: ours, as the CPU itself says it.
ap_entry:
	xor eax, eax
	cpuid
	cmp eax, 11
	jb .old
	mov eax, 11			; extended topology: EDX = 32-bit APIC id
	xor ecx, ecx
	cpuid
	test ebx, ebx			; leaf not implemented?
	jnz .have
.old:	mov eax, 1
	cpuid
	shr ebx, 24			; initial APIC id
	mov edx, ebx
.have:	mov ecx, [ap_table_entries]
	mov rsi, ap_table
.find:	test ecx, ecx
	jz .park
	cmp [rsi], edx			; struct ap_slot: u32 id, u32, cpu, stack top
	je .found
	add rsi, 24
	dec ecx
	jmp .find
.found:	mov rdi, [rsi + 8]
	mov rsp, [rsi + 16]
	mov rax, [kernel_pml4]
	mov cr3, rax
	xor ebp, ebp
	call ap_start			; ap_start(cpu)
.park:	cli				; listed but not wanted (smp=), or not listed: asleep for good
	hlt
	jmp .park
