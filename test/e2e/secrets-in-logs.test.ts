import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { portalRoutes, type Route, unknownId } from '../harness/catalogue.ts'
import type { Call } from '../harness/http.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { codeIn, signIn } from '../harness/sign-in.ts'

const chain = '/web/v1/consumer'

/** No log line can contain these. They are sent in successful, rejected and meaningless requests. */
const planted = {
  password: 'Portico-demo-2026',
  wrongPassword: 'planted-password-9b1f',
  accessCode: 'planted-access-code-77aa',
  rightAccessCode: 'consumer-dev',
  clientHash: 'planted-client-hash-5c2e',
  apiKey: `ptk_0123456789ab_${'plantedKey0'.repeat(4).slice(1)}`,
  accountNumber: 'DE02120300000000202051',
  cookie: 'planted-cookie-31d0',
  queryValue: 'planted-query-884e',
  fieldName: 'planted_field_c0de',
  code: '918273645546',
}

describe('secrets in the log', () => {
  let portico: Portico
  const secrets = new Map<string, string>(Object.entries(planted))
  const requestIds: string[] = []

  const call = async (method: string, path: string, { headers, ...rest }: Call = {}) => {
    const requestId = randomUUID()
    requestIds.push(requestId)
    const own = { 'x-client-hash': planted.clientHash, 'x-request-id': requestId, cookie: planted.cookie }
    return portico.call(method, path, { ...rest, headers: { ...own, ...headers } })
  }
  const post = (path: string, body: unknown, more: Call = {}) => call('POST', chain + path, { body, ...more })

  const signInPlanting = async () => {
    const email = 'owner@demo.test'
    await post('/auth/login/initiate', { email, password: planted.wrongPassword })
    const { body: begun } = await post('/auth/login/initiate', { email, password: planted.password })
    const { sessionId } = begun.data
    await post('/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' })
    const code = codeIn((await portico.mailTo(email, 'login-code')).text)
    await post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code: planted.code })
    const { body } = await post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code })
    const { accessToken, refreshToken } = body.data
    secrets.set('loginSession', sessionId).set('accessToken', accessToken).set('refreshToken', refreshToken)
    secrets.set('mailedCode', `"${code}"`)
    return { accessToken, refreshToken }
  }

  beforeAll(async () => {
    portico = await startPortico()
  })
  afterAll(() => portico?.stop())

  /** Almost no operation accepts the result. */
  const filled = (schema: unknown, value: string): Record<string, string> =>
    schema instanceof z.ZodObject ? Object.fromEntries(Object.keys(schema.shape).map((name) => [name, value])) : {}

  /** Commands without a body would succeed, and one of them signs out. */
  const hasInput = ({ operation: { body, path, method } }: Route) =>
    method === 'GET' || path.includes('{') || body instanceof z.ZodObject

  const requestWithSecrets = ({ operation, method, path }: Route, token: string) => {
    const query = new URLSearchParams(filled(operation.query, 'planted-in-query'))
    const body = method === 'POST' ? { body: filled(operation.body, 'planted-in-body') } : {}
    const place = path.replace(unknownId, 'planted-in-path')
    return portico.call(method, query.size > 0 ? `${place}?${query}` : place, { token, ...body })
  }

  test('a refused value appears neither in the log nor in the response, for every operation', async () => {
    const [owner, operator] = [await signIn(portico), await signIn(portico, 'operator@demo.test')]
    const routes = portalRoutes.filter(hasInput)
    const before = portico.log.length
    const responses = await Promise.all(
      routes.map((route) => requestWithSecrets(route, (route.chainId === 'system' ? operator : owner).accessToken)),
    )
    expect(portico.log.length - before).toBeGreaterThanOrEqual(routes.length)
    expect(responses.filter(({ status }) => status === 400).length).toBeGreaterThan(routes.length / 3)
    expect(responses.map(({ text }) => text).filter((text) => text.includes('planted-in-'))).toEqual([])
    expect(portico.rawLog.filter((line) => line.includes('planted-in-'))).toEqual([])
  })

  test('no secret appears in the log, which has one line for each request', async () => {
    const { accessToken: token, refreshToken } = await signInPlanting()
    const { accountNumber, apiKey, password, wrongPassword } = planted
    await call('GET', `${chain}/profile`, { token })
    await call('GET', `${chain}/profile`, { token: `${token}x` })
    await call('GET', `${chain}/profile?token=${token}&q=${planted.queryValue}`, { token })
    await call('GET', `${chain}/nowhere/${planted.queryValue}`, { token })
    await call('GET', `${chain}/profile`, { token, headers: { 'x-portal-access-code': planted.accessCode } })
    await call('GET', '/api/v1/consumer/wallets', { token: apiKey })
    await post('/auth/token/refresh', { refreshToken })
    await post('/auth/token/refresh', { refreshToken: `${refreshToken}x` })
    await post('/auth/password/change', { currentPassword: password, newPassword: wrongPassword }, { token })
    await post('/auth/password/reset', { token: refreshToken, newPassword: wrongPassword })
    await post('/auth/login/initiate', { email: { password }, [planted.fieldName]: wrongPassword })
    await post('/auth/login/initiate', `{"password": "${wrongPassword}", nonsense`)
    await post('/security/mfa/otp/verify', { code: planted.code }, { token })
    const payload = `${token}.${refreshToken}`
    await post('/secure-channel/session', { payload })
    await post('/auth/login/initiate', { payload }, { headers: { 'x-secure-channel-session-id': payload } })
    const channel = { channelType: 'BANK', currency: 'EUR', country: 'DE', accountHolderName: 'A', accountNumber }
    await post('/withdrawal-channels', channel, { token })

    const raw = portico.rawLog.join('\n')
    for (const requestId of requestIds)
      expect(
        portico.log.filter((line) => line.requestId === requestId),
        requestId,
      ).toHaveLength(1)
    const found = [...secrets].filter(([, secret]) => raw.includes(secret)).map(([name]) => name)
    expect(found).toEqual([])

    const explanations = await Promise.all(
      requestIds.map(async (requestId) => (await fetch(`${portico.operationsUrl}/explain/${requestId}`)).text()),
    )
    expect(explanations).not.toContain('[]')
    const metrics = await (await fetch(`${portico.operationsUrl}/metrics`)).text()
    const output = [...explanations, metrics].join('\n')
    expect([...secrets].filter(([, secret]) => output.includes(secret)).map(([name]) => name)).toEqual([])
  })
})
