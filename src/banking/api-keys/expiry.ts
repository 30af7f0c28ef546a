import { z } from 'zod'
import type { AccountsPort, DomainPorts } from '../../api/domain.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  bizId,
  type Clock,
  hours,
  type Ids,
  type Portal,
  toIso,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { enqueueJobs, type JobKind } from '../../platform/jobs/index.ts'
import type { Mailer } from '../../platform/mail/index.ts'
import { claimWarning, type Expiry, isActiveMember, listKeysToWarnOf, workspaceOf } from './expiry-store.ts'
import { warnOfOperatorKeys } from './operator-keys/notices.ts'
import { type ApiKeySettings, endOfLife, statusAt } from './rules.ts'
import { keyById } from './store.ts'

/* Mails before an API key expires, once per key and stage. */

export interface WarningPorts {
  database: Database
  transaction: DomainPorts['transaction']
  clock: Clock
  ids: Ids
  settings: ApiKeySettings
  members: {
    accessOf(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<WorkspaceAccess | undefined>
    ownersOf(tx: Tx, workspaceId: WorkspaceId): Promise<AccountId[]>
  }
}

const mailJob = 'apiKeys.mailExpiry'
const ExpiryMail = z.object({
  recipientId: z.string().transform((text) => bizId<'account'>(text)),
  workspaceBizId: z.string().transform((text) => bizId<'workspace'>(text)),
  bizId: z.string().transform((text) => bizId<'apiKey'>(text)),
})

const batchSize = 100

export function expiryWarningJob(ports: WarningPorts): JobKind {
  return {
    name: 'apiKeys.warnOfExpiry',
    attempts: 1,
    everyMs: hours(1),
    work: async (_payload, { signal }) => {
      await warnOfOperatorKeys(ports)
      await warnOfExpiry(ports, signal)
    },
  }
}

export interface ExpiryMailPorts {
  database: Database
  accounts: Pick<AccountsPort, 'read'>
  clock: Clock
  mailer: Mailer
  settings: ApiKeySettings
  signInUrl(portal: Portal): string
}

/** Sends nothing if the key has been disabled or deleted since, or if the recipient has left the workspace. */
export function expiryMailJob({ database, accounts, clock, mailer, settings, signInUrl }: ExpiryMailPorts): JobKind {
  return {
    name: mailJob,
    attempts: 10,
    work: async (payload) => {
      const { recipientId, ...scope } = ExpiryMail.parse(payload)
      const key = await keyById(database, scope)
      const end = key && endOfLife(key, settings)
      if (!end || statusAt(key, clock.now(), settings) !== 'ACTIVE') return
      const { name: workspace, portal } = await workspaceOf(database, key.workspaceBizId)
      const recipient = await accounts.read(portal, recipientId)
      if (!recipient) return
      if (!(await isActiveMember(database, recipientId, key.workspaceBizId))) return
      const values = {
        key: `${key.apiKeyName} (${key.keyPrefix})`,
        workspace,
        time: `${toIso(end).slice(0, 16).replace('T', ' ')} UTC`,
        url: signInUrl(portal),
      }
      await mailer.send({ to: recipient.email, template: 'apiKeys.key-expiry', locale: recipient.locale, values })
    },
  }
}

async function warnOfExpiry(ports: WarningPorts, signal: AbortSignal): Promise<void> {
  for (let found = batchSize; found === batchSize; ) {
    const expiry = { at: ports.clock.now(), maxLifeMs: ports.settings.maxLifeMs }
    const keys = await listKeysToWarnOf(ports.database, expiry, batchSize)
    for (const key of keys) {
      signal.throwIfAborted()
      await ports.transaction((tx) => queueWarning(ports, tx, key, expiry))
    }
    found = keys.length
  }
}

type KeyToWarnOf = Awaited<ReturnType<typeof listKeysToWarnOf>>[number]

async function queueWarning(
  { ids, members }: WarningPorts,
  tx: Tx,
  { createdBy, ...scope }: KeyToWarnOf,
  expiry: Expiry,
): Promise<void> {
  const { workspaceBizId } = scope
  // Locks the membership before the key, like the end of a membership.
  const creator = await members.accessOf(tx, createdBy, workspaceBizId)
  if (!(await claimWarning(tx, scope, expiry))) return
  const canManage = creator?.permissions.has('api-key:manage') ?? false
  const recipients = canManage ? [createdBy] : await members.ownersOf(tx, workspaceBizId)
  await enqueueJobs(
    tx,
    ids,
    recipients.map((recipientId) => ({ kind: mailJob, payload: { ...scope, recipientId }, at: expiry.at })),
  )
}
