import { listRefusals } from '../../contract/policies.ts'
import { type Operation, pathParamNames } from '../../kernel/index.ts'
import type { Outcome } from './client.ts'
import { inputFor, KnownIds, withUnknownIds } from './inputs.ts'
import { call, describeOutcome, type ServiceCheck, type ServiceUnderTest, type Success, verdict } from './run.ts'

export function hasJson({ body, reply }: Operation): boolean {
  return typeof reply !== 'string' && body !== 'multipart' && body !== 'raw'
}

export interface CheckedReplies {
  checks: ServiceCheck[]
  successes: Success[]
}

/** One check per operation. An operation that refuses every known input cannot be checked. */
export async function checkReplies(service: ServiceUnderTest): Promise<CheckedReplies> {
  const known = new KnownIds()
  const checks: ServiceCheck[] = []
  const successes: Success[] = []
  for (const operation of inOrder(service.operations)) {
    const check = `${operation.id}: the reply matches its schema`
    if (!hasJson(operation)) {
      checks.push(unchecked(check, 0, 'only JSON is checked, not uploads, downloads and streams'))
      continue
    }
    const input = inputFor(operation, service.samplesOf(operation), known)
    if (!input) {
      checks.push(unchecked(check, 0, 'add an input to --samples'))
      continue
    }
    const key = service.ids.next()
    const outcome = await call(service, operation, input, key)
    const problem = findProblem(operation, outcome)
    if (problem !== undefined) checks.push(verdict(check, 1, [problem]))
    else if (outcome.kind === 'data') {
      known.add(operation, outcome.data)
      successes.push({ operation, input, key, data: outcome.data })
      checks.push(verdict(check, 1, []))
    } else checks.push(unchecked(check, 1, `refused with ${describeOutcome(outcome)}: add an input to --samples`))
  }
  return { checks, successes }
}

/** An id of another workspace must look like an unknown one, so the code matters. */
export async function checkUnknownIds(service: ServiceUnderTest): Promise<ServiceCheck[]> {
  const findings: string[] = []
  let requests = 0
  const known = new KnownIds()
  for (const operation of service.operations) {
    if (!operation.refuses.includes('RESOURCE.NOT_FOUND') || operation.reply === 'socket') continue
    const input = inputFor(operation, service.samplesOf(operation), known)
    const unknown = input && withUnknownIds(operation, input)
    if (!unknown) continue
    requests += 1
    const outcome = await call(service, operation, unknown, service.ids.next())
    if (outcome.kind !== 'refused' || outcome.code !== 'RESOURCE.NOT_FOUND')
      findings.push(`${operation.id}: expected 404 RESOURCE.NOT_FOUND, got ${describeOutcome(outcome)}`)
  }
  return requests === 0 ? [] : [verdict('an unknown id is refused as such', requests, findings)]
}

/** Lists first, because their records are inputs of the others. Commands last. */
function inOrder(operations: readonly Operation[]): Operation[] {
  const rank = ({ method, path }: Operation): number => (method === 'GET' ? pathParamNames(path).length : 100)
  return operations.toSorted((one, other) => rank(one) - rank(other))
}

function unchecked(check: string, requests: number, reason: string): ServiceCheck {
  return {
    check,
    requests,
    outcome: 'unchecked',
    findings: [reason],
  }
}

function findProblem(operation: Operation, outcome: Outcome): string | undefined {
  if (outcome.kind === 'invalid') return `expected data or a refusal, got ${describeOutcome(outcome)}`
  if (outcome.kind === 'refused')
    return isDeclared(operation, outcome)
      ? undefined
      : `refused with ${describeOutcome(outcome)}, which ${operation.id} does not declare`
  if (typeof operation.reply === 'string') return undefined
  const [issue] = operation.reply.safeParse(outcome.data).error?.issues ?? []
  return issue && `data${issue.path.map((part) => `.${String(part)}`).join('')}: ${issue.message}`
}

/** The refusals that the contract declares, and that a client therefore expects. */
function isDeclared(operation: Operation, outcome: Outcome): boolean {
  return outcome.kind === 'refused' && listRefusals(operation, operation.chains[0]).includes(outcome.code)
}
