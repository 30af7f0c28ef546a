import type { Database } from '../../database/index.ts'
import { DependencyFailure, type Durations, minutes, toInstant, toIso } from '../../kernel/index.ts'
import type { JobKind } from '../jobs/index.ts'
import type { WebhookSender } from '../webhooks/index.ts'
import { advanceExported, readExported, readHead, type SealedEntry, sealedEntries, start } from './store.ts'

/** An entry as an operator reads it. `sequence` and `hash` are the head of the log up to it. */
export type ExportedEntry = ReturnType<typeof toExported>

/** Sends entries in order. Rejects unless the receiver has accepted all of them. */
export type SendEntries = (entries: readonly ExportedEntry[], signal: AbortSignal) => Promise<void>

const everyMs = 2_000
const firstPauseMs = 1_000
const maxPauseMs = minutes(5)
/** A request of about 50 KB. */
const batchSize = 100

interface Ports {
  database: Database
  durations: Pick<Durations, 'now'>
  send: SendEntries
}

/**
 * The position in the store follows each batch that the receiver has accepted, so an entry is sent at least once, over
 * restarts and outages. The job runs on one replica at a time. After a failure, a replica pauses, twice as long each time
 * until the receiver accepts entries.
 * The job is not a long one, because slow webhooks of tenants occupy the workers of those.
 */
export function auditExportJob({ database, durations, send }: Ports): JobKind {
  let failures = 0
  let resumesAt = 0
  const sendAndResume: SendEntries = async (entries, signal) => {
    await send(entries, signal)
    failures = 0
  }
  return {
    name: 'audit.export',
    attempts: 1,
    everyMs,
    workers: 'outgoing',
    work: async (_payload, { signal }) => {
      if (failures > 0 && durations.now() < resumesAt) return
      try {
        await exportAuditLog(database, sendAndResume, signal)
      } catch (error) {
        resumesAt = durations.now() + Math.min(firstPauseMs * 2 ** failures, maxPauseMs)
        failures += 1
        throw error
      }
    },
  }
}

export async function exportAuditLog(database: Database, send: SendEntries, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    const position = await readExported(database)
    const entries = await sealedEntries(database, position, batchSize)
    const last = entries.at(-1)
    if (!last) return assertNotAhead(database, position)
    await send(entries.map(toExported), signal)
    if (!(await advanceExported(database, position, last.sequence))) return
  }
}

/** One JSON object per line, which a collector finds by `audit`. */
export function toLines(entries: readonly ExportedEntry[]): string {
  return entries.map((entry) => `${JSON.stringify({ audit: entry })}\n`).join('')
}

interface Receiver {
  url: string
  secret: Uint8Array
}

/**
 * A retry has the same id and body. The id contains a hash: a restored copy sends other entries with the same numbers,
 * which a receiver must not take for a retry.
 */
export function sendToWebhook(sender: WebhookSender, { url, secret }: Receiver): SendEntries {
  return async (entries, signal) => {
    const id = `audit-${entries[0]?.sequence}-${entries.at(-1)?.sequence}-${entries.at(-1)?.hash.slice(0, 16)}`
    const body = JSON.stringify({ type: 'audit.entries', entries })
    const { status, failure } = await sender.send({ url, id, body, secrets: [secret] }, signal)
    if (status === null || status < 200 || status > 299)
      throw new DependencyFailure(`the receiver of audit.export did not accept entries: ${failure ?? status}`)
  }
}

/** Otherwise a changed position would end the export without an alert. */
async function assertNotAhead(database: Database, position: number): Promise<void> {
  const { sequence } = (await readHead(database)) ?? start
  if (position > sequence)
    throw new Error(`the position of audit.export is ${position}, but the log ends at ${sequence}: somebody changed it`)
}

function toExported({ sequence, hash, previousHash, content }: SealedEntry) {
  const { bizId, atMicros, portal, actorId, workspaceId, action, targetId, outcome, requestId, clientIp } = content
  return {
    sequence,
    hash: Buffer.from(hash).toString('hex'),
    previousHash: Buffer.from(previousHash).toString('hex'),
    bizId,
    at: toIso(toInstant(Math.floor(Number(atMicros) / 1_000))),
    portal,
    actorBizId: actorId,
    workspaceBizId: workspaceId,
    action,
    targetBizId: targetId,
    outcome,
    requestId,
    clientIp,
    detail: content.detail,
  }
}
