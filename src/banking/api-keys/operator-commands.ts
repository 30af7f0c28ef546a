import { z } from 'zod'
import type { AccountsPort, DomainPorts } from '../../api/domain.ts'
import type { GivenPower, OwnerNotices } from '../../api/notices.ts'
import { portalName } from '../../contract/fields.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  assertFound,
  bizId,
  conflict,
  type Ids,
  type Portal,
  type Words,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { enqueueJob, type JobKind } from '../../platform/jobs/index.ts'
import type { Mailer } from '../../platform/mail/index.ts'
import type { ApiKeyStatus } from './contract.ts'
import { workspaceOf } from './expiry-store.ts'
import { type ApiKeySettings, assertStatus, statusAt, statusChanges } from './rules.ts'
import { type ApiKeyId, type ApiKeyRow, keyById, setStatus, workspaceOfKey } from './store.ts'

/* Operators end API keys of any workspace, for example after a theft, and enable those that they disabled. */

const endings = ['disable', 'delete'] as const
export type ApiKeyEnding = (typeof endings)[number]

export interface EndingPorts {
  database: Database
  transaction: DomainPorts['transaction']
  ids: Ids
  notices: OwnerNotices
  settings: ApiKeySettings
  members: {
    lock(tx: Tx, workspaceId: WorkspaceId): Promise<unknown>
    /** Throws if the person belongs to the workspace with any account. */
    assertOutsider(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void>
    powerOf(permissionCodes: readonly string[]): GivenPower | undefined
  }
}

const mailJob = 'apiKeys.mailEnding'
const EndingMail = z.object({
  creatorId: z.string().transform((text) => bizId<'account'>(text)),
  // The previous release, which knows only this portal of workspaces, queues none.
  portal: portalName.default('CONSUMER'),
  ending: z.enum(endings),
  keyName: z.string(),
  reason: z.string(),
})

/** Also disables a key that its holder has disabled or a recovery has suspended, so that members cannot enable it. */
export function endApiKey(
  ports: EndingPorts,
  { id, ending, reason }: { id: ApiKeyId; ending: ApiKeyEnding; reason: string },
  auditContext: AuditContext,
): Promise<ApiKeyRow> {
  return ports.transaction(async (tx) => {
    const { ids, settings } = ports
    const key = await lockKey(ports, tx, id, auditContext.accountId)
    const current = statusAt(key, auditContext.at, settings)
    if (ending === 'delete' || !isEnabledByMembers(key, current)) assertStatus(current, ending)
    const operatorId = ending === 'disable' ? auditContext.accountId : key.operatorBizId
    // Operators alone must not enable what a member disabled or a recovery suspended.
    const status = ending === 'disable' && key.apiKeyStatus !== 'ACTIVE' ? 'SUSPENDED' : statusChanges[ending].to
    const ended = await setStatus(tx, key, { apiKeyStatus: status, operatorBizId: operatorId }, auditContext.at)
    const { portal } = await workspaceOf(tx, key.workspaceBizId)
    const payload = { creatorId: key.createdBy, portal, ending, keyName: key.apiKeyName, reason }
    await enqueueJob(tx, ids, { kind: mailJob, payload, at: auditContext.at })
    await recordSuccess(tx, auditContext, { workspaceId: key.workspaceBizId, targetId: id, detail: { reason } })
    return ended
  })
}

/**
 * Throws STATE.CONFLICT unless an operator disabled the key. A key that a recovery suspended stays suspended, until a
 * member enables it.
 */
export function enableEndedKey(
  ports: EndingPorts,
  { id, reason }: { id: ApiKeyId; reason: string },
  auditContext: AuditContext,
): Promise<ApiKeyRow> {
  return ports.transaction(async (tx) => {
    const { accountId, at } = auditContext
    const key = await lockKey(ports, tx, id, accountId)
    assertStatus(statusAt(key, at, ports.settings), 'enable')
    if (key.operatorBizId === null) throw conflict('no operator disabled the API key')
    const status = key.apiKeyStatus === 'SUSPENDED' ? 'SUSPENDED' : 'ACTIVE'
    const enabled = await setStatus(tx, key, { apiKeyStatus: status, operatorBizId: null }, at)
    const { workspaceBizId: workspaceId, keyPrefix: about } = key
    const gives = ports.members.powerOf(key.permissionCodes)
    await ports.notices.queue(tx, { kind: 'API_KEY_ENABLED', workspaceId, actorId: null, about, gives, at })
    await recordSuccess(tx, auditContext, { workspaceId, targetId: id, detail: { reason } })
    return enabled
  })
}

export interface EndingMailPorts {
  accounts: Pick<AccountsPort, 'read'>
  mailer: Mailer
  words: Words
  signInUrl(portal: Portal): string
}

export function endingMailJob({ accounts, mailer, words, signInUrl }: EndingMailPorts): JobKind {
  return {
    name: mailJob,
    attempts: 10,
    work: async (payload) => {
      const { creatorId, portal, ending, keyName, reason } = EndingMail.parse(payload)
      const creator = await accounts.read(portal, creatorId)
      if (!creator) return
      const decision = `${words.text(`notice.apiKey.${ending}`, creator.locale)} (${keyName})`
      const values = { decision, reason, url: signInUrl(portal) }
      await mailer.send({ to: creator.email, template: 'account-decision', locale: creator.locale, values })
    },
  }
}

/** Operators cannot change keys of a workspace that they belong to. */
async function lockKey({ members }: EndingPorts, tx: Tx, id: ApiKeyId, operator: AccountId): Promise<ApiKeyRow> {
  const workspaceId = assertFound(await workspaceOfKey(tx, id), 'no such API key')
  // Serializes changes to the workspace's keys.
  await members.lock(tx, workspaceId)
  await members.assertOutsider(tx, operator, workspaceId)
  const key = assertFound(await keyById(tx, { workspaceBizId: workspaceId, bizId: id }), 'no such API key')
  return key
}

/** Whether a member can enable the key again. */
function isEnabledByMembers({ operatorBizId: operatorId }: ApiKeyRow, current: ApiKeyStatus): boolean {
  return operatorId === null && (current === 'DISABLED' || current === 'SUSPENDED')
}
