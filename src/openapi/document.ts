import type { Catalogue } from '../contract/index.ts'
import { type NestedTexts, rootMarks } from '../documents/marks.ts'
import { chainIds, chains, domainOf, mountChain, type PortalMount, pathOn } from '../kernel/index.ts'
import { codedComponents, refusalComponent, sealedComponents } from './components.ts'
import { createEnvelopes } from './envelopes.ts'
import { eventComponentOf, eventComponents, tagsOfWebhooks, toWebhooks, webhookParameters } from './events/webhooks.ts'
import { type Examples, noExamples } from './examples.ts'
import { headerComponents, headerSchemas } from './header-table.ts'
import { hoistInlineSchemas } from './hoist.ts'
import { isJsonObject, type JsonObject, pickReferenced } from './json.ts'
import { exportNameOf, inOrderOfUse, listTags, toPascalCase } from './names.ts'
import { type OperationParts, securitySchemesOf, toOperationObject } from './operations.ts'
import { bodyComponents, formComponents, ticketParameterComponents } from './requests.ts'
import { createRefusalResponses, responseHeaderComponents, type Sentence } from './responses.ts'
import { inBatches } from './schemas.ts'
import { shareSchemas } from './shared-schemas.ts'

export interface DocumentOptions {
  version: string
  /** Recorded requests and replies to include. */
  examples?: Examples
  /** Example of the header X-Workspace-Id. */
  workspaceId?: string
  /** Default: the code itself. */
  sentence?: Sentence
  /** The texts that a gateway needs to offer the operations of this document. */
  texts?: NestedTexts
  /** Whether to describe the sealed bodies of the secure channel, too. Default: false. */
  isSealed?: boolean
  /** The portal of the document, if the configuration declares it. Its paths have its prefix. */
  mount?: PortalMount | null
}

const codeAsSentence: Sentence = (code) => code

const introduction = [
  'The interface of a portal gateway: sign-in and security, workspaces and their members, money.',
  'Every JSON response has an envelope. Its `code` is `2000` for success, otherwise the refusal code. Amounts are decimal strings with a separate currency, times are ISO 8601 in UTC, and ids are called `bizId`.',
  'The access code and the client hash are security schemes. Each request to a portal also needs a new `X-Request-Id`, and `X-LOCALE`. The edge in front of the gateway sets `X-Forwarded-Proto` and the CF headers.',
  'Request bodies can be encrypted: fetch the public key, open a secure channel session, and send `{payload}`. `/openapi.json?channel=sealed` also describes these bodies.',
].join('\n\n')

/** Returns an OpenAPI 3.1 document. Operations of SCIM are not part of it: `/Schemas` describes them. */
export async function openApiDocument(whole: Catalogue, options: DocumentOptions): Promise<JsonObject> {
  const catalogue = withoutProtocols(whole)
  const {
    version,
    examples = noExamples,
    workspaceId,
    sentence = codeAsSentence,
    isSealed = false,
    texts,
    mount = null,
  } = options
  const ownSchemas = {
    Refusal: refusalComponent,
    ...codedComponents(catalogue),
    ...(await bodyComponents(catalogue)),
    ...formComponents(catalogue),
    ...headerSchemas(),
    ...sealedComponents(catalogue),
  }
  const reserved = [...Object.keys(ownSchemas), ...[...catalogue.events.keys()].map(eventComponentOf)]
  const schemas = await shareSchemas(catalogue, reserved)
  const envelopes = createEnvelopes([...reserved, ...Object.keys(schemas.components)])
  const refusals = createRefusalResponses(catalogue, sentence, examples.refusals)
  const operations = await listOperations({ catalogue, isSealed, examples, schemas, envelopes, refusals, mount })
  const hoisted = await hoistInlineSchemas(
    { ...ownSchemas, ...schemas.components, ...envelopes.components, ...eventComponents(catalogue, schemas) },
    operations,
  )
  const paths = buildPaths(hoisted.operations)
  const webhooks = toWebhooks(catalogue)
  const declared = { ...headerComponents(workspaceId), ...ticketParameterComponents, ...webhookParameters }
  const parameters = pickReferenced(declared, 'parameters', { paths, webhooks })
  const body: JsonObject = { paths, webhooks, parameters, responses: refusals.components }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Portico',
      version,
      description: introduction,
      contact: { name: 'Portico', url: 'https://github.com/portico-gateway/portico/issues' },
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // The origin that serves the document.
    servers: [{ url: '/' }],
    'x-portico': rootMarks(catalogue, texts),
    tags: [...listTags(catalogue), ...tagsOfWebhooks(webhooks)],
    paths,
    webhooks,
    components: {
      schemas: pickReferenced(hoisted.schemas, 'schemas', body),
      parameters,
      responses: refusals.components,
      headers: pickReferenced(responseHeaderComponents, 'headers', body),
      securitySchemes: pickSecuritySchemes(hoisted.operations, mount),
    },
  }
}

interface Documented {
  path: string
  method: string
  /** Name of the operation in the names of components. */
  owner: string
  operation: JsonObject
}

/** Lists the operations chain by chain, so that the steps of a portal follow each other. */
async function listOperations(parts: OperationParts): Promise<Documented[]> {
  const listed: Documented[] = []
  const ordered = inOrderOfUse(parts.catalogue.operations)
  for (const chainId of chainIds)
    for await (const operation of inBatches(ordered.filter((each) => each.chains.includes(chainId))))
      listed.push({
        path: pathOn(mountChain(chains[chainId], parts.mount), operation),
        method: operation.method.toLowerCase(),
        owner: toPascalCase(exportNameOf(parts.catalogue, operation)),
        operation: toOperationObject(parts, operation, chainId),
      })
  return listed
}

function pickSecuritySchemes(operations: readonly Documented[], mount: PortalMount | null): JsonObject {
  const used = JSON.stringify(operations.map(({ operation }) => operation.security ?? null))
  return Object.fromEntries(Object.entries(securitySchemesOf(mount)).filter(([name]) => used.includes(`"${name}":`)))
}

function buildPaths(operations: readonly Documented[]): JsonObject {
  const paths: JsonObject = {}
  for (const { path, method, operation } of operations) {
    const item = paths[path]
    paths[path] = { ...(isJsonObject(item) ? item : {}), [method]: operation }
  }
  return paths
}

function withoutProtocols(catalogue: Catalogue): Catalogue {
  const operations = catalogue.operations.filter(({ protocol }) => protocol === undefined)
  const namedOperations = catalogue.namedOperations.filter(([, { protocol }]) => protocol === undefined)
  const domains = new Set(operations.map(({ id }) => domainOf(id)))
  const summaries = new Map([...catalogue.summaries].filter(([domain]) => domains.has(domain)))
  return { ...catalogue, operations, namedOperations, summaries }
}
