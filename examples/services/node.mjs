/*
 * A service for the domain `profile`, for Node 20 or newer.
 *
 *   PORT=8081 PORTICO_JWKS=http://127.0.0.1:9090/.well-known/jwks.json node examples/services/node.mjs
 */
import { createServer } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'

// The maximum age of the keys is the time for which a revoked key is accepted.
const keys = createRemoteJWKSet(new URL(process.env.PORTICO_JWKS), { cacheMaxAge: 30_000, cooldownDuration: 1_000 })
const expected = {
  typ: 'portico-call+jwt',
  algorithms: ['EdDSA'],
  issuer: 'portico',
  audience: 'profile-service',
  requiredClaims: ['exp', 'sub'],
  clockTolerance: 5,
}
const names = new Map()

const toProfile = (account) => {
  const coded = (code, value) => ({ code, value, label: code, description: code })
  const at = '2026-01-01T00:00:00.000Z'
  return {
    bizId: account,
    institutionBizId: account,
    accountEmail: 'someone@example.com',
    accountPhone: '',
    accountName: names.get(account) ?? 'Someone',
    accountRemark: null,
    accountPortal: coded('CONSUMER', 10010104),
    accountStatus: coded('ACTIVE', 10010202),
    createdAt: at,
    updatedAt: at,
    defaultLanguage: 'en',
    defaultTimezone: 'UTC',
    defaultCountry: 'US',
  }
}

const readJson = async (request) => {
  let text = ''
  for await (const chunk of request.setEncoding('utf8')) text += chunk
  return JSON.parse(text)
}

const send = (response, status, value) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
const refuse = (response, status, code) => send(response, status, { success: false, code, message: '', data: null })

/** Returns the claims of the call assertion, or null if it is not valid. */
const verifyCaller = async ({ headers: { authorization = '' } }) => {
  const verified = jwtVerify(authorization.replace(/^Bearer /, ''), keys, expected)
  return (await verified.catch(({ message }) => console.error(message)))?.payload ?? null
}

const serve = async (request, response) => {
  const caller = await verifyCaller(request)
  // Respond without an envelope, because an invalid assertion is a fault of the deployment and not of a user.
  if (!caller) return response.writeHead(401).end()
  const { sub } = caller
  if (request.url === '/web/v1/consumer/profile') return send(response, 200, toProfile(sub))
  if (request.url === '/web/v1/consumer/profile/update') {
    const { accountName } = await readJson(request)
    if (accountName !== undefined) names.set(sub, accountName)
    return send(response, 200, toProfile(sub))
  }
  return refuse(response, 404, 'RESOURCE.NOT_FOUND')
}

const onError = (response) => (error) => {
  console.error(error)
  response.writeHead(500).end()
}
createServer((request, response) => serve(request, response).catch(onError(response))).listen(
  Number(process.env.PORT ?? 8081),
  '127.0.0.1',
)
