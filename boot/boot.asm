; SPDX-License-Identifier: MIT
;
; Where the loader enters: multiboot headers, and the way from 32-bit protected mode without paging to 64-bit code in the
; higher half. qemu -kernel uses the multiboot 1 header (of the elf32 copy), GRUB either; both enter here the same way:
; eax = magic, ebx = physical address of the loader's information.
;
; .boot is linked at its physical address. All else is at physical + KERNEL_BASE, so this file subtracts that until paging
; is on.

%include "asm.inc"

PTE_P		equ 1
PTE_W		equ 2
PTE_PS		equ 0x80

extern kernel_main
global _start
global boot_pml4

; ------------------------------------------------------------------ headers
section .multiboot progbits alloc noexec nowrite align=8

MB1_MAGIC	equ 0x1badb002
MB1_FLAGS	equ 3			; modules page-aligned, memory map wanted
	dd MB1_MAGIC, MB1_FLAGS, -(MB1_MAGIC + MB1_FLAGS)

MB2_MAGIC	equ 0xe85250d6
	align 8
mb2:
	dd MB2_MAGIC, 0, mb2_end - mb2, -(MB2_MAGIC + (mb2_end - mb2))
	; information request, optional: command line, loader name, modules, memory map, ACPI root pointer old and new
	align 8
.info:	dw 1, 1
	dd .info_end - .info
	dd 1, 2, 3, 6, 14, 15
.info_end:
	; console: optional, we can do EGA text. No framebuffer tag: with one, GRUB leaves text mode whatever it asks for.
	align 8
	dw 4, 1
	dd 12, 2
	; modules page-aligned
	align 8
	dw 6, 0
	dd 8
	align 8
	dw 0, 0
	dd 8
mb2_end:

; ---------------------------------------------------------------- page tables
; Temporary: the first 4 GiB in 2 MiB pages, three times: at 0 (where we run), at DIRECT_MAP, and its first GiB at
; KERNEL_BASE. mem_init() replaces them; the AP trampoline uses boot_pml4 once more, with the final upper half.
section .bss nobits alloc noexec write align=4096
boot_pml4:	resb 4096
pdpt_low:	resb 4096
pdpt_high:	resb 4096
page_dirs:	resb 4 * 4096
; The first stack, until memory management gives the boot CPU a guarded one.
		resb 16384
boot_stack_top:

%define PHYS(sym) ((sym) - KERNEL_BASE)

; --------------------------------------------------------------------- entry
section .boot progbits alloc exec write align=16
bits 32
_start:
	cli
	cld
	mov esp, PHYS(boot_stack_top)
	mov ebp, eax			; magic
					; ebx: information, kept

	; Long mode? The CPUID instruction itself is older than anything that could boot us.
	mov eax, 0x80000000
	push ebx
	cpuid
	cmp eax, 0x80000001
	jb no_long_mode
	mov eax, 0x80000001
	cpuid
	test edx, 1 << 29
	jz no_long_mode
	pop ebx

	; .bss is clear by the contract of every loader; the page tables do not rely on it.
	mov edi, PHYS(boot_pml4)
	mov ecx, 7 * 4096 / 4
	xor eax, eax
	rep stosd

	mov edi, PHYS(page_dirs)
	mov eax, PTE_P | PTE_W | PTE_PS
.fill:	mov [edi], eax
	add edi, 8
	add eax, 0x200000
	jnc .fill			; wraps after 4 GiB

	mov edi, PHYS(pdpt_low)
	mov eax, PHYS(page_dirs) + (PTE_P | PTE_W)
	mov ecx, 4
.dirs:	mov [edi], eax
	add edi, 8
	add eax, 4096
	loop .dirs
	mov dword [PHYS(pdpt_high) + 510 * 8], PHYS(page_dirs) + (PTE_P | PTE_W)

	mov dword [PHYS(boot_pml4)], PHYS(pdpt_low) + (PTE_P | PTE_W)
	mov dword [PHYS(boot_pml4) + 256 * 8], PHYS(pdpt_low) + (PTE_P | PTE_W)
	mov dword [PHYS(boot_pml4) + 511 * 8], PHYS(pdpt_high) + (PTE_P | PTE_W)

	mov eax, PHYS(boot_pml4)
	mov cr3, eax
	mov eax, cr4
	or eax, 1 << 5			; PAE
	mov cr4, eax
	mov ecx, 0xc0000080		; EFER
	rdmsr
	or eax, 1 << 8			; LME
	wrmsr
	mov eax, cr0
	or eax, 1 << 31 | 1		; PG, PE
	mov cr0, eax
	lgdt [boot_gdtr]
	jmp 8:.long

bits 64
.long:	mov eax, 16
	mov ds, eax
	mov es, eax
	mov ss, eax
	xor eax, eax
	mov fs, eax
	mov gs, eax
	mov rax, .high
	jmp rax
section .text
.high:	mov rsp, boot_stack_top
	mov edi, ebp			; magic
	mov esi, ebx			; information; upper halves are zero
	xor ebp, ebp			; end of the frame chain
	call kernel_main
	ud2

section .boot
bits 32
; No kernel runs here: say why on the debug console, COM1 and the screen, and leave with the panic code (18).
no_long_mode:
	mov esi, .msg
	mov edi, 0xb8000
	mov ah, 0x4f
.next:	lodsb
	test al, al
	jz .end
	mov [edi], ax
	add edi, 2
	out 0xe9, al
	mov edx, 0x3f8
	out dx, al
	jmp .next
.end:	mov al, 18
	out 0xf4, al
.stop:	hlt
	jmp .stop
.msg:	db "PANIC: Jiffies needs a 64-bit (x86-64) CPU", 10, 0

	align 8
boot_gdt:
	dq 0
	dq 0x00af9a000000ffff		; 8: 64-bit code
	dq 0x00cf92000000ffff		; 16: data
boot_gdtr:
	dw 23
	dd boot_gdt
