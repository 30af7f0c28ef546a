import { SealedBody, SealedReply } from '../contract/sealed-bodies.ts'
import { type Chain, type ChainId, chains, type Operation } from '../kernel/index.ts'
import { bodyComponents, toRequestBody } from './bodies.ts'
import { codedComponents, envelopeComponents } from './components.ts'
import { type Examples, noExamples } from './examples.ts'
import { isJsonObject, type JsonObject, pickReferenced } from './json.ts'
import { listTags, operationIdOf, toTag } from './names.ts'
import { describePolicy, introduction, securitySchemes, toSecurity } from './operations.ts'
import { headerComponents, listParameters } from './parameters.ts'
import { createRefusalResponses, type Sentence } from './refusals.ts'
import { responseHeaderComponents, toSuccessResponses } from './replies.ts'
import { inBatches, toJsonSchema } from './schemas.ts'
import { shareSchemas } from './shared-schemas.ts'

export interface DocumentOptions {
  version: string
  /** Recorded requests and replies. */
  examples?: Examples
  /** The public sentence of a refusal; otherwise its code. */
  sentence?: Sentence
}

const sealedComponents = {
  SealedBody: toJsonSchema(SealedBody, 'input'),
  SealedReply: toJsonSchema(SealedReply, 'output'),
}

const itself: Sentence = (code) => code

/** The interface as an OpenAPI 3.1 document: each operation on each chain that serves it. */
export const openApiDocument = async (
  catalogue: readonly Operation[],
  options: DocumentOptions,
): Promise<JsonObject> => {
  const { version, examples = noExamples, sentence = itself } = options
  const fixed = {
    ...envelopeComponents,
    ...codedComponents(),
    ...(await bodyComponents(catalogue)),
    ...sealedComponents,
  }
  const shared = await shareSchemas(catalogue, Object.keys(fixed))
  const refusals = createRefusalResponses(sentence, examples.refusals)

  const operationObject = (operation: Operation, chainId: ChainId, chain: Chain): JsonObject => {
    const example = examples.operations.get(operation.id) ?? {}
    return {
      operationId: operationIdOf(operation, chainId),
      tags: [toTag(operation)],
      summary: operation.summary,
      description: describePolicy(operation, chain),
      security: toSecurity(operation, chain),
      parameters: listParameters(operation, chain, example),
      ...toRequestBody(operation, chain, example),
      responses: {
        ...toSuccessResponses(operation, chain, shared.dataOf(operation), example),
        ...refusals.of(operation, chainId),
      },
    }
  }

  const paths: JsonObject = {}
  for await (const operation of inBatches(catalogue)) {
    for (const chainId of operation.chains) {
      const path = chains[chainId].prefix + operation.path
      const item = paths[path]
      const method = operation.method.toLowerCase()
      paths[path] = {
        ...(isJsonObject(item) ? item : {}),
        [method]: operationObject(operation, chainId, chains[chainId]),
      }
    }
  }
  const body: JsonObject = { paths, responses: refusals.components }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Portico',
      version,
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // Wherever the document itself is served.
    servers: [{ url: '/' }],
    tags: listTags(catalogue),
    paths,
    components: {
      schemas: pickReferenced({ ...fixed, ...shared.components }, 'schemas', body),
      parameters: pickReferenced(headerComponents(), 'parameters', paths),
      responses: refusals.components,
      headers: pickReferenced(responseHeaderComponents, 'headers', body),
      securitySchemes,
    },
  }
}
