import { z } from 'zod'
import type { Tx } from '../../database/index.ts'
import {
  type AccountId,
  bizId,
  type Ids,
  type Instant,
  type Portal,
  portals,
  type RequestContext,
  toInstant,
} from '../../kernel/index.ts'
import { enqueueJob } from '../../platform/jobs/index.ts'

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

/** Payload of a notice job: the account, the event, and the client that caused it. */
export const Notice = z.object({
  portal: z.enum(portals),
  accountId: z.string().transform((text) => bizId<'account'>(text)),
  about: z.enum([...credentialChanges, 'NEW_DEVICE']),
  clientIp: z.string(),
  device: z.string(),
  at: z.int().transform(toInstant),
})
export type Notice = z.output<typeof Notice>

const maxDeviceLength = 160

/**
 * Queues a security mail to an account in the transaction of the event that it reports, so that neither happens without
 * the other. No response waits for the mail.
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
