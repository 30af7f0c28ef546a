/*
 * Operations that the gateway serves itself: sign-in, sessions, second factors, passwords, registration, IP whitelists
 * and the secure channel. Each folder imports only from folders before it in this order: accounts, notices, tokens,
 * codes, devices, lockout, attempts, sessions, tickets, step-ups, webauthn, mfa, passwords, passkeys, ip-whitelist,
 * login, providers, browser-sessions, registration. The secure channel imports none of them. Start with
 * `createIdentity`, then read a capability's `contract.ts`, `handlers.ts` and
 * `service.ts`.
 */
import type { JSONWebKeySet } from 'jose'
import type { Link } from '../contract/fields.ts'
import type { Database, Tx } from '../database/index.ts'
import type { AuthenticationPort, ChannelPort, StepUpPort } from '../gateway/pipeline/ports.ts'
import type {
  AccountId,
  AssertionSigner,
  HandlerTable,
  Instant,
  Operation,
  Portal,
  SessionId,
} from '../kernel/index.ts'
import type { EventMapper } from '../platform/events/index.ts'
import type { JobKind } from '../platform/jobs/index.ts'
import { RequestProofs } from '../platform/proofs/index.ts'
import { accountEvents } from './accounts/events.ts'
import { type ProvidedAccount, provideAccount } from './accounts/service.ts'
import { browserSessionHandlers } from './browser-sessions/handlers.ts'
import { deleteExpired } from './cleanup-store.ts'
import { createAddressGuard } from './ip-whitelist/guard.ts'
import { ipWhitelistHandlers } from './ip-whitelist/handlers.ts'
import { Lockout } from './lockout/service.ts'
import { loginHandlers } from './login/handlers.ts'
import { KnownNetworks } from './login/known-networks.ts'
import { createLoginConcurrency } from './login/service.ts'
import { mfaHandlers } from './mfa/handlers.ts'
import { forgetFailures } from './mfa/recovery/reset.ts'
import { noticeMailJob } from './notices/service.ts'
import { passkeyHandlers } from './passkeys/handlers.ts'
import { passwordHandlers } from './passwords/handlers.ts'
import { createUndoLink } from './passwords/undo.ts'
import type { GuardedAccount, IdentityPorts } from './ports.ts'
import { providerHandlers, providerLoginHandlers } from './providers/handlers.ts'
import { type Invitation, invite } from './providers/invitations.ts'
import { endSessionsByProvider, type LogoutNotice } from './providers/logout.ts'
import { Providers } from './providers/ports.ts'
import { registrationHandlers } from './registration/handlers.ts'
import { createSecureChannel } from './secure-channel/index.ts'
import { SessionAuthenticator } from './sessions/authenticate.ts'
import { sessionEvents } from './sessions/events.ts'
import { sessionHandlers } from './sessions/handlers.ts'
import { createSessionCache } from './sessions/session-cache.ts'
import type { IdentitySettings } from './settings.ts'
import { createStepUpAbsence } from './step-ups/absence.ts'
import { createStepUps } from './step-ups/service.ts'
import { createLink, type LinkRequest, useTicket } from './tickets/service.ts'
import { AccessTokens, createAssertionSigner } from './tokens/jwt.ts'
import { SigningKeys } from './tokens/signing-keys.ts'
import { VerifiedTokens } from './tokens/verified-tokens.ts'

export { provideAccount } from './accounts/service.ts'
export { accountByEmail, accountById, emailOfAccount, grantOperators } from './accounts/store.ts'
export { maskEmail } from './codes/service.ts'
export { disableWhitelistByEmail } from './ip-whitelist/service.ts'
export { keyedColumns as identityColumns } from './keyed-columns.ts'
export { type EnrolledFactors, enrollAuthenticator } from './mfa/enroll.ts'
export type { PurposeDetails, PurposePorts } from './mfa/purpose.ts'
export { areFactorsSet, areFactorsUsedSince, resetFactors } from './mfa/recovery/reset.ts'
export { type AccountOverview, readAccountOverview } from './overview.ts'
export { createEnrollment as createPasskeyEnrollment } from './passkeys/enrollment.ts'
export { assertPasswordAllowed } from './passwords/policy.ts'
export type { IdentityHooks, IdentityPorts } from './ports.ts'
export { type ProviderSettings, providerPaths } from './providers/settings.ts'
export { permissionsOfPasskey } from './sessions/rules.ts'
export { assertSessionOpen, endSessions, isSessionByPasskey } from './sessions/service.ts'
export { countOpenSessions } from './sessions/store.ts'
export { fixedSettings, type IdentitySettings, type Lease } from './settings.ts'
export { createAssertionSigner } from './tokens/jwt.ts'
export { accessTokenType, assertionType } from './tokens/rules.ts'
export { SigningKeys } from './tokens/signing-keys.ts'

/** Identity as `compose` uses it. */
export interface Identity {
  handlers: HandlerTable
  channel: ChannelPort
  authentication: Omit<AuthenticationPort, 'apiKey'>
  stepUps: StepUpPort
  signer: AssertionSigner
  /** RFC 7517, section 5. */
  jwks(): Promise<JSONWebKeySet>
  rotateSigningKey(): Promise<string>
  provideAccount(account: ProvidedAccount, tx?: Tx): Promise<{ accountId: AccountId; created: boolean }>
  invalidateSessions(ids: readonly SessionId[]): void
  /** Call when an account is recovered. */
  forgetFailures(tx: Tx, account: { portal: Portal; id: AccountId }): Promise<void>
  /** Rejects with ACCESS.IP_NOT_ALLOWED. */
  assertAddressAllowed(account: GuardedAccount, clientIp: string, isStreamOpen?: boolean): Promise<void>
  /** Rejects with ACCESS.COOKIE_INVALID or ACCESS.RATE_LIMITED. */
  createLink(request: LinkRequest, operation: Operation, params: Readonly<Record<string, string>>): Promise<Link>
  /** Throws STATE.CONFLICT. */
  inviteToProvider(tx: Tx, invitation: Invitation, at: Instant): Promise<{ id: string; expiresAt: Instant }>
  /** The pages to which a sign-in with a provider can return. Undefined for an unknown provider. */
  providerPages(portal: Portal, providerId: string): readonly string[] | undefined
  /** Throws AUTH.PROVIDER_REFUSED or AUTH.PROVIDER_UNAVAILABLE. */
  endSessionsByProvider(notice: LogoutNotice): Promise<number>
  queueLengths: Readonly<Record<'login-begin' | 'login-complete' | 'login-provider', () => number>>
  jobs: JobKind[]
  /** Of accounts and sessions. Some are undeclared while a domain is off. */
  events: EventMapper[]
  /** The database must have no statement timeout. */
  deleteExpired(database: Database, signal?: AbortSignal): Promise<void>
}

/** Resolves once a signing key and a channel key exist. */
export async function createIdentity(ports: IdentityPorts, settings: IdentitySettings): Promise<Identity> {
  const { clock, ids } = ports
  const keys = new SigningKeys(ports, settings.tokens)
  const tokens = new AccessTokens(ports, keys, settings)
  const sessionCache = createSessionCache(ports, settings.sessions)
  const stepUpAbsence = createStepUpAbsence(ports, settings.sessions)
  const addressGuard = createAddressGuard(ports, settings.sessions)
  const concurrency = createLoginConcurrency({
    concurrency: settings.login.concurrency,
    waiting: settings.login.queue,
  })
  const lockout = new Lockout(ports, settings.login.failures)
  const verifiedTokens = new VerifiedTokens(tokens, keys, settings.tokens)
  const networks = new KnownNetworks(clock)
  const proofs = new RequestProofs(ports.cache)
  const common = { ...ports, settings, tokens, proofs, verifiedTokens, sessionCache, stepUpAbsence }
  const providers = new Providers(
    ports,
    Object.values(settings.portals).flatMap((portal) => portal.providers),
  )
  const services = { ...common, addressGuard, concurrency, lockout, networks, providers }
  const authenticator = new SessionAuthenticator(services)
  const channel = createSecureChannel({ ...ports, networks }, settings.secureChannel)
  await Promise.all([keys.signing(), channel.ready()])

  const tables: HandlerTable[] = [
    channel.handlers,
    loginHandlers(services, providerLoginHandlers(services)),
    providerHandlers(services),
    browserSessionHandlers(services),
    registrationHandlers(services),
    passwordHandlers(services),
    mfaHandlers(services),
    passkeyHandlers(services),
    sessionHandlers(services),
    ipWhitelistHandlers(services),
  ]
  const { maxConcurrent: maxSessions } = settings.sessions
  return {
    handlers: new Map(tables.flatMap((table) => [...table])),
    channel: channel.port,
    authentication: {
      accessToken: (credential) => authenticator.authenticate(credential),
      sessionCookie: (credential) => authenticator.authenticateCookie(credential),
      ticket: (use) => useTicket(ports, use),
      keyProof: (proof, request) => authenticator.proveKey(proof, request),
    },
    stepUps: createStepUps({ ...ports, stepUpAbsence }),
    signer: createAssertionSigner(keys, clock, ids, settings.tokens.issuer),
    jwks: () => keys.jwks(),
    rotateSigningKey: () => keys.rotate(),
    provideAccount: (account, tx) => provideAccount({ ...ports, maxSessions }, account, tx),
    invalidateSessions: (ended) => {
      for (const id of ended) sessionCache.invalidate(id)
    },
    forgetFailures: (tx, account) => forgetFailures(services, tx, account),
    createLink: (request, operation, params) => createLink(ports, request, operation, params),
    assertAddressAllowed: (account, clientIp, isStreamOpen) =>
      isStreamOpen ? addressGuard.assertStillAllowed(account, clientIp) : addressGuard.assertAllowed(account, clientIp),
    inviteToProvider: (tx, invitation, at) => invite(services, tx, invitation, at),
    providerPages: (portal, providerId) => providers.known(portal, providerId)?.settings.pages,
    endSessionsByProvider: (notice) => endSessionsByProvider(services, notice),
    queueLengths: {
      'login-begin': concurrency.firstStep.waiting,
      'login-complete': concurrency.laterSteps.waiting,
      'login-provider': concurrency.providerSteps.waiting,
    },
    jobs: [
      noticeMailJob({
        ...ports,
        ...settings.notices,
        portals: settings.portals,
        createUndoLink: (account, enrolledAt) => createUndoLink(services, account, enrolledAt),
      }),
    ],
    events: [accountEvents(ports.words), sessionEvents(ports.words)],
    deleteExpired: (store, signal) => deleteExpired(store, clock.now(), settings.login, signal),
  }
}
