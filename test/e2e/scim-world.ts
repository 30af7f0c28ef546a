import type { Client } from '../../src/client/index.ts'
import { identityProvider } from '../../src/config/providers/settings.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import type { Answer } from '../harness/http.ts'
import { type Options, type Portico, startPortico } from '../harness/portico.ts'

export interface ScimWorld {
  portico: Portico
  operator: Client<'SYSTEM'>
  checker: Client<'SYSTEM'>
  entra: Scim
  okta: Scim
}

export interface Scim {
  keyId: string
  secret: string
  call(method: string, path: string, body?: unknown): Promise<Answer>
}

const groups = {
  Auditors: ['auditor' as const],
  'okta-approvers': ['approver' as const],
  Admins: ['administrator' as const],
}

/** Two identity providers, each with a key that one operator created and another one enabled. */
export async function startScimWorld({ adjust, ...options }: Options = {}): Promise<ScimWorld> {
  const portico = await startPortico({
    ...options,
    adjust: (settings) => {
      const { SYSTEM } = settings.portals
      SYSTEM.links.providerCallback = '/sign-in/provider'
      SYSTEM.identityProviders = ['entra', 'okta'].map((id) =>
        identityProvider.parse({
          ...{ id, name: id, issuer: `https://${id}.example`, clientId: 'portico', clientSecret: 'hush' },
          ...{ provisioning: 'none', groups, passwordSignIn: true },
        }),
      )
      adjust?.(settings)
    },
  })
  const operator = clientOf(portico, 'SYSTEM')
  const checker = clientOf(portico, 'SYSTEM')
  await signInAs(portico, operator, 'operator@demo.test')
  await signInAs(portico, checker, 'checker@demo.test')
  const world = { portico, operator, checker }
  return { ...world, entra: await createScim(world, 'entra'), okta: await createScim(world, 'okta') }
}

export async function createScim(
  { portico, operator, checker }: Pick<ScimWorld, 'portico' | 'operator' | 'checker'>,
  providerId: string,
  apiKeyName = `SCIM of ${providerId}`,
): Promise<Scim> {
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString()
  const body = { apiKeyName, permissionCodes: ['provisioning:manage' as const], expiresAt, providerId }
  const { bizId, secret } = await operator.createOperatorApiKey({ body })
  if (secret === null) throw new Error('the key has no secret')
  await checker.enableOperatorApiKey({ params: { api_key_id: bizId }, body: { reason: 'test' } })
  return { keyId: bizId, secret, call: (method, path, sent) => callScim(portico, secret, method, path, sent) }
}

export function callScim(
  portico: Portico,
  token: string,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer> {
  const headers = { 'content-type': body === undefined ? null : 'application/scim+json', 'x-request-id': null }
  return portico.call(method, `/api/v1/system/scim/v2${path}`, { token, headers, body })
}
