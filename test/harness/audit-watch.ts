import { Client } from 'pg'
import { catalogue } from '../../src/contract/index.ts'
import { createRouter } from '../../src/gateway/pipeline/router.ts'
import { type AuditEntry, auditMismatches, type ExpectedAudit, toExpectedAudit } from './audit-entry.ts'
import type { Answer, Call } from './http.ts'
import { merchant } from './merchant-portal.ts'

/** Not audited: these only start a flow or return a number. */
const unaudited = new Set([
  'secureChannel.open',
  'secureChannel.close',
  'auth.loginInitiate',
  'auth.mfaSend',
  'auth.providerInitiate',
  // Audited once the person is signed in.
  'auth.providerComplete',
  'browserSessions.startWithProvider',
  'providers.linkInitiate',
  'providers.stepUpInitiate',
  'auth.passkeyOptions',
  'auth.refresh',
  'registration.initiate',
  'registration.verifyEmail',
  // Audited for known addresses only, which another test covers.
  'password.forgot',
  'mfa.stepUpSend',
  'mfa.stepUpPasskeyOptions',
  // Audited if a session has ended.
  'browserSessions.end',
  // The download is audited.
  'browserSessions.ticket',
  'exports.link',
  'files.link',
  'exchanges.quote',
  'recharges.quote',
])

const route = createRouter(catalogue, [], [{ ...merchant, offers: () => true }])

const lines = `
  SELECT outcome || ' ' || action || ' ' || request_id AS command, actor_biz_id AS actor, client_ip AS "clientIp",
    workspace_biz_id AS workspace, target_biz_id AS target
  FROM audit_log`

/** Null for a request that is not audited. */
function outcomeOf(operation: string, { status, body }: Answer): 'SUCCESS' | 'REFUSED' | null {
  if (status === 200) return unaudited.has(operation) ? null : 'SUCCESS'
  return body?.code === 'ACCESS.PERMISSION_DENIED' || body?.code === 'ACCESS.PASSKEY_REQUIRED' ? 'REFUSED' : null
}

/** Compares nothing without a database URL. */
export function watchAudit(databaseUrl: string | undefined) {
  const done = new Map<string, ExpectedAudit>()
  return {
    recordCall: (method: string, path: string, answer: Answer, call: Call = {}): void => {
      if (method !== 'POST' || (answer.status !== 200 && answer.status !== 403)) return
      const { operation } = route(method, path)
      const outcome = outcomeOf(operation.id, answer)
      const command = `${outcome} ${operation.id} ${answer.headers.get('x-request-id')}`
      if (outcome && !done.has(command)) done.set(command, toExpectedAudit(operation, path, call, answer))
    },
    missing: async (): Promise<string[]> => {
      if (databaseUrl === undefined) return []
      const client = new Client({ connectionString: databaseUrl })
      await client.connect()
      const { rows } = await client.query<AuditEntry & { command: string }>(lines).finally(() => client.end())
      const reported = new Map(rows.map((row) => [row.command, row]))
      return [...done].flatMap(([command, requested]) => {
        const line = reported.get(command)
        return line ? auditMismatches(requested, line).map((what) => `${command}: ${what}`) : [command]
      })
    },
  }
}
