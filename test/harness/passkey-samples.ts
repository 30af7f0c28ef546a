import { SoftwareAuthenticator } from './authenticator.ts'
import { fromOwnPage } from './browser.ts'
import { headersOf, type Input, type Stage } from './event-stage.ts'
import { client, data, newcomer, newEmail, registerOnly } from './identity.ts'

const origin = 'http://localhost:8080'

/** For `portals.<portal>.passkeys`. */
export const passkeySettings = {
  rpId: 'localhost',
  origins: [origin],
  userVerification: 'required' as const,
  attestation: 'none' as const,
}

/** Registers a passkey of a new person. */
async function withPasskey({ portico }: Pick<Stage, 'portico'>) {
  const person = await newcomer(portico)
  const { by, token } = person
  const device = new SoftwareAuthenticator(origin)
  const credential = device.create(data(await by.post('/security/passkeys/options', undefined, token)))
  const { passkeyBizId } = data(await by.post('/security/passkeys', { name: 'My phone', credential }, token))
  return { ...person, device, passkeyBizId: String(passkeyBizId), headers: headersOf(by, token) }
}

/** The inputs of the commands of passkeys. */
export const passkeyInputs: Readonly<Record<string, readonly Input[]>> = {
  'auth.passkeyOptions': [async ({ portico }) => ({ body: {}, headers: headersOf(client(portico)) })],
  'auth.passkeyVerify': [assertion],
  'browserSessions.startWithPasskey': [assertion],
  'mfa.stepUpPasskeyOptions': [
    async (stage) => {
      const { headers } = await withPasskey(stage)
      return { body: {}, headers }
    },
  ],
  'passkeys.options': [
    async ({ portico }) => {
      const { by, token } = await newcomer(portico)
      return { body: {}, headers: headersOf(by, token) }
    },
  ],
  'passkeys.register': [
    async (stage) => {
      const { by, token, headers } = await withPasskey(stage)
      const options = data(await by.post('/security/passkeys/options', undefined, token))
      return { body: { credential: new SoftwareAuthenticator(origin).create(options) }, headers }
    },
  ],
  'registration.passkeyOptions': [
    async (stage) => {
      const { token, headers } = await justRegistered(stage)
      return { body: { token }, headers }
    },
  ],
  'registration.passkey': [
    async (stage) => {
      const { by, token, headers } = await justRegistered(stage)
      const options = data(await by.post('/auth/register/passkey/options', { token }))
      return { body: { token, credential: new SoftwareAuthenticator(origin).create(options) }, headers }
    },
  ],
  'passkeys.rename': [
    async (stage) => {
      const { passkeyBizId, headers } = await withPasskey(stage)
      return { body: { passkeyBizId, name: 'Old phone' }, headers }
    },
  ],
  'passkeys.delete': [
    async (stage) => {
      const { passkeyBizId, headers } = await withPasskey(stage)
      return { body: { passkeyBizId }, headers }
    },
  ],
}

async function justRegistered({ portico }: Pick<Stage, 'portico'>) {
  const by = client(portico)
  const { account } = await registerOnly(portico, newEmail(), by)
  return { by, token: String(account.passwordInitToken), headers: headersOf(by) }
}

/** With a session limit of one, the sign-in ends a session. */
async function assertion(stage: Stage) {
  const { by, token, device } = await withPasskey(stage)
  data(await by.post('/security/sessions/config', { maxConcurrentSessions: 1 }, token))
  const credential = device.get(data(await by.post('/auth/passkey/options')))
  return { body: { credential }, headers: { ...headersOf(by), ...fromOwnPage } }
}
