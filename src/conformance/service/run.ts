import type { ForwardedCaller } from '../../backends/index.ts'
import type { Ids, Operation } from '../../kernel/index.ts'
import type { Assertions } from './assertions.ts'
import type { Outcome, ServiceClient } from './client.ts'
import type { Input, Sample } from './inputs.ts'
import type { JwksServer } from './jwks-server.ts'

/** One line of the report. */
export interface ServiceCheck {
  check: string
  requests: number
  outcome: 'ok' | 'failed' | 'unchecked'
  /** Why it failed, or why it was not checked. */
  findings: readonly string[]
}

export interface ServiceUnderTest {
  operations: readonly Operation[]
  client: ServiceClient
  assertions: Assertions
  keys: Pick<JwksServer, 'url' | 'fetches'>
  ids: Ids
  /** The caller of an operation's first chain, with every permission. */
  callerOf(operation: Operation): ForwardedCaller
  samplesOf(operation: Operation): readonly [own: Sample, recorded: Sample]
  pause(milliseconds: number): Promise<void>
  /** The service does not accept the key yet. */
  onWaiting(seconds: number): void
}

/** A call that succeeded, which can be repeated. */
export interface Success {
  operation: Operation
  input: Input
  /** The idempotency key. */
  key: string
  data: unknown
}

export function describeOutcome(outcome: Outcome): string {
  if (outcome.kind === 'data') return `${outcome.status} with data`
  if (outcome.kind === 'refused') return `${outcome.status} ${outcome.code}`
  return outcome.status === 0 ? outcome.reason : `${outcome.status} (${outcome.reason})`
}

/** Sends a request with a valid assertion. Each request has another X-Request-Id, as from a client behind a proxy. */
export async function call(
  { client, assertions, callerOf, ids }: ServiceUnderTest,
  operation: Operation,
  input: Input,
  key: string,
): Promise<Outcome> {
  const assertion = await assertions.sign(callerOf(operation))
  return client.send({ operation, input, requestId: ids.next(), key, assertion })
}

export function verdict(check: string, requests: number, findings: readonly string[]): ServiceCheck {
  return {
    check,
    requests,
    outcome: findings.length === 0 ? 'ok' : 'failed',
    findings,
  }
}
