import type { Catalogue } from '../../contract/index.ts'
import { listServiceRefusals } from '../../contract/policies.ts'
import { operationMarks } from '../../documents/marks.ts'
import { chains, domainOf, type Operation, pathOn } from '../../kernel/index.ts'
import { codedComponents } from '../components.ts'
import { type Examples, noExamples } from '../examples.ts'
import { isJsonObject, type JsonObject, pickReferenced, reference } from '../json.ts'
import { exportNameOf, listTags, toTag } from '../names.ts'
import { bodyComponents, formComponents, listInputParameters, toRequestBody } from '../requests.ts'
import type { Sentence } from '../responses.ts'
import { type SharedSchemas, shareSchemas } from '../shared-schemas.ts'
import { listServiceHeaders, serviceHeaderComponents } from './headers.ts'
import { claimsSchema, refusalSchema, toRefusalResponses, toServiceReplies } from './responses.ts'

export interface ServiceDocumentOptions {
  version: string
  domains: readonly string[]
  /** The `iss` of call assertions. */
  issuer: string
  /** The `aud` of call assertions. */
  audience: string
  /** JSON schema of the claims of a call assertion. */
  claims: object
  examples?: Examples
  /** The message for a refusal code. */
  sentence: Sentence
}

const introduction = [
  'The operations that a service behind the Portico gateway has to implement.',
  'The gateway has authenticated and authorized each request, and has validated its input. Reply 200 with the data as JSON, plain or in an envelope. Refuse with an error status and the envelope `Refusal`. Reply 401 without an envelope if the call assertion is not valid.',
  'Check the service with `portico conformance --upstream URL`.',
].join('\n\n')

/** Returns the OpenAPI 3.1 document that a service for these domains implements. */
export async function serviceDocument(all: Catalogue, options: ServiceDocumentOptions): Promise<JsonObject> {
  const { version, domains, issuer, audience, claims, examples = noExamples, sentence } = options
  const catalogue = limitTo(all, domains)
  const ownSchemas = {
    Refusal: refusalSchema,
    ...codedComponents(catalogue),
    ...(await bodyComponents(catalogue)),
    ...formComponents(catalogue),
  }
  const schemas = await shareSchemas(catalogue, Object.keys(ownSchemas))
  const paths = buildPaths({ catalogue, examples, schemas, sentence })
  const securitySchemes = { callAssertion: toSecurityScheme(claims, issuer, audience) }
  const responses = {
    InvalidAssertion: { description: 'The call assertion is not valid. The body is empty. The client gets 502.' },
  }
  return {
    openapi: '3.1.1',
    info: {
      title: `Portico: ${domains.join(', ')}`,
      version,
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // The `url` of the backend.
    servers: [{ url: '/' }],
    tags: listTags(catalogue),
    paths,
    components: {
      schemas: pickReferenced({ ...ownSchemas, ...schemas.components }, 'schemas', paths),
      parameters: pickReferenced({ ...serviceHeaderComponents }, 'parameters', paths),
      responses,
      securitySchemes,
    },
  }
}

function limitTo(catalogue: Catalogue, domains: readonly string[]): Catalogue {
  const namedOperations = catalogue.namedOperations.filter(([, { id }]) => domains.includes(domainOf(id)))
  return { ...catalogue, namedOperations, operations: namedOperations.map(([, operation]) => operation) }
}

interface Parts {
  catalogue: Catalogue
  examples: Examples
  schemas: SharedSchemas
  sentence: Sentence
}

function buildPaths(parts: Parts): JsonObject {
  const paths: JsonObject = {}
  for (const operation of parts.catalogue.operations) {
    const path = pathOn(chains[operation.chains[0]], operation)
    const item = paths[path]
    paths[path] = {
      ...(isJsonObject(item) ? item : {}),
      [operation.method.toLowerCase()]: toServiceOperation(parts, operation),
    }
  }
  return paths
}

function toServiceOperation({ catalogue, examples, schemas, sentence }: Parts, operation: Operation): JsonObject {
  const chain = chains[operation.chains[0]]
  const example = examples.operations.get(operation.id) ?? {}
  const description = describeDuties(operation)
  return {
    operationId: exportNameOf(catalogue, operation),
    tags: [toTag(operation)],
    summary: operation.summary,
    ...(description === '' ? {} : { description }),
    security: [{ callAssertion: [] }],
    parameters: [...listInputParameters(catalogue, operation, chain, example), ...listServiceHeaders(operation)],
    // The gateway opens sealed bodies.
    ...toRequestBody({ catalogue, isSealed: false }, operation, chain, example),
    responses: {
      ...toServiceReplies(operation, schemas.dataOf(operation), example),
      401: reference('responses', 'InvalidAssertion'),
      ...toRefusalResponses(catalogue, listServiceRefusals(operation), sentence),
    },
    'x-portico': operationMarks(operation, exportNameOf(catalogue, operation)),
  }
}

function describeDuties(operation: Operation): string {
  const { policy } = operation
  const { portal } = chains[operation.chains[0]]
  const rules: [boolean, string][] = [
    [portal === 'SYSTEM', 'For operators: `portal` is `SYSTEM`.'],
    [policy.caller === 'anonymous', 'The assertion can lack `sub`, because the operation needs no sign-in.'],
    [policy.workspace !== 'none', 'The assertion contains `workspace`. Return data of this workspace only.'],
    [policy.permission !== null, `The gateway has checked the permission \`${policy.permission}\`.`],
    [policy.stepUp === true, 'The gateway has checked a recent second factor.'],
    [
      policy.stepUp === 'maybe',
      'If the request needs a second factor, and the assertion lacks `steppedUpAt`, refuse with `ACCESS.STEP_UP_REQUIRED`.',
    ],
    [
      policy.idempotent,
      '`Idempotency-Key` identifies the command: return the first response again for the same body, and refuse another body with `REQUEST.ID_REUSED`.',
    ],
  ]
  return rules.flatMap(([applies, sentence]) => (applies ? [sentence] : [])).join(' ')
}

function toSecurityScheme(claims: object, issuer: string, audience: string): JsonObject {
  return {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: [
      'The call assertion. Verify `typ` (`portico-call+jwt`), `alg` (`EdDSA`), the signature,',
      `\`iss\` (\`${issuer}\`), \`aud\` (\`${audience}\`), \`exp\` and \`nbf\`.`,
      'The keys are at `/.well-known/jwks.json` on the operations listener of the gateway.',
      '`x-claims` is the JSON schema of its claims.',
    ].join(' '),
    'x-claims': claimsSchema(claims, issuer, audience),
  }
}
