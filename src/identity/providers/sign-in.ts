import { batch, commitWith, inTransaction, type LastStatements, run, type Tx } from '../../database/index.ts'
import { type Instant, messageOf, Refusal, type RequestContext, type SessionId } from '../../kernel/index.ts'
import { recordSuccess, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import { showLinked } from '../accounts/linked-store.ts'
import { type Account, accountById, lockAccount } from '../accounts/store.ts'
import { prepareAttempt } from '../attempts/service.ts'
import { insertProvidedAttempt, type NewAttempt } from '../attempts/store.ts'
import { recordDevice } from '../devices/store.ts'
import { type SessionClient, type StartedLogin, startLogin } from '../login/start.ts'
import type { MfaMethod } from '../mfa/contract.ts'
import { mustSignInByPasskey } from '../mfa/rules.ts'
import { enabledMethods, factorsOf, type StoredFactors } from '../mfa/service.ts'
import { queueNotice } from '../notices/service.ts'
import { recordFailedLogin } from '../sessions/history-store.ts'
import type { ProviderSession } from '../sessions/store.ts'
import { spendKeyProof } from '../tokens/key-proof.ts'
import { createProvidedAccount } from './account.ts'
import { finishAttempt, isAuthenticatedBy, type ProviderReply } from './attempts/service.ts'
import type { ProviderPorts } from './ports.ts'
import type { ProviderDirectory } from './protocol/directory.ts'
import { Identifier, maxIdTokenLength, refused, type VerifiedIdentity } from './protocol/exchange.ts'
import { applyGroups } from './rights.ts'
import { tokenContext } from './sealed.ts'
import {
  bindProvisioned,
  identityOf,
  insertIdentity,
  openSessionIds,
  type Person,
  recordProviderSignIn,
} from './store.ts'

/** A second factor of the account must follow unless the provider's counts. */
export interface PendingFactor {
  sessionId: string
  methods: MfaMethod[]
  /** In seconds. */
  expiresIn: number
}

export type ProviderLogin = { started: StartedLogin; pending: null } | { started: null; pending: PendingFactor }

/**
 * Throws AUTH.SESSION_NOT_FOUND, AUTH.PROVIDER_REFUSED, AUTH.PROVIDER_UNAVAILABLE, AUTH.PROVIDER_NOT_LINKED,
 * AUTH.PENDING_APPROVAL, AUTH.AUTHENTICATOR_REQUIRED or ACCESS.IP_NOT_ALLOWED.
 */
export async function finishProviderLogin(
  ports: ProviderPorts,
  reply: ProviderReply,
  context: RequestContext,
  client: SessionClient,
): Promise<ProviderLogin> {
  const { directory, identity } = await finishAttempt(ports, 'SIGN_IN', reply, null, context)
  await spendKeyProof(ports, context)
  const { login, changed } = await signIn(ports, directory, identity, context, client)
  // The account stays, for an operator to approve.
  if (login === null) throw new Refusal('AUTH.PENDING_APPROVAL')
  for (const id of [...changed, ...(login.started?.displaced ?? [])]) ports.sessionCache.invalidate(id)
  return login
}

interface SignedIn {
  /** Null if the account is pending approval. */
  login: ProviderLogin | null
  /** Sessions of the account, whose permissions may have changed. */
  changed: SessionId[]
}

async function signIn(
  ports: ProviderPorts,
  directory: ProviderDirectory,
  identity: VerifiedIdentity,
  context: RequestContext,
  client: SessionClient,
): Promise<SignedIn> {
  const { settings } = directory
  const now = ports.clock.now()
  let failed: Account | undefined
  try {
    return await inTransaction(ports.database, async (tx) => {
      const found = await findAccount(ports, tx, directory, identity, context, now)
      failed = found
      if (found.status === 'PENDING_APPROVAL') return { login: null, changed: [] }
      const guarded = { ...found, accountId: found.id }
      await ports.addressGuard.assertAllowed(guarded, context.clientIp, tx)
      await applyGroups(ports, tx, settings, found, identity, now)
      const changed = settings.groups ? await openSessionIds(tx, found.portal, found.id, now) : []
      // The permissions decide which factors the account may use.
      const account = (await accountById(tx, found.portal, found.id)) ?? found
      const provider = sessionAtProvider(ports, account, settings.id, identity)
      const factors = await run(tx, factorsOf(ports.settings, account))
      const counts =
        isAuthenticatedBy(identity, settings.trustsMfa) &&
        !mustSignInByPasskey(ports.settings, account, factors.passkeys)
      return counts
        ? start(ports, tx, account, { ...client, provider }, context, changed, now)
        : requestFactor(ports, { account, factors }, provider, context, changed)
    })
  } catch (error) {
    if (failed && error instanceof Refusal && error.code === 'ACCESS.IP_NOT_ALLOWED')
      await recordFailedLogin(ports, { accountId: failed.id, failure: 'IP_NOT_ALLOWED', method: 'PROVIDER' }, context)
    // The groups would leave nobody who can manage operators.
    if (error instanceof Refusal && error.code === 'STATE.CONFLICT') throw refused(messageOf(error), error)
    throw error
  }
}

/** Locks the account. Links a person whom SCIM or the configuration provides. */
async function findAccount(
  ports: ProviderPorts,
  tx: Tx,
  { settings }: ProviderDirectory,
  identity: VerifiedIdentity,
  context: RequestContext,
  now: Instant,
): Promise<Account> {
  const { portal, id: providerId, issuer, claims: names } = settings
  const person: Person = { portal, issuer, subject: identity.subject }
  const externalId = Identifier.safeParse(identity.claims[names.externalId]).data
  const known =
    (await identityOf(tx, person)) ??
    (externalId !== undefined ? await bindProvisioned(tx, person, { providerId, externalId }, now) : undefined)
  const linked = known ?? (await provide(ports, tx, person, settings, identity, context, now))
  const account = await lockAccount(tx, portal, linked.accountId)
  if (account?.status !== 'ACTIVE' && account?.status !== 'PENDING_APPROVAL') throw refused('the account is not active')
  await recordProviderSignIn(tx, portal, linked.id, now)
  return account
}

/** A person without an account. An existing account with the same address is linked only by its owner. */
async function provide(
  ports: ProviderPorts,
  tx: Tx,
  person: Person,
  settings: ProviderDirectory['settings'],
  identity: VerifiedIdentity,
  context: RequestContext,
  now: Instant,
) {
  const account = await createProvidedAccount(ports, tx, settings, identity, context, now)
  const id = ports.ids.next<'identity'>()
  const { portal, id: providerId } = settings
  if (!(await insertIdentity(tx, { id, ...person, accountId: account.id, providerId }, now)))
    throw refused('a concurrent sign-in linked the person')
  await showLinked(tx, portal, account.id, now)
  const detail = { event: 'ACCOUNT_CREATED', provider: providerId, identity: id }
  const auditContext = unauthenticatedAuditContext(account.id, context, now)
  await recordSuccess(tx, auditContext, { workspaceId: null, targetId: account.id, detail })
  await queueNotice(tx, ports.ids, { portal, id: account.id }, 'PROVIDER_LINKED', context, now)
  return { id, accountId: account.id }
}

async function start(
  ports: ProviderPorts,
  tx: Tx,
  account: Account,
  client: SessionClient & { provider: ProviderSession },
  context: RequestContext,
  changed: SessionId[],
  now: Instant,
): Promise<LastStatements<SignedIn>> {
  const [isNewDevice] = await batch(tx, [
    recordDevice(account.id, ports.digest.candidates('client-hash', context.clientHash), now),
  ])
  const facts = { ...client, signedInBy: 'PROVIDER', isNewDevice } as const
  const { statements } = startLogin(ports, tx, account, facts, [], context, now)
  return commitWith([statements], ([started]): SignedIn => ({ login: { started, pending: null }, changed }))
}

/** Continues like a sign-in with a password. */
async function requestFactor(
  ports: ProviderPorts,
  { account, factors }: { account: Account; factors: StoredFactors },
  provider: ProviderSession,
  context: RequestContext,
  changed: SessionId[],
): Promise<LastStatements<SignedIn>> {
  const { settings } = ports
  const methods = enabledMethods(settings, account, factors)
  if (methods.length === 0)
    throw new Refusal('AUTH.AUTHENTICATOR_REQUIRED', { internal: 'the account has no second factor that it may use' })
  const { sessionId, attempt, now } = prepareAttempt(ports, settings.login, context)
  const expiresIn = Math.floor(settings.login.sessionTtlMs / 1_000)
  const pending = { sessionId, methods, expiresIn }
  return commitWith(
    [insertProvidedAttempt(attempt satisfies NewAttempt, account.id, provider, now)],
    (): SignedIn => ({ login: { started: null, pending }, changed }),
  )
}

function sessionAtProvider(
  { secretBox }: ProviderPorts,
  { portal, id }: Account,
  providerId: string,
  { sid, idToken }: VerifiedIdentity,
): ProviderSession {
  const isStored = idToken.length <= maxIdTokenLength
  const token = isStored ? secretBox.seal('provider-token', tokenContext(portal, id), Buffer.from(idToken)) : null
  return { providerId, providerSid: sid, providerToken: token }
}
