import { type Database, inTransaction } from '../../database/index.ts'
import { type AccountId, type Clock, minutes, Refusal, untilNotFull, type WorkspaceId } from '../../kernel/index.ts'
import { type AuditContext, recordRefusal, recordSuccess } from '../audit/index.ts'
import type { JobKind } from '../jobs/index.ts'
import type { CommandKey } from './store.ts'
import * as store from './store.ts'

interface Ports {
  database: Database
  clock: Clock
}

/** A command that this process may send. Its key is null if the operation is not idempotent. */
export interface SentCommand {
  key: CommandKey | null
  attempt: number
  audit: AuditContext<AccountId | null>
  subject: { workspaceId: WorkspaceId | null; targetId: string | null }
}

/**
 * The commands of services behind OpenAPI documents. Their effects are in other systems: a claim is committed
 * before the call, and the reply with the audit entry after it. No method holds a connection while the service works.
 */
export class ServiceCommands {
  readonly #ports: Ports

  constructor(ports: Ports) {
    this.#ports = ports
  }

  /**
   * Returns the stored reply, or the number of this attempt. After `leaseMs`, a claim without outcome allows another
   * attempt. Throws REQUEST.IN_PROGRESS or REQUEST.ID_REUSED.
   */
  async claim(key: CommandKey, leaseMs: number): Promise<{ reply: string } | { attempt: number }> {
    const { database, clock } = this.#ports
    const attempt = await store.claim(database, key, clock.now(), leaseMs)
    if (attempt !== undefined) return { attempt }
    const found = await store.find(database, key)
    if (found && found.bodyHash !== key.bodyHash) throw new Refusal('REQUEST.ID_REUSED')
    if (found?.reply == null) throw new Refusal('REQUEST.IN_PROGRESS', { retryAfter: 1 })
    return { reply: found.reply }
  }

  /** `reply` is the JSON text that the client gets. */
  succeed({ key, attempt, audit, subject }: SentCommand, reply: string | null): Promise<void> {
    return inTransaction(this.#ports.database, async (tx) => {
      await recordSuccess(tx, audit, subject)
      if (key && reply !== null) await store.storeReply(tx, key, attempt, reply)
    })
  }

  /** As with `once`, a refusal is not stored. If the outcome is unknown, only the same body can be sent again. */
  refuse({ key, attempt, audit, subject }: SentCommand, reason: string): Promise<void> {
    return inTransaction(this.#ports.database, async (tx) => {
      await recordRefusal(tx, audit, { ...subject, detail: { reason } })
      if (!key) return
      const end = attempt > 1 || hasUnknownOutcome(reason) ? store.endClaim : store.deleteClaim
      await end(tx, key, attempt)
    })
  }
}

const batchSize = 10_000

export function expiredCommandCleanup({ database, clock }: Ports): JobKind {
  return {
    name: 'serviceCommands.deleteExpired',
    attempts: 1,
    everyMs: minutes(10),
    work: async (_payload, { signal }) => {
      await untilNotFull(batchSize, signal, (limit) => store.deleteExpired(database, clock.now(), limit))
      await untilNotFull(batchSize, signal, (limit) => store.deleteExpiredPlaces(database, clock.now(), limit))
    },
  }
}

/** After these refusals, the service may have executed the command, or may still be working on it. */
function hasUnknownOutcome(reason: string): boolean {
  return /^(SYSTEM|REQUEST)\./.test(reason)
}
