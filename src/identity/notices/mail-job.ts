import { type Instant, parseLocale, toIso } from '../../kernel/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import { accountById } from '../accounts/store.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { Notice, noticeJob } from './service.ts'

interface NoticeMailPorts extends Pick<IdentityPorts, 'database' | 'mailer' | 'words'> {
  portals: IdentitySettings['portals']
}

/** With the pauses of the job runner, this covers half an hour without a mail server. */
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

/** The job that mails notices. A mail may be sent twice if the process is killed before the job is marked as done. */
export const noticeMailJob = (ports: NoticeMailPorts): JobKind => ({
  name: noticeJob,
  attempts: maxAttempts,
  work: (payload) => sendNotice(ports, Notice.parse(payload)),
})
