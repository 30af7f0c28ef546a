import type { Configuration } from '../../config/index.ts'

/** `database.poolSize` has the same minimum. */
const minPoolSize = 3

/**
 * The settings of one worker. Limits that protect a database, a service or the processor are divided, so that a machine
 * with several workers opens about as many connections as one process. Other limits are per process or in Redis.
 */
export function shareOf(settings: Configuration, workers: number): Configuration {
  if (workers === 1) return settings
  const share = (whole: number): number => Math.ceil(whole / workers)
  const dividedUpstream = <T extends { concurrency: number; connections: number; queue: number }>(upstream: T): T => ({
    ...upstream,
    concurrency: share(upstream.concurrency),
    connections: share(upstream.connections),
    queue: share(upstream.queue),
  })
  return {
    ...settings,
    database: {
      ...settings.database,
      // Rounded down, because PostgreSQL refuses further connections.
      poolSize: Math.max(minPoolSize, Math.floor(settings.database.poolSize / workers)),
    },
    login: { ...settings.login, concurrency: share(settings.login.concurrency), queue: share(settings.login.queue) },
    backends: Object.fromEntries(
      Object.entries(settings.backends).map(([name, backend]) => [
        name,
        backend === 'in-process' ? backend : dividedUpstream(backend),
      ]),
    ),
    passThrough: settings.passThrough.map(dividedUpstream),
  }
}
