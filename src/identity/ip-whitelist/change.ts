import { inTransaction, type Tx } from '../../database/index.ts'
import { type Caller, type Ids, Refusal, type RequestContext } from '../../kernel/index.ts'
import { covers, parseRange, versionOf } from '../../platform/addresses/index.ts'
import { actOf, recordAct } from '../../platform/audit/index.ts'
import type { Account } from '../accounts/account.ts'
import { lockOwnAccount } from '../accounts/own-account.ts'
import type { CredentialChange } from '../notices/notice.ts'
import type { Notices } from '../notices/notices.ts'
import type { IdentityPorts } from '../ports.ts'
import { activeSessions } from '../sessions/list-store.ts'
import type { Liveness } from '../sessions/liveness.ts'
import { ownSession } from '../sessions/own-session.ts'
import type { IpWhitelistGuard } from './guard.ts'
import { replaceWhitelist, setWhitelistEnabled, type WhitelistEntry, whitelistOf } from './store.ts'

export interface Whitelist {
  enabled: boolean
  entries: WhitelistEntry[]
}

type Request = RequestContext & { caller: Caller }

interface Parts {
  ports: IdentityPorts
  liveness: Liveness
  guard: IpWhitelistGuard
  notices: Notices
}

const toEntry = (ids: Ids) => (address: string) => ({
  id: ids.next<'ipWhitelistEntry'>(),
  address,
  ipVersion: versionOf(parseRange(address)),
})

/** Nobody locks themselves out by mistake: a set in force has to cover the address that the change comes from. */
const checkCovered = (addresses: string[], clientIp: string): void => {
  if (addresses.some((address) => covers(parseRange(address), clientIp))) return
  throw new Refusal('STATE.CONFLICT', { internal: 'the set does not cover the caller' })
}

/** Changes to the account's own whitelist, each one under the account's lock, recorded and told of by mail. */
export const whitelistChanges = ({ ports, liveness, guard, notices }: Parts) => {
  const { database, clock, ids } = ports

  const changing = async <T>(
    request: Request,
    change: CredentialChange,
    work: (tx: Tx, account: Account) => Promise<T>,
  ): Promise<T> => {
    const { portal, accountId } = ownSession(request.caller)
    const { result, sessions } = await inTransaction(database, async (tx) => {
      const account = await lockOwnAccount(tx, request.caller)
      const result = await work(tx, account)
      await recordAct(tx, actOf(request), { workspaceId: null, targetId: accountId, detail: { change } })
      await notices.credentialChanged(tx, account, change, request, clock.now())
      return { result, sessions: await activeSessions(tx, portal, accountId, clock.now()) }
    })
    guard.forget(accountId)
    // Each of them is known with whether the set is in force.
    for (const { sessionId } of sessions) liveness.forget(sessionId)
    return result
  }

  return {
    replace: (request: Request, addresses: string[]): Promise<Whitelist> =>
      changing(request, 'IP_WHITELIST_CHANGED', async (tx, { portal, id, ipWhitelistEnabled }) => {
        if (ipWhitelistEnabled) checkCovered(addresses, request.clientIp)
        await replaceWhitelist(tx, portal, id, addresses.map(toEntry(ids)), clock.now())
        return { enabled: ipWhitelistEnabled, entries: await whitelistOf(tx, portal, id) }
      }),
    enable: (request: Request, force: boolean): Promise<void> =>
      changing(request, 'IP_WHITELIST_ENABLED', async (tx, { portal, id }) => {
        const entries = await whitelistOf(tx, portal, id)
        const addresses = entries.map(({ address }) => address)
        if (!force) checkCovered(addresses, request.clientIp)
        await setWhitelistEnabled(tx, portal, id, true, clock.now())
      }),
    disable: (request: Request): Promise<void> =>
      changing(request, 'IP_WHITELIST_DISABLED', (tx, { portal, id }) =>
        setWhitelistEnabled(tx, portal, id, false, clock.now()),
      ),
  }
}
