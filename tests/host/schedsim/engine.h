/* SPDX-License-Identifier: MIT
 *
 * What the files of the simulated tasks share: expr.c, actors.c, ops.c, engine.c.
 */
#ifndef SCHEDSIM_ENGINE_H
#define SCHEDSIM_ENGINE_H

#include "des.h"

extern u32 nr_to_start; /* tasks whose start is an event still to come */

/** amount() - Return: the duration or count @e of @op: not negative; FOREVER for all that is large. */
u64 amount(const struct expr *e, struct sim_task *st, const struct op *op);

/** create() - a task that is not started. */
struct sim_task *create(struct tmpl *t);
/** release() - give a dead task back. */
void release(struct sim_task *st);
/** set_up() - nice value, class and affinity that its kind has; it lives from now on. */
void set_up(struct sim_task *st);
/** start() - its start has come; acts as the CPU that it starts on. */
void start(struct sim_task *st);
/** started() - Return: whether @st exists and its start has come. */
bool started(const struct sim_task *st);
/** wake() - task_wake(), and note when. */
bool wake(struct sim_task *st, u32 states, unsigned flags);
/** block() - the current task sleeps in @state. */
void block(u32 state);
/** exit_current() - @st, the current task, exits. */
void exit_current(struct sim_task *st);
/** one_target() - Return: the task that @op names by an index, or NULL. */
struct sim_task *one_target(const struct op *op, struct sim_task *actor);
/** act() - an operation that tasks and "at" have in common. @actor: NULL for "at". */
void act(const struct op *op, struct sim_task *actor);

/** step() - the operation of the current task @st has used its CPU time. */
void step(struct sim_task *st);

#endif
