import { accessSync, constants } from 'node:fs'
import { inject, type TestOptions } from 'vitest'
import type { Topology } from './global-setup.ts'

declare module 'vitest' {
  interface TaskMeta {
    /** The summary of a run counts the skipped tests by this text. */
    skipReason?: string
  }
}

/**
 * Options of a test or suite with a requirement. If the requirement is not met, the test is skipped. Combine several as
 * `{ ...needs(a, 'no a'), ...needs(b, 'no b') }`.
 */
export function needs(requirement: unknown, skipReason: string): TestOptions {
  return requirement ? {} : { skip: true, meta: { skipReason } }
}

/** Whether the program is installed. Throws if it is missing and CI=true. */
export function isInstalled(program: string): boolean {
  try {
    accessSync(program, constants.X_OK)
    return true
  } catch {
    if (process.env.CI === 'true') throw new Error(`${program} is not installed`)
    return false
  }
}

export function needsPostgres(server: unknown): TestOptions {
  return needs(server, 'PostgreSQL is not installed')
}

export function needsRedis(server: unknown): TestOptions {
  return needs(server, 'Redis is not installed')
}

/** For tests whose outcome another topology cannot change. */
export function inTopology(...topologies: Topology[]): TestOptions {
  return needs(topologies.includes(inject('topology')), `the test runs in ${topologies.join(' and ')} only`)
}

/** Requires the servers of the project's topology. `topologies` restricts the test to some of them. */
export function needsStore(...topologies: Topology[]): TestOptions {
  return {
    ...(inject('topology') === 'distributed' && {
      ...needsPostgres(inject('postgresUrl')),
      ...needsRedis(inject('redisUrl')),
    }),
    ...(topologies.length > 0 && inTopology(...topologies)),
  }
}
