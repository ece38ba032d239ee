; SPDX-License-Identifier: MIT
;
; Copies between kernel and user memory (contracts in kernel/mm/mm.h).
;
; Only these instructions touch user addresses in ring 0. Each is listed in .extable: if its page fault cannot be resolved, the
; trap handler continues at the fixup, which answers -EFAULT. With SMAP, STAC opens user memory for the duration of one copy;
; trap entry closes it (CLAC) and IRET restores it.

%define EFAULT 14
%define ENAMETOOLONG 36
USER_END equ 0x00007ffffffff000

bits 64
default rel
%include "asm.inc"

; The instruction that follows may fault; continue at %1 then.
%macro may_fault 1
	%%here:
	[section .extable progbits alloc noexec nowrite align=8]
	dq %%here, %1
	__SECT__
%endmacro

; Bail out unless [%1, %1 + %2) is user space. Clobbers rax.
%macro check_range 2
	mov rax, USER_END
	sub rax, %2
	jb bad_address
	cmp %1, rax
	ja bad_address
%endmacro

section .text

; int copy_from_user(void *dst, const void *user_src, size_t n)
global copy_from_user
copy_from_user:
	check_range rsi, rdx
	jmp copy

; int copy_to_user(void *user_dst, const void *src, size_t n)
global copy_to_user
copy_to_user:
	check_range rdi, rdx
copy:
	STAC
	cmp rdx, 8
	je .copy8
	cmp rdx, 1
	je .copy1
	mov rcx, rdx
	shr rcx, 3
	may_fault fault
	rep movsq
	and edx, 7
	jz .done
	mov ecx, edx
	may_fault fault
	rep movsb
.done:
	CLAC
	xor eax, eax
	ret
.copy8:
	may_fault fault
	mov rcx, [rsi]
	may_fault fault
	mov [rdi], rcx
	CLAC
	xor eax, eax
	ret
.copy1:
	may_fault fault
	mov cl, [rsi]
	may_fault fault
	mov [rdi], cl
	CLAC
	xor eax, eax
	ret

; int arch_fpu_save_user(void *user_dst), int arch_fpu_load_user(const void *user_src): the FXSAVE image of 512 bytes. A protection
; fault (alignment, MXCSR bits this CPU lacks) counts as any other.
global arch_fpu_save_user, arch_fpu_load_user
arch_fpu_save_user:
	check_range rdi, 512
	STAC
	may_fault fault
	o64 fxsave [rdi]
	may_fault fault
	mov dword [rdi + 464], 0	; software's own word, which FXSAVE leaves alone: no extended state follows
	CLAC
	xor eax, eax
	ret
arch_fpu_load_user:
	check_range rdi, 512
	STAC
	may_fault fault
	o64 fxrstor [rdi]
	CLAC
	xor eax, eax
	ret

; int clear_user(void *user_dst, size_t n)
global clear_user
clear_user:
	check_range rdi, rsi
	STAC
	xor eax, eax
	mov rcx, rsi
	shr rcx, 3
	may_fault fault
	rep stosq
	mov ecx, esi
	and ecx, 7
	may_fault fault
	rep stosb
	CLAC
	ret

; s64 copy_string_from_user(char *dst, const char *user_src, size_t size)
; The string may end anywhere: stop at the end of @dst or of user space, whichever is first.
global copy_string_from_user
copy_string_from_user:
	mov r8, USER_END
	sub r8, rsi
	jbe bad_address
	cmp r8, rdx
	jb .limited
	mov r8, rdx
.limited:
	test r8, r8
	jz .full
	STAC
	xor eax, eax
.next:
	may_fault fault
	mov cl, [rsi + rax]
	mov [rdi + rax], cl
	test cl, cl
	jz .end
	inc rax
	cmp rax, r8
	jb .next
	CLAC
.full:
	; No NUL: too long if @dst is what ended, else it ran into the kernel's half.
	cmp r8, rdx
	jb bad_address
	mov rax, -ENAMETOOLONG
	ret
.end:
	CLAC
	ret

; int get_user_u32(u32 *dst, const u32 *user_src), and its like
%macro get_user 3 ; name, bytes, register
global %1
%1:
	check_range rsi, %2
	STAC
	may_fault fault
	mov %3, [rsi]
	CLAC
	mov [rdi], %3
	xor eax, eax
	ret
%endmacro

%macro put_user 3
global %1
%1:
	check_range rdi, %2
	STAC
	may_fault fault
	mov [rdi], %3
	CLAC
	xor eax, eax
	ret
%endmacro

; int cmpxchg_user_u32(u32 *user, u32 *old, u32 new)
global cmpxchg_user_u32
cmpxchg_user_u32:
	check_range rdi, 4
	mov eax, [rsi]
	STAC
	may_fault fault
	lock cmpxchg [rdi], edx
	CLAC
	mov [rsi], eax
	xor eax, eax
	ret

get_user get_user_u32, 4, ecx
get_user get_user_u64, 8, rcx
put_user put_user_u32, 4, esi
put_user put_user_u64, 8, rsi

; Where a fault that nobody could resolve goes on. IRET restored the access that STAC had opened.
fault:
	CLAC
bad_address:
	mov rax, -EFAULT
	ret
