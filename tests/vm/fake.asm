; SPDX-License-Identifier: MIT
;
; Not the kernel: a multiboot 1 image of a few bytes that behaves badly on
; purpose (-D PANIC, TRIPLE, HANG, SILENT, GARBAGE, KTAP_FAIL, KTAP_SHORT,
; KTAP_NONE) or well (GOOD), so that the judgement of tools/vm has tests of its
; own.
bits 32

%macro say 1
	mov esi, %1
	call print
%endmacro
%macro power_off 1
	mov eax, %1
	mov dx, 0xf4
	out dx, eax
	jmp $
%endmacro

section .text
	align 4
	dd 0x1badb002, 3, -(0x1badb002 + 3)

global _start
_start:
	mov esp, stack
	say started
%ifdef PANIC
	say panic
	power_off 18
%elifdef TRIPLE
	lidt [nothing]
	int3
%elifdef HANG
	jmp $
%elifdef SILENT
	power_off 16
%elifdef GARBAGE
	mov esi, panic
	mov ecx, 16
	call send
	power_off 16
%elifdef KTAP_FAIL
	say plan
	say one
	say not_two
	power_off 17
%elifdef KTAP_SHORT
	say plan
	say one
	power_off 16
%elifdef KTAP_NONE
	power_off 16
%else
	mov esi, frames
	mov ecx, frames_end - frames
	call send
	power_off 16
%endif

print:	lodsb			; text at esi to debugcon
	test al, al
	jz .done
	out 0xe9, al
	jmp print
.done:	ret

send:	mov dx, 0x2fd		; ecx bytes at esi to COM2
.wait:	in al, dx
	test al, 0x20
	jz .wait
	lodsb
	mov dx, 0x2f8
	out dx, al
	loop send
	ret

section .data
started: db "[    0.000001] fake kernel", 10, 0
panic:	db "[    0.000002] PANIC: on purpose", 10, "[    0.000003] a frame", 10
	db "[    0.000004] end of panic report", 10, "[    0.000005] afterwards", 10, 0
plan:	db "[    0.000002] KTAP: 1..2", 10, 0
one:	db "[    0.000003] KTAP: ok 1 one", 10, 0
not_two: db "[    0.000004] KTAP: not ok 2 two", 10, 0
frames:	db 'R', 0, 0, 'O', 3, 0, 'o', 'u', 't', 'E', 3, 0, 'e', 'r', 'r', 'X', 4, 0, 42, 0, 0, 0
frames_end:
nothing: dw 0
	dd 0

section .bss
	resb 4096
stack:
