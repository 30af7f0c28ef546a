import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { Connection } from './world.ts'

/* Clients that differ from the one of the guide. */

/** A key with an id, ID tokens with ES256, and `amr` in place of `acr`. Accounts need an invitation. */
export function partners({ provider, client }: Connection): Connection & { realm: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const privateKeyFile = join(mkdtempSync(join(inject('runFolder'), 'partners-')), 'portico.pem')
  writeFileSync(privateKeyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'portico-1', use: 'sig', alg: 'RS256' }
  const id = 'partners'
  const { groups: _, stepUp: __, ...settings } = provider
  return {
    portal: 'SYSTEM',
    realm: 'partners',
    provider: {
      ...{ ...settings, id, privateKeyFile, keyId: 'portico-1' },
      ...{ provisioning: 'invited', trustsMfa: ['otp'], passwordSignIn: true },
    },
    client: {
      ...client,
      redirectUris: [`https://portal.example/identity-providers/system/${id}/callback`],
      attributes: {
        ...client.attributes,
        'token.endpoint.auth.signing.alg': 'RS256',
        'use.jwks.string': 'true',
        'jwks.string': JSON.stringify({ keys: [jwk] }),
        'id.token.signed.response.alg': 'ES256',
        'backchannel.logout.url': `https://portal.example/identity-providers/system/${id}/logout`,
      },
      protocolMappers: [
        {
          ...{ name: 'amr', protocol: 'openid-connect', protocolMapper: 'oidc-amr-mapper' },
          config: { 'id.token.claim': 'true' },
        },
      ],
    },
  }
}

/** A secret, a password only, and logout tokens with `sid`. */
export function social({ provider, client }: Connection): Connection {
  const [clientId, secret] = ['portal web', 'a secret: with/odd+characters=100%&more']
  const { groups: _, stepUp: __, trustsMfa: ___, privateKeyFile: ____, ...settings } = provider
  const { 'default.acr.values': _____, ...attributes } = client.attributes
  return {
    portal: 'CONSUMER',
    provider: { ...settings, clientId, clientSecret: secret, provisioning: 'create' },
    client: {
      ...{ ...client, clientId, clientAuthenticatorType: 'client-secret', secret },
      redirectUris: ['https://portal.example/identity-providers/consumer/keycloak/callback'],
      attributes: {
        ...attributes,
        'require.pushed.authorization.requests': 'false',
        'backchannel.logout.url': 'https://portal.example/identity-providers/consumer/keycloak/logout',
        'backchannel.logout.session.required': 'true',
      },
    },
  }
}
