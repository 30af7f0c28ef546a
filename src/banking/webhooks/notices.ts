import { z } from 'zod'
import type { AccountsPort } from '../../api/domain.ts'
import type { GivenPower, OwnerNotices } from '../../api/notices.ts'
import type { Tx } from '../../database/index.ts'
import { type AccountId, bizId, type Ids, type Instant, type Portal, type Words } from '../../kernel/index.ts'
import { enqueueJobs, type JobKind } from '../../platform/jobs/index.ts'
import type { Mailer } from '../../platform/mail/index.ts'
import { operatorsWhoManage, type WebhookRow } from './store.ts'

/* Mails about a webhook: to the owners of its workspace, or to the operators who manage those of the deployment. */

export const ownerNotices = [
  'WEBHOOK_CREATED',
  'WEBHOOK_CHANGED',
  'WEBHOOK_SECRET_ROTATED',
  'WEBHOOK_ENABLED',
  'WEBHOOK_DISABLED',
  'WEBHOOK_FAILED',
] as const
export type WebhookNotice = (typeof ownerNotices)[number]

export interface NoticePorts {
  ids: Ids
  notices: OwnerNotices
}

interface Notice {
  kind: WebhookNotice
  actorId: AccountId | null
  gives?: GivenPower
  at: Instant
}

const mailJob = 'webhooks.mailOperators'
const OperatorMail = z.object({
  operatorId: z.string().transform((text) => bizId<'account'>(text)),
  kind: z.enum(ownerNotices),
  about: z.string(),
})

/** The origin identifies the receiver. The rest of its URL can contain a secret. */
export function receiverOf(url: string): string {
  return new URL(url).origin
}

export async function queueNotice(
  { ids, notices }: NoticePorts,
  tx: Tx,
  { workspaceBizId: workspaceId, url }: Pick<WebhookRow, 'workspaceBizId' | 'url'>,
  { kind, at, ...notice }: Notice,
): Promise<void> {
  const about = receiverOf(url)
  if (workspaceId !== null) return notices.queue(tx, { ...notice, kind, workspaceId, about, at })
  const operators = await operatorsWhoManage(tx)
  const jobs = operators.map((operatorId) => ({ kind: mailJob, payload: { operatorId, kind, about }, at }))
  await enqueueJobs(tx, ids, jobs)
}

export interface NoticeMailPorts {
  accounts: Pick<AccountsPort, 'read'>
  mailer: Mailer
  words: Words
  signInUrl(portal: Portal): string
}

export function operatorMailJob({ accounts, mailer, words, signInUrl }: NoticeMailPorts): JobKind {
  return {
    name: mailJob,
    attempts: 10,
    work: async (payload) => {
      const { operatorId, kind, about } = OperatorMail.parse(payload)
      const operator = await accounts.read('SYSTEM', operatorId)
      if (!operator) return
      const { email: to, locale } = operator
      const decision = `${words.text(`notice.owners.${kind}.event`, locale)} (${about})`
      const values = { decision, reason: words.text(`notice.owners.${kind}.advice`, locale), url: signInUrl('SYSTEM') }
      await mailer.send({ to, template: 'account-decision', locale, values })
    },
  }
}
