/* A sampling profiler: where in the compiled kernels is the program, tick by tick?
 *
 * At each tick of the processor time's clock the handler notes the program counter and, along the
 * frame pointers, the return addresses that lie in the same library.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>

#define DEPTH 8
#define MOST 65536

static uintptr_t low, high;
static uintptr_t stacks[MOST][DEPTH];
static volatile long taken, all;

static int inside(uintptr_t at) { return low <= at && at < high; }

static void tick(int number, siginfo_t *info, void *context) {
    (void)number, (void)info;
    ucontext_t *u = context;
#if defined(__x86_64__)
    uintptr_t at = u->uc_mcontext.gregs[REG_RIP], frame = u->uc_mcontext.gregs[REG_RBP];
#else
    uintptr_t at = u->uc_mcontext.pc, frame = u->uc_mcontext.regs[29];
#endif
    all++;
    if (taken == MOST || !inside(at)) return;
    uintptr_t *stack = stacks[taken++];
    stack[0] = at - low;
    for (int i = 1; i < DEPTH && frame && frame % sizeof frame == 0; i++) {
        uintptr_t back = ((uintptr_t *)frame)[1];
        if (!inside(back)) break;
        /* The call lies before the address that it returns to. */
        stack[i] = back - 1 - low;
        frame = *(uintptr_t *)frame;
    }
}

void sampler_start(uintptr_t from, uintptr_t to, long microseconds) {
    low = from, high = to;
    taken = all = 0;
    memset(stacks, 0, sizeof stacks);
    struct sigaction action = {.sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(SIGPROF, &action, 0);
    struct itimerval period = {{0, microseconds}, {0, microseconds}};
    setitimer(ITIMER_PROF, &period, 0);
}

/* Stop; the number of samples in the library, those of all in *ticks, the stacks in *out. */
long sampler_stop(long *ticks, uintptr_t **out) {
    struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &never, 0);
    *ticks = all;
    *out = &stacks[0][0];
    return taken;
}
