import { z } from 'zod'
import type { AccountsPort, DomainPorts } from '../../api/domain.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  bizId,
  type Ids,
  notFound,
  type Portal,
  type Words,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { enqueueJob, type JobKind } from '../../platform/jobs/index.ts'
import type { Mailer } from '../../platform/mail/index.ts'
import { type ApiKeySettings, assertStatus, statusAt, statusChanges } from './rules.ts'
import { type ApiKeyId, type ApiKeyRow, keyById, setStatus, workspaceOfKey } from './store.ts'

/* Operators end API keys of any workspace, for example after a theft. */

const endings = ['disable', 'delete'] as const
export type ApiKeyEnding = (typeof endings)[number]

export interface EndingPorts {
  database: Database
  transaction: DomainPorts['transaction']
  ids: Ids
  settings: ApiKeySettings
  members: {
    lock(tx: Tx, workspaceId: WorkspaceId): Promise<unknown>
    /** Throws if the person belongs to the workspace with any account. */
    assertOutsider(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void>
  }
}

const mailJob = 'apiKeys.mailEnding'
const EndingMail = z.object({
  creatorId: z.string().transform((text) => bizId<'account'>(text)),
  ending: z.enum(endings),
  keyName: z.string(),
  reason: z.string(),
})

/** Operators cannot end keys of a workspace that they belong to. */
export const endApiKey = (
  { transaction, ids, members, settings }: EndingPorts,
  { id, ending, reason }: { id: ApiKeyId; ending: ApiKeyEnding; reason: string },
  auditContext: AuditContext,
): Promise<ApiKeyRow> =>
  transaction(async (tx) => {
    const workspaceId = await workspaceOfKey(tx, id)
    if (workspaceId === undefined) throw notFound('no such API key')
    // Serializes changes to the workspace's keys.
    await members.lock(tx, workspaceId)
    await members.assertOutsider(tx, auditContext.accountId, workspaceId)
    const key = await keyById(tx, { workspaceId, id })
    if (!key) throw notFound('no such API key')
    assertStatus(statusAt(key, auditContext.at, settings), ending)
    const ended = await setStatus(tx, key, statusChanges[ending].to, auditContext.at)
    const payload = { creatorId: key.createdBy, ending, keyName: key.name, reason }
    await enqueueJob(tx, ids, { kind: mailJob, payload, at: auditContext.at })
    await recordSuccess(tx, auditContext, { workspaceId, targetId: id, detail: { reason } })
    return ended
  })

export interface EndingMailPorts {
  accounts: AccountsPort
  mailer: Mailer
  words: Words
  signInUrl(portal: Portal): string
}

export const endingMailJob = ({ accounts, mailer, words, signInUrl }: EndingMailPorts): JobKind => ({
  name: mailJob,
  attempts: 10,
  work: async (payload) => {
    const { creatorId, ending, keyName, reason } = EndingMail.parse(payload)
    const creator = await accounts.read('CONSUMER', creatorId)
    if (!creator) return
    const decision = `${words.text(`notice.apiKey.${ending}`, creator.locale)} (${keyName})`
    const values = { decision, reason, url: signInUrl('CONSUMER') }
    await mailer.send({ to: creator.email, template: 'account-decision', locale: creator.locale, values })
  },
})
