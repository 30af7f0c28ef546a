import { isDeepStrictEqual } from 'node:util'
import type { Operation } from '../../kernel/index.ts'
import { isRecord } from '../../kernel/index.ts'
import { otherValid } from '../../testing/inputs.ts'
import type { Input } from './inputs.ts'
import { call, describeOutcome, type ServiceCheck, type ServiceUnderTest, type Success, verdict } from './run.ts'

/** Repeats the commands that succeeded. The others have no effect to repeat. */
export async function checkIdempotency(
  service: ServiceUnderTest,
  successes: readonly Success[],
): Promise<ServiceCheck[]> {
  const checks: ServiceCheck[] = []
  for (const operation of service.operations.filter(({ policy }) => policy.idempotent)) {
    const { id } = operation
    const success = successes.find((each) => each.operation === operation)
    if (!success) {
      checks.push({ check: sameCheck(id), requests: 0, outcome: 'unchecked', findings: ['it has not succeeded'] })
      continue
    }
    checks.push(verdict(sameCheck(id), 1, await repeat(service, success)))
    const other = otherInput(operation, success.input)
    if (other) checks.push(verdict(otherCheck(id), 1, await repeatOther(service, success, other)))
  }
  return checks
}

function sameCheck(id: string): string {
  return `${id}: a repeated Idempotency-Key returns the first reply`
}

async function repeat(service: ServiceUnderTest, { operation, input, key, data }: Success) {
  const outcome = await call(service, operation, input, key)
  if (outcome.kind !== 'data') return [`expected the first reply, got ${describeOutcome(outcome)}`]
  return isDeepStrictEqual(outcome.data, data) ? [] : ['the reply differs from the first one']
}

function otherInput({ body }: Operation, input: Input): Input | undefined {
  // As it is sent: the schema can have replaced an amount.
  const sent: unknown = JSON.parse(JSON.stringify(input.body))
  if (typeof body === 'string' || !isRecord(sent)) return undefined
  const other = otherValid(body, sent)
  return other && { ...input, body: other }
}

function otherCheck(id: string): string {
  return `${id}: Idempotency-Key with another body is refused`
}

async function repeatOther(service: ServiceUnderTest, { operation, key }: Success, input: Input) {
  const outcome = await call(service, operation, input, key)
  return outcome.kind === 'refused' && outcome.code === 'REQUEST.ID_REUSED'
    ? []
    : [`expected 422 REQUEST.ID_REUSED, got ${describeOutcome(outcome)}`]
}
