import { z } from 'zod'
import { portalName } from '../../contract/fields.ts'
import { run, type Statements, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  bizId,
  days,
  type Ids,
  type Instant,
  type Portal,
  parseLocale,
  type RequestContext,
  toInstant,
  toIso,
} from '../../kernel/index.ts'
import { type JobFacts, type JobKind, jobsEnqueued } from '../../platform/jobs/index.ts'
import { accountById } from '../accounts/store.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'

const credentialChanges = [
  'PASSWORD_SET',
  'PASSWORD_CHANGED',
  'PASSWORD_RESET',
  'OTP_ENABLED',
  'OTP_REMOVED',
  'OTP_LOCKED',
  'BACKUP_CODES_GENERATED',
  'BACKUP_CODES_REMOVED',
  'BACKUP_CODE_USED',
  'PASSKEY_ADDED',
  'PASSKEY_REMOVED',
  'PASSKEY_SUSPENDED',
  'PASSKEY_LOCKED',
  'IP_WHITELIST_CHANGED',
  'IP_WHITELIST_ENABLED',
  'IP_WHITELIST_DISABLED',
  'PROVIDER_LINKED',
  'PROVIDER_UNLINKED',
] as const
export type CredentialChange = (typeof credentialChanges)[number]

/** A thief could have caused them. Their mails contain a link that undoes them. */
const enrollments: ReadonlySet<string> = new Set<CredentialChange>([
  'OTP_ENABLED',
  'BACKUP_CODES_GENERATED',
  'PASSKEY_ADDED',
])

const noticeJob = 'identity.notice'

const Notice = z.object({
  portal: portalName,
  accountId: z.string().transform((text) => bizId<'account'>(text)),
  about: z.enum([...credentialChanges, 'NEW_DEVICE', 'CONFIRMATION_FAILED']),
  clientIp: z.string(),
  device: z.string(),
  at: z.int().transform(toInstant),
})
type Notice = z.output<typeof Notice>

const maxDeviceLength = 160

/** As statements for a batch of `tx`. */
export function noticeQueued(
  tx: Tx,
  ids: Ids,
  { portal, id: accountId }: { portal: Portal; id: AccountId },
  about: Notice['about'],
  { clientIp, userAgent }: Pick<RequestContext, 'clientIp' | 'userAgent'>,
  at: Instant,
): Statements<unknown> {
  const payload: Notice = { portal, accountId, about, clientIp, device: userAgent.slice(0, maxDeviceLength), at }
  return jobsEnqueued(tx, ids, [{ kind: noticeJob, payload, at }])
}

/** Queue in the transaction of the event, so that the email is sent if and only if it commits. */
export async function queueNotice(...notice: Parameters<typeof noticeQueued>): Promise<void> {
  await run(notice[0], noticeQueued(...notice))
}

interface NoticeMailPorts extends Pick<IdentityPorts, 'cache' | 'database' | 'mailer' | 'words'> {
  /** Limits notices about failed password confirmations, per account. */
  maxPerDay: number
  portals: IdentitySettings['portals']
  /** Null if the enrollment is too old to undo it. */
  createUndoLink(
    account: { portal: Portal; id: AccountId },
    enrolledAt: Instant,
  ): Promise<{ url: string; expiresAt: Instant } | null>
}

/** With the job runner's backoff, the attempts outlast a mail server outage of half an hour. */
const maxAttempts = 10

/** If the process dies before the job is marked as done, the email is sent again. */
export function noticeMailJob(ports: NoticeMailPorts): JobKind {
  return {
    name: noticeJob,
    attempts: maxAttempts,
    work: (payload, facts) => sendNotice(ports, Notice.parse(payload), facts),
  }
}

async function sendNotice(
  ports: NoticeMailPorts,
  { portal, accountId, about, clientIp: address, device, at }: Notice,
  { attempt, drop }: Pick<JobFacts, 'attempt' | 'drop'>,
): Promise<void> {
  const { database, mailer, words, portals } = ports
  const account = await accountById(database, portal, accountId)
  const rules = portals[portal]
  // The configuration may no longer have the portal, so that a mail could link to nothing.
  if (!account || !rules) return
  const locale = parseLocale(account.language)
  const to = { to: account.email, locale }
  const event = { time: toMinutesUtc(at), address, url: rules.links.signIn }
  if (about === 'NEW_DEVICE') {
    const values = { ...event, device: device === '' ? '-' : device }
    return mailer.send({ ...to, template: 'new-device', values })
  }
  if (about === 'CONFIRMATION_FAILED') {
    if (!(await isWithinLimit(ports, accountId, attempt))) return drop()
    return mailer.send({ ...to, template: 'confirmation-failed', values: event })
  }
  const values = { ...event, change: words.text(`notice.change.${about}`, locale) }
  // The payload of a job is stored in plain text, so the job itself creates the token.
  const undo = enrollments.has(about) ? await ports.createUndoLink({ portal, id: accountId }, at) : null
  if (undo) {
    const until = toMinutesUtc(undo.expiresAt)
    return mailer.send({ ...to, template: 'factor-added', values: { ...values, url: undo.url, until } })
  }
  return mailer.send({ ...to, template: 'security-change', values })
}

function toMinutesUtc(at: Instant): string {
  return `${toIso(at).slice(0, 16).replace('T', ' ')} UTC`
}

/**
 * A thief could otherwise flood the mailbox. Counts only the first attempt, so that a mail server outage does not use
 * up the limit.
 */
async function isWithinLimit({ cache, maxPerDay }: NoticeMailPorts, accountId: AccountId, attempt: number) {
  return attempt > 1 || (await cache.increment(`notice-confirmation:${accountId}`, days(1))).count <= maxPerDay
}
