import type { Catalogue } from '../contract/index.ts'
import { rootMarks } from '../documents/marks.ts'
import { chains } from '../kernel/index.ts'
import { codedComponents, envelopeComponents, sealedComponents } from './components.ts'
import { type Examples, noExamples } from './examples.ts'
import { isJsonObject, type JsonObject, pickReferenced } from './json.ts'
import { listTags } from './names.ts'
import { type OperationParts, securitySchemes, toOperationObject } from './operations.ts'
import { bodyComponents, headerComponents } from './requests.ts'
import { createRefusalResponses, responseHeaderComponents, type Sentence } from './responses.ts'
import { inBatches } from './schemas.ts'
import { shareSchemas } from './shared-schemas.ts'

export interface DocumentOptions {
  version: string
  /** Recorded requests and replies. */
  examples?: Examples
  /** Returns the public sentence of a refusal. By default the code itself. */
  sentence?: Sentence
}

const codeAsSentence: Sentence = (code) => code

const introduction = [
  'The interface of a portal gateway: sign-in and security, workspaces and their members, money.',
  'Every JSON response has an envelope. Its `code` is `2000` for success, otherwise the refusal code. Amounts are decimal strings with a separate currency, times are ISO 8601 in UTC, and ids are called `bizId`.',
  'Request bodies can be encrypted: fetch the public key, open a secure channel session, and send `{payload}`.',
].join('\n\n')

/** Returns the Paths Object: each operation on each of its chains. */
const buildPaths = async (parts: OperationParts): Promise<JsonObject> => {
  const paths: JsonObject = {}
  for await (const operation of inBatches(parts.catalogue.operations)) {
    for (const chainId of operation.chains) {
      const path = chains[chainId].prefix + operation.path
      const item = paths[path]
      const method = operation.method.toLowerCase()
      paths[path] = {
        ...(isJsonObject(item) ? item : {}),
        [method]: toOperationObject(parts, operation, chainId),
      }
    }
  }
  return paths
}

/** Returns the operations of a catalogue as an OpenAPI 3.1 document. */
export const openApiDocument = async (catalogue: Catalogue, options: DocumentOptions): Promise<JsonObject> => {
  const { version, examples = noExamples, sentence = codeAsSentence } = options
  const ownSchemas = {
    ...envelopeComponents,
    ...codedComponents(catalogue),
    ...(await bodyComponents(catalogue)),
    ...sealedComponents(catalogue),
  }
  const schemas = await shareSchemas(catalogue, Object.keys(ownSchemas))
  const refusals = createRefusalResponses(catalogue, sentence, examples.refusals)
  const paths = await buildPaths({ catalogue, examples, schemas, refusals })
  const body: JsonObject = { paths, responses: refusals.components }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Portico',
      version,
      description: introduction,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // The URL is relative: the origin that serves the document.
    servers: [{ url: '/' }],
    'x-portico': rootMarks(catalogue),
    tags: listTags(catalogue),
    paths,
    components: {
      schemas: pickReferenced({ ...ownSchemas, ...schemas.components }, 'schemas', body),
      parameters: pickReferenced(headerComponents(), 'parameters', paths),
      responses: refusals.components,
      headers: pickReferenced(responseHeaderComponents, 'headers', body),
      securitySchemes,
    },
  }
}
