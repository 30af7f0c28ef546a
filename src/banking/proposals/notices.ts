import { z } from 'zod'
import type { Database, Tx } from '../../database/index.ts'
import { bizId, type Ids, type Instant, type Portal, parseLocale, type Words } from '../../kernel/index.ts'
import { enqueueJobs, type JobKind } from '../../platform/jobs/index.ts'
import type { Mailer } from '../../platform/mail/index.ts'
import { type ProposalStatus, proposalKind, proposalStatus } from './contract.ts'
import { operatorsWith, type ProposalRow, personById } from './store.ts'

const noticeJob = 'proposals.notice'

const accountId = z.string().transform((text) => bizId<'account'>(text))
const Notice = z.object({
  to: accountId,
  kind: z.enum(proposalKind.codes),
  status: z.enum(proposalStatus.codes),
  account: z.string(),
  reason: z.string(),
})

/** Call in the transaction that changes the proposal, so that the mails are sent if and only if it commits. */
export async function queueNotices(
  tx: Tx,
  ids: Ids,
  {
    kind,
    subjectId,
    subjectEmail: account,
    reason,
  }: Pick<ProposalRow, 'kind' | 'subjectId' | 'subjectEmail' | 'reason'>,
  status: ProposalStatus,
  at: Instant,
): Promise<void> {
  const managers = await operatorsWith(tx, 'operator:manage')
  const recipients = new Set([subjectId, ...managers.map(({ id }) => id)])
  const jobs = [...recipients].map((to) => ({ kind: noticeJob, payload: { to, kind, status, account, reason }, at }))
  await enqueueJobs(tx, ids, jobs)
}

export interface NoticePorts {
  database: Database
  mailer: Mailer
  words: Words
  signInUrl(portal: Portal): string
}

export function noticeMailJob(ports: NoticePorts): JobKind {
  return {
    name: noticeJob,
    attempts: 10,
    work: (payload) => sendNotice(ports, Notice.parse(payload)),
  }
}

async function sendNotice(
  { database, mailer, words, signInUrl }: NoticePorts,
  { to, kind, status, account, reason }: z.output<typeof Notice>,
): Promise<void> {
  const recipient = await personById(database, to)
  if (!recipient) return
  const locale = parseLocale(recipient.language)
  const values = {
    proposal: words.coded(proposalKind, kind, locale).description,
    status: words.coded(proposalStatus, status, locale).description,
    account,
    reason,
    url: signInUrl(recipient.portal),
  }
  await mailer.send({ to: recipient.email, template: 'proposals.operator-proposal', locale, values })
}
