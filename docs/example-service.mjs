import { createServer } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'

const keys = createRemoteJWKSet(new URL(process.env.PORTICO_JWKS))
const expected = { issuer: 'portico', audience: 'profile-service', typ: 'portico-call+jwt', algorithms: ['EdDSA'] }
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
  for await (const chunk of request) text += chunk
  return text === '' ? {} : JSON.parse(text)
}

const answer = (response, status, value) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
const refuse = (response, status, code) => answer(response, status, { success: false, code, message: '', data: null })

const server = createServer(async (request, response) => {
  const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
  const caller = await jwtVerify(token, keys, expected).catch(() => null)
  if (!caller) return refuse(response, 403, 'ACCESS.PERMISSION_DENIED')
  const { sub } = caller.payload
  if (request.url === '/web/v1/consumer/profile') return answer(response, 200, profile(sub))
  if (request.url === '/web/v1/consumer/profile/update') {
    names.set(sub, (await readJson(request)).accountName)
    return answer(response, 200, profile(sub))
  }
  return refuse(response, 404, 'RESOURCE.NOT_FOUND')
})
server.listen(Number(process.env.PORT ?? 8081), '127.0.0.1')
