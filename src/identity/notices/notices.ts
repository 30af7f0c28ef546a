import type { Tx } from '../../database/index.ts'
import type { AccountId, Ids, Instant, Portal, RequestContext } from '../../kernel/index.ts'
import { enqueueJob } from '../../platform/jobs/index.ts'
import { type CredentialChange, type Notice, noticeJob } from './notice.ts'

interface Addressee {
  portal: Portal
  id: AccountId
}
type Where = Pick<RequestContext, 'clientIp' | 'userAgent'>

/**
 * Mails that nobody asked for. Each is a job that is written in the transaction of what it tells of, so that neither comes
 * without the other, whatever becomes of the process or the mail server; no answer waits for it.
 */
export interface Notices {
  credentialChanged(tx: Tx, account: Addressee, change: CredentialChange, where: Where, at: Instant): Promise<void>
  newDevice(tx: Tx, account: Addressee, where: Where, at: Instant): Promise<void>
}

const longestDevice = 160

export const createNotices = (ids: Ids): Notices => {
  const tell = (tx: Tx, account: Addressee, about: Notice['about'], where: Where, at: Instant): Promise<void> => {
    const { clientIp, userAgent } = where
    const { portal, id: accountId } = account
    const payload: Notice = { portal, accountId, about, clientIp, device: userAgent.slice(0, longestDevice), at }
    return enqueueJob(tx, ids, { kind: noticeJob, payload, at })
  }
  return {
    credentialChanged: tell,
    newDevice: (tx, account, where, at) => tell(tx, account, 'NEW_DEVICE', where, at),
  }
}
