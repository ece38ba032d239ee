; SPDX-License-Identifier: MIT
;
; The ways into the kernel and out of it: exceptions, interrupts, system calls, and the switch from one kernel stack to
; another.
;
; Every entry leaves a struct regs at the current stack's top end. GS holds the user's base in user mode and this CPU's block
; in the kernel: SWAPGS at every crossing. A struct regs is 8 modulo 16 (the CPU aligns what it pushes), hence the
; `sub rsp, 8` before calls into C.
;
; On the way out to user mode interrupts go off first, then need_resched and signal_pending are looked at: what is set
; later comes with an interrupt, which looks again.

%include "asm.inc"

extern trap_exception, trap_paranoid, trap_interrupt, trap_bad_iret
extern task_user_work, task_syscall_work, sched_irq_exit, sched_finish_switch, thread_switch_slow
extern sys_call_table, sys_call_count, sys_unsupported

section .text

; After these the stack holds a struct regs; orig and rdi are already pushed.
%macro PUSH_REST 0
	push rsi
	push rdx
	push rcx
	push rax
	push r8
	push r9
	push r10
	push r11
	push rbx
	push rbp
	push r12
	push r13
	push r14
	push r15
%endmacro

; Leaves rsp at the frame for IRETQ.
%macro POP_ALL 0
	pop r15
	pop r14
	pop r13
	pop r12
	pop rbp
	pop rbx
	pop r11
	pop r10
	pop r9
	pop r8
	pop rax
	pop rcx
	pop rdx
	pop rsi
	pop rdi
	add rsp, 8
%endmacro

; ---------------------------------------------------------------- system calls
; The entry stores only what C code may change; the struct regs is completed by SAVE_REST, with rsp %1 bytes below it, when
; somebody is going to look at it. Clobbers rax. The callee-saved registers are the user's still (or again).
%macro SAVE_REST 1
	mov [rsp + %1 + REGS_RBX], rbx
	mov [rsp + %1 + REGS_RBP], rbp
	mov [rsp + %1 + REGS_R12], r12
	mov [rsp + %1 + REGS_R13], r13
	mov [rsp + %1 + REGS_R14], r14
	mov [rsp + %1 + REGS_R15], r15
	mov rax, [rsp + %1 + REGS_RIP]	; as SYSCALL left them
	mov [rsp + %1 + REGS_RCX], rax
	mov rax, [rsp + %1 + REGS_RFLAGS]
	mov [rsp + %1 + REGS_R11], rax
%endmacro

global syscall_entry
align 16
; rax = number, rdi rsi rdx r10 r8 r9 = arguments, rcx = return address, r11 = flags. Interrupts are off (SFMASK).
syscall_entry:
	swapgs
	mov [gs:CPU_USER_RSP], rsp
	mov rsp, [gs:CPU_KSTACK_TOP]
	push USER_DS
	push qword [gs:CPU_USER_RSP]
	push r11
	push USER_CS
	push rcx
	push rax
	push rdi
	push rsi
	push rdx
	sub rsp, REGS_RDX + 8
	mov [rsp + 8 + REGS_R8], r8
	mov [rsp + 8 + REGS_R9], r9
	mov [rsp + 8 + REGS_R10], r10
	sti
	cmp rax, [sys_call_count]
	jae .unknown
	mov rcx, r10
	call [sys_call_table + rax * 8]
.done:	cli
	mov rcx, [gs:CPU_CURRENT]
	movzx ecx, byte [rcx + TASK_SIGNAL_PENDING]
	or ecx, [gs:CPU_NEED_RESCHED]
	jnz .work
.sysret:
	; Nothing changed the registers (a call that does ends in arch_user_return()): the callee-saved ones are the user's
	; already, the return address is what SYSCALL left, below USER_END and therefore canonical. SYSRET is safe.
	mov rdi, [rsp + 8 + REGS_RDI]
	mov rsi, [rsp + 8 + REGS_RSI]
	mov rdx, [rsp + 8 + REGS_RDX]
	mov r8, [rsp + 8 + REGS_R8]
	mov r9, [rsp + 8 + REGS_R9]
	mov r10, [rsp + 8 + REGS_R10]
	mov rcx, [rsp + 8 + REGS_RIP]
	mov r11, [rsp + 8 + REGS_RFLAGS]
	mov rsp, [rsp + 8 + REGS_RSP]
	swapgs
	o64 sysret
.work:	sti
	mov [rsp + 8 + REGS_RAX], rax
	SAVE_REST 8
.full:	add rsp, 8
	mov rdi, rsp
	sub rsp, 8
	call task_syscall_work		; signals; may restart the call
	add rsp, 8
	jmp user_exit
.unknown:
	mov rdi, rax
	call sys_unsupported
	jmp .done

; A call that looks at all of its caller's registers (fork) or changes them (execve, sigreturn) enters here: FULL_CALL name is
; its entry in the table. The registers are saved before it and, since it may have changed them, not again after it.
%macro FULL_CALL 1
global full_%1
extern sys_%1
full_%1:
	SAVE_REST 16
	add rsp, 8			; does not return to syscall_entry
	call sys_%1
	jmp full_call_done
%endmacro
FULL_CALL clone
FULL_CALL fork
FULL_CALL vfork
FULL_CALL execve
full_call_done:
	mov [rsp + 8 + REGS_RAX], rax
	cli
	mov rcx, [gs:CPU_CURRENT]
	movzx ecx, byte [rcx + TASK_SIGNAL_PENDING]
	or ecx, [gs:CPU_NEED_RESCHED]
	jz syscall_entry.sysret
	sti
	jmp syscall_entry.full

; Sigreturn is no call that could be restarted, and every register is to be loaded.
global full_rt_sigreturn
extern sys_rt_sigreturn
full_rt_sigreturn:
	SAVE_REST 16
	add rsp, 8
	call sys_rt_sigreturn
	mov [rsp + 8 + REGS_RAX], rax
	add rsp, 8
	jmp user_exit

; ------------------------------------------------------------ exit to user mode
global arch_user_return
; arch_user_return(regs): regs lies at the top of the kernel stack; what is below it is given up.
arch_user_return:
	cli
	mov rsp, rdi
	xor ebp, ebp
	jmp user_exit

align 16
; rsp = struct regs, kernel GS.
user_exit:
	cli
	cmp dword [gs:CPU_NEED_RESCHED], 0
	jne user_work
	mov rax, [gs:CPU_CURRENT]
	cmp byte [rax + TASK_SIGNAL_PENDING], 0
	jne user_work
	POP_ALL
	swapgs
iret_user:
	iretq
user_work:
	sti
	mov rdi, rsp
	sub rsp, 8
	call task_user_work
	add rsp, 8
	jmp user_exit

; IRETQ to user mode faults if the frame is bad (a sigreturn that was not checked enough): a fault in kernel code with the
; user's GS, the frame still on the stack. exception_entry swaps GS back, the exception table leads here, and the thread gets
; SIGSEGV as if the fault had happened in user mode.
EXTABLE iret_user, bad_iret
bad_iret:
	push qword 0
	push rdi
	PUSH_REST
	mov rdi, rsp
	sub rsp, 8
	call trap_bad_iret
	add rsp, 8
	jmp user_exit

; ------------------------------------------------------------------ exceptions
; On the stack: orig (error code) and rdi; edi = vector.
align 16
exception_entry:
	PUSH_REST
	cld
	CLAC
	mov esi, edi
	mov rdi, rsp
	test byte [rsp + REGS_CS], 3
	jz .kernel
	swapgs
	sub rsp, 8
	call trap_exception
	add rsp, 8
	jmp user_exit
.kernel:
	cmp qword [rsp + REGS_RIP], iret_user
	jne .kernel_gs
	swapgs
.kernel_gs:
	sub rsp, 8
	call trap_exception
	add rsp, 8
	cli
	POP_ALL
	iretq

; NMI, double fault and machine check come at any instruction, also between an entry and its SWAPGS: look at GS itself (user
; bases are positive, ours is negative). They run on stacks of their own.
align 16
paranoid_entry:
	PUSH_REST
	cld
	CLAC
	mov esi, edi
	mov ecx, MSR_GS_BASE
	rdmsr
	xor ebx, ebx
	test edx, edx
	js .kernel_gs
	swapgs
	inc ebx
.kernel_gs:
	mov rdi, rsp
	sub rsp, 8
	call trap_paranoid
	add rsp, 8
	test ebx, ebx
	jz .out
	swapgs
.out:	POP_ALL
	iretq

%macro EXCEPTION 3			; vector, has error code, common entry
vector_%1:
%if %2 == 0
	push qword 0
%endif
	push rdi
	mov edi, %1
	jmp %3
%endmacro

EXCEPTION 0, 0, exception_entry
EXCEPTION 1, 0, exception_entry
EXCEPTION 2, 0, paranoid_entry
EXCEPTION 3, 0, exception_entry
EXCEPTION 4, 0, exception_entry
EXCEPTION 5, 0, exception_entry
EXCEPTION 6, 0, exception_entry
EXCEPTION 7, 0, exception_entry
EXCEPTION 8, 1, paranoid_entry
EXCEPTION 9, 0, exception_entry
EXCEPTION 10, 1, exception_entry
EXCEPTION 11, 1, exception_entry
EXCEPTION 12, 1, exception_entry
EXCEPTION 13, 1, exception_entry
EXCEPTION 14, 1, exception_entry
EXCEPTION 15, 0, exception_entry
EXCEPTION 16, 0, exception_entry
EXCEPTION 17, 1, exception_entry
EXCEPTION 18, 0, paranoid_entry
EXCEPTION 19, 0, exception_entry
EXCEPTION 20, 0, exception_entry
EXCEPTION 21, 1, exception_entry
EXCEPTION 22, 0, exception_entry
EXCEPTION 23, 0, exception_entry
EXCEPTION 24, 0, exception_entry
EXCEPTION 25, 0, exception_entry
EXCEPTION 26, 0, exception_entry
EXCEPTION 27, 0, exception_entry
EXCEPTION 28, 0, exception_entry
EXCEPTION 29, 1, exception_entry
EXCEPTION 30, 1, exception_entry
EXCEPTION 31, 0, exception_entry

; ------------------------------------------------------------------ interrupts
; On the stack: orig = ~vector.
align 16
interrupt_entry:
	push rdi
	PUSH_REST
	cld
	CLAC
	mov rdi, rsp
	test byte [rsp + REGS_CS], 3
	jz .kernel
	swapgs
	sub rsp, 8
	call trap_interrupt
	add rsp, 8
	jmp user_exit
.kernel:
	sub rsp, 8
	call trap_interrupt
	cmp dword [gs:CPU_NEED_RESCHED], 0
	je .out
	call sched_irq_exit
	cli
.out:	add rsp, 8
	POP_ALL
	iretq

%assign v 32
%rep 224
vector_%[v]:
	push strict dword ~v
	jmp strict near interrupt_entry
%assign v v + 1
%endrep

section .rodata
global vector_table
align 8
vector_table:
%assign v 0
%rep 256
	dq vector_%[v]
%assign v v + 1
%endrep
section .text

; --------------------------------------------------------------------- threads
; The address space in rax, which is not loaded, gets this CPU; the one before is told last that it has lost it (kernel/mm/shootdown.c
; says why in this order). Clobbers rcx, rdx.
%macro LOAD_MM 0
	mov ecx, [gs:CPU_INDEX]
	lock bts [rax + MM_CPUS], rcx
	mov rdx, [rax + MM_PML4]
	mov cr3, rdx
	mov rdx, [gs:CPU_MM]
	mov [gs:CPU_MM], rax
	test rdx, rdx
	jz %%none
	lock btr [rdx + MM_CPUS], rcx
%%none:
%endmacro

global mm_switch
; mm_switch(mm) (kernel/mm/mm.h)
mm_switch:
	mov rax, rdi
	test rax, rax
	jz .loaded
	cmp rax, [gs:CPU_MM]
	je .loaded
	LOAD_MM
.loaded:
	ret

global arch_switch
align 16
; machine_switch() (arch/machine.h): rdi = task that stops, rsi = task that goes on; the task that stopped arrives in rax on the
; other side. Changes every register; the frame pointer stays on the stack that is left. Address space, FPU image, segment
; bases, the stack for entries from user mode and the port bitmap follow.
arch_switch:
	push rbp
	mov rax, [rsi + TASK_MM]
	test rax, rax			; a kernel task stays in what is loaded
	jz .mm
	cmp rax, [gs:CPU_MM]
	je .mm
	LOAD_MM
.mm:	cmp byte [rdi + TASK_ARCH + THREAD_USER], 0
	je .saved
	o64 fxsave [rdi + TASK_ARCH + THREAD_FPU]
.saved:	mov [rdi + TASK_ARCH + THREAD_RSP], rsp
	mov rax, [rsi + TASK_ARCH + THREAD_KSTACK_TOP]
	mov r8, [gs:CPU_ARCH]
	mov [gs:CPU_KSTACK_TOP], rax
	mov [r8 + ARCH_TSS_RSP0], rax
	mov rsp, [rsi + TASK_ARCH + THREAD_RSP]
	cmp byte [rsi + TASK_ARCH + THREAD_USER], 0
	je .loaded
	o64 fxrstor [rsi + TASK_ARCH + THREAD_FPU]
	mov rax, [rsi + TASK_ARCH + THREAD_FS_BASE]
	cmp rax, [r8 + ARCH_USER_FS]
	jne .fs
.fs_loaded:
	; A GS base or port permissions are rare: all four words are zero otherwise.
	mov rax, [rsi + TASK_ARCH + THREAD_GS_BASE]
	or rax, [rsi + TASK_ARCH + THREAD_IO_BITMAP]
	or rax, [r8 + ARCH_USER_GS]
	or rax, [r8 + ARCH_IO_BITMAP]
	jnz .slow
.loaded:
	mov rax, rdi
	pop rbp
	ret
.fs:	mov [r8 + ARCH_USER_FS], rax
	mov ecx, MSR_FS_BASE
	mov rdx, rax
	shr rdx, 32
	wrmsr
	jmp .fs_loaded
.slow:	mov rbx, rdi
	lea rdi, [rsi + TASK_ARCH]
	call thread_switch_slow
	mov rdi, rbx
	jmp .loaded

global thread_start_kernel, thread_start_user
; First run of a kernel thread, from arch_switch: rax = task to finish; function and argument on the stack.
thread_start_kernel:
	pop rbx
	pop r12
	mov rdi, rax
	xor ebp, ebp
	call sched_finish_switch
	mov rdi, r12
	call rbx
	ud2
; First run of a user thread: rsp is 8 below its struct regs.
thread_start_user:
	mov rdi, rax
	call sched_finish_switch
	add rsp, 8
	jmp user_exit

global arch_call_on_stack
; arch_call_on_stack(top, fn): go on in fn() on another stack, for good.
arch_call_on_stack:
	mov rsp, rdi
	xor ebp, ebp
	call rsi
	ud2

global machine_idle_nops
align 16
; 480 one-instruction steps that stay inside translated code (see `idle=last`).
machine_idle_nops:
	times 480 nop
	ret

global cpu_load_gdt
; cpu_load_gdt(gdtr, tss selector): new GDT, its segments, the task register. Does not touch GS (its base stays).
cpu_load_gdt:
	lgdt [rdi]
	mov eax, KERNEL_DS
	mov ds, eax
	mov es, eax
	mov ss, eax
	ltr si
	pop rax
	push KERNEL_CS
	push rax
	o64 retf
