import { afterAll, beforeAll, expect, test } from 'vitest'
import { identityProvider } from '../../src/config/providers/settings.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { startProvider, type TestProvider } from '../harness/provider.ts'
import { createScim, type Scim } from './scim-world.ts'

const callback = '/identity-providers/system/company/callback'
const system = '/web/v1/system'

let provider: TestProvider
let portico: Portico
let scim: Scim
let confirm: (id: string) => Promise<unknown>

beforeAll(async () => {
  provider = await startProvider({ redirectUris: [`http://127.0.0.1:8080${callback}`] })
  const { issuer, clientId, clientSecret } = provider
  portico = await startPortico({
    adjust: ({ portals }) => {
      portals.SYSTEM.links.providerCallback = '/sign-in/provider'
      portals.SYSTEM.identityProviders = [
        identityProvider.parse({
          ...{ id: 'company', name: 'Company', issuer, clientId, clientSecret, provisioning: 'none' },
          ...{ trustsMfa: ['mfa'], groups: { Auditors: ['auditor'] } },
        }),
      ]
    },
  })
  const [operator, checker] = [clientOf(portico, 'SYSTEM'), clientOf(portico, 'SYSTEM')]
  await signInAs(portico, operator, 'operator@demo.test')
  await signInAs(portico, checker, 'checker@demo.test')
  scim = await createScim({ portico, operator, checker }, 'company')
  confirm = async (id) => {
    const { items } = await checker.listProposals({ query: { proposalStatus: 'PENDING' } })
    const [proposal] = items.filter(({ subjectBizId }) => subjectBizId === id)
    return checker.confirmProposal({ params: { proposal_id: proposal?.bizId ?? '' } })
  }
})
afterAll(async () => {
  await portico?.stop()
  await provider?.close()
})

async function signInAtProvider(sub: string) {
  provider.person = { sub, acr: 'mfa', claims: { email: `${sub}@elsewhere.test`, email_verified: true } }
  const started = await portico.call('POST', `${system}/auth/provider/initiate`, { body: { providerId: 'company' } })
  const { authorizationUrl, sessionId } = started.body.data
  const query = await provider.visit(authorizationUrl)
  const { code, state, iss } = Object.fromEntries(query)
  return portico.call('POST', `${system}/auth/provider/complete`, { body: { sessionId, code, state, iss } })
}

test('auth.providerComplete 200: finds the provisioned account, whose groups SCIM decides, until SCIM suspends it', async () => {
  expect((await signInAtProvider('employee-7')).status).toBe(403)
  const emails = [{ value: 'seven@company.test', type: 'work' }]
  const person = { userName: 'seven@company.test', externalId: 'employee-7', emails }
  const { body } = await scim.call('POST', '/Users', person)
  const members = [{ value: body.id }]
  expect(await scim.call('POST', '/Groups', { displayName: 'Auditors', members })).toMatchObject({ status: 201 })
  await confirm(body.id)
  // The token has no groups, and another address.
  const signedIn = await signInAtProvider('employee-7')
  expect(signedIn.status, signedIn.text).toBe(200)
  const token = signedIn.body.data.completed.accessToken
  const read = async () => (await portico.call('GET', `${system}/audit-log`, { token })).status
  expect(await read()).toBe(200)
  expect((await signInAtProvider('employee-8')).status).toBe(403)
  await scim.call('PATCH', `/Users/${body.id}`, { Operations: [{ op: 'replace', path: 'active', value: false }] })
  await expect.poll(read).toBe(401)
  expect((await signInAtProvider('employee-7')).status).toBeGreaterThanOrEqual(400)
})
