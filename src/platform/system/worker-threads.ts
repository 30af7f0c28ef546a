import { readdirSync, readFileSync } from 'node:fs'
import { setPriority } from 'node:os'

/** As Linux weighs it, a tenth of what the event loop gets. */
const niceness = 10
const threads = '/proc/self/task'

/** libuv's, whose longest work are password hashes, and V8's, which look for garbage beside what runs. */
const helper = /^libuv-worker|V8Worker/

/**
 * Lets helping threads give way to the event loop where both want the same core: then many logins at once take longer, and
 * everybody else is served meanwhile. On Linux, where a thread has a priority of its own; elsewhere, or where it is not
 * allowed, nothing changes. To be called once the threads exist.
 */
export const yieldToEventLoop = (): void => {
  try {
    for (const id of readdirSync(threads))
      if (helper.test(readFileSync(`${threads}/${id}/comm`, 'utf8'))) setPriority(Number(id), niceness)
  } catch {
    // Without it all threads count the same, which is right as well, only slower for some.
  }
}
