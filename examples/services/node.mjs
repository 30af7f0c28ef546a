import { createServer } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'

const keys = createRemoteJWKSet(new URL(process.env.PORTICO_JWKS))
const signed = { typ: 'portico-call+jwt', algorithms: ['EdDSA'] }
const expected = { ...signed, issuer: 'portico', audience: 'profile-service', clockTolerance: 5 }
const names = new Map()

const profile = (account) => {
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
  return text === '' ? {} : JSON.parse(text)
}

const answer = (response, status, value) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
const refuse = (response, status, code) => answer(response, status, { success: false, code, message: '', data: null })

/** Who calls. Null where nothing proves it: that is no user's fault, but somebody else's who asks, or a wrong setting. */
const callerOf = async (request) => {
  const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
  const verified = await jwtVerify(token, keys, expected).catch(({ message }) => console.error(message))
  return verified?.payload ?? null
}

const serve = async (request, response) => {
  const caller = await callerOf(request)
  if (!caller) return response.writeHead(401).end()
  const { sub } = caller
  if (request.url === '/web/v1/consumer/profile') return answer(response, 200, profile(sub))
  if (request.url === '/web/v1/consumer/profile/update') {
    names.set(sub, (await readJson(request)).accountName)
    return answer(response, 200, profile(sub))
  }
  return refuse(response, 404, 'RESOURCE.NOT_FOUND')
}

const server = createServer((request, response) =>
  serve(request, response).catch((error) => {
    console.error(error)
    response.writeHead(500).end()
  }),
)
server.listen(Number(process.env.PORT ?? 8081), '127.0.0.1')
