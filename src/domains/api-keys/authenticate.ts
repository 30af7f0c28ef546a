import { timingSafeEqual } from 'node:crypto'
import type { Database } from '../../database/index.ts'
import type { AuthenticationPort, Credential, WorkspacePort } from '../../gateway/pipeline/ports.ts'
import { type AccountId, type Caller, type Clock, type Portal, Refusal } from '../../kernel/index.ts'
import type { KeyedDigest } from '../../platform/crypto/index.ts'
import type { LastUse } from './last-use.ts'
import { keyByPrefix, type PresentableKey } from './presented-store.ts'
import { accessOf, isAllowedFrom, statusAt } from './rules.ts'
import { keyDigest, type PresentedKey, parseKey } from './secret.ts'

/** Refuses addresses outside an account's whitelist, where it has one in force. */
export type AdmitAddress = (
  account: { portal: Portal; accountId: AccountId; ipWhitelistEnabled: boolean },
  clientIp: string,
) => Promise<void>

export interface AuthenticatePorts {
  database: Database
  clock: Clock
  digest: KeyedDigest
  gate: WorkspacePort
  admit: AdmitAddress
  lastUse: LastUse
}

const refuse = (internal: string): never => {
  throw new Refusal('ACCESS.TOKEN_INVALID', { internal })
}

const callerBy = (key: PresentableKey): Caller => ({
  accountId: key.creatorId,
  portal: key.creatorPortal,
  sessionId: null,
  apiKeyId: key.id,
  steppedUpAt: null,
  permissions: new Set(),
})

/** A key stands in for whoever made it, as far as it was given and they still may today. Nothing of it is cached. */
export const authenticator = (ports: AuthenticatePorts): AuthenticationPort['apiKey'] => {
  const { database, clock, digest, gate, admit, lastUse } = ports

  /** A list of its own is the key's; without one it goes where its creator may. */
  const requireAddress = async (key: PresentableKey, clientIp: string): Promise<void> => {
    if (key.ipAllowlist.length === 0) {
      const { creatorPortal: portal, creatorId: accountId, creatorIsWhitelisted: ipWhitelistEnabled } = key
      return admit({ portal, accountId, ipWhitelistEnabled }, clientIp)
    }
    if (!isAllowedFrom(key.ipAllowlist, clientIp)) {
      throw new Refusal('ACCESS.IP_NOT_ALLOWED', { internal: 'not on the list of the API key' })
    }
  }

  const live = async (presented: PresentedKey, { portal, clientIp }: Credential): Promise<PresentableKey> => {
    const key = (await keyByPrefix(database, presented.prefix)) ?? refuse('no such API key')
    if (!timingSafeEqual(key.digest, keyDigest(digest, presented))) refuse('the secret is wrong')
    const status = statusAt(key, clock.now())
    if (status !== 'ACTIVE') refuse(`the API key is ${status}`)
    if (key.creatorStatus !== 'ACTIVE') refuse('the account that made the API key is not active')
    if (portal !== null && key.creatorPortal !== portal) refuse('the API key belongs to another portal')
    await requireAddress(key, clientIp)
    return key
  }

  const authenticate = async (presented: PresentedKey, credential: Credential) => {
    const key = await live(presented, credential)
    const caller = callerBy(key)
    const creator = await gate.enter(caller, key.workspaceId)
    lastUse.note(key, credential.clientIp, clock.now())
    return { caller, workspace: accessOf(creator, key.permissionCodes) }
  }

  return (credential) => {
    const presented = parseKey(credential.token)
    return presented && authenticate(presented, credential)
  }
}
