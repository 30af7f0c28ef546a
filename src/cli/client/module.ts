import { z } from 'zod'
import { bankingCatalogue, resources } from '../../contract/index.ts'
import { followReference } from '../../documents/json-schema.ts'
import { OperationMarks } from '../../documents/marks.ts'
import { domainOf, isRecord, methods, type Operation, operationsIn } from '../../kernel/index.ts'
import { openTextDeclaration, referencesOf, zodText } from './zod-text.ts'

export interface WrittenModule {
  text: string
  operations: number
  domains: readonly string[]
}

/** A module begins with this text, by which the command recognizes its own files. */
export const firstLine = '/* Written by `portico client`'

type Json = Readonly<Record<string, unknown>>

const Document = z.looseObject({
  openapi: z.string(),
  info: z.object({ version: z.string() }),
  'x-portico': z.looseObject({}),
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
  components: z.object({ schemas: z.record(z.string(), z.unknown()) }),
})
const Marks = z.object({ ...OperationMarks.shape, id: z.string(), name: z.string() })

interface Documented {
  marks: z.output<typeof Marks>
  method: Operation['method']
  source: Json
}

/**
 * Returns a contract module for `createClient` with the operations that portico-client lacks. WebSockets have no method. The
 * same document results in the same text. Throws a TypeError if it is not a document of Portico, or if two methods would
 * have the same name.
 */
export function writeModule(json: unknown, source: string): WrittenModule {
  const parsed = Document.safeParse(json)
  if (!parsed.success) throw new TypeError('is not an OpenAPI document of a Portico gateway')
  const document = parsed.data
  const found = listAdded(document)
  const parts = found.map((each) => ({ ...each, ...schemasOf(document, each.source) }))
  const served = parts.filter(({ marks, reply }) => (marks.reply ?? reply) !== 'socket')
  const components = sortComponents(
    document.components.schemas,
    served.flatMap(({ query, body, reply }) => [query, body, reply]),
  )
  const componentNames = componentNamesOf([...components.keys()])
  const names = namesOf(served, [...componentNames.values()])
  const declared = new Set<string>()
  const nameOf = (reference: string): string => componentNames.get(reference) ?? componentName(reference)
  const references = {
    nameOf,
    isDeclaredLater: (reference: string) => !declared.has(reference),
  }
  const schemas = [...components].map(([reference, schema]) => {
    const [name, text] = [nameOf(reference), zodText(schema, references)]
    declared.add(reference)
    return `export const ${name} = ${text}\nexport type ${name} = z.infer<typeof ${name}>\n`
  })
  const operations = served.map((each) =>
    operationText(each, names.get(each.marks.id) ?? each.marks.name, (schema) => zodText(schema, references)),
  )
  const domains = [...new Set(served.map(({ marks }) => domainOf(marks.id)))]
  const body = [...schemas, ...operations].join('\n')
  const text = [
    `${firstLine} from ${source.replaceAll('*/', '* /')}, Portico ${document.info.version.replaceAll('*/', '* /')}. Run it again after an upgrade. */\n`,
    "import * as z from 'zod'\n",
    codesText(served, hookCodesIn(document)),
    ...(body.includes('openText<') ? [openTextDeclaration] : []),
    body,
  ]
  return { text: text.filter(Boolean).join('\n'), operations: served.length, domains }
}

/** Lists an operation of several chains once. Throws a TypeError for one of a newer Portico. */
function listAdded({ paths }: z.output<typeof Document>): Documented[] {
  const ours = new Set(bankingCatalogue.operations.map(({ id }) => id))
  const found = new Map<string, Documented>()
  for (const [path, item] of Object.entries(paths))
    for (const method of methods) {
      const source = item[method.toLowerCase()]
      if (!isRecord(source)) continue
      const { id } = isRecord(source['x-portico']) ? source['x-portico'] : {}
      if (ours.has(String(id)) || found.has(String(id))) continue
      const { data: marks } = Marks.safeParse(source['x-portico'])
      if (!marks)
        throw new TypeError(`has ${method} ${path}, which this version cannot read: use the version of the gateway`)
      found.set(marks.id, { marks, method, source })
    }
  return [...found.values()].sort((a, b) => (a.marks.id < b.marks.id ? -1 : 1))
}

/** Returns the codes with which hooks refuse operations of portico-client. */
function hookCodesIn({ paths }: z.output<typeof Document>): string[] {
  const marks = Object.values(paths).flatMap((item) =>
    Object.values(item).map((source) => Marks.safeParse(isRecord(source) ? source['x-portico'] : undefined).data),
  )
  return marks.flatMap((each) => (each?.before ? each.refuses : []))
}

type Kind = 'none' | 'multipart' | 'raw' | 'stream' | 'events' | 'socket' | Json

function schemasOf(document: Json, source: Json): { query: Json | null; body: Kind; isOptional: boolean; reply: Kind } {
  const { parameters, requestBody, responses } = source
  const inQuery = (Array.isArray(parameters) ? parameters : []).filter(
    (each): each is Json => isRecord(each) && each.in === 'query',
  )
  const query = {
    type: 'object',
    properties: Object.fromEntries(inQuery.map(({ name, schema }) => [String(name), schema])),
    required: inQuery.filter(({ required }) => required === true).map(({ name }) => name),
  }
  return {
    query: inQuery.length === 0 ? null : query,
    body: bodyOf(requestBody),
    isOptional: isRecord(requestBody) && requestBody.required !== true,
    reply: replyOf(document, responses),
  }
}

function bodyOf(requestBody: unknown): Kind {
  const content = contentOf(requestBody)
  if (content === undefined) return 'none'
  if (content['multipart/form-data'] !== undefined) return 'multipart'
  return schemaIn(content) ?? 'raw'
}

function replyOf(document: Json, responses: unknown): Kind {
  if (!isRecord(responses) || responses['101'] !== undefined) return 'socket'
  const content = contentOf(responses['200']) ?? {}
  if (content['text/event-stream'] !== undefined) return 'events'
  const envelope = followReference(document, schemaIn(content))
  return isRecord(envelope) && isRecord(envelope.properties) && isRecord(envelope.properties.data)
    ? envelope.properties.data
    : 'stream'
}

function contentOf(source: unknown): Json | undefined {
  return isRecord(source) && isRecord(source.content) ? source.content : undefined
}

function schemaIn(content: Json): Json | undefined {
  const media = content['application/json']
  return isRecord(media) && isRecord(media.schema) ? media.schema : undefined
}

const schemaPath = '#/components/schemas/'

/** Returns the components that are used, by reference. A component follows those that it uses, unless they use it. */
function sortComponents(all: Json, from: unknown): Map<string, unknown> {
  const sorted = new Map<string, unknown>()
  const visited = new Set<string>()
  const visit = (schema: unknown): void => {
    for (const reference of new Set(referencesOf(schema))) {
      const name = reference.slice(schemaPath.length)
      if (visited.has(reference)) continue
      visited.add(reference)
      if (!reference.startsWith(schemaPath) || !Object.hasOwn(all, name))
        throw new TypeError(`refers to ${reference}, which it does not have`)
      visit(all[name])
      sorted.set(reference, all[name])
    }
  }
  visit(from)
  return sorted
}

function componentName(reference: string): string {
  return reference
    .slice(schemaPath.length)
    .replaceAll(/\W/g, '_')
    .replace(/^(?=\d)/, '_')
}

/** Names of the module and of TypeScript's own types. */
const moduleNames = ['codes', 'openText', 'z']
const typeNames = 'any bigint boolean never number object string symbol undefined unknown'

/** Returns the name of each schema by its reference. An underscore follows a name that is taken. */
function componentNamesOf(references: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set([...moduleNames, ...reservedWords.split(' '), ...typeNames.split(' ')])
  // In this order, a name does not depend on which operation uses the schema first.
  return new Map(
    [...references].sort().map((reference) => {
      let name = componentName(reference)
      while (taken.has(name) || name === '') name += '_'
      taken.add(name)
      return [reference, name]
    }),
  )
}

const clientNames = ['signIn', 'signOut', 'close', 'session', 'clientHash', 'socketProtocols', 'answer', 'with', 'then']
const reservedWords =
  'arguments await break case catch class const continue debugger default delete do else enum eval export extends false finally for function if implements import in instanceof interface let new null package private protected public return static super switch this throw true try typeof var void while with yield'

/**
 * Returns the name of each method by the id of its operation: its name in the document. One that the client, the module or
 * JavaScript uses already, or that is not a name, is replaced by the id: `cardsDelete` for `cards.delete`.
 */
function namesOf(found: readonly Documented[], componentNames: readonly string[]): ReadonlyMap<string, string> {
  const ours = Object.values(resources)
    .flatMap(operationsIn)
    .map(([name]) => name)
  const taken = new Set([...ours, ...clientNames, ...reservedWords.split(' '), ...componentNames, ...moduleNames])
  const isFree = (name: string): boolean => /^[A-Za-z_$][\w$]*$/.test(name) && !taken.has(name)
  return new Map(
    found.map(({ marks: { id, name } }) => {
      const chosen = [name, id.replaceAll(/\W+(\w?)/g, (_, letter: string) => letter.toUpperCase())].find(isFree)
      if (chosen === undefined) throw new TypeError(`has two methods ${name}: rename the operation ${id}`)
      taken.add(chosen)
      return [id, chosen]
    }),
  )
}

/** Makes the refusal codes that Portico does not have known to TypeScript. */
function codesText(found: readonly Documented[], ofHooks: readonly string[]): string {
  const own = Map.groupBy(found, ({ marks }) => domainOf(marks.id))
  const refused = [...own].map(([domain, all]) => [domain, all.flatMap(({ marks }) => marks.refuses)] as const)
  // No domain has a name with spaces.
  const tables = [...refused, ['codes of hooks', ofHooks] as const].flatMap(([name, refuses]) => {
    const codes = new Set(refuses.filter((code) => !bankingCatalogue.isCode(code)))
    const members = [...codes].sort().map((code) => `${JSON.stringify(code)}: { status: number }`)
    return members.length === 0 ? [] : [`    ${JSON.stringify(name)}: { ${members.join('; ')} }\n`]
  })
  return tables.length === 0 ? '' : `declare global {\n  interface PorticoCodes {\n${tables.join('')}  }\n}\n`
}

type Parts = Documented & ReturnType<typeof schemasOf>

function operationText(
  { marks, method, source, query, body, isOptional, reply }: Parts,
  name: string,
  textOf: (schema: Json) => string,
): string {
  const kindText = (kind: Kind): string => (typeof kind === 'string' ? JSON.stringify(kind) : textOf(kind))
  const { id, path, chains, policy, refuses, machineParams, confirms } = marks
  const summary = typeof source.summary === 'string' ? source.summary : id
  const members = {
    id: JSON.stringify(id),
    method: JSON.stringify(method),
    path: JSON.stringify(path),
    chains: JSON.stringify(chains),
    ...(machineParams && { machineParams: JSON.stringify(machineParams) }),
    summary: JSON.stringify(summary),
    policy: JSON.stringify(policy),
    ...(confirms && { confirms: JSON.stringify(confirms) }),
    ...(query && { query: textOf(query) }),
    body: `${kindText(body)}${isOptional && typeof body !== 'string' ? '.optional()' : ''}`,
    reply: kindText(marks.reply ?? reply),
    refuses: JSON.stringify(refuses),
  }
  const lines = Object.entries(members).map(([key, text]) => `  ${key}: ${text},\n`)
  return `export const ${name} = {\n${lines.join('')}} as const\n`
}
