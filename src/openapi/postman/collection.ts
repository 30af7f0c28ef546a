import { headers } from '../../contract/headers.ts'
import { type ChainId, chainIds, chains, isRecord } from '../../kernel/index.ts'
import { isJsonObject, type Json, type JsonObject } from '../json.ts'

export interface CollectionOptions {
  baseUrl: string
  /** Initial values of further variables. In production, people set their own. */
  values: Readonly<Record<string, string>>
  /** Whether to send the headers of the edge, which development lacks. */
  hasEdgeHeaders: boolean
}

const schema = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json'

const folderNames: Record<ChainId, string> = {
  consumer: 'CONSUMER portal',
  system: 'SYSTEM portal',
  shared: 'Both portals',
  self: 'Own account',
  api: 'Machines',
  systemApi: 'Machines of operators',
}

/** The variables of API keys. */
const machineTokens: Partial<Record<ChainId, string>> = { api: 'apiKey', systemApi: 'operatorApiKey' }

/** The members of a reply that later requests need. */
const storedMembers: Readonly<Record<string, readonly string[]>> = {
  'auth.loginInitiate': ['sessionId'],
  'auth.loginComplete': ['accessToken', 'refreshToken'],
  'auth.refresh': ['accessToken', 'refreshToken'],
}

/** The client hash is random and remains the same, because tokens are bound to it. */
const createClientHash = [
  "if (!pm.collectionVariables.get('clientHash'))",
  "  pm.collectionVariables.set('clientHash', pm.variables.replaceIn('{{$guid}}'))",
]

/**
 * Returns an OpenAPI document of Portico as a Postman Collection (v2.1): a folder per chain, and in it one per domain. Each
 * request has a new X-Request-Id and Idempotency-Key, so a second one is not a repetition. WebSockets are omitted.
 */
export function postmanCollection(document: JsonObject, options: CollectionOptions): JsonObject {
  const requests = listRequests(document)
  const item = chainIds.flatMap((chainId) => {
    const ofChain = requests.filter((each) => each.chainId === chainId)
    const domains = [...Map.groupBy(ofChain, ({ tag }) => tag)].map(([name, each]) => ({
      name,
      item: each.map((request) => toItem(document, request, options)),
    }))
    return domains.length === 0 ? [] : [{ name: folderNameOf(chainId, ofChain), item: domains }]
  })
  const { title = 'Portico', version = '' } = isJsonObject(document.info) ? document.info : {}
  const used = new Set([...JSON.stringify(item).matchAll(/\{\{(\w+)\}\}/g)].map(([, name = '']) => name))
  const values: Record<string, string> = { ...options.values, baseUrl: options.baseUrl }
  return {
    info: { name: `${title} ${version}`, schema },
    item,
    event: [toEvent('prerequest', createClientHash)],
    variable: [...used].sort().map((key) => ({ key, value: values[key] ?? '' })),
  }
}

/** A portal that the configuration declares has the chains of CONSUMER under other prefixes. */
function folderNameOf(chainId: ChainId, requests: readonly DocumentedRequest[]): string {
  const isOwn = requests.every(({ path }) => path.startsWith(`${chains[chainId].prefix}/`))
  return isOwn || chainId !== 'consumer' ? folderNames[chainId] : 'Portal'
}

interface DocumentedRequest {
  chainId: ChainId
  tag: string
  method: string
  path: string
  operation: JsonObject
}

function listRequests({ paths }: JsonObject): DocumentedRequest[] {
  return membersOf(paths).flatMap(([path, methods]) =>
    membersOf(methods).flatMap(([method, operation]) => {
      const [chain] = isJsonObject(operation) ? String(operation.operationId).split('.') : []
      const chainId = chainIds.find((each) => each === chain)
      if (!isJsonObject(operation) || !chainId || hasMember(operation.responses, '101')) return []
      const tag = Array.isArray(operation.tags) ? String(operation.tags[0]) : ''
      return [{ chainId, tag, method: method.toUpperCase(), path, operation }]
    }),
  )
}

function toItem(document: JsonObject, request: DocumentedRequest, options: CollectionOptions): JsonObject {
  const { chainId, method, operation } = request
  const { id, policy } = isJsonObject(operation['x-portico']) ? operation['x-portico'] : {}
  const stored = (storedMembers[String(id)] ?? []).map((name) => `'${name}', '${variableOn(chainId, name)}'`)
  const token = machineTokens[chainId] ?? variableOn(chainId, 'accessToken')
  const isAnonymous = isJsonObject(policy) && policy.caller === 'anonymous'
  const { header: contentType = [], ...body } = bodyOf(document, request)
  return {
    name: operation.summary ?? String(id),
    request: {
      method,
      header: [...headersOf(chainId, isJsonObject(policy) ? policy : {}, options), ...contentType],
      ...body,
      url: urlOf(request),
      auth: isAnonymous
        ? { type: 'noauth' }
        : { type: 'bearer', bearer: [{ key: 'token', value: `{{${token}}}`, type: 'string' }] },
      description: operation.description ?? '',
    },
    response: [],
    ...(stored.length > 0 && { event: [toEvent('test', storeScript(stored))] }),
  }
}

function storeScript(pairs: readonly string[]): string[] {
  return [
    'const reply = pm.response.json().data',
    `for (const [name, variable] of [${pairs.map((pair) => `[${pair}]`).join(', ')}])`,
    '  if (reply && reply[name]) pm.collectionVariables.set(variable, reply[name])',
  ]
}

function toEvent(listen: string, exec: string[]): JsonObject {
  return { listen, script: { type: 'text/javascript', exec } }
}

/** The portals have separate sign-ins. */
function variableOn(chainId: ChainId, name: string): string {
  return chainId === 'system' ? `system${name.charAt(0).toUpperCase()}${name.slice(1)}` : name
}

function headersOf(chainId: ChainId, { idempotent, workspace }: JsonObject, { hasEdgeHeaders }: CollectionOptions) {
  const { perimeter } = chains[chainId]
  const isPortal = perimeter === 'portal'
  const isOptional = workspace === 'optional' || !isPortal
  const ofEdge = isPortal && hasEdgeHeaders
  const rows: [isSent: boolean, name: string, value: string, disabled?: boolean][] = [
    [isPortal, headers.portalAccessCode.name, `{{${variableOn(chainId, 'accessCode')}}}`],
    [true, headers.requestId.name, '{{$guid}}'],
    [idempotent === true, headers.idempotencyKey.name, '{{$guid}}'],
    [perimeter !== 'machine', headers.clientHash.name, '{{clientHash}}'],
    [isPortal, headers.locale.name, 'en'],
    [workspace === 'required' || workspace === 'optional', headers.workspaceId.name, '{{workspaceId}}', isOptional],
    [ofEdge, headers.forwardedProto.name, 'https'],
    [ofEdge, headers.connectingIp.name, '127.0.0.1'],
    [ofEdge, headers.ray.name, 'none'],
    [ofEdge, headers.ipCountry.name, 'XX'],
  ]
  return rows.flatMap(([isSent, key, value, disabled]) =>
    isSent ? [{ key, value, ...(disabled && { disabled }) }] : [],
  )
}

function urlOf({ path, operation }: DocumentedRequest): JsonObject {
  const parameters = Array.isArray(operation.parameters) ? operation.parameters.filter(isJsonObject) : []
  const listIn = (place: string) =>
    parameters
      .filter((each) => each.in === place)
      .map(({ name, example, required }) => ({
        key: String(name),
        value: typeof example === 'object' || example === undefined ? '' : String(example),
        ...(place === 'query' && required !== true && { disabled: true }),
      }))
  const [query, variable] = [listIn('query'), listIn('path')]
  const segments = path
    .slice(1)
    .replaceAll(/\{(\w+)\}/g, ':$1')
    .split('/')
  const sent = query.filter(({ disabled }) => !disabled).map(({ key, value }) => `${key}=${value}`)
  return {
    raw: `{{baseUrl}}/${segments.join('/')}${sent.length > 0 ? `?${sent.join('&')}` : ''}`,
    host: ['{{baseUrl}}'],
    path: segments,
    ...(query.length > 0 && { query }),
    ...(variable.length > 0 && { variable }),
  }
}

interface Body {
  header?: JsonObject[]
  body?: JsonObject
}

function bodyOf(document: JsonObject, { chainId, operation }: DocumentedRequest): Body {
  const content = isJsonObject(operation.requestBody) ? operation.requestBody.content : undefined
  if (!isJsonObject(content)) return {}
  const [type, media] = Object.entries(content)[0] ?? []
  if (!isJsonObject(media)) return {}
  if (type === 'multipart/form-data') return { body: { mode: 'formdata', formdata: fieldsOf(document, media.schema) } }
  if (type !== 'application/json') return { body: { mode: 'file', file: {} } }
  const [example] = membersOf(media.examples).map(([, each]) => (isJsonObject(each) ? each.value : undefined))
  const value = withVariables(example ?? sampleOf(document, media.schema), chainId)
  const options = { raw: { language: 'json' } }
  return {
    header: [{ key: 'Content-Type', value: 'application/json' }],
    body: { mode: 'raw', raw: JSON.stringify(value, null, 2), options },
  }
}

function fieldsOf(document: JsonObject, form: Json | undefined): JsonObject[] {
  const target = resolve(document, form)
  return membersOf(target.properties).map(([key, field]) =>
    isJsonObject(field) && field.format === 'binary'
      ? { key, type: 'file', src: [] }
      : { key, type: 'text', value: String(sampleOf(document, field)) },
  )
}

/** Recorded examples have `<name>` instead of secrets. */
function withVariables(value: Json, chainId: ChainId, name = ''): Json {
  if (Array.isArray(value)) return value.map((each) => withVariables(each, chainId))
  if (isJsonObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withVariables(each, chainId, key)]))
  if (typeof value !== 'string') return value
  const secret = name === 'code' ? name : /^<(\w+)>$/.exec(value)?.[1]
  if (secret === undefined) return value
  return `{{${Object.values(storedMembers).flat().includes(secret) ? variableOn(chainId, secret) : secret}}}`
}

/** A value with the required fields, for a request without an example. */
function sampleOf(document: JsonObject, declared: Json | undefined): Json {
  const target = resolve(document, declared)
  const { type, properties, required, examples, enum: values, const: constant } = target
  const [given] = [
    constant,
    ...(Array.isArray(examples) ? examples : []),
    ...(Array.isArray(values) ? values : []),
  ].filter((each) => each !== undefined)
  if (given !== undefined) return given
  if (type === 'array') return []
  if (type === 'integer' || type === 'number') return 0
  if (type === 'boolean') return false
  if (properties === undefined) return type === 'string' ? '' : {}
  const names = new Set(Array.isArray(required) ? required : [])
  const fields = membersOf(properties).filter(([name]) => names.has(name))
  return Object.fromEntries(fields.map(([name, field]) => [name, sampleOf(document, field)]))
}

function resolve(document: JsonObject, declared: Json | undefined): JsonObject {
  if (!isJsonObject(declared)) return {}
  const name = /^#\/components\/schemas\/(.+)$/.exec(String(declared.$ref))?.[1]
  if (name === undefined) return declared
  const schemas = isJsonObject(document.components) ? document.components.schemas : {}
  const target = isJsonObject(schemas) ? schemas[name] : undefined
  return isJsonObject(target) ? target : {}
}

function membersOf(value: Json | undefined): [string, Json][] {
  return isJsonObject(value) ? Object.entries(value) : []
}

function hasMember(value: Json | undefined, name: string): boolean {
  return isRecord(value) && name in value
}
