/*
 * Checks a service behind the gateway: sends the requests that a gateway sends, with assertions that it signs itself,
 * and reads the replies as a gateway does. `replies.ts`, `idempotency.ts` and `callers.ts` contain the checks. Start
 * reading with `checkService`.
 */
import { checkCallers } from './callers.ts'
import { checkIdempotency } from './idempotency.ts'
import { inputFor, KnownIds } from './inputs.ts'
import { checkReplies, checkUnknownIds, hasJson } from './replies.ts'
import { call, type ServiceCheck, type ServiceUnderTest } from './run.ts'

export { Assertions } from './assertions.ts'
export { ServiceClient, ServiceUnreachable } from './client.ts'
export { assertValidSample, type Sample } from './inputs.ts'
export { serveJwks } from './jwks-server.ts'
export type { ServiceCheck, ServiceUnderTest } from './run.ts'

/** The service accepts no assertion, so every check would fail for the same reason. */
class AssertionRejected extends Error {}

/** A service can keep the keys of another gateway for 30 seconds. */
const maxWaitSeconds = 35

export interface ServiceReport {
  checks: readonly ServiceCheck[]
  /** Whether nothing failed and at least one operation replied with data. */
  hasPassed: boolean
}

/** Executes commands of the service. Throws ServiceUnreachable or AssertionRejected if no check can run. */
export async function checkService(service: ServiceUnderTest): Promise<ServiceReport> {
  await waitUntilAccepted(service)
  const replies = await checkReplies(service)
  const checks = [
    ...replies.checks,
    ...(await checkUnknownIds(service)),
    ...(await checkIdempotency(service, replies.successes)),
    ...(await checkCallers(service)),
  ]
  const hasData = replies.successes.length > 0 || !service.operations.some(hasJson)
  return { checks, hasPassed: hasData && checks.every(({ outcome }) => outcome !== 'failed') }
}

async function waitUntilAccepted(service: ServiceUnderTest): Promise<void> {
  const { operations, keys, ids, pause, samplesOf, onWaiting } = service
  const reads = operations.filter(hasJson)
  const operation = reads.find(({ method }) => method === 'GET') ?? reads[0]
  const input = operation && inputFor(operation, samplesOf(operation), new KnownIds())
  if (!operation || !input) return
  for (let seconds = 0; ; seconds += 1) {
    const { status, kind } = await call(service, operation, input, ids.next())
    if (status !== 401 || kind !== 'invalid') return
    if (seconds === maxWaitSeconds)
      throw new AssertionRejected(
        keys.fetches() === 0
          ? `the service replies 401 and never fetched the keys from ${keys.url}: set it as the URL of its keys`
          : `the service fetched the keys and replies 401 to ${operation.id}: compare its issuer and audience`,
      )
    onWaiting(seconds)
    await pause(1_000)
  }
}
