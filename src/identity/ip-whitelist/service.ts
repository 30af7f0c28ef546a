import { inTransaction, type Tx } from '../../database/index.ts'
import { type AccountId, type Caller, conflict, type Ids, type Portal } from '../../kernel/index.ts'
import { auditContextOf, recordSuccess } from '../../platform/audit/index.ts'
import { containsAddress, ipVersion, parseRange } from '../../platform/ip-ranges.ts'
import { lockOwnAccount, ownAccount } from '../accounts/service.ts'
import { type Account, accountByEmail, lockAccount } from '../accounts/store.ts'
import { type CredentialChange, queueNotice } from '../notices/service.ts'
import type { AddressGuard, CallerContext, IdentityPorts } from '../ports.ts'
import { assertSession } from '../sessions/rules.ts'
import type { SessionPorts } from '../sessions/service.ts'
import { listActiveSessions } from '../sessions/store.ts'
import { listWhitelist, replaceEntries, setWhitelistEnabled, type WhitelistEntry } from './store.ts'

export interface WhitelistPorts extends SessionPorts {
  addressGuard: AddressGuard
}

export interface Whitelist {
  enabled: boolean
  entries: WhitelistEntry[]
}

export async function getWhitelist({ database }: WhitelistPorts, caller: Caller): Promise<Whitelist> {
  const { portal, id, ipWhitelistEnabled } = await ownAccount(database, caller)
  return { enabled: ipWhitelistEnabled, entries: await listWhitelist(database, portal, id) }
}

/** Throws STATE.CONFLICT if it would lock the caller out. */
export function replaceWhitelist(
  ports: WhitelistPorts,
  addresses: string[],
  context: CallerContext,
): Promise<Whitelist> {
  return changeWhitelist(ports, 'IP_WHITELIST_CHANGED', context, async (tx, { portal, id, ipWhitelistEnabled }) => {
    if (ipWhitelistEnabled) assertCoversCaller(addresses, context.clientIp)
    const entries = addresses.map((address) => toNewEntry(ports.ids, address))
    await replaceEntries(tx, portal, id, entries, ports.clock.now())
    return { enabled: ipWhitelistEnabled, entries: await listWhitelist(tx, portal, id) }
  })
}

/**
 * Throws STATE.CONFLICT if it would lock the caller out, unless `force` is set.
 */
export function enableWhitelist(
  ports: WhitelistPorts,
  { force }: { force: boolean },
  context: CallerContext,
): Promise<void> {
  return changeWhitelist(ports, 'IP_WHITELIST_ENABLED', context, async (tx, { portal, id }) => {
    const addresses = (await listWhitelist(tx, portal, id)).map(({ address }) => address)
    if (!force) assertCoversCaller(addresses, context.clientIp)
    await setWhitelistEnabled(tx, portal, id, true, ports.clock.now())
  })
}

export function disableWhitelist(ports: WhitelistPorts, context: CallerContext): Promise<void> {
  return changeWhitelist(ports, 'IP_WHITELIST_DISABLED', context, (tx, { portal, id }) =>
    setWhitelistEnabled(tx, portal, id, false, ports.clock.now()),
  )
}

/**
 * For the command line. `record` runs in the transaction. Returns whether the whitelist was enabled, or undefined
 * without an account.
 */
export function disableWhitelistByEmail(
  { database, clock, ids }: Pick<IdentityPorts, 'database' | 'clock' | 'ids'>,
  { portal, email }: { portal: Portal; email: string },
  record: (tx: Tx, accountId: AccountId) => Promise<void>,
): Promise<boolean | undefined> {
  return inTransaction(database, async (tx) => {
    const found = await accountByEmail(tx, portal, email)
    const account = found && (await lockAccount(tx, portal, found.id))
    if (!account?.ipWhitelistEnabled) return account && false
    const now = clock.now()
    await setWhitelistEnabled(tx, portal, account.id, false, now)
    await queueNotice(tx, ids, account, 'IP_WHITELIST_DISABLED', { clientIp: '-', userAgent: '' }, now)
    await record(tx, account.id)
    return true
  })
}

async function changeWhitelist<T>(
  ports: WhitelistPorts,
  change: CredentialChange,
  context: CallerContext,
  work: (tx: Tx, account: Account) => Promise<T>,
): Promise<T> {
  const { database, clock, ids, addressGuard, sessionCache } = ports
  const { portal, accountId } = assertSession(context.caller)
  const { result, sessions } = await inTransaction(database, async (tx) => {
    const account = await lockOwnAccount(tx, context.caller)
    const result = await work(tx, account)
    await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: accountId, detail: { change } })
    await queueNotice(tx, ids, account, change, context, clock.now())
    return { result, sessions: await listActiveSessions(tx, portal, accountId, clock.now()) }
  })
  addressGuard.invalidate(accountId)
  // Cached sessions contain `ipWhitelistEnabled`.
  for (const { sessionId } of sessions) sessionCache.invalidate(sessionId)
  return result
}

/** Throws STATE.CONFLICT if the list would lock the caller out. */
function assertCoversCaller(addresses: string[], clientIp: string): void {
  if (addresses.some((address) => containsAddress(parseRange(address), clientIp))) return
  throw conflict('the whitelist does not contain the caller’s address')
}

function toNewEntry(ids: Ids, address: string) {
  return {
    id: ids.next<'ipWhitelistEntry'>(),
    address,
    ipVersion: ipVersion(parseRange(address)),
  }
}
