import { decodeJwt } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Answer, requiredHeaders } from '../../harness/http.ts'
import { begin, client, data, newEmail, register } from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { dpopOf, type SignedClaims, type SigningPair, signingPair } from '../../harness/proofs.ts'
import { codeIn } from '../../harness/sign-in.ts'
import { readEvents } from '../event-streams-world.ts'

const chain = '/web/v1/consumer'
const invalid = [401, 'ACCESS.TOKEN_INVALID']
const { 'content-type': _, ...required } = requiredHeaders()

function outcomeOf({ status, body }: Answer) {
  return [status, body.code]
}

describe('a session that is bound to a key', needsStore(), () => {
  let portico: Portico
  let by: ReturnType<typeof client>
  let email: string
  let pair: SigningPair
  let tokens: { accessToken: string; refreshToken: string; tokenType: string; sessionId: string }
  beforeAll(async () => {
    portico = await startPortico()
    by = client(portico)
    ;({ email } = await register(portico, newEmail(), by))
  })
  afterAll(() => portico?.stop())
  beforeEach(async () => {
    pair = await signingPair()
    tokens = data(await complete(await begin(portico, by, email)))
  })

  const urlOf = (path: string) => portico.settings.publicUrl.replace(/\/$/, '') + path
  const prove = (method: string, path: string, token?: string, signed: SignedClaims = {}, key = pair) =>
    dpopOf(key, { method, url: urlOf(path), token }, signed)
  const complete = async ({ sessionId, code }: { sessionId: string; code: string }, proof?: string) => {
    const dpop = proof ?? (await prove('POST', `${chain}/auth/login/complete`))
    return by.post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code }, undefined, { dpop })
  }
  const send = (
    method: string,
    path: string,
    dpop: string,
    more: { token?: string; body?: object; hash?: string } = {},
  ) => {
    const { token = tokens.accessToken, body, hash = by.hash } = more
    const headers = { authorization: `DPoP ${token}`, dpop, 'x-client-hash': hash, 'cf-connecting-ip': by.ip }
    return portico.call(method, path, { token, headers, ...(body && { body }) })
  }
  const call = async (method: string, path: string, more: Parameters<typeof send>[3] = {}) =>
    send(method, path, await prove(method, path, more.token ?? tokens.accessToken), more)
  const self = `${chain}/security/self`
  const refresh = (refreshToken: string, dpop?: string) =>
    by.post('/auth/token/refresh', { refreshToken }, undefined, dpop === undefined ? {} : { dpop })
  const renew = `${chain}/auth/token/refresh`

  test('auth.loginComplete 200: the token names the key, and works with a proof from any client hash', async () => {
    expect(tokens.tokenType).toBe('DPoP')
    expect(decodeJwt(tokens.accessToken)).toMatchObject({ cnf: { jkt: expect.stringMatching(/^[\w-]{43}$/) } })
    expect(decodeJwt(tokens.accessToken)).not.toHaveProperty('client')
    expect((await call('GET', self)).status).toBe(200)
    expect((await call('GET', self, { hash: 'another-client' })).status).toBe(200)
    // The self chain, whose token determines the portal, and a URL with a query.
    expect((await call('GET', '/web/v1/users/self/security/sessions/config')).status).toBe(200)
    const path = `${chain}/security/sessions/history`
    expect((await send('GET', `${path}?pageSize=5`, await prove('GET', path, tokens.accessToken))).status).toBe(200)
  })

  test('401 ACCESS.TOKEN_INVALID: without a proof, or with one for another request, token or key', async () => {
    const { accessToken: token } = tokens
    const stranger = await signingPair()
    const proofs = [
      '',
      'x.y.z',
      await prove('POST', self, token),
      await prove('GET', `${chain}/profile`, token),
      await prove('GET', self),
      await prove('GET', self, 'another token'),
      await prove('GET', self, token, { at: Date.now() - 80_000 }),
      await prove('GET', self, token, { at: Date.now() + 20_000 }),
      await prove('GET', self, token, { claims: { htu: `https://evil.example${self}` } }),
      await prove('GET', self, token, { header: { typ: 'JWT' } }),
      await prove('GET', self, token, { claims: { jti: undefined } }),
      await prove('GET', self, token, {}, stranger),
      await prove('GET', self, token, { header: { jwk: pair.publicKey } }, stranger),
      await prove('GET', self, token, { header: { jwk: { ...pair.publicKey, d: 'secret' } } }),
      await prove('GET', self, token, { claims: { pad: 'x'.repeat(6_000) } }),
    ]
    for (const proof of proofs) {
      const answer = await send('GET', self, proof)
      expect(outcomeOf(answer), proof).toEqual(invalid)
      expect(answer.headers.get('www-authenticate')).toContain('DPoP error="invalid_dpop_proof"')
    }
    const asBearer = await by.get(self, token, { dpop: await prove('GET', self, token) })
    expect(outcomeOf(asBearer)).toEqual(invalid)
    expect(asBearer.headers.get('www-authenticate')).toContain('DPoP error="invalid_token"')
  })

  test('auth.loginComplete 400: a proof starts one session, also in parallel', async () => {
    const proof = await prove('POST', `${chain}/auth/login/complete`)
    const attempts = [await begin(portico, by, email), await begin(portico, by, email)]
    const answers = await Promise.all(attempts.map((attempt) => complete(attempt, proof)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 400])
    const refused = [400, 'VALIDATION.INVALID_PARAMETER']
    expect(outcomeOf(await complete(await begin(portico, by, email), proof))).toEqual(refused)
  })

  test('401 ACCESS.TOKEN_INVALID: the token of another session, which is not bound to a key', async () => {
    const { sessionId, code } = await begin(portico, by, email)
    const bearer = data(await by.post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code }))
    expect(bearer.tokenType).toBe('Bearer')
    expect(outcomeOf(await call('GET', self, { token: bearer.accessToken }))).toEqual(invalid)
    expect((await by.get(self, bearer.accessToken, { dpop: 'ignored' })).status).toBe(200)
  })

  test('a proof works once, in parallel on all replicas', async () => {
    const proof = await prove('GET', self, tokens.accessToken)
    const answers = await Promise.all(Array.from({ length: 8 }, () => send('GET', self, proof)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(401)])
  })

  test('auth.loginComplete 400: an invalid proof starts no session', async () => {
    const begun = await begin(portico, by, email)
    for (const proof of ['', 'x', await prove('POST', self)])
      expect(outcomeOf(await complete(begun, proof))).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    expect((await complete(begun)).status).toBe(200)
  })

  test('auth.refresh: needs a new proof of the same key', async () => {
    const notFound = [404, 'AUTH.SESSION_NOT_FOUND']
    expect(outcomeOf(await refresh(tokens.refreshToken))).toEqual(notFound)
    const stranger = await signingPair()
    expect(outcomeOf(await refresh(tokens.refreshToken, await prove('POST', renew, undefined, {}, stranger)))).toEqual(
      notFound,
    )
    expect(outcomeOf(await refresh(tokens.refreshToken, await prove('GET', renew)))).toEqual([
      400,
      'VALIDATION.INVALID_PARAMETER',
    ])
    const proof = await prove('POST', renew)
    const next = data(await refresh(tokens.refreshToken, proof))
    expect(outcomeOf(await refresh(tokens.refreshToken, proof))).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    expect((await call('GET', self, { token: next.accessToken })).status).toBe(200)
    expect(outcomeOf(await by.get(self, next.accessToken))).toEqual(invalid)
    // The client hash has no part in it.
    const moved = client(portico)
    const answer = await moved.post('/auth/token/refresh', { refreshToken: next.refreshToken }, undefined, {
      dpop: await prove('POST', renew),
    })
    expect(answer.status).toBe(200)
  })

  test('auth.refresh 404 AUTH.SESSION_NOT_FOUND: a session without a key accepts no proof', async () => {
    const { sessionId, code } = await begin(portico, by, email)
    const bearer = data(await by.post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code }))
    expect(outcomeOf(await refresh(bearer.refreshToken, await prove('POST', renew)))).toEqual([
      404,
      'AUTH.SESSION_NOT_FOUND',
    ])
    expect((await refresh(bearer.refreshToken)).status).toBe(200)
  })

  test('a step-up and a sign-out work as in every session', async () => {
    const post = (path: string, body?: object) => call('POST', chain + path, { ...(body && { body }) })
    data(await post('/security/step-up/send', { mfaMethod: 'EMAIL' }))
    const code = codeIn((await portico.mailTo(email, 'step-up-code')).text)
    data(await post('/security/step-up', { mfaMethod: 'EMAIL', code }))
    expect(data(await call('GET', self)).steppedUpUntil).not.toBeNull()
    expect((await post('/auth/logout')).status).toBe(200)
    expect(outcomeOf(await call('GET', self))).toEqual(invalid)
  })

  test('events.stream 200: the proof opens one stream, which a sign-out ends', async () => {
    const [{ workspaceBizId: workspace } = { workspaceBizId: '' }] = data(await call('GET', `${chain}/wallets`))
    const path = `${chain}/events/stream`
    const open = async (dpop: string) =>
      fetch(portico.url + path, {
        headers: {
          ...required,
          'x-client-hash': by.hash,
          'cf-connecting-ip': by.ip,
          authorization: `DPoP ${tokens.accessToken}`,
          dpop,
          'x-workspace-id': workspace,
        },
      })
    const proof = await prove('GET', path, tokens.accessToken)
    const response = await open(proof)
    expect(response.status).toBe(200)
    const stream = readEvents(response)
    await expect.poll(stream.lastId).not.toBe('')
    expect((await open(proof)).status).toBe(401)
    data(await call('POST', `${chain}/auth/logout`))
    await stream.ended
  })

  test('machine chain: a key-bound token works with a proof, and an API key never does', async () => {
    const path = '/api/v1/consumer/wallets'
    expect((await call('GET', path)).status).toBe(200)
    expect(outcomeOf(await portico.call('GET', path, { token: tokens.accessToken }))).toEqual(invalid)
    expect(outcomeOf(await call('GET', path, { token: `ptk_${'0'.repeat(12)}_${'A'.repeat(43)}` }))).toEqual(invalid)
  })
})
