import type { z } from 'zod'
import type { resources } from '../contract/index.ts'
import type { ChainId, Operation, OperationTypes, Portal } from '../kernel/index.ts'
import type { portalChains } from './routes.ts'

/** Bytes of an upload that have left, of all that there are; `total` is 0 where it is not known. */
export interface Progress {
  loaded: number
  total: number
}

/** What every call may be given, whatever its operation. */
export interface CallOptions {
  /** X-Workspace-Id; without it the account's default workspace where the operation allows that. */
  workspaceId?: string
  /** X-Request-Id; a fresh UUID otherwise. For a money command it is the key under which the effect happens once. */
  requestId?: string
  /** Whether body and reply go through the secure channel; the client's own rule decides otherwise. */
  seal?: boolean
  signal?: AbortSignal
  /** Further header fields, such as Range; they win over the client's own, but for the secure channel's. */
  headers?: Record<string, string>
}

/** A query parameter is text on the wire; numbers may be given as such. */
type QueryValue<V> = string extends V ? V | number : V
type Query<T> = { [K in keyof T]: QueryValue<T[K]> }

type ParamsPart<O extends Operation> = [keyof OperationTypes<O>['params']] extends [never]
  ? unknown
  : { params: OperationTypes<O>['params'] }
type QueryPart<O extends Operation> = O['query'] extends z.ZodType ? { query?: Query<z.input<O['query']>> } : unknown
type BodyPart<O extends Operation> = O['body'] extends z.ZodType
  ? undefined extends z.input<O['body']>
    ? { body?: z.input<O['body']> }
    : { body: z.input<O['body']> }
  : O['body'] extends 'multipart'
    ? {
        body: FormData
        /** Told by browsers alone, and not where a service worker sends the page's requests on. */
        onProgress?: (progress: Progress) => void
      }
    : unknown

/** What an operation is called with: its parameters, query and body, as far as it has any, and the options. */
export type Args<O extends Operation> = CallOptions & ParamsPart<O> & QueryPart<O> & BodyPart<O>

/** The reply's data; for a stream the response itself, its body unread. */
export type Result<O extends Operation> = O['reply'] extends z.ZodType ? z.output<O['reply']> : Response

type Method<O extends Operation> =
  Partial<Args<O>> extends Args<O> ? (args?: Args<O>) => Promise<Result<O>> : (args: Args<O>) => Promise<Result<O>>

type Module = (typeof resources)[keyof typeof resources]
type Entry<M> = M extends unknown
  ? { [K in keyof M & string]: M[K] extends Operation ? [name: K, operation: M[K]] : never }[keyof M & string]
  : never

/** A method for each operation that one of these chains serves, under its export name in the contract. */
export type OperationsOf<C extends ChainId> = {
  readonly [E in Entry<Module> as [Extract<E[1]['chains'][number], C>] extends [never] ? never : E[0]]: Method<E[1]>
}

/** The operations of a portal. */
export type Operations<P extends Portal> = OperationsOf<(typeof portalChains)[P][number]>

/** Arguments as the pipeline sees them, before their types are those of one operation. */
export interface AnyArgs extends CallOptions {
  params?: Record<string, string>
  query?: object
  body?: unknown
  onProgress?: (progress: Progress) => void
}

/** A reply's data, and when the gateway says it was; null where it does not say. */
export interface Answer<T> {
  data: T
  timestamp: number | null
}

/** Calls any operation of the client's portal, with all that goes with it: channel, tokens, retries. */
export interface OperationCaller {
  answer<O extends Operation>(operation: O, args: Args<O>): Promise<Answer<Result<O>>>
}
