import { type Instant, type Portal, parseLocale, toIso } from '../../kernel/index.ts'
import type { JobKind } from '../../platform/jobs/index.ts'
import { accountById } from '../accounts/store.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { Notice, noticeJob } from './notice.ts'

/** With the runner's pauses between them: half an hour without a mail server loses nothing. */
const attempts = 10

/** Minutes are exact enough for a person, and UTC is said. */
const timeOf = (at: Instant): string => `${toIso(at).slice(0, 16).replace('T', ' ')} UTC`

/** Mails a notice in the account's own language. After a process that was killed in between it may come twice. */
export const noticeSender = (
  { database, mailer, words }: Pick<IdentityPorts, 'database' | 'mailer' | 'words'>,
  portals: IdentitySettings['portals'],
): JobKind => {
  const urlOf = (portal: Portal): string => portals[portal].links.signIn
  const send = async ({ portal, accountId, about, clientIp: address, device, at }: Notice): Promise<void> => {
    const account = await accountById(database, portal, accountId)
    if (!account) return
    const locale = parseLocale(account.language)
    const to = { to: account.email, locale }
    const told = { time: timeOf(at), address, url: urlOf(portal) }
    if (about === 'NEW_DEVICE') {
      const values = { ...told, device: device === '' ? '-' : device }
      return mailer.send({ ...to, template: 'new-device', values })
    }
    const values = { ...told, change: words.text(`notice.change.${about}`, locale) }
    return mailer.send({ ...to, template: 'security-change', values })
  }
  return { name: noticeJob, attempts, work: (payload) => send(Notice.parse(payload)) }
}
