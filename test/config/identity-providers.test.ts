import { expect, test } from 'vitest'
import { productionKey } from '../harness/settings.ts'
import { configurationFile } from './configuration-file.ts'

const { errorsOf, load } = configurationFile()

const links = { providerCallback: '/sign-in/provider' }
const entra = {
  id: 'entra',
  name: 'Entra ID',
  issuer: 'https://login.example/tenant/v2.0',
  clientId: 'portico',
  clientSecret: 'hush',
  provisioning: 'none',
}

function system(...identityProviders: object[]): string[] {
  return errorsOf({ portals: { SYSTEM: { links, identityProviders } } })
}

test('a minimal provider gets the defaults that open no door, and its secret is masked', () => {
  const { portals } = load({ portals: { SYSTEM: { links, identityProviders: [entra] } } })
  const [provider] = portals.SYSTEM.identityProviders ?? []
  expect(provider).toMatchObject({
    ...{ scopes: ['openid', 'profile', 'email'], trustsMfa: [], passwordSignIn: false, returnTo: [] },
    claims: { email: 'email', emailVerified: 'email_verified', groups: 'groups', externalId: 'sub' },
  })
  expect(JSON.stringify(provider)).not.toContain('hush')
})

const path = 'portals.SYSTEM.identityProviders'
test.each<[string, object[], string]>([
  ['an unknown setting', [{ ...entra, tenant: 'x' }], `${path}.0: Unrecognized key: "tenant"`],
  ['neither secret nor key', [{ ...entra, clientSecret: undefined }], `${path}.0: needs either clientSecret or`],
  ['both secret and key', [{ ...entra, privateKeyFile: '/k.pem' }], `${path}.0: needs either clientSecret or`],
  ['a key id without a key', [{ ...entra, keyId: 'k' }], `${path}.0.keyId: needs privateKeyFile`],
  ['an id in upper case', [{ ...entra, id: 'Entra' }], `${path}.0.id: up to 32 lower-case letters`],
  ['an issuer with a query', [{ ...entra, issuer: 'https://i.example/?a' }], `${path}.0.issuer: a URL without a query`],
  [
    'an issuer with credentials',
    [{ ...entra, issuer: 'https://u:p@i.example' }],
    `${path}.0.issuer: a URL without cred`,
  ],
  ['scopes without openid', [{ ...entra, scopes: ['email'] }], `${path}.0.scopes: a list that contains openid`],
  ['an unknown role', [{ ...entra, groups: { ops: ['king'] } }], `${path}.0.groups.ops.0: `],
  ['two with one id', [entra, { ...entra, issuer: 'https://b.example' }], `${path}.1.id: must differ`],
  ['two with one issuer', [entra, { ...entra, id: 'b' }], `${path}.1.issuer: must differ`],
  [
    'provisioning by the address',
    [{ ...entra, provisioning: 'create', claims: { externalId: 'email' } }],
    `${path}.0.claims.externalId: must not be the email address`,
  ],
])('%s is refused', (_, providers, message) => {
  expect(system(...providers)).toEqual([expect.stringContaining(message)])
})

test('a provider needs the page that completes sign-ins', () => {
  expect(errorsOf({ portals: { SYSTEM: { identityProviders: [entra] } } })).toEqual([
    'portals.SYSTEM.links.providerCallback: must be set, because portals.SYSTEM.identityProviders is not empty',
  ])
})

test('groups of consumers are refused', () => {
  const identityProviders = [{ ...entra, groups: { ops: ['auditor'] } }]
  expect(errorsOf({ portals: { CONSUMER: { links, identityProviders } } })).toEqual([
    'portals.CONSUMER.identityProviders.0.groups: only operators have roles; remove it',
  ])
})

test('groups need the domain that proposes permissions', () => {
  const identityProviders = [{ ...entra, groups: { ops: ['auditor'] } }]
  const off = { domains: { proposals: 'off' } }
  expect(errorsOf({ ...off, portals: { SYSTEM: { links, identityProviders } } })).toContain(
    'portals.SYSTEM.identityProviders.0.groups: needs the domain proposals, which is off',
  )
})

test.each([
  ['http://login.example', ['portals.SYSTEM.identityProviders.0.issuer: must be https in production']],
  ['http://127.0.0.1:8080', []],
  ['https://login.example', []],
])('production: the issuer %s', (issuer, errors) => {
  const identityProviders = [{ ...entra, issuer }]
  const found = errorsOf(
    { portals: { SYSTEM: { links, identityProviders } } },
    {
      PORTICO_PROFILE: 'production',
      PORTICO_SECRET_KEY: productionKey,
    },
  )
  expect(found.filter((error) => error.includes('identityProviders'))).toEqual(errors)
})
