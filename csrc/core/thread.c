/*
 * thread.c: one loop over several threads.
 *
 * Threads are started for each call and joined before it returns: some 20 microseconds, which is little beside the
 * work that is worth sharing, and in return there is no pool to own, to tear down, or to lose in a fork.
 */
#include "pfnnc.h"

#ifdef __wasm__ /* no threads there */
void pfnn_parallel(int threads, int64_t count, pfnn_task task, void *context)
{
    (void)threads;
    for (int64_t i = 0; i < count; i++)
        task(context, i);
}
#else

#ifdef _WIN32
#include <process.h>
#include <windows.h>
#else
#include <pthread.h>
#endif

enum { MAX_THREADS = 256 };

typedef struct job {
    pfnn_task task;
    void *context;
    int64_t count;
#ifdef _WIN32
    volatile LONG64 next;
#else
    int64_t next; /* atomic */
#endif
} job;

static int64_t take(job *j)
{
#ifdef _WIN32
    return InterlockedIncrement64(&j->next) - 1;
#else
    return __atomic_fetch_add(&j->next, 1, __ATOMIC_RELAXED);
#endif
}

static void work(job *j)
{
    for (int64_t i = take(j); i < j->count; i = take(j))
        j->task(j->context, i);
}

#ifdef _WIN32
typedef HANDLE handle;

static unsigned __stdcall run(void *argument)
{
    work(argument);
    return 0;
}

static bool start(handle *thread, job *j)
{
    *thread = (HANDLE)_beginthreadex(NULL, 0, run, j, 0, NULL);
    return *thread != NULL;
}

static void join(handle thread)
{
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}
#else
typedef pthread_t handle;

static void *run(void *argument)
{
    work(argument);
    return NULL;
}

static bool start(handle *thread, job *j)
{
    return pthread_create(thread, NULL, run, j) == 0;
}

static void join(handle thread)
{
    pthread_join(thread, NULL);
}
#endif

void pfnn_parallel(int threads, int64_t count, pfnn_task task, void *context)
{
    job j = {.task = task, .context = context, .count = count};
    handle others[MAX_THREADS];
    int64_t wanted = threads < count ? threads : count;
    int64_t started = 0;

    while (started < wanted - 1 && started < MAX_THREADS && start(&others[started], &j))
        started++;
    work(&j);
    for (int64_t i = 0; i < started; i++)
        join(others[i]);
}
#endif /* __wasm__ */
