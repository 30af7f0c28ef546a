import type { JSONWebKeySet } from 'jose'
import type { Database } from '../database/index.ts'
import type { AuthenticationPort, ChannelPort } from '../gateway/pipeline/ports.ts'
import type { AssertionSigner, HandlerTable, SessionId } from '../kernel/index.ts'
import type { JobKind } from '../platform/jobs/index.ts'
import { accountProvider, type ProvideAccount } from './accounts/create.ts'
import { whitelistChanges } from './ip-whitelist/change.ts'
import { createIpWhitelistGuard, type Guarded } from './ip-whitelist/guard.ts'
import { ipWhitelistHandlers } from './ip-whitelist/handlers.ts'
import { createLogin } from './login/index.ts'
import { mailQuota } from './login/mail-quota.ts'
import { createThrottle } from './login/throttle.ts'
import { loginTurns } from './login/turns.ts'
import { createMfa } from './mfa/index.ts'
import { factorProver } from './mfa/prove.ts'
import { createNotices } from './notices/notices.ts'
import { noticeSender } from './notices/send.ts'
import { createPasswords } from './passwords/index.ts'
import type { IdentityPorts } from './ports.ts'
import { registrationHandlers } from './registration/handlers.ts'
import { createSecureChannel } from './secure-channel/index.ts'
import { announced } from './sessions/announced.ts'
import { authenticator } from './sessions/authenticate.ts'
import { sessionHandlers } from './sessions/handlers.ts'
import { createLiveness } from './sessions/liveness.ts'
import type { IdentitySettings } from './settings.ts'
import { sweepIdentity } from './sweep-store.ts'
import { createAccessTokens } from './tokens/access-tokens.ts'
import { createAssertionSigner } from './tokens/assertion-signer.ts'
import { createSigningKeys } from './tokens/signing-keys.ts'
import { rememberVerified } from './tokens/verified-tokens.ts'

export { accountProvider, type ProvideAccount } from './accounts/create.ts'
export { accountByEmail } from './accounts/store.ts'
export { liftWhitelist } from './ip-whitelist/lift.ts'
export { passwordRule } from './passwords/rule.ts'
export type { IdentityPorts, OpenOwnWorkspace } from './ports.ts'
export { endSessions } from './sessions/bound-store.ts'
export { fixedSettings, type IdentitySettings } from './settings.ts'
export { assertionType } from './tokens/claims.ts'
export { createSigningKeys } from './tokens/signing-keys.ts'

export interface Identity {
  handlers: HandlerTable
  channel: ChannelPort
  authentication: Pick<AuthenticationPort, 'accessToken'>
  /** For the assertions that accompany a call to an upstream. */
  signer: AssertionSigner
  jwks(): Promise<JSONWebKeySet>
  /** Brings in a new signing key; answers its id. */
  rotateSigningKey(): Promise<string>
  provideAccount: ProvideAccount
  /** Sessions that somebody else has ended in the store: this replica knows at once, the others within a second. */
  sessionsEnded(ids: readonly SessionId[]): void
  /** Refuses addresses outside an account's whitelist: for credentials of other kinds than ours. */
  admit(account: Guarded, clientIp: string): Promise<void>
  /** How many steps of logins wait for their turn, by the line that they stand in. */
  waiting: Readonly<Record<'login-begin' | 'login-complete', () => number>>
  /** Mails that nobody waits for; they leave from the gateway. */
  jobs: JobKind[]
  /** Deletes what can never count again, until a signal ends it; for a job, on a connection that has time for what has gathered. */
  sweep(database: Database, signal?: AbortSignal): Promise<void>
}

/** What the gateway serves itself. Makes sure before it answers that there are keys to sign and to open with. */
export const createIdentity = async (ports: IdentityPorts, settings: IdentitySettings): Promise<Identity> => {
  const { database, clock, ids } = ports
  const keys = createSigningKeys(ports, settings.tokens)
  const tokens = createAccessTokens(ports, keys, settings.tokens)
  const liveness = announced(createLiveness(database, clock, settings.sessions), ports.announcements)
  const throttle = createThrottle(ports, settings.login.failures)
  const guard = createIpWhitelistGuard(ports, settings.sessions)
  const notices = createNotices(ids)
  const quota = mailQuota(ports.cache, 'code', (portal) => settings.portals[portal].codeSends)
  const shared = { ports, settings, throttle, quota, tokens, liveness, notices, prove: factorProver(ports, notices) }
  const turns = loginTurns({ concurrency: settings.login.concurrency, waiting: settings.login.queue })
  const channel = createSecureChannel(ports, settings.secureChannel)
  await Promise.all([keys.signing(), channel.ready()])

  const tables: HandlerTable[] = [
    channel.handlers,
    createLogin({ ...shared, admit: guard.admit, turns }),
    registrationHandlers(ports, throttle, settings),
    createPasswords(shared),
    createMfa(shared),
    sessionHandlers(ports, liveness),
    ipWhitelistHandlers(ports, whitelistChanges({ ports, liveness, guard, notices })),
  ]
  return {
    handlers: new Map(tables.flatMap((table) => [...table])),
    channel: channel.port,
    authentication: {
      accessToken: authenticator({
        database,
        clock,
        readToken: rememberVerified(tokens, keys, settings.tokens),
        clientOf: tokens.clientOf,
        liveness,
        guard,
        settings: settings.sessions,
      }),
    },
    signer: createAssertionSigner(keys, clock, ids, settings.tokens.issuer),
    jwks: keys.jwks,
    rotateSigningKey: keys.rotate,
    provideAccount: accountProvider(ports, settings.sessions.maxConcurrent),
    sessionsEnded: (ended) => {
      for (const id of ended) liveness.forget(id)
    },
    admit: guard.admit,
    waiting: { 'login-begin': turns.begin.waiting, 'login-complete': turns.goOn.waiting },
    jobs: [noticeSender(ports, settings.portals)],
    sweep: (store, signal) => sweepIdentity(store, clock.now(), settings.login.failures, signal),
  }
}
