import { z } from 'zod'
import type { DomainPorts } from '../../api/domain.ts'
import { canReadEvent, type ReadableEvents } from '../../contract/events/readers.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  bizId,
  type Clock,
  days,
  hours,
  type Ids,
  type Instant,
  minutes,
  type Permission,
  type Portal,
  type Randomness,
  type WorkspaceId,
} from '../../kernel/index.ts'
import type { SecretBox } from '../../platform/crypto/index.ts'
import { type EventConsumer, toCloudEvent } from '../../platform/events/index.ts'
import { enqueueJobs, type JobFacts, type JobKind } from '../../platform/jobs/index.ts'
import type { WebhookResponse, WebhookSender } from '../../platform/webhooks/index.ts'
import { testType } from './contract.ts'
import {
  claimQueue,
  type DeliveryRow,
  deleteDeliveries,
  dueWebhooks,
  eventById,
  extendRun,
  insertDeliveries,
  maxRows,
  nextDelivery,
  recordAttempt,
  recordHealth,
  startRun,
  webhooksFor,
  withhold,
} from './delivery-store.ts'
import { type NoticePorts, queueNotice } from './notices.ts'
import { isGone, isSlow, isSuccess, maxFailingMs, nextAttemptAt, readerOf } from './rules.ts'
import { changeWebhook, type WebhookId, type WebhookKey, type WebhookToSend, webhookToSend } from './store.ts'

/*
 * Delivery. `acceptEvents` adds a row per event and webhook, in the transaction that gives the event its position. A job
 * per webhook sends its rows one after the other, so that a webhook never occupies more than one worker.
 */

export type DeliveryOutcome = 'delivered' | 'retried' | 'failed' | 'withheld'

export interface DeliveryPorts {
  database: Database
  transaction: DomainPorts['transaction']
  clock: Clock
  ids: Ids
  randomness: Randomness
  secretBox: SecretBox
  sender: WebhookSender
  eventTypes: ReadableEvents
  notices: NoticePorts['notices']
  /** The `source` of events. */
  source: string
  /** The permissions of a member, or undefined if the member cannot enter the workspace. */
  permissionsOf(
    member: { accountId: AccountId; portal: Portal },
    workspaceId: WorkspaceId,
  ): Promise<ReadonlySet<Permission> | undefined>
  /** The operators' permissions that need a session which was started with a passkey. */
  permissionsOfPasskey(permissions: readonly Permission[]): readonly Permission[]
  onAttempt(outcome: DeliveryOutcome, failed?: FailedAttempt): void
}

/** For the log: neither the body of a request nor that of a response. */
export interface FailedAttempt extends Pick<WebhookResponse, 'status' | 'failure' | 'durationMs'> {
  webhookId: string
  deliveryId: string
  eventType: string
  attempt: number
}

const [fastJob, slowJob] = ['webhooks.deliver', 'webhooks.deliverSlowly'] as const
const Run = z.object({
  webhookId: z.string().transform((text) => bizId<'webhook'>(text)),
  workspaceId: z
    .string()
    .transform((text) => bizId<'workspace'>(text))
    .nullable(),
})

/** Longer than an attempt. A job whose process was killed continues earlier, once its own lease ends. */
const runMs = minutes(1)
/** Then other webhooks get a turn. */
const maxPerRun = 20
/** The shortest pause between attempts. It also finds deliveries whose job was lost. */
const sweepEveryMs = 5_000
const maxSwept = 1_000

const retentionMs = days(30)

/** If the store fails. Afterwards, the sweep adds another job. */
const jobAttempts = 3

export function acceptEvents({ ids, clock }: Pick<DeliveryPorts, 'ids' | 'clock'>): EventConsumer {
  return async (tx, events) => {
    const matches = await webhooksFor(tx, events)
    if (matches.length === 0) return
    const at = clock.now()
    await insertDeliveries(tx, ids, matches, at)
    await enqueueRuns(tx, ids, [...new Set(matches.map((match) => match.bizId))], at)
  }
}

/** Adds a job for each webhook that has none. */
export async function enqueueRuns(tx: Tx, ids: Ids, webhooks: readonly WebhookId[], at: Instant): Promise<void> {
  if (webhooks.length === 0) return
  const claimed = await claimQueue(tx, webhooks, at)
  const jobs = claimed.map((webhook) => ({
    kind: webhook.isSlow ? slowJob : fastJob,
    payload: { webhookId: webhook.bizId, workspaceId: webhook.workspaceBizId },
    at,
  }))
  await enqueueJobs(tx, ids, jobs)
}

export function deliveryJobs(ports: DeliveryPorts): JobKind[] {
  const { database, transaction, clock, ids } = ports
  const work: JobKind['work'] = (payload, facts) => run(ports, Run.parse(payload), facts)
  const sweep = () =>
    transaction(async (tx) => {
      const at = clock.now()
      await enqueueRuns(tx, ids, await dueWebhooks(tx, at, maxSwept), at)
    })
  const tidy: JobKind['work'] = async (_payload, { signal }) => {
    const before = addMs(clock.now(), -retentionMs)
    while (!signal.aborted && (await deleteDeliveries(database, before, maxRows)));
  }
  return [
    { name: fastJob, attempts: jobAttempts, workers: 'outgoing', work },
    { name: slowJob, attempts: jobAttempts, workers: 'outgoing', isLong: true, work },
    { name: 'webhooks.sweep', attempts: 1, everyMs: sweepEveryMs, work: sweep },
    { name: 'webhooks.deleteOld', attempts: 1, everyMs: hours(1), work: tidy },
  ]
}

async function run(
  ports: DeliveryPorts,
  { webhookId, workspaceId }: z.output<typeof Run>,
  { jobId, signal }: Pick<JobFacts, 'jobId' | 'signal'>,
): Promise<void> {
  const { database, clock, transaction, ids } = ports
  const webhook: WebhookKey = { bizId: webhookId, workspaceBizId: workspaceId }
  for (let sent = 0; sent < maxPerRun; ) {
    const at = clock.now()
    const held = { jobId, until: addMs(at, runMs) }
    if (!(await startRun(database, webhook, held, at))) return
    for (; sent < maxPerRun; sent++) {
      signal.throwIfAborted()
      const delivery = await nextDelivery(database, webhook, clock.now())
      if (!delivery) break
      const until = addMs(clock.now(), runMs)
      if (!(await extendRun(database, webhook, held, until))) return
      held.until = until
      // A receiver that has become slow continues behind the others, with the workers of slow webhooks.
      if (await deliver(ports, webhook, delivery, signal)) sent = maxPerRun
    }
    if (!(await extendRun(database, webhook, held, null))) return
    // Another job found this one running and left a delivery that was added after the last look.
    if (!(await nextDelivery(database, webhook, clock.now()))) return
  }
  await transaction((tx) => enqueueRuns(tx, ids, [webhookId], clock.now()))
}

/** Returns whether the receiver failed or was slow. */
async function deliver(
  ports: DeliveryPorts,
  key: WebhookKey,
  delivery: DeliveryRow,
  signal: AbortSignal,
): Promise<boolean> {
  const { database, clock, sender } = ports
  const webhook = await webhookToSend(database, key.workspaceBizId, key.bizId)
  if (webhook?.webhookStatus !== 'ACTIVE' || !(await mayReceive(ports, webhook, delivery.eventType))) {
    await withhold(database, key.workspaceBizId, delivery, null)
    ports.onAttempt('withheld')
    return false
  }
  const body = await payloadOf(ports, webhook, delivery)
  if (body === undefined) {
    await withhold(database, key.workspaceBizId, delivery, 'EVENT_DELETED')
    ports.onAttempt('failed')
    return false
  }
  const secrets = secretsOf(ports, webhook)
  const response = await sender.send({ url: webhook.url, id: delivery.eventBizId, body, secrets }, signal)
  await settle(ports, webhook, delivery, response, clock.now())
  return isSlow(response)
}

/**
 * Only what the person for whom the webhook acts may read at this moment is sent. The same holds for the person who set
 * the URL, so that nobody gets more data because a colleague replaces the secret or the types.
 */
async function mayReceive(
  { eventTypes, permissionsOf, permissionsOfPasskey }: DeliveryPorts,
  { workspaceBizId: scope, readers, byPasskey }: WebhookToSend,
  type: string,
): Promise<boolean> {
  for (const { accountId, portal, accountStatus, operatorPermissions } of readers) {
    if (accountStatus !== 'ACTIVE') return false
    // A phisher could otherwise set up a webhook, and await what only a session with a passkey may read.
    const withheld = byPasskey ? [] : permissionsOfPasskey(operatorPermissions)
    const permissions =
      scope === null
        ? new Set(operatorPermissions.filter((each) => !withheld.includes(each)))
        : await permissionsOf({ accountId, portal }, scope)
    // Who lost the right to manage webhooks no longer decides where data goes.
    if (!permissions?.has('webhook:manage')) return false
    if (type !== testType && !canReadEvent(eventTypes, type, readerOf(scope, permissions))) return false
  }
  return true
}

/** Returns undefined if the event was deleted. */
async function payloadOf(
  { database, source }: DeliveryPorts,
  { bizId: webhookBizId, workspaceBizId: workspaceId }: WebhookToSend,
  { eventType, eventBizId: id, createdAt: at }: DeliveryRow,
): Promise<string | undefined> {
  const event =
    eventType === testType
      ? { id, type: testType, at, subject: webhookBizId, workspaceId, data: { webhookBizId } }
      : await eventById(database, workspaceId, id)
  return event && JSON.stringify(toCloudEvent(event, source))
}

function secretsOf(
  { secretBox, clock }: DeliveryPorts,
  { bizId: id, secretSealed, previousSealed, previousUntil }: WebhookToSend,
): Uint8Array[] {
  const open = (sealed: Uint8Array) => secretBox.open('webhook-secret', id, sealed)
  const isPreviousValid = previousSealed !== null && previousUntil !== null && clock.now() < previousUntil
  return isPreviousValid ? [open(secretSealed), open(previousSealed)] : [open(secretSealed)]
}

async function settle(
  ports: DeliveryPorts,
  webhook: WebhookToSend,
  delivery: DeliveryRow,
  response: WebhookResponse,
  at: Instant,
): Promise<void> {
  const attempt = delivery.attempts + 1
  const isDelivered = isSuccess(response)
  const next =
    isDelivered || isGone(response) ? null : nextAttemptAt(attempt, response, { at, randomness: ports.randomness })
  const status = next === null ? (isDelivered ? 'DELIVERED' : 'FAILED') : 'PENDING'
  await ports.transaction(async (tx) => {
    const scope = webhook.workspaceBizId
    await recordAttempt(
      tx,
      scope,
      delivery,
      {
        deliveryStatus: status,
        nextAttemptAt: next,
        responseStatus: response.status,
        responseBody: response.body,
        failure: response.failure,
        durationMs: response.durationMs,
      },
      at,
    )
    const since = await recordHealth(tx, webhook, { isSuccess: isDelivered, isSlow: isSlow(response) }, at)
    const isDead = since !== null && at - since >= maxFailingMs
    if (!isGone(response) && !isDead) return
    await changeWebhook(tx, webhook, { webhookStatus: 'FAILED' }, at)
    await queueNotice(ports, tx, webhook, { kind: 'WEBHOOK_FAILED', actorId: null, at })
  })
  const { status: responseStatus, failure, durationMs } = response
  if (isDelivered) return ports.onAttempt('delivered')
  const identity = { webhookId: webhook.bizId, deliveryId: delivery.bizId, eventType: delivery.eventType, attempt }
  ports.onAttempt(next === null ? 'failed' : 'retried', { ...identity, status: responseStatus, failure, durationMs })
}
