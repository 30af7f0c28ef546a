import type { DomainPorts } from '../../api/domain.ts'
import {
  assertNoneWithheld,
  assertReadableEvents,
  memberReader,
  operatorReader,
  type ReadableEvents,
} from '../../contract/events/readers.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  assertFound,
  assertSteppedUp,
  type Caller,
  type Clock,
  conflict,
  type Ids,
  type Instant,
  invalid,
  mapPage,
  notFound,
  type Page,
  type Randomness,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import type { SecretBox } from '../../platform/crypto/index.ts'
import { formatWebhookSecret, isReceiverUrl, type ReceiverRules } from '../../platform/webhooks/index.ts'
import { allTypes } from './contract.ts'
import { enqueueRuns } from './deliver.ts'
import {
  type DeliveryId,
  type DeliveryQuery,
  type DeliveryRow,
  deliveryById,
  insertTest,
  listDeliveries as listDeliveryRows,
  replayDeliveries,
  resetDelivery,
} from './delivery-store.ts'
import { type NoticePorts, queueNotice, receiverOf, type WebhookNotice } from './notices.ts'
import {
  assertNotDisabledByOperator,
  assertStatus,
  previousSecretMs,
  statusChanges,
  type WebhookCommand,
  type WebhookSettings,
} from './rules.ts'
import {
  changeWebhook,
  countWebhooks,
  type Decider,
  insertWebhook,
  type Scope,
  scopeOf,
  type WebhookId,
  type WebhookRow,
  webhookById,
} from './store.ts'

export interface WebhookServicePorts {
  database: Database
  transaction: DomainPorts['transaction']
  clock: Clock
  ids: Ids
  randomness: Randomness
  secretBox: SecretBox
  members: {
    /** Locks the workspace. Throws ACCESS.PERMISSION_DENIED if the caller has just lost a permission. */
    assertAccess(tx: Tx, accountId: AccountId, access: WorkspaceAccess): Promise<unknown>
    /** Throws ACCESS.PERMISSION_DENIED if the member's own permissions are from an account that was recovered. */
    assertMayRestore(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void>
    lock(tx: Tx, workspaceId: WorkspaceId): Promise<unknown>
    /** Throws if the person belongs to the workspace with any account. */
    assertOutsider(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void>
  }
  /** Locks the caller's account. Throws ACCESS.TOKEN_INVALID if the caller's session has ended. */
  assertSessionOpen(tx: Tx, caller: Caller): Promise<void>
  /** Whether the caller's session was started with a passkey that counts for `mfa.required`. */
  isByPasskey(tx: Tx, caller: Caller): Promise<boolean>
  notices: NoticePorts['notices']
  /** The types that domains declare. */
  eventTypes: ReadableEvents
  receivers: ReceiverRules
  settings: WebhookSettings
  /** Validity of a step-up. */
  stepUpMs: number
}

export interface WebhookContext {
  caller: Caller
  auditContext: AuditContext
  /** Null for the webhooks of the deployment. */
  access: WorkspaceAccess | null
}

interface WithSecret {
  row: WebhookRow
  /** Returned once and only stored sealed. */
  secret: string
}

export async function readWebhook(
  { database }: Pick<WebhookServicePorts, 'database'>,
  scope: Scope,
  id: WebhookId,
): Promise<WebhookRow> {
  return assertFound(await webhookById(database, scope, id), 'no such webhook')
}

/** Throws STATE.CONFLICT at the maximum number of webhooks. */
export function createWebhook(
  ports: WebhookServicePorts,
  input: { url: string; eventTypes: string[]; description: string },
  context: WebhookContext,
): Promise<WithSecret> {
  const { at } = context.auditContext
  const scope = scopeIn(context)
  assertReadable(ports, input.eventTypes, context)
  assertReceiver(ports, input.url)
  return ports.transaction(async (tx) => {
    await lockScope(ports, tx, context)
    if ((await countWebhooks(tx, scope)) >= ports.settings.maxPerWorkspace)
      throw conflict('the workspace has the maximum number of webhooks')
    const by = await deciderIn(ports, tx, context)
    const bizId = ports.ids.next<'webhook'>()
    const { secret, secretSealed } = newSecret(ports, bizId)
    const row = await insertWebhook(tx, { ...input, bizId, workspaceBizId: scope, secretSealed }, by, at)
    await record(ports, tx, row, context, {
      kind: 'WEBHOOK_CREATED',
      detail: { eventTypes: input.eventTypes.join(',') },
    })
    return { row, secret }
  })
}

export interface WebhookUpdate {
  id: WebhookId
  url?: string | undefined
  eventTypes?: string[] | undefined
  description?: string | undefined
}

/**
 * Throws ACCESS.STEP_UP_REQUIRED if the URL or the types change without a step-up: who sets them gets the data. The webhook
 * then acts for the caller, who must be able to read all its types.
 */
export function updateWebhook(
  ports: WebhookServicePorts,
  { id, url, eventTypes, description }: WebhookUpdate,
  context: WebhookContext,
): Promise<WebhookRow> {
  const { at } = context.auditContext
  if (url !== undefined) assertReceiver(ports, url)
  return ports.transaction(async (tx) => {
    const before = await lockWebhook(ports, tx, id, context)
    const movesData = url !== undefined || eventTypes !== undefined
    if (movesData) {
      assertSteppedUp(context.caller, at, ports.stepUpMs)
      assertReadable(ports, eventTypes ?? before.eventTypes, context)
    }
    const changes = { url, eventTypes, description, ...(movesData && { actsFor: await deciderIn(ports, tx, context) }) }
    const row = await changeWebhook(tx, before, changes, at)
    await record(ports, tx, row, context, { kind: movesData ? 'WEBHOOK_CHANGED' : undefined })
    return row
  })
}

/** The previous secret also signs for `previousSecretMs`. */
export function rotateSecret(ports: WebhookServicePorts, id: WebhookId, context: WebhookContext): Promise<WithSecret> {
  const { at } = context.auditContext
  return ports.transaction(async (tx) => {
    const before = await lockWebhook(ports, tx, id, context)
    // Who knows the secret can forge events, so a recovery of the caller must reach the webhook.
    assertReadable(ports, before.eventTypes, context)
    const { secret, secretSealed: sealed } = newSecret(ports, id)
    const actsFor = await deciderIn(ports, tx, context)
    const changes = { secret: { sealed, previousUntil: addMs(at, previousSecretMs) }, actsFor }
    const row = await changeWebhook(tx, before, changes, at)
    await record(ports, tx, row, context, { kind: 'WEBHOOK_SECRET_ROTATED' })
    return { row, secret }
  })
}

/**
 * Throws STATE.CONFLICT if the status does not allow the command, ACCESS.PERMISSION_DENIED to enable a webhook that an
 * operator disabled, and ACCESS.STEP_UP_REQUIRED to disable or delete that of another person without a step-up.
 */
export function changeWebhookStatus(
  ports: WebhookServicePorts,
  { id, command }: { id: WebhookId; command: WebhookCommand },
  context: WebhookContext,
): Promise<WebhookRow> {
  const { accountId, at } = context.auditContext
  return ports.transaction(async (tx) => {
    const before = await lockWebhook(ports, tx, id, context)
    assertStatus(before, command)
    // A stolen session must not end what other people use.
    if (command !== 'enable' && before.actsFor !== accountId) assertSteppedUp(context.caller, at, ports.stepUpMs)
    if (command === 'enable') {
      assertNotDisabledByOperator(before)
      assertReadable(ports, before.eventTypes, context)
      if (before.webhookStatus === 'SUSPENDED' && context.access)
        await ports.members.assertMayRestore(tx, accountId, context.access.id)
    }
    // Who enables a suspended webhook has checked its URL, whose person may be gone.
    const checked = before.webhookStatus === 'SUSPENDED' ? { url: before.url } : {}
    const actsFor = await deciderIn(ports, tx, context)
    const enabled = command === 'enable' ? { actsFor, failingSince: null, ...checked } : {}
    const row = await changeWebhook(tx, before, { webhookStatus: statusChanges[command].to, ...enabled }, at)
    await record(ports, tx, row, context, { kind: command === 'enable' ? 'WEBHOOK_ENABLED' : undefined })
    return row
  })
}

/** Sends `webhook.test` now. */
export function testWebhook(ports: WebhookServicePorts, id: WebhookId, context: WebhookContext): Promise<DeliveryRow> {
  return ports.transaction(async (tx) => {
    const webhook = await lockActive(ports, tx, id, context)
    const delivery = await insertTest(tx, ports.ids, webhook, context.auditContext.at)
    await enqueueRuns(tx, ports.ids, [id], context.auditContext.at)
    await record(ports, tx, webhook, context, { targetId: delivery.bizId })
    return delivery
  })
}

/** Sends a delivery now, also if it waits. Throws STATE.CONFLICT if the webhook is not active. */
export function resendDelivery(
  ports: WebhookServicePorts,
  id: DeliveryId,
  context: WebhookContext,
): Promise<DeliveryRow> {
  const { at } = context.auditContext
  const scope = scopeIn(context)
  return ports.transaction(async (tx) => {
    const found = assertFound(await deliveryById(tx, scope, id), 'no such delivery')
    const webhook = await lockActive(ports, tx, found.webhookBizId, context)
    const row = assertFound(await resetDelivery(tx, scope, id, at), 'no such delivery')
    await enqueueRuns(tx, ports.ids, [webhook.bizId], at)
    await record(ports, tx, webhook, context, { targetId: id })
    return row
  })
}

/** Sends the events since a time again, oldest first, at most `maxRows` of them. */
export function replayEvents(
  ports: WebhookServicePorts,
  { id, since }: { id: WebhookId; since: Instant },
  context: WebhookContext,
): Promise<{ scheduled: number; nextSince: Instant | null }> {
  const { at } = context.auditContext
  if (since > at) throw invalid('since', 'in the future')
  return ports.transaction(async (tx) => {
    const webhook = await lockActive(ports, tx, id, context)
    const result = await replayDeliveries(tx, ports.ids, webhook, { eventTypes: webhook.eventTypes, since }, at)
    if (result.scheduled > 0) await enqueueRuns(tx, ports.ids, [id], at)
    await record(ports, tx, webhook, context, { detail: { scheduled: result.scheduled } })
    return result
  })
}

/** For operators, `scope` is undefined: the webhook can belong to any workspace. */
export async function listDeliveries(
  { database }: Pick<WebhookServicePorts, 'database'>,
  { scope, id }: { scope: Scope | undefined; id: WebhookId },
  query: DeliveryQuery,
): Promise<Page<DeliveryRow>> {
  const webhookScope = scope === undefined ? assertScope(await scopeOf(database, id)) : scope
  const webhook = await readWebhook({ database }, webhookScope, id)
  const page = await listDeliveryRows(database, webhook, query)
  // A receiver can echo events that the operator cannot read.
  return scope === webhookScope || webhookScope === null ? page : mapPage(page, withoutReply)
}

/**
 * An operator disables a webhook of any workspace, or allows members to enable it again. It stays disabled until they do:
 * an operator must not decide where the data of a workspace goes.
 */
export function decideOnWebhook(
  ports: WebhookServicePorts,
  { id, command, reason }: { id: WebhookId; command: 'disable' | 'enable'; reason: string },
  auditContext: AuditContext,
): Promise<WebhookRow> {
  const { accountId, at } = auditContext
  return ports.transaction(async (tx) => {
    const scope = assertScope(await scopeOf(tx, id))
    if (scope !== null) {
      await ports.members.lock(tx, scope)
      await ports.members.assertOutsider(tx, accountId, scope)
    }
    const before = assertFound(await webhookById(tx, scope, id), 'no such webhook')
    const isDisabled = before.operatorBizId !== null
    if (isDisabled === (command === 'disable'))
      throw conflict(`the webhook is ${isDisabled ? '' : 'not '}disabled by an operator`)
    const isSuspended = before.webhookStatus === 'SUSPENDED'
    const disabled = { operatorBizId: accountId, ...(!isSuspended && { webhookStatus: 'DISABLED' as const }) }
    const row = await changeWebhook(tx, before, command === 'disable' ? disabled : { operatorBizId: null }, at)
    if (command === 'disable') await queueNotice(ports, tx, row, { kind: 'WEBHOOK_DISABLED', actorId: null, at })
    await recordSuccess(tx, auditContext, { workspaceId: scope, targetId: id, detail: { reason } })
    return row
  })
}

function withoutReply(delivery: DeliveryRow): DeliveryRow {
  return { ...delivery, responseBody: null }
}

/** Null is the deployment. */
function assertScope(scope: Scope | undefined): Scope {
  if (scope === undefined) throw notFound('no such webhook')
  return scope
}

function scopeIn({ access }: WebhookContext): Scope {
  return access?.id ?? null
}

async function deciderIn(
  ports: WebhookServicePorts,
  tx: Tx,
  { caller, auditContext }: WebhookContext,
): Promise<Decider> {
  return { accountId: auditContext.accountId, byPasskey: await ports.isByPasskey(tx, caller) }
}

/**
 * Throws the refusals of `assertReadableEvents`, and ACCESS.PASSKEY_REQUIRED if the operator can read a type, and the session
 * cannot: nobody sends elsewhere what their session lacks.
 */
function assertReadable(
  { eventTypes }: Pick<WebhookServicePorts, 'eventTypes'>,
  requested: readonly string[],
  { access, caller }: WebhookContext,
): void {
  const reader = access ? memberReader(access) : operatorReader(caller)
  // The list is `*` alone, or has no `*`. Deliveries do not depend on the session.
  if (requested.includes(allTypes)) assertNoneWithheld(eventTypes, reader)
  else assertReadableEvents(eventTypes, requested, reader, (index) => `eventTypes.${index}`)
}

function assertReceiver({ receivers }: WebhookServicePorts, url: string): void {
  if (!isReceiverUrl(url, receivers)) throw invalid('url', 'not a public https URL on port 443 or above 1023')
}

/** Serializes changes, and rejects a caller whose session or permissions have just ended. */
async function lockScope(ports: WebhookServicePorts, tx: Tx, { access, caller, auditContext }: WebhookContext) {
  if (access) await ports.members.assertAccess(tx, auditContext.accountId, access)
  await ports.assertSessionOpen(tx, caller)
}

async function lockWebhook(
  ports: WebhookServicePorts,
  tx: Tx,
  id: WebhookId,
  context: WebhookContext,
): Promise<WebhookRow> {
  await lockScope(ports, tx, context)
  return assertFound(await webhookById(tx, scopeIn(context), id), 'no such webhook')
}

async function lockActive(ports: WebhookServicePorts, tx: Tx, id: WebhookId, context: WebhookContext) {
  const webhook = await lockWebhook(ports, tx, id, context)
  if (webhook.webhookStatus !== 'ACTIVE') throw conflict(`the webhook is ${webhook.webhookStatus}`)
  return webhook
}

/** 24 to 64 are allowed. */
const secretBytes = 32

function newSecret({ randomness, secretBox }: WebhookServicePorts, id: WebhookId) {
  const bytes = randomness.bytes(secretBytes)
  return { secret: formatWebhookSecret(bytes), secretSealed: secretBox.seal('webhook-secret', id, bytes) }
}

/** Writes the audit entry, and informs about a power. */
async function record(
  ports: WebhookServicePorts,
  tx: Tx,
  webhook: WebhookRow,
  { auditContext }: WebhookContext,
  about: { kind?: WebhookNotice | undefined; targetId?: DeliveryId; detail?: Record<string, string | number> },
): Promise<void> {
  const { accountId: actorId, at } = auditContext
  const { kind, targetId = webhook.bizId } = about
  const detail = { receiver: receiverOf(webhook.url), ...about.detail }
  await recordSuccess(tx, auditContext, { workspaceId: webhook.workspaceBizId, targetId, detail })
  if (kind) await queueNotice(ports, tx, webhook, { kind, actorId, gives: 'POWER', at })
}
