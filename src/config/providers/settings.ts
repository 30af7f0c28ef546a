import { z } from 'zod'
import { operatorRoleNames } from '../../contract/permissions.ts'
import { page } from '../identity.ts'
import { httpUrl, secret } from '../values.ts'

const claim = z.string().min(1).max(100)
const values = z.array(z.string().min(1).max(200)).max(50)

const stepUpSettings = z.strictObject({
  acrValues: values.describe(
    'Values of `acr` that Portico requests for a step-up, in order of preference. An empty list requests none.',
  ),
  accepts: values
    .min(1)
    .describe(
      'Values of `acr` or `amr` that a step-up needs. The reply must contain at least one of them, and an `auth_time` after the request.',
    ),
})

export const identityProvider = z.strictObject({
  id: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'up to 32 lower-case letters, digits and hyphens')
    .describe(
      'Name of the provider in URLs, logs and audit entries. It is part of the callback URL, so do not change it.',
    ),
  name: z.string().min(1).max(64).describe('Name of the provider that the sign-in page shows.'),
  issuer: httpUrl
    .refine((url) => !/[?#]/.test(url), 'a URL without a query or fragment')
    .describe(
      'Issuer of the provider. Its metadata is fetched from `/.well-known/openid-configuration` below it. In production it must be https, except on a loopback address.',
    ),
  clientId: z.string().min(1).max(200).describe('Id of the client that the provider has registered for Portico.'),
  clientSecret: secret.optional().describe('Secret of the client. Set either `clientSecret` or `privateKeyFile`.'),
  privateKeyFile: z
    .string()
    .min(1)
    .optional()
    .describe(
      'PEM file with the private key (PKCS #8) of the client, for `private_key_jwt`. Without it, Portico authenticates with `clientSecret`.',
    ),
  keyId: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe('Key id (`kid`) under which the provider knows the key in `privateKeyFile`.'),
  scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'a scope'))
    .refine((scopes) => scopes.includes('openid'), 'a list that contains openid')
    .default(['openid', 'profile', 'email'])
    .describe('Scopes of the authorization request.'),
  claims: z
    .strictObject({
      email: claim.default('email').describe('Claim with the email address.'),
      emailVerified: claim
        .nullable()
        .default('email_verified')
        .describe(
          'Claim that is `true` if the provider has verified the address. `null` trusts every address, which is safe only if users cannot choose their address at the provider.',
        ),
      name: claim.default('name').describe('Claim with the name of the person.'),
      groups: claim.default('groups').describe('Claim with the list of groups.'),
      externalId: claim
        .default('sub')
        .describe('Claim with the id under which SCIM provisions the person. With Entra ID, it is `oid`.'),
    })
    .prefault({})
    .describe('Names of the claims of the ID token.'),
  provisioning: z
    .enum(['none', 'invited', 'create'])
    .describe(
      'Accounts for people who sign in for the first time. `none` creates none, `invited` creates one for people whom an operator has invited, and `create` creates one for everybody whom the provider authenticates. A new account has no permissions. Existing accounts are linked only by their owners.',
    ),
  groups: z
    .record(
      z.string().min(1).max(200),
      z.array(z.enum(operatorRoleNames)).min(1).describe('Roles of the group with this name.'),
    )
    .optional()
    .describe(
      'Roles of operators by group at the provider. At each sign-in, permissions without a group are revoked, and new ones are proposed for a second operator to confirm. Without this setting, sign-ins do not change permissions. Only for SYSTEM.',
    ),
  trustsMfa: values
    .default([])
    .describe(
      'Values of `acr` or `amr` with which a sign-in at the provider counts as two factors. Without one of them, Portico asks for a second factor of the account.',
    ),
  stepUp: stepUpSettings
    .optional()
    .describe(
      'Confirm commands by a fresh sign-in at the provider. Without this setting, a step-up needs a factor of the account.',
    ),
  passwordSignIn: z
    .boolean()
    .default(false)
    .describe(
      'Whether linked accounts can also sign in without the provider: with their password, or with a passkey alone.',
    ),
  returnTo: z
    .array(page)
    .default([])
    .describe(
      'Further pages to which a sign-in can return, in addition to `links.providerCallback`: paths below `publicUrl`, or URLs.',
    ),
})

export const identityProviders = z
  .array(identityProvider)
  .max(20)
  .optional()
  .describe('OpenID Connect providers with which people can sign in, such as Entra ID, Okta, Google or Keycloak.')

export type ProviderConfiguration = z.output<typeof identityProvider>
