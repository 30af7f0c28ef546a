import type { Tx } from '../database/index.ts'
import type { Caller, Instant, Locale, Portal, WorkspaceAccess } from '../kernel/index.ts'

/** A frozen copy of a command's request, which the operation's schemas have validated. */
export interface HookRequest<Body = unknown> {
  readonly operationId: string
  readonly requestId: string
  /** The time of the request. */
  readonly receivedAt: Instant
  readonly portal: Portal
  readonly locale: Locale
  readonly clientIp: string
  readonly userAgent: string
  /** ISO 3166 alpha-2 code from the edge, or XX. */
  readonly country: string
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  readonly body: Body
  readonly caller: Readonly<Caller> | null
  readonly workspace: Readonly<WorkspaceAccess> | null
  /** Null if the operation is not idempotent. */
  readonly idempotencyKey: string | null
}

/** A method, so that a hook can name the type of the body, which the operation's schema has parsed. */
interface HookMethod<Ports> {
  run(request: HookRequest, ports: Ports): Promise<void>
}

/**
 * Runs first in the transaction `tx` of a command, before any effect. To refuse the command, throw a Refusal with a code
 * in `codes` of this domain: nothing remains of the command then. Rows written with `tx` commit or roll back with the
 * command. A conflict can run the hook again. Inside it, other ports that use the store throw an Error.
 */
export type Hook<Ports extends { tx: Tx } = { tx: Tx }> = HookMethod<Ports>['run']
