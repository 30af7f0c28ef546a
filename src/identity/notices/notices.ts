import { type Instant, parseLocale, type RequestFacts, toIso } from '../../kernel/index.ts'
import type { Account } from '../accounts/account.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'

export type CredentialChange =
  | 'PASSWORD_SET'
  | 'PASSWORD_CHANGED'
  | 'PASSWORD_RESET'
  | 'OTP_ENABLED'
  | 'OTP_REMOVED'
  | 'BACKUP_CODES_GENERATED'
  | 'BACKUP_CODE_USED'
  | 'IP_WHITELIST_CHANGED'
  | 'IP_WHITELIST_ENABLED'
  | 'IP_WHITELIST_DISABLED'

type Addressee = Pick<Account, 'portal' | 'email' | 'language'>
type Where = Pick<RequestFacts, 'clientIp' | 'userAgent'>

/** Mails that nobody asked for: in the account's own language, and never in the way of an answer. */
export interface Notices {
  credentialChanged(account: Addressee, change: CredentialChange, where: Where, at: Instant): void
  newDevice(account: Addressee, where: Where, at: Instant): void
}

const longestDevice = 160

/** Minutes are exact enough for a person, and UTC is said. */
const timeOf = (at: Instant): string => `${toIso(at).slice(0, 16).replace('T', ' ')} UTC`

export const createNotices = (ports: IdentityPorts, portals: IdentitySettings['portals']): Notices => {
  const { background, mailer, words } = ports
  const urlOf = ({ portal }: Addressee): string => portals[portal].links.signIn
  return {
    credentialChanged: (account, change, { clientIp }, at) => {
      const locale = parseLocale(account.language)
      const values = {
        change: words.text(`notice.change.${change}`, locale),
        time: timeOf(at),
        address: clientIp,
        url: urlOf(account),
      }
      background.run('notice', () => mailer.send({ to: account.email, template: 'security-change', locale, values }))
    },
    newDevice: (account, { clientIp, userAgent }, at) => {
      const device = userAgent.slice(0, longestDevice)
      const values = { time: timeOf(at), address: clientIp, device: device === '' ? '-' : device, url: urlOf(account) }
      const locale = parseLocale(account.language)
      background.run('notice', () => mailer.send({ to: account.email, template: 'new-device', locale, values }))
    },
  }
}
