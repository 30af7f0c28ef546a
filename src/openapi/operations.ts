import { type HeaderDefinition, headers, sessionCookieName } from '../contract/headers.ts'
import type { Catalogue } from '../contract/index.ts'
import { isSealable, takesTicket } from '../contract/policies.ts'
import { canDemandStepUp } from '../contract/step-up-purpose.ts'
import { operationMarks } from '../documents/marks.ts'
import {
  type Chain,
  type ChainId,
  chains,
  confirmedNames,
  mountChain,
  needsApiKey,
  type Operation,
  type PortalMount,
} from '../kernel/index.ts'
import { nullData } from './components.ts'
import type { Envelopes } from './envelopes.ts'
import { type Example, type Examples, toExample } from './examples.ts'
import { type JsonObject, toJsonObject } from './json.ts'
import { exportNameOf, operationIdOf, toTag } from './names.ts'
import { listParameters, type RequestParts, toRequestBody } from './requests.ts'
import { type RefusalResponses, toSuccessResponses } from './responses.ts'
import type { SharedSchemas } from './shared-schemas.ts'

export interface OperationParts extends RequestParts {
  examples: Examples
  envelopes: Envelopes
  schemas: SharedSchemas
  refusals: RefusalResponses
  /** The portal of the document, if the configuration declares it. */
  mount: PortalMount | null
}

const otherCredentials =
  'A key with a public key sends a JWT per request instead of its secret, and one with a certificate sends its prefix.'

/** Clients set these headers once. `x-example` is the value that the reference page starts with. */
const commonSchemes: Record<string, JsonObject> = {
  consumerAccessCode: toHeaderScheme(headers.portalAccessCode, 'Access code of the CONSUMER portal.', 'consumer-dev'),
  systemAccessCode: toHeaderScheme(headers.portalAccessCode, 'Access code of the SYSTEM portal.', 'system-dev'),
  clientHash: toHeaderScheme(
    headers.clientHash,
    'Client fingerprint: 1 to 256 visible characters of ASCII. Use the same value during a sign-in and for as long as ' +
      'its tokens are used.',
    '3q2-7wFhb0nq8nT0kP5o',
  ),
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'Issued by `auth/login/complete` and `auth/token/refresh`. Valid for its own portal and client hash only. With a DPoP proof ' +
      '(RFC 9449) at the sign-in, it is bound to a key instead: send `Authorization: DPoP` and the header `DPoP`.',
  },
  sessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: sessionCookieName('CONSUMER', true),
    description:
      'Set by `auth/browser-session` for a page in a browser. On the SYSTEM portal, the name ends in `system`. Without TLS, it ' +
      'lacks the prefix.',
  },
  apiKey: {
    type: 'http',
    scheme: 'bearer',
    description: `An API key of a workspace, for the machine chain \`/api/v1/consumer\`. ${otherCredentials}`,
  },
  operatorApiKey: {
    type: 'http',
    scheme: 'bearer',
    description: `An API key of operators, for the machine chain \`/api/v1/system\`. ${otherCredentials}`,
  },
}

export function securitySchemesOf(mount: PortalMount | null): Record<string, JsonObject> {
  if (mount === null) return commonSchemes
  const { prefix } = mountChain(chains.api, mount)
  return {
    ...commonSchemes,
    portalAccessCode: toHeaderScheme(headers.portalAccessCode, `Access code of the ${mount.portal} portal.`),
    sessionCookie: {
      ...commonSchemes.sessionCookie,
      name: sessionCookieName(mount.portal, true),
      description: 'Set by `auth/browser-session` for a page in a browser. Without TLS, the name lacks the prefix.',
    },
    apiKey: {
      ...commonSchemes.apiKey,
      description: `An API key of a workspace, for the machine chain \`${prefix}\`. ${otherCredentials}`,
    },
  }
}

export function toOperationObject(parts: OperationParts, operation: Operation, chainId: ChainId): JsonObject {
  const { catalogue, envelopes, schemas, mount } = parts
  const chain = mountChain(chains[chainId], mount)
  const name = exportNameOf(catalogue, operation)
  const envelope = (): JsonObject => {
    const plain = schemas.dataOf(operation)
    const data = plain.type === 'null' ? nullData : plain
    return parts.isSealed && isSealable(operation, chain) ? envelopes.ofSealable(data, name) : envelopes.of(data, name)
  }
  const example = parts.examples.operations.get(operation.id) ?? declaredExample(operation)
  return {
    operationId: operationIdOf(operation, chainId),
    tags: [toTag(operation)],
    summary: operation.summary,
    description: [operation.description, describePolicy(operation, chain)].filter(Boolean).join('\n\n'),
    security: listSecurity(parts, operation, chain),
    parameters: listParameters(parts, operation, chain, example),
    ...toRequestBody(parts, operation, chain, example),
    responses: {
      ...toSuccessResponses(operation, envelope, example),
      ...parts.refusals.of(operation, chainId),
    },
    'x-portico': { ...operationMarks(operation, name), ...listEmits(catalogue, operation) },
  }
}

/** Without the types that the readers of the document cannot read. */
function listEmits({ events }: Catalogue, { emits = [] }: Operation): { emits?: string[] } {
  const known = emits.filter((type) => events.has(type))
  return known.length > 0 ? { emits: known } : {}
}

function declaredExample({ examples: { body, ...others } = {} }: Operation): Example {
  return toExample(toJsonObject({ ...others, ...(body !== undefined && { request: body }) }))
}

function describePolicy(operation: Operation, chain: Chain): string {
  const { policy, body, reply, before = [] } = operation
  const rules: [boolean, string][] = [
    [policy.caller === 'anonymous', 'Requires no token.'],
    [policy.permission !== null, `Requires the permission \`${policy.permission}\`.`],
    [
      policy.stepUp === true,
      'Requires a recent second factor (`security/step-up`), by default of the last five minutes.',
    ],
    [policy.stepUp === 'maybe', 'Some requests require a recent second factor (`security/step-up`).'],
    [canDemandStepUp(operation), confirmsSentence(operation)],
    [reply === 'socket', 'Opens a WebSocket connection.'],
    [policy.idempotent, 'Happens once per Idempotency-Key, or else per X-Request-Id.'],
    [
      before.length > 0,
      `Hooks of ${before.map((name) => `\`${name}\``).join(', ')} run first in its transaction and can refuse it.`,
    ],
    [
      isSealable(operation, chain) && body !== 'none',
      'The body can be sent through the secure channel; a portal can require that.',
    ],
    [true, `Counts towards the rate limit \`${policy.rate}\`.`],
  ]
  return rules.flatMap(([applies, sentence]) => (applies ? [sentence] : [])).join(' ')
}

function confirmsSentence(operation: Operation): string {
  const names = confirmedNames(operation).map((name) => `\`${name}\``)
  return names.length === 0
    ? 'A step-up confirms the operation.'
    : `A step-up confirms the operation with ${names.join(', ')}.`
}

/** The gateway needs all schemes of one requirement. Pages also have a cookie, and machines an API key. */
function listSecurity(
  parts: Pick<OperationParts, 'catalogue' | 'mount'>,
  operation: Operation,
  chain: Chain,
): JsonObject[] {
  const { policy, describesCaller } = operation
  const isAnonymous = policy.caller === 'anonymous'
  if (needsApiKey(chain)) return [{ operatorApiKey: [] }]
  if (chain.perimeter === 'machine') return isAnonymous ? [] : [{ accessToken: [], clientHash: [] }, { apiKey: [] }]
  const accessCodes = listAccessCodes(parts, chain)
  const credentials = [
    isAnonymous ? {} : { accessToken: [] },
    ...(isAnonymous && !describesCaller ? [] : [{ sessionCookie: [] }]),
  ]
  const requirements = credentials.flatMap((credential) =>
    accessCodes.map((accessCode) => ({ ...accessCode, clientHash: [], ...credential })),
  )
  // A ticket takes the place of the headers.
  return takesTicket(operation, chain) ? [...requirements, { sessionCookie: [] }] : requirements
}

/** Alternatives. A shared path accepts the access code of each portal in the document. */
function listAccessCodes(
  { catalogue: { operations }, mount }: Pick<OperationParts, 'catalogue' | 'mount'>,
  { perimeter, portal }: Chain,
): JsonObject[] {
  if (perimeter !== 'portal') return [{}]
  if (mount) return [{ portalAccessCode: [] }]
  const serves = (chainId: ChainId) => operations.some(({ chains: ids }) => ids.includes(chainId))
  if (portal === 'CONSUMER' || (portal === 'code' && !serves('system'))) return [{ consumerAccessCode: [] }]
  if (portal === 'SYSTEM' || !serves('consumer')) return [{ systemAccessCode: [] }]
  return [{ consumerAccessCode: [] }, { systemAccessCode: [] }]
}

function toHeaderScheme({ name }: HeaderDefinition, description: string, example?: string): JsonObject {
  return { type: 'apiKey', in: 'header', name, description, ...(example !== undefined && { 'x-example': example }) }
}
