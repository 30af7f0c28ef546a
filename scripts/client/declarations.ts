/*
 * Writes the declarations that the package has instead of those of src/client/methods.ts: an interface per kind of
 * client, and the types of requests and replies by the names of the OpenAPI document.
 */
import { z } from 'zod'
import { bankingCatalogue, type Catalogue } from '../../src/contract/index.ts'
import { accountPortal, paramNameOn, pathParamNames } from '../../src/kernel/index.ts'
import { codedComponents } from '../../src/openapi/components.ts'
import { isJsonObject, type JsonObject } from '../../src/openapi/json.ts'
import { codeComponentOf, toPascalCase } from '../../src/openapi/names.ts'
import { bodyComponents } from '../../src/openapi/requests.ts'
import { toJsonSchema } from '../../src/openapi/schemas.ts'
import { shareSchemas } from '../../src/openapi/shared-schemas.ts'
import { commentOf, commonRefusals, type Method, methods, namedOperations, quoted } from './methods.ts'
import { codesText, comment, membersText, typeText } from './type-text.ts'

/** Lists of permissions stay texts, because an extension can add permissions. */
const catalogue: Catalogue = {
  ...bankingCatalogue,
  namedOperations,
  operations: namedOperations.map(([, operation]) => operation),
  permissionLists: {
    workspacePermissions: [],
    apiKeyPermissions: [],
    operatorPermissions: [],
    operatorKeyPermissions: [],
  },
}

const families = codedComponents(catalogue)
const bodies = await bodyComponents(catalogue)
const schemas = await shareSchemas(catalogue, [...Object.keys(families), ...Object.keys(bodies)])

const operations = unique(Object.values(methods).flatMap((all) => all.map(({ operation }) => operation)))
const nameOf = new Map(Object.values(methods).flatMap((all) => all.map(({ name, operation }) => [operation, name])))

/** Returns the type of the data that a method resolves with. */
export function resultOf({ operation }: Method): string {
  return typeof operation.reply === 'string' ? 'Response' : typeText(schemas.dataOf(operation), '  ')
}

const descriptions: Readonly<Record<keyof typeof methods, string>> = {
  ConsumerMethods: 'Methods of the CONSUMER portal.',
  SystemMethods: 'Methods of the SYSTEM portal.',
  ApiMethods: 'Methods for machines with an API key.',
  SystemApiMethods: 'Methods for machines with an API key of operators.',
}

const common = `Every call can also refuse with ${quoted(commonRefusals)}.`

const coded = `/** A coded value: \`code\` is for programs, \`label\` and \`description\` for people in the client's locale. */
export interface Coded<Code extends string> {
  code: Code
  value: number
  label: string
  description: string
}
`

const page = `/** A page of a list. */
export interface Page<Item> {
  items: Item[]
  pagination: Pagination
}
`

const interfaces = ['ConsumerMethods', 'SystemMethods', 'ApiMethods', 'SystemApiMethods'] as const

export function methodDeclarations(): string {
  return [
    '/* Generated from the contract by scripts/client-package.ts. */\n',
    "import type { FlowType as AddedFlowType } from '../ledger/contract.ts'\n",
    "import type { CallOptions, Progress, WorkspaceCallOptions } from './operation-types.ts'\n",
    ...interfaces.map(methodsInterface),
    eventTypes(),
    coded,
    page,
    ...familyTypes(),
    ...Object.entries(schemas.components).map(([name, schema]) => named(name, schema)),
    ...Object.entries(bodies).map(([name, schema]) => named(name, schema)),
    ...queryTypes(),
  ].join('\n')
}

function unique<T>(items: readonly T[]): T[] {
  return [...new Set(items)]
}

function methodsInterface(name: keyof typeof methods): string {
  const members = methods[name].map(
    (method) => `${comment(commentOf(method), '  ')}  readonly ${method.name}: ${signatureOf(method)}\n`,
  )
  return `${comment([descriptions[name], '', common])}export interface ${name} {\n${members.join('\n')}}\n`
}

function eventTypes(): string {
  const members = [...catalogue.events].map(([type, { summary, data }]) => {
    const schema = schemas.refer(toJsonSchema(catalogue, data, 'output'))
    return `${comment([summary], '  ')}  '${type}': ${typeText(schema, '  ')}\n`
  })
  return `/** The data of each type of events. */\nexport interface EventDataByType {\n${members.join('')}}\n`
}

function signatureOf(method: Method): string {
  const parts = [paramsPart(method), queryPart(method), bodyPart(method)].filter((part) => part !== null)
  const options = method.needsWorkspace ? 'WorkspaceCallOptions' : 'CallOptions'
  const type = parts.length === 0 ? options : `${options} & { ${parts.join('; ')} }`
  const isRequired = method.needsWorkspace || parts.some((part) => !/^\w+\?:/.test(part))
  return `(args${isRequired ? '' : '?'}: ${type}) => Promise<${resultOf(method)}>`
}

function paramsPart({ operation, chain }: Method): string | null {
  const names = pathParamNames(operation.path).map((name) => paramNameOn(chain, operation, name))
  return names.length === 0 ? null : `params: { ${names.map((name) => `${name}: string`).join('; ')} }`
}

function queryPart({ name, operation: { query } }: Method): string | null {
  if (!query) return null
  const { required = [] } = toJsonSchema(catalogue, query, 'input')
  return `query${Array.isArray(required) && required.length > 0 ? '' : '?'}: ${queryName(name)}`
}

function queryName(name: string): string {
  return `${toPascalCase(name)}Query`
}

function bodyPart({ name, operation: { body } }: Method): string | null {
  if (body === 'none') return null
  if (body === 'multipart') return 'body: FormData; onProgress?: (progress: Progress) => void'
  if (body === 'raw') return 'body?: string | Blob | FormData'
  return `body${body instanceof z.ZodOptional ? '?' : ''}: ${toPascalCase(name)}Request`
}

function familyTypes(): string[] {
  return [...catalogue.codedFamilies.values()].flatMap(({ name, codes }) => {
    // The configuration can declare further portals.
    const [code, union] = [codeComponentOf(name), name === accountPortal.name ? 'string' : codesText(codes)]
    return [
      union === code
        ? `export type ${code} = ${codes.map((each) => `'${each}'`).join(' | ')} | AddedFlowType\n`
        : `export type ${code} = ${union}\n`,
      `export type ${toPascalCase(name)} = Coded<${code}>\n`,
    ]
  })
}

function named(name: string, schema: JsonObject): string {
  const description = comment(typeof schema.description === 'string' ? [schema.description] : [])
  return schema.type === 'object' && schema.properties !== undefined
    ? `${description}export interface ${name} {\n${membersText(schema, typeText)}}\n`
    : `${description}export type ${name} = ${typeText(schema)}\n`
}

function queryTypes(): string[] {
  return operations.flatMap((operation) =>
    operation.query ? [queryType(nameOf.get(operation) ?? operation.id, operation.query)] : [],
  )
}

/** Numbers are text on the wire, but the client also accepts numbers. */
function queryType(name: string, query: z.ZodType): string {
  const { properties } = toJsonSchema(catalogue, query, 'output')
  const isNumber = (parameter: string): boolean => {
    const output = isJsonObject(properties) ? properties[parameter] : undefined
    return isJsonObject(output) && output.type === 'integer'
  }
  const members = membersText(toJsonSchema(catalogue, query, 'input'), (schema, indent, parameter) => {
    return `${typeText(schema, indent)}${isNumber(parameter) ? ' | number' : ''}`
  })
  return `export interface ${queryName(name)} {\n${members}}\n`
}
