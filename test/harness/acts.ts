import { Client } from 'pg'
import { catalogue } from '../../src/contract/index.ts'
import { createRouter } from '../../src/gateway/router.ts'
import type { Answer } from './http.ts'

/**
 * Commands that move no money and decide nothing about anybody's security when they succeed: what only begins something,
 * whose end is in the audit log, and what only tells a figure.
 */
const unaudited = new Set([
  'secureChannel.open',
  'secureChannel.close',
  'auth.loginInitiate',
  'auth.mfaSend',
  'auth.refresh',
  'registration.initiate',
  'registration.verifyEmail',
  // For an address that nobody has; for a known one it has a test of its own.
  'password.forgot',
  'mfa.stepUpSend',
  'exchanges.quote',
  'recharges.quote',
])

const route = createRouter(catalogue)

/**
 * The commands of a test file that were carried out, held against the audit log in the end: where the store is a server,
 * which is asked beside the processes that use it.
 */
export const watchActs = (databaseUrl: string | undefined) => {
  const done = new Set<string>()
  return {
    saw: (method: string, path: string, { status, headers }: Answer): void => {
      if (method !== 'POST' || status !== 200) return
      const { id } = route(method, path).operation
      if (!unaudited.has(id)) done.add(`${id} ${headers.get('x-request-id')}`)
    },
    /** Those that left no line. */
    missing: async (): Promise<string[]> => {
      if (databaseUrl === undefined) return []
      const client = new Client({ connectionString: databaseUrl })
      await client.connect()
      const { rows } = await client
        .query<{ act: string }>("SELECT action || ' ' || request_id AS act FROM audit_log WHERE outcome = 'SUCCESS'")
        .finally(() => client.end())
      const told = new Set(rows.map(({ act }) => act))
      return [...done].filter((act) => !told.has(act))
    },
  }
}
