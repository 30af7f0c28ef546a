import { SealedBody, SealedReply } from '../contract/sealed.ts'
import { type Chain, type ChainId, chains, type Operation } from '../kernel/index.ts'
import { bodyComponents, bodyOf } from './bodies.ts'
import { codedComponents } from './coded.ts'
import { descriptionOf, introduction, securityOf, securitySchemes } from './description.ts'
import { envelopeComponents } from './envelopes.ts'
import { type Examples, noExamples } from './examples.ts'
import { inTurns } from './in-turns.ts'
import { isJsonObject, type JsonObject } from './json.ts'
import { operationIdOf } from './names.ts'
import { headerComponents, parametersOf } from './parameters.ts'
import { refusalAnswers, type Sentence } from './refusals.ts'
import { headerFields, repliesOf } from './replies.ts'
import { schemaOf } from './schema.ts'
import { shareSchemas } from './shared-schemas.ts'
import { tagOf, tagsOf } from './tags.ts'
import { used } from './used.ts'

export interface DocumentOptions {
  version: string
  /** Recorded requests and replies. */
  examples?: Examples
  /** The public sentence of a refusal; otherwise its code. */
  sentence?: Sentence
}

const sealedComponents = { SealedBody: schemaOf(SealedBody, 'input'), SealedReply: schemaOf(SealedReply, 'output') }

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
  const refusals = refusalAnswers(sentence, examples.refusals)

  const operationObject = (operation: Operation, chainId: ChainId, chain: Chain): JsonObject => {
    const example = examples.operations.get(operation.id) ?? {}
    return {
      operationId: operationIdOf(operation, chainId),
      tags: [tagOf(operation)],
      summary: operation.summary,
      description: descriptionOf(operation, chain),
      security: securityOf(operation, chain),
      parameters: parametersOf(operation, chain, example),
      ...bodyOf(operation, chain, example),
      responses: {
        ...repliesOf(operation, chain, shared.dataOf(operation), example),
        ...refusals.of(operation, chainId),
      },
    }
  }

  const paths: JsonObject = {}
  for await (const operation of inTurns(catalogue)) {
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
    tags: tagsOf(catalogue),
    paths,
    components: {
      schemas: used({ ...fixed, ...shared.components }, 'schemas', body),
      parameters: used(headerComponents(), 'parameters', paths),
      responses: refusals.components,
      headers: used(headerFields, 'headers', body),
      securitySchemes,
    },
  }
}
