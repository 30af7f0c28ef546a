import { z } from 'zod'
import type { DomainPorts } from '../../../api/domain.ts'
import type { Database, Tx } from '../../../database/index.ts'
import {
  bizId,
  type Clock,
  type Ids,
  type Instant,
  type Portal,
  parseLocale,
  toIso,
  type Words,
} from '../../../kernel/index.ts'
import { enqueueJobs, type JobKind } from '../../../platform/jobs/index.ts'
import type { Mailer } from '../../../platform/mail/index.ts'
import { claimOperatorWarning, listOperatorKeysToWarnOf } from '../expiry-store.ts'
import { type ApiKeySettings, endOfLife, operatorKeySettings } from '../rules.ts'
import { type OperatorKeyRow, operatorById, operatorKeyById, operatorsWithAny } from './store.ts'

/* Mails to the operators who manage operators or their keys, and to the creator of a key. */

const changes = ['create', 'enable', 'disable', 'delete', 'expire'] as const
type OperatorKeyChange = (typeof changes)[number]

const mailJob = 'apiKeys.mailOperatorKey'
const Notice = z.object({
  recipientId: z.string().transform((text) => bizId<'account'>(text)),
  keyId: z.string().transform((text) => bizId<'operatorApiKey'>(text)),
  change: z.enum(changes),
  operator: z.string(),
})

/** `operator` is the mail address of who made the change, or of the creator of a key that expires. */
export async function queueOperatorNotices(
  tx: Tx,
  ids: Ids,
  { key, ...notice }: { key: OperatorKeyRow; change: OperatorKeyChange; operator: string },
  at: Instant,
): Promise<void> {
  const managers = await operatorsWithAny(tx, ['operator:manage', 'operator-key:manage'])
  const recipients = new Set([key.createdBy, ...managers.map(({ id }) => id)])
  const payloads = [...recipients].map((recipientId) => ({ ...notice, recipientId, keyId: key.bizId }))
  await enqueueJobs(
    tx,
    ids,
    payloads.map((payload) => ({ kind: mailJob, payload, at })),
  )
}

export interface OperatorNoticePorts {
  database: Database
  mailer: Mailer
  words: Words
  settings: ApiKeySettings
  signInUrl(portal: Portal): string
}

export function operatorNoticeJob({ database, mailer, words, settings, signInUrl }: OperatorNoticePorts): JobKind {
  return {
    name: mailJob,
    attempts: 10,
    work: async (payload) => {
      const { recipientId, keyId, change, operator } = Notice.parse(payload)
      const [recipient, key] = [await operatorById(database, recipientId), await operatorKeyById(database, keyId)]
      if (!recipient || !key) return
      const locale = parseLocale(recipient.language)
      const end = endOfLife(key, operatorKeySettings(settings))
      const values = {
        change: words.text(`notice.operatorKey.${change}`, locale),
        key: `${key.apiKeyName} (${key.keyPrefix})`,
        operator,
        time: end === null ? '' : `${toIso(end).slice(0, 16).replace('T', ' ')} UTC`,
        url: signInUrl('SYSTEM'),
      }
      await mailer.send({ to: recipient.email, template: 'apiKeys.operator-key', locale, values })
    },
  }
}

interface WarningPorts {
  database: Database
  transaction: DomainPorts['transaction']
  clock: Clock
  ids: Ids
  settings: ApiKeySettings
}

/** There are few keys, so one batch has them all. */
export async function warnOfOperatorKeys(ports: WarningPorts): Promise<void> {
  const { maxLifeMs } = operatorKeySettings(ports.settings)
  const expiry = { at: ports.clock.now(), maxLifeMs }
  for (const { bizId: id } of await listOperatorKeysToWarnOf(ports.database, expiry))
    await ports.transaction(async (tx) => {
      if (!(await claimOperatorWarning(tx, id, expiry))) return
      const key = await operatorKeyById(tx, id)
      const creator = key && (await operatorById(tx, key.createdBy))
      if (creator)
        await queueOperatorNotices(tx, ports.ids, { key, change: 'expire', operator: creator.email }, expiry.at)
    })
}
