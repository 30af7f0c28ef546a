import { isSealable } from '../contract/policies.ts'
import { type Chain, type ChainId, chains, type Operation } from '../kernel/index.ts'
import type { Examples } from './examples.ts'
import type { JsonObject } from './json.ts'
import { operationIdOf, toTag } from './names.ts'
import { listParameters, toRequestBody } from './requests.ts'
import { type RefusalResponses, toSuccessResponses } from './responses.ts'
import type { SharedSchemas } from './shared-schemas.ts'

/** What the operations of a document share. */
export interface OperationParts {
  examples: Examples
  schemas: SharedSchemas
  refusals: RefusalResponses
}

/** What the policy means to a caller, a sentence per rule. */
const describePolicy = (operation: Operation, chain: Chain): string => {
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

/** The security requirements. The api chain also accepts API keys. */
const toSecurity = ({ policy }: Operation, { perimeter }: Chain): JsonObject[] => {
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

/** The Operation Object of an operation on one of its chains. */
export const toOperationObject = (parts: OperationParts, operation: Operation, chainId: ChainId): JsonObject => {
  const chain = chains[chainId]
  const example = parts.examples.operations.get(operation.id) ?? {}
  return {
    operationId: operationIdOf(operation, chainId),
    tags: [toTag(operation)],
    summary: operation.summary,
    description: describePolicy(operation, chain),
    security: toSecurity(operation, chain),
    parameters: listParameters(operation, chain, example),
    ...toRequestBody(operation, chain, example),
    responses: {
      ...toSuccessResponses(operation, chain, parts.schemas.dataOf(operation), example),
      ...parts.refusals.of(operation, chainId),
    },
  }
}
