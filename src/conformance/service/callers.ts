import type { Operation } from '../../kernel/index.ts'
import type { Outcome } from './client.ts'
import { inputFor, KnownIds } from './inputs.ts'
import { describeOutcome, type ServiceCheck, type ServiceUnderTest, verdict } from './run.ts'

const noInput = { params: {}, query: {}, body: null }

/** Every operation must refuse every assertion that is not for it. */
export async function checkCallers(service: ServiceUnderTest): Promise<ServiceCheck[]> {
  const { operations, client, assertions, callerOf, samplesOf, ids } = service
  const checks: ServiceCheck[] = []
  const known = new KnownIds()
  const called = operations.filter(({ reply }) => reply !== 'socket' && reply !== 'events')
  for (const [check, sign] of Object.entries(assertions.invalid())) {
    const findings: string[] = []
    for (const operation of called) {
      const input = inputFor(operation, samplesOf(operation), known) ?? noInput
      const assertion = await sign(callerOf(operation))
      findings.push(
        ...findProblem(
          operation,
          await client.send({ operation, input, requestId: ids.next(), key: ids.next(), assertion }),
        ),
      )
    }
    checks.push(verdict(check, called.length, findings))
  }
  return checks
}

/** A relayed refusal would look like the client's own mistake. */
function findProblem({ id }: Operation, outcome: Outcome): string[] {
  if (outcome.status === 401 && outcome.kind === 'invalid') return []
  const hint = outcome.kind === 'refused' && outcome.status === 401 ? ' in an envelope' : ''
  return [`${id}: expected 401 without an envelope, got ${describeOutcome(outcome)}${hint}`]
}
