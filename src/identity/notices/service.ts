import { z } from 'zod'
import type { Tx } from '../../database/index.ts'
import {
  type AccountId,
  bizId,
  type Ids,
  type Instant,
  type Portal,
  parseLocale,
  portals,
  type RequestContext,
  toInstant,
  toIso,
} from '../../kernel/index.ts'
import { enqueueJob, type JobKind } from '../../platform/jobs/index.ts'
import { accountById } from '../accounts/store.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'

const credentialChanges = [
  'PASSWORD_SET',
  'PASSWORD_CHANGED',
  'PASSWORD_RESET',
  'OTP_ENABLED',
  'OTP_REMOVED',
  'BACKUP_CODES_GENERATED',
  'BACKUP_CODE_USED',
  'IP_WHITELIST_CHANGED',
  'IP_WHITELIST_ENABLED',
  'IP_WHITELIST_DISABLED',
] as const
export type CredentialChange = (typeof credentialChanges)[number]

const noticeJob = 'identity.notice'

/** Payload of a notice: the account, the event, and the client that caused it. */
const Notice = z.object({
  portal: z.enum(portals),
  accountId: z.string().transform((text) => bizId<'account'>(text)),
  about: z.enum([...credentialChanges, 'NEW_DEVICE']),
  clientIp: z.string(),
  device: z.string(),
  at: z.int().transform(toInstant),
})
type Notice = z.output<typeof Notice>

const maxDeviceLength = 160

/**
 * Queues a mail to an account about a security event. It runs in the transaction of the event, so that the mail is sent if
 * and only if the event is committed.
 */
export const queueNotice = (
  tx: Tx,
  ids: Ids,
  { portal, id: accountId }: { portal: Portal; id: AccountId },
  about: Notice['about'],
  { clientIp, userAgent }: Pick<RequestContext, 'clientIp' | 'userAgent'>,
  at: Instant,
): Promise<void> => {
  const payload: Notice = { portal, accountId, about, clientIp, device: userAgent.slice(0, maxDeviceLength), at }
  return enqueueJob(tx, ids, { kind: noticeJob, payload, at })
}

interface NoticeMailPorts extends Pick<IdentityPorts, 'database' | 'mailer' | 'words'> {
  portals: IdentitySettings['portals']
}

/** With the backoff of the job runner, this number of attempts covers a mail server outage of half an hour. */
const maxAttempts = 10

const toMinutesUtc = (at: Instant): string => `${toIso(at).slice(0, 16).replace('T', ' ')} UTC`

/** Mails a notice in the language of the account. */
const sendNotice = async (
  { database, mailer, words, portals }: NoticeMailPorts,
  { portal, accountId, about, clientIp: address, device, at }: Notice,
): Promise<void> => {
  const account = await accountById(database, portal, accountId)
  if (!account) return
  const locale = parseLocale(account.language)
  const to = { to: account.email, locale }
  const event = { time: toMinutesUtc(at), address, url: portals[portal].links.signIn }
  if (about === 'NEW_DEVICE') {
    const values = { ...event, device: device === '' ? '-' : device }
    return mailer.send({ ...to, template: 'new-device', values })
  }
  const values = { ...event, change: words.text(`notice.change.${about}`, locale) }
  return mailer.send({ ...to, template: 'security-change', values })
}

/** Returns the job kind that mails notices. If the process is killed before the job is marked as done, a mail is sent twice. */
export const noticeMailJob = (ports: NoticeMailPorts): JobKind => ({
  name: noticeJob,
  attempts: maxAttempts,
  work: (payload) => sendNotice(ports, Notice.parse(payload)),
})
