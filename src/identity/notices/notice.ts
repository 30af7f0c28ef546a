import { z } from 'zod'
import { bizId, portals, toInstant } from '../../kernel/index.ts'

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

export const noticeJob = 'identity.notice'

/** What the job of a notice is given: who is told, of what, and from where it was done. */
export const Notice = z.object({
  portal: z.enum(portals),
  accountId: z.string().transform((text) => bizId<'account'>(text)),
  about: z.enum([...credentialChanges, 'NEW_DEVICE']),
  clientIp: z.string(),
  device: z.string(),
  at: z.int().transform(toInstant),
})
export type Notice = z.output<typeof Notice>
