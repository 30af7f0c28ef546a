import { z } from 'zod'
import { pathParameterSchema } from '../../contract/fields.ts'
import { isRecord, type Operation, pathParamNames } from '../../kernel/index.ts'
import { deriveValid, idFieldsOf } from '../../testing/inputs.ts'
import { unknownId } from '../../testing/routes.ts'

/** An input that the developer of a service knows to succeed. */
export interface Sample {
  params?: Readonly<Record<string, string>> | undefined
  query?: Readonly<Record<string, unknown>> | undefined
  body?: unknown
}

/** A validated input, as the gateway forwards it. */
export interface Input {
  params: Record<string, string>
  query: unknown
  body: unknown
}

/** Ids of records in the replies to list operations, by the path of the list. */
export class KnownIds {
  readonly #ids = new Map<string, readonly string[]>()

  add({ method, path }: Operation, data: unknown): void {
    const items = isRecord(data) ? data.items : data
    if (method !== 'GET' || !Array.isArray(items)) return
    const ids = items.flatMap((item) => (isRecord(item) && typeof item.bizId === 'string' ? [item.bizId] : []))
    if (ids.length > 0) this.#ids.set(path, ids)
  }

  /** The first record below the path in front of the parameter. */
  forParam(path: string, name: string): string | undefined {
    return this.#ids.get(path.slice(0, path.indexOf(`/{${name}}`)))?.[0]
  }

  /** `sourceWalletBizId` and `walletBizId` are ids of a list whose path ends with `wallets`. */
  forField(field: string, position: number): string | undefined {
    const name = field.replace(/BizId$/, '').toLowerCase()
    for (const [path, ids] of this.#ids) {
      const record = path.slice(path.lastIndexOf('/') + 1).replaceAll('-', '')
      if (name !== '' && name.endsWith(record.replace(/s$/, ''))) return ids[position] ?? ids[0]
    }
    return undefined
  }
}

/** Returns undefined if no valid input can be derived. `samples` are the developer's own and a recorded one. */
export function inputFor(
  operation: Operation,
  samples: readonly [own: Sample, recorded: Sample],
  known: KnownIds,
): Input | undefined {
  const [query, body] = [queryOf(operation, samples), bodyOf(operation, samples, known)]
  return query && body && { params: paramsOf(operation, samples, known), query: query.data, body: body.data }
}

/** The input with an unknown id in each path parameter, or undefined if the path has no id. */
export function withUnknownIds(operation: Operation, input: Input): Input | undefined {
  const names = pathParamNames(operation.path)
  const isId = (name: string): boolean => pathParameterSchema(operation, name).safeParse(unknownId).success
  if (!names.some(isId)) return undefined
  const params = Object.fromEntries(names.map((name) => [name, isId(name) ? unknownId : (input.params[name] ?? '')]))
  return { ...input, params }
}

/** Throws a TypeError that names the operation and the field of an invalid sample. */
export function assertValidSample(operation: Operation, { params = {}, query, body }: Sample): void {
  const fail = (place: string, message = 'is not valid'): never => {
    throw new TypeError(`${operation.id}: ${place}: ${message}`)
  }
  for (const [name, value] of Object.entries(params)) {
    if (!pathParamNames(operation.path).includes(name)) fail(`params.${name}`, 'the path has no such parameter')
    if (!pathParameterSchema(operation, name).safeParse(value).success) fail(`params.${name}`)
  }
  const issueOf = (schema: z.ZodType, value: unknown): [string, string] | undefined => {
    const [issue] = schema.safeParse(value).error?.issues ?? []
    return issue && [issue.path.map((part) => `.${String(part)}`).join(''), issue.message]
  }
  const wrongQuery = query && issueOf(operation.query ?? z.strictObject({}), query)
  if (wrongQuery) fail(`query${wrongQuery[0]}`, wrongQuery[1])
  const { body: schema } = operation
  if (body !== undefined && typeof schema === 'string') fail('body', 'the operation has no JSON body')
  const wrongBody = body === undefined || typeof schema === 'string' ? undefined : issueOf(schema, body)
  if (wrongBody) fail(`body${wrongBody[0]}`, wrongBody[1])
}

function queryOf({ query }: Operation, samples: readonly Sample[]): { data: unknown } | undefined {
  if (!query) return { data: {} }
  const [own, recorded] = samples.map((sample) => sample.query)
  return firstValid(query, own === undefined ? [{}, recorded, deriveValid(query)] : [own])
}

/** Returns what the schema makes of the first candidate that it accepts. */
function firstValid(schema: z.ZodType, candidates: readonly unknown[]): { data: unknown } | undefined {
  for (const candidate of candidates) {
    const parsed = schema.safeParse(candidate)
    if (parsed.success) return { data: parsed.data }
  }
  return undefined
}

function bodyOf(operation: Operation, samples: readonly Sample[], known: KnownIds): { data: unknown } | undefined {
  const { body: schema } = operation
  if (typeof schema === 'string') return { data: null }
  const [own, recorded] = samples.map(({ body }) => body)
  const generated = [recorded, deriveValid(schema)].map((body) =>
    isRecord(body) ? withKnownIds(operation, body, known) : body,
  )
  return firstValid(schema, own === undefined ? [...generated, undefined] : [own])
}

function withKnownIds(operation: Operation, body: Readonly<Record<string, unknown>>, known: KnownIds): unknown {
  let position = 0
  const ids = idFieldsOf(operation)
    .filter((field) => field in body)
    .map((field) => [field, known.forField(field, position++) ?? body[field]] as const)
  return { ...body, ...Object.fromEntries(ids) }
}

function paramsOf(operation: Operation, samples: readonly Sample[], known: KnownIds): Record<string, string> {
  return Object.fromEntries(
    pathParamNames(operation.path).map((name) => {
      const schema = pathParameterSchema(operation, name)
      const [own, recorded] = samples.map(({ params }) => params?.[name])
      // Recorded ids are of another store.
      const isId = schema.safeParse(unknownId).success
      const candidates = [own, known.forParam(operation.path, name), isId ? unknownId : recorded, 'x']
      return [name, candidates.find((each) => each !== undefined && schema.safeParse(each).success) ?? unknownId]
    }),
  )
}
