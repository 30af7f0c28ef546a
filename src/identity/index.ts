import type { JSONWebKeySet } from 'jose'
import type { AuthenticationPort, ChannelPort } from '../gateway/ports.ts'
import type { HandlerTable } from '../kernel/index.ts'
import { accountProvider, type ProvideAccount } from './accounts/create.ts'
import { closedGuard } from './ip-whitelist/guard.ts'
import { loginCompleter } from './login/complete.ts'
import { loginHandlers } from './login/handlers.ts'
import { loginInitiator } from './login/initiate.ts'
import { codeSender } from './login/send-code.ts'
import { createThrottle } from './login/throttle.ts'
import type { IdentityPorts } from './ports.ts'
import { createSecureChannel } from './secure-channel/index.ts'
import { authenticator } from './sessions/authenticate.ts'
import { createLiveness } from './sessions/liveness.ts'
import { logout } from './sessions/logout.ts'
import { sessionStarter } from './sessions/start.ts'
import type { IdentitySettings } from './settings.ts'
import { sweepIdentity } from './sweep-store.ts'
import { createAccessTokens } from './tokens/access-tokens.ts'
import { type AssertionSigner, createAssertionSigner } from './tokens/assertion-signer.ts'
import { refresher } from './tokens/refresh.ts'
import { createSigningKeys } from './tokens/signing-keys.ts'
import { rememberVerified } from './tokens/verified-tokens.ts'

export type { ProvideAccount, ProvidedAccount } from './accounts/create.ts'
export type { IdentityPorts } from './ports.ts'
export { defaultIdentitySettings, type IdentitySettings } from './settings.ts'
export type { Assertion, AssertionSigner } from './tokens/assertion-signer.ts'
export { assertionType } from './tokens/claims.ts'

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
  /** Deletes what can never count again; for a job. */
  sweep(): Promise<void>
}

/** What the gateway serves itself. Makes sure before it answers that there are keys to sign and to open with. */
export const createIdentity = async (ports: IdentityPorts, settings: IdentitySettings): Promise<Identity> => {
  const { database, clock, ids, words } = ports
  const keys = createSigningKeys(ports, settings.tokens)
  const tokens = createAccessTokens(ports, keys, settings.tokens)
  const liveness = createLiveness(database, clock, settings.sessions)
  const throttle = createThrottle(ports, settings.login.failures)
  const startSession = sessionStarter(ports, settings.sessions)
  const admit = closedGuard
  const channel = createSecureChannel(ports, settings.secureChannel)
  await Promise.all([keys.signing(), channel.ready()])

  const login = loginHandlers(words, {
    initiate: loginInitiator(ports, throttle, settings.login),
    sendCode: codeSender(ports, settings.login),
    complete: loginCompleter({ ports, throttle, tokens, liveness, admit, startSession }),
    refresh: refresher({ ports, tokens, liveness, admit, settings }),
    logout: logout(ports, liveness),
  })
  return {
    handlers: new Map([...channel.handlers, ...login]),
    channel: channel.port,
    authentication: {
      accessToken: authenticator({
        database,
        clock,
        readToken: rememberVerified(tokens, keys, clock, settings.tokens),
        clientOf: tokens.clientOf,
        liveness,
        admit,
        settings: settings.sessions,
      }),
    },
    signer: createAssertionSigner(keys, clock, ids, settings.tokens.issuer),
    jwks: keys.jwks,
    rotateSigningKey: keys.rotate,
    provideAccount: accountProvider(ports, settings.sessions.maxConcurrent),
    sweep: () => sweepIdentity(database, clock.now()),
  }
}
