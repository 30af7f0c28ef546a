import { z } from 'zod'
import type { OwnerNotice, OwnerNotices } from '../../api/notices.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  bizId,
  days,
  type Ids,
  type Instant,
  type Portal,
  parseLocale,
  toInstant,
  toIso,
  type Words,
} from '../../kernel/index.ts'
import type { DomainCache } from '../../platform/cache/index.ts'
import { enqueueJobs, type JobFacts, type JobKind } from '../../platform/jobs/index.ts'
import type { Mailer } from '../../platform/mail/index.ts'
import { ownersToNotify, personById, workspaceById } from './store.ts'

const noticeJob = 'members.ownerNotice'

const NoticeMail = z.object({
  recipientId: idOf<'account'>(),
  kind: z.string(),
  workspaceId: idOf<'workspace'>(),
  actorId: idOf<'account'>().nullable(),
  memberId: idOf<'account'>().nullable(),
  about: z.string(),
  // JSON omits it if undefined.
  gives: z.enum(['POWER', 'PAYOUT']).optional(),
  at: z.int().transform(toInstant),
})
type NoticeMail = z.output<typeof NoticeMail>

export function createOwnerNotices({ ids, words }: { ids: Ids; words: Words }): OwnerNotices {
  return {
    queue: async (tx, notice) => {
      assertDeclared(words, notice.kind)
      await queueNotice(tx, ids, notice)
    },
  }
}

export interface NoticeMailPorts {
  database: Database
  mailer: Mailer
  words: Words
  cache: DomainCache
  /** Counts notices of one kind to one owner. */
  maxPerDay: number
  signInUrl(portal: Portal): string
}

/** With the job runner's backoff, the attempts outlast a mail server outage of half an hour. */
const maxAttempts = 10

/** If the process dies before the job is marked as done, the email is sent again. */
export function ownerNoticeJob(ports: NoticeMailPorts): JobKind {
  return {
    name: noticeJob,
    attempts: maxAttempts,
    work: (payload, facts) => mailNotice(ports, NoticeMail.parse(payload), facts),
  }
}

function idOf<Kind extends string>() {
  return z.string().transform((text) => bizId<Kind>(text))
}

function assertDeclared(words: Words, kind: string): void {
  const key = `notice.owners.${kind}.event`
  if (words.text(key, 'en') === key) throw new TypeError(`no domain declares the notice ${kind}`)
}

/** Also informs an owner who has just lost the role. Only the member learns that they were removed. */
async function queueNotice(tx: Tx, ids: Ids, notice: OwnerNotice): Promise<void> {
  const { kind, workspaceId, actorId, memberId = null, about = '', gives, at } = notice
  const owners = kind === 'MEMBER_REMOVED' ? [] : await ownersToNotify(tx, workspaceId)
  const isOut = memberId !== null && (kind === 'OWNER_REMOVED' || kind === 'MEMBER_REMOVED')
  const recipients = new Set(isOut ? [...owners, memberId] : owners)
  const mails = [...recipients].map(
    (recipientId): NoticeMail => ({ recipientId, kind, workspaceId, actorId, memberId, about, gives, at }),
  )
  await enqueueJobs(
    tx,
    ids,
    mails.map((payload) => ({ kind: noticeJob, payload, at })),
  )
}

async function mailNotice(
  ports: NoticeMailPorts,
  notice: NoticeMail,
  { attempt, drop }: Pick<JobFacts, 'attempt' | 'drop'>,
): Promise<void> {
  const { database, mailer, words, signInUrl } = ports
  const { kind, recipientId, workspaceId, actorId, memberId, about, at } = notice
  assertDeclared(words, kind)
  const recipient = await personById(database, recipientId)
  const workspace = await workspaceById(database, workspaceId)
  if (!recipient || !workspace) return
  if (!(await isWithinLimit(ports, notice, attempt))) return drop()
  const locale = parseLocale(recipient.language)
  const emailOf = async (id: AccountId): Promise<string> => (await personById(database, id))?.email ?? '-'
  await mailer.send({
    to: recipient.email,
    template: 'members.workspace-notice',
    locale,
    values: {
      event: words.text(`notice.owners.${kind}.event`, locale),
      advice: words.text(`notice.owners.${kind}.advice`, locale),
      about: memberId === null ? about : await emailOf(memberId),
      workspace: workspace.name,
      actor: actorId === null ? words.text('notice.owners.OPERATOR', locale) : await emailOf(actorId),
      time: toMinutesUtc(at),
      url: signInUrl(workspace.portal),
    },
  })
}

/**
 * Counts the first attempt only, so that a mail server outage does not use up the limit. The first notice of a day about
 * a member, or about a role or key that gets a power, is always within the limit: repetitions about others cannot hide
 * it.
 */
async function isWithinLimit(
  { cache, maxPerDay }: NoticeMailPorts,
  { kind, recipientId, memberId, about, gives }: NoticeMail,
  attempt: number,
): Promise<boolean> {
  if (attempt > 1) return true
  const countOf = async (key: string) => (await cache.increment(`notice-${key}`, days(1))).count
  const limit = `${gives === undefined ? kind : `${kind}-${gives}`}:${recipientId}`
  const subject = memberId ?? (gives === undefined ? null : about)
  if (subject !== null && (await countOf(`${limit}:${subject}`)) === 1) return true
  return (await countOf(limit)) <= maxPerDay
}

function toMinutesUtc(at: Instant): string {
  return `${toIso(at).slice(0, 16).replace('T', ' ')} UTC`
}
