import { isSealable } from '../contract/sealed-bodies.ts'
import type { Chain, Operation } from '../kernel/index.ts'
import type { JsonObject } from './json.ts'

/** What the policy means to a caller, a sentence each. */
export const describePolicy = (operation: Operation, chain: Chain): string => {
  const { policy, body } = operation
  const rules: [boolean, string][] = [
    [policy.caller === 'anonymous', 'No token is needed.'],
    [policy.permission !== null, `Needs the right \`${policy.permission}\`.`],
    [policy.stepUp, 'Needs a second factor proved lately, by default within five minutes (`security/step-up`).'],
    [policy.idempotent, 'Happens once per X-Request-Id.'],
    [
      isSealable(operation, chain) && body !== 'none',
      'The body may come through the secure channel; a portal may demand that.',
    ],
    [true, `Counts towards the limit \`${policy.rate}\`.`],
  ]
  return rules.flatMap(([applies, sentence]) => (applies ? [sentence] : [])).join(' ')
}

/** Who may call, as OpenAPI's security requirements: on the second chain an API key does as well. */
export const toSecurity = ({ policy }: Operation, { perimeter }: Chain): JsonObject[] => {
  if (policy.caller === 'anonymous') return []
  return [{ accessToken: [] }, ...(perimeter === 'machine' ? [{ apiKey: [] }] : [])]
}

export const securitySchemes: Record<string, JsonObject> = {
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'What `auth/login/complete` and `auth/token/refresh` yield; good for its own portal and client hash.',
  },
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key of a workspace, on the second chain `/api/v1/consumer`.',
  },
}

/** The document's own introduction. */
export const introduction = [
  'The interface of a portal gateway: sign-in and security, workspaces and their members, money.',
  'Every JSON answer comes in an envelope; `code` is `2000` or says why not. Amounts are decimal strings beside their currency, times ISO 8601 in UTC, ids `bizId`.',
  'Bodies may be sealed: fetch the public key, open a session of the secure channel, send `{payload}`.',
].join('\n\n')
